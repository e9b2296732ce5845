"""The load test of a launch: its client's flags, and that planner reads what comes of it."""

from __future__ import annotations

from pathlib import Path

import pytest

from planner.cli.entry import run
from planner.serving.book import launch_book
from planner.serving.flags import flags_of, read_flags
from tests.serving.making import flags_in, launched

FILES = Path(__file__).parents[1] / "data" / "bench_files"
SHORT = {"model": "llama-3.1-8b", "gpu": "h100", "isl": 2000, "osl": 300}


def test_without_lengths_there_is_none(catalogue):
    report = launched(model="llama-3.1-8b", gpu="h100", catalogue=catalogue)
    assert report.test is None
    assert "bench" not in report.to_text()


def test_vllm_is_loaded_by_its_own_client(catalogue):
    test = launched(**SHORT, concurrency=16, catalogue=catalogue).test
    assert test.bench[:3] == ("vllm", "bench", "serve")
    flags = flags_in(list(test.bench))
    assert (flags["--random-input-len"], flags["--random-output-len"]) == ("2000", "300")
    assert (flags["--max-concurrency"], flags["--num-prompts"]) == ("16", "160")
    assert {"--ignore-eos", "--save-result"} <= set(flags)
    rate = flags_in(list(launched(**SHORT, request_rate=2.5, catalogue=catalogue).test.bench))
    assert (rate["--request-rate"], rate["--num-prompts"]) == ("2.5", "150")


def test_sglang_draws_lengths_as_asked(catalogue):
    flags = flags_in(list(launched(**SHORT, engine="sglang", concurrency=8, catalogue=catalogue).test.bench))
    assert (flags["--random-range-ratio"], flags["--dataset-name"]) == ("1", "random-ids")


def test_pools_are_loaded_through_their_router(catalogue):
    asked = {
        "model": "deepseek-r1",
        "gpu": "h200",
        "tp": 8,
        "isl": 4000,
        "osl": 500,
        "disaggregated": (8, 16),
    }
    test = launched(**asked, catalogue=catalogue).test
    assert flags_in(list(test.bench))["--base-url"] == "http://localhost:9000"
    assert flags_in(list(test.importing))["--gpus"] == "24"


@pytest.mark.parametrize(
    "engine", ["vllm==0.10.2", "vllm==0.20.2", "vllm", "sglang==0.5.3", "sglang", "trtllm"]
)
def test_every_flag_of_the_client_is_known(engine, catalogue):
    report = launched(**SHORT, engine=engine, catalogue=catalogue)
    program = launch_book().engine(report.launch.wanted.stack.id).bench
    version = report.launch.wanted.version if engine[:2] == program[:2] else None
    assert read_flags(list(report.test.bench), flags_of(program, version))


@pytest.mark.parametrize(
    ("engine", "result"),
    [
        ("vllm", "vllm/bench_serve_gptoss_h200_tp8_conc64.json"),
        ("sglang", None),
    ],
)
def test_planner_reads_the_result_by_the_command_that_is_printed(engine, result, catalogue, tmp_path, capsys):
    asked = {"model": "gpt-oss-120b", "gpu": "h200", "tp": 8, "isl": 1000, "osl": 1000, "concurrency": 64}
    words = list(launched(**asked, engine=engine, memory_fraction=0.85, catalogue=catalogue).test.importing)
    found = FILES / result if result else next((FILES / "sglang").glob("*.json*"))
    words[words.index("result.json")] = str(found)
    assert run([*words[1:], "--into", str(tmp_path), "--dry-run"]) == 0
    assert "1 row" in capsys.readouterr().out or result is None


def test_the_other_client_takes_the_options_that_are_printed(catalogue, capsys):
    words = launched(
        **SHORT, concurrency=4, weight_dtype="fp8-static", kv_dtype="fp8", catalogue=catalogue
    ).test.measuring
    at = words.index("http://localhost:8000")
    unreachable = [*words[1:at], "http://127.0.0.1:9", *words[at + 1 :]]
    assert run(unreachable) == 2
    said = capsys.readouterr().err
    assert "127.0.0.1:9" in said
    assert "no option" not in said
