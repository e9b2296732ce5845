"""Kernel rules and their like in a user's file: they add, override, and are refused with file and line."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from planner.catalogue import Catalogue, load_catalogue
from planner.errors import CatalogueError
from planner.performance.coverage import kernel_for
from tests.catalogue.user_catalogue import line_with, write

RULE = """\
kernels:
  mine:
    family: MLA heads
    kernel: MY_MLA
    engines: {vllm: ">=0.30"}
    isa: [gfx950]
    kinds: [mla]
    phase: decode
    when: {heads: {any_of: [12]}, kv_dtypes: [fp8]}
    slowdown: {low: 1.0, mid: 1.1, high: 1.2, of: operator}
    why: measured here
    remedy: wait
    source: our own bench
    date: 2026-11-20
    confidence: measured
"""


def test_a_file_adds_a_rule(tmp_path: Path) -> None:
    catalogue = load_catalogue(extra=[write(tmp_path, RULE)])
    choice = kernel_for(
        catalogue=catalogue,
        engine="vllm",
        gpu=catalogue.gpu("mi355x"),
        kind="mla",
        phase="decode",
        heads=12,
        kv_dtype="fp8",
    )
    assert (choice.name, choice.slowdown) == ("MY_MLA", (1.0, 1.1, 1.2))
    assert choice.source == "measured: our own bench (2026-11-20)"


def test_a_file_overrides_a_field_of_a_rule(tmp_path: Path) -> None:
    text = "kernels:\n  mxfp4-sm120:\n    compute: fp4\n"
    catalogue = load_catalogue(extra=[write(tmp_path, text)])
    rule = next(rule for rule in catalogue.kernel_rules() if rule.id == "mxfp4-sm120")
    assert (rule.compute, rule.kernel) == ("fp4", "Marlin W4A16")


@pytest.mark.parametrize(
    ("old", "new", "at", "said"),
    [
        ("heads: {any_of", "haeds: {any_of", "haeds", "unknown field; nearest: heads"),
        ("any_of: [12]", "any_of: [twelve]", "twelve", "expected a whole number"),
        ("any_of: [12]", "", "when:", "an empty condition"),
        ('">=0.30"', '"0.30+"', "0.30+", "is not a range of versions"),
        ("{vllm:", "{vlm:", "vlm:", "'vlm' is no stack of the catalogue; nearest: vllm"),
        ("[gfx950]", "[gfx95]", "[gfx95]", "'gfx95' is no isa of the catalogue; nearest: gfx950"),
        ("[mla]", "[mlaa]", "mlaa", "mla"),
        ("low: 1.0, mid: 1.1", "low: 1.2, mid: 1.1", "slowdown", "are not in order"),
        ("low: 1.0", "low: 0.5", "low: 0.5", "greater than or equal to 1"),
        ("    remedy: wait\n", "", "mine:", "needs a `remedy`"),
        ("    phase: decode\n", "    refused: true\n", "mine:", "what is refused has no slowdown"),
        ("    phase: decode\n", "    pad_heads_to: [128, 64]\n", "mine:", "pad_heads_to must rise"),
        ("    date: 2026-11-20\n", "", "mine:", "undated"),
        ("    why: measured here\n", "", "mine:", "why: is missing"),
    ],
)
def test_a_wrong_rule_is_refused_with_its_line(
    tmp_path: Path, old: str, new: str, at: str, said: str
) -> None:
    assert old in RULE
    refused_at(tmp_path, RULE.replace(old, new), at, said)


HEAD = "    source: s\n    date: 2026\n"


@pytest.mark.parametrize(
    ("text", "at", "said"),
    [
        (
            f"acceptance:\n  a:\n    draft: mtp\n    models: [kimi-k9]\n    tokens: {{1: 1.8}}\n{HEAD}",
            "models",
            "'kimi-k9' is no model",
        ),
        (
            f"acceptance:\n  a:\n    draft: mtp\n    tokens: {{1: 2.8}}\n{HEAD}",
            "a:",
            "2.8 tokens of a step with 1 drafted; possible: 1 to 2",
        ),
        (f"acceptance:\n  a:\n    draft: mtp\n    tasks: {{code: 2.8}}\n{HEAD}", "a:", "belong together"),
        (f"acceptance:\n  a:\n    draft: mtp\n{HEAD}", "a:", "give `tokens`"),
        (
            f"speedups:\n  s:\n    model: kimi-k3\n    gpu: mi355x\n    draft: mtp\n{HEAD}",
            "  s:",
            "give `by_concurrency` or `by_load`",
        ),
        (
            "host:\n  vllm:\n    steps:\n"
            '      - {versions: "*", mode: m, low: 2 ms, mid: 1 ms, high: 3 ms, source: a b, date: 2026}\n',
            "versions",
            "are not in order",
        ),
        (
            "host:\n  vllm:\n    steps:\n"
            '      - {versions: "*", mode: m, low: 2, mid: 3 ms, high: 4 ms, source: a bench, date: 2026}\n',
            "versions",
            "unit",
        ),
        (
            "transfers:\n  t:\n    library: mori\n    fabric: roce\n    line_rate: 50 GB/s\n    by: piece\n"
            f"    points: {{64 KiB: 60 GB/s}}\n{HEAD}",
            "t:",
            "a rate above the line rate",
        ),
    ],
)
def test_other_wrong_entries_are_refused_with_their_line(
    tmp_path: Path, text: str, at: str, said: str
) -> None:
    refused_at(tmp_path, text.replace("source: s\n", "source: our own bench\n"), at, said)


def refused_at(tmp_path: Path, text: str, at: str, said: str) -> None:
    path = write(tmp_path, text)
    with pytest.raises(CatalogueError) as caught:
        load_catalogue(extra=[path])
    message = str(caught.value)
    assert message.startswith(f"{path}:{line_with(text, at)}: "), message
    assert said in message
    assert "\n" not in message


def test_all_names_in_the_shipped_rules_exist(catalogue: Catalogue) -> None:
    assert not [line for line in catalogue.validate() if "stacks.yaml" in line]


def test_every_source_of_the_rules_is_used(catalogue: Catalogue) -> None:
    text = (catalogue.directory / "stacks.yaml").read_text()
    listed, _, used = text.partition("\nstacks:\n")
    ids = re.findall(r"^  ([a-z0-9.-]+):$", listed, re.MULTILINE)
    assert len(ids) > 40
    unused = [key for key in ids if not re.search(rf"source: {re.escape(key)}\b", used)]
    assert not unused
