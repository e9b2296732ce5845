"""The flags of each version of a program, and reading a line by them."""

from __future__ import annotations

import re
import shlex

import pytest

from planner.catalogue.stacks import parse_version
from planner.errors import Unsupported
from planner.serving.book import launch_book
from planner.serving.flags import flags_of, missing_flags, programs, read_flags


def test_every_engine_of_the_book_has_flags_and_a_load_test(catalogue):
    book = launch_book()
    assert set(book.engines) == {"vllm", "sglang", "tensorrt-llm", "llama.cpp"} <= set(catalogue.stack_ids())
    for name, engine in book.engines.items():
        assert flags_of(name, None)
        assert flags_of(engine.bench, None)


def test_every_source_that_is_named_is_in_the_book():
    book = launch_book()
    for engine in book.engines.values():
        assert {one.source for one in (*engine.images, *engine.refusals)} <= set(book.sources)


def test_every_environment_is_named_by_a_kernel_rule_of_the_catalogue(catalogue):
    rules = {rule.id: rule for rule in catalogue.kernel_rules()}
    kernels = {rule.kernel for rule in rules.values()}
    for name, engine in launch_book().engines.items():
        for one in engine.environment:
            rule = rules[one.rule]
            assert set(one.kernels) <= kernels
            said = f"{rule.remedy} {rule.why}"
            assert all(
                f"{variable}={value}" in said or variable in said for variable, value in one.set.items()
            ), name
            assert all(value in said for value in one.flags.values())


@pytest.mark.parametrize(
    ("program", "version", "flag", "there"),
    [
        ("vllm", "0.10.2", "--nnodes", False),
        ("vllm", "0.11.2", "--nnodes", True),
        ("vllm", "0.16.0", "--language-model-only", False),
        ("vllm", "0.20.2", "--language-model-only", True),
        ("vllm", "0.22.1", "--decode-context-parallel-size", True),
        ("sglang", "0.5.9", "--dcp-size", False),
        ("sglang", "0.5.23", "--dcp-size", True),
        ("sglang", "0.5.20", "--attn-dp-size", False),
        ("vllm", None, "--gpu-memory-utilization", True),
        ("vllm", "99.0", "--gpu-memory-utilization", True),
    ],
)
def test_a_version_has_the_flags_of_the_newest_examined_one_before_it(program, version, flag, there):
    assert (flag in flags_of(program, parse_version(version))) is there


def test_versions_before_the_first_examined_one_are_not_known():
    with pytest.raises(Unsupported, match=re.escape("vllm is known from version 0.10.2 on")):
        flags_of("vllm", (0, 9, 2))


def test_spans_of_a_flag_follow_one_another():
    for program in programs().values():
        for forms in program.flags.values():
            ends = [(form.since, form.to) for form in forms]
            assert all(to is not None for _, to in ends[:-1])
            assert all(since in program.versions for since, _ in ends[1:])


def test_a_line_is_read_as_its_parser_would():
    known = flags_of("vllm", (0, 20, 2))
    line = (
        "vllm serve a/b --port 8000 --no-enable-prefix-caching --gpu-memory-utilization 0.9 --enforce-eager"
    )
    assert read_flags(shlex.split(line), known) == {
        "--port": 8000,
        "--enable-prefix-caching": False,
        "--gpu-memory-utilization": 0.9,
        "--enforce-eager": True,
    }
    assert read_flags(["--speculative-config", '{"method": "mtp"}'], known) == {
        "--speculative-config": {"method": "mtp"}
    }


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("--tensor-parallel 8", "no flag --tensor-parallel"),
        ("--port x", "type int"),
        ("--port", "needs a value"),
        ("--kv-cache-dtype fp7", "and not 'fp7'"),
        ("--speculative-config [1]", "type json"),
    ],
)
def test_what_a_parser_would_refuse_is_refused(words, said):
    with pytest.raises(Unsupported, match=re.escape(said)):
        read_flags(words.split(), flags_of("vllm", (0, 20, 2)))


def test_missing_flags_are_named_in_either_form():
    known = flags_of("vllm", (0, 10, 2))
    assert missing_flags(["--nnodes", "--no-enable-prefix-caching", "--port"], known) == ["--nnodes"]
