"""The settings of engine stacks: by version, vendor, part and memory, each with its source."""

from __future__ import annotations

import pytest

from planner.catalogue import Catalogue
from planner.catalogue.stacks import BEFORE, is_version, parse_version
from planner.errors import CatalogueError


@pytest.mark.parametrize(
    ("text", "version"),
    [
        ("0.20.2", (0, 20, 2)),
        ("0.20.2rc1.dev249+g1a2b", (0, 20, 1, BEFORE)),
        ("0.20.0rc1", (0, 19, BEFORE)),
        ("0.9.2+v0", (0, 9, 2)),
        ("1.2.0.post1", (1, 2)),
        ("0.9.2 (V0)", (0, 9, 2)),
        ("0.25", (0, 25)),
        ("0.25.0", (0, 25)),
        ("v1.2.1", (1, 2, 1)),
        ("0.1.dev20073", None),
        ("main 2026-01", None),
        (None, None),
    ],
)
def test_versions_are_their_leading_numbers(text: str | None, version: tuple[int, ...] | None) -> None:
    assert parse_version(text) == version


def test_a_candidate_stands_before_its_release_and_after_the_one_before() -> None:
    order = ["0.19.9", "0.20.0rc1", "0.20.0", "0.20.1rc1.dev16", "0.20.1"]
    parsed = [parse_version(text) for text in order]
    assert parsed == sorted(parsed, key=lambda version: version or ())


@pytest.mark.parametrize(
    "text", ["0.20.2", "0.20.2rc1.dev249+g1a2b", "0.9.2+v0", "b4567", "nightly", "0.1.dev3"]
)
def test_what_is_a_version(text: str) -> None:
    assert is_version(text)


@pytest.mark.parametrize("text", ["", "newest", "0.20.x", "0.20.2!", "0..2", "-1", "1.2.3.4.5", "9" * 50])
def test_what_is_no_version(text: str) -> None:
    assert not is_version(text)


@pytest.mark.parametrize(
    ("version", "gpu", "batch", "sequences"),
    [
        ("0.19.0", "h100-sxm", 8192, 1024),
        ("0.19.0", "a100-sxm-80", 2048, 256),
        ("0.19.0", "l4", 2048, 256),
        ("0.27.1", "mi300x", 8192, 1024),
        ("0.28.0", "mi300x", 16384, 1024),
        ("0.28.0", "h200-sxm", 8192, 1024),
        (None, "b300-sxm", 16384, 1024),
        ("0.7.3", "h100-sxm", 2048, 256),
    ],
)
def test_vllm_batch_defaults(
    catalogue: Catalogue, version: str | None, gpu: str, batch: int, sequences: int
) -> None:
    stack, part, number = catalogue.stack("vllm"), catalogue.gpu(gpu), parse_version(version)
    assert stack.setting("max_num_batched_tokens", number, part).value == batch
    assert stack.setting("max_num_seqs", number, part).value == sequences


def test_the_last_value_that_applies_holds(catalogue: Catalogue) -> None:
    stack = catalogue.stack("vllm")
    amd, nvidia = catalogue.gpu("mi300x"), catalogue.gpu("h100-sxm")
    assert [stack.setting("deduct_graphs", (0, 21), gpu).value for gpu in (amd, nvidia)] == [False, True]
    assert stack.setting("deduct_graphs", (0, 26), amd).value is True
    assert stack.setting("context_bytes", (0, 19), nvidia).value == 0.25 * 2**30


def test_engines_are_found_by_their_usual_names(catalogue: Catalogue) -> None:
    assert catalogue.stack("trtllm").id == "tensorrt-llm"
    assert catalogue.stack("llamacpp").id == "llama.cpp"


def test_every_setting_says_where_it_comes_from(catalogue: Catalogue) -> None:
    for stack in catalogue.stacks():
        for name, values in stack.settings.items():
            for value in values:
                assert value.source.title, (stack.id, name)
                assert value.date, (stack.id, name)
                assert value.provenance().startswith(value.confidence)


def test_a_setting_without_a_value_is_named(catalogue: Catalogue) -> None:
    with pytest.raises(CatalogueError, match="vllm has no setting 'no_such_setting' for h100-sxm"):
        catalogue.stack("vllm").setting("no_such_setting", None, catalogue.gpu("h100-sxm"))
