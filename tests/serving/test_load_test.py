"""The load test of a launch: its client's flags, and that planner reads what comes of it."""

from __future__ import annotations

from pathlib import Path

import pytest

from planner.cli.entry import run
from planner.measurement.serving_flags import ServingFlag
from planner.measurement.serving_points import load_serving
from planner.serving.book import launch_book
from planner.serving.flags import flags_of, read_flags
from tests.serving.making import flags_in, launched

FILES = Path(__file__).parents[1] / "data" / "bench_files"
KEPT = Path(__file__).parents[2] / "measurements" / "h200_launched"
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


def test_the_result_is_told_what_no_result_says(catalogue):
    """Formats and drafts, without which a row is taken for another deployment."""
    alone = {"model": "llama-3.1-8b", "gpu": "h200", "isl": 1000, "osl": 256, "catalogue": catalogue}
    plain = launched(**alone).test
    drafted = launched(**alone, speculative_tokens=3, draft_model="llama-3.2-1b").test
    own = launched(**{**alone, "model": "deepseek-r1", "tp": 8}, speculative_tokens=2).test
    for words in (plain.importing, plain.measuring):
        assert flags_in(list(words))["--weight-dtype"] == "bf16"
        assert "--spec-decode" not in words
    for words in (drafted.importing, drafted.measuring):
        assert flags_in(list(words))["--spec-decode"] == "draft 3"
    assert flags_in(list(own.importing))["--weight-dtype"] == "fp8-block128"
    assert flags_in(list(own.importing))["--spec-decode"] == "mtp 2"


def test_a_checkpoint_that_only_its_config_calls_quantised_is_not_taken_for_bf16(catalogue):
    """DeepSeek-V4.1-Flash is FP8 and MXFP4 by its quantization_config: 2.6 times smaller than in BF16."""
    assert catalogue.model("deepseek-v4.1-flash").published_format == "native"
    assert catalogue.model("llama-3.1-8b").published_format == "bf16"
    assert catalogue.model("deepseek-r1").published_format == "fp8-block128"


def test_a_drafted_result_is_not_taken_for_a_plain_one(catalogue, tmp_path):
    """Read by the printed command, the row holds the draft, and the prediction reckons with it."""
    asked = {"model": "llama-3.1-8b", "gpu": "h200", "isl": 1000, "osl": 256, "concurrency": 16}
    test = launched(**asked, speculative_tokens=3, draft_model="llama-3.2-1b", catalogue=catalogue).test
    words = list(test.importing)
    words[words.index("result.json")] = str(KEPT / "results" / "llama-3.1-8b-draft.json")
    assert run([*words[1:], "--into", str(tmp_path)]) == 0
    (point,) = load_serving(tmp_path / "serving" / "imported.csv")
    assert (point.spec_decode, point.weight_dtype) == ("draft 3", "bf16")
    assert point.flags & ServingFlag.SPECULATIVE


def test_the_client_waits_for_the_server(catalogue):
    """vLLM's client sends at once unless it is told to wait, and a server takes minutes to come up."""
    flags = flags_in(list(launched(**SHORT, catalogue=catalogue).test.bench))
    assert int(flags["--ready-check-timeout-sec"]) >= 600
