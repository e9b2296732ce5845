"""Servers started from printed lines: the page holds what was kept, and launch prints those lines still."""

from __future__ import annotations

import importlib
import json
import shlex
import sys
from pathlib import Path

import pytest

import planner

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT / "docs"))
made = importlib.import_module("make_launched")

RUNS = made.runs()
NAMES = [run["name"] for run in RUNS]


@pytest.fixture(scope="module", params=RUNS, ids=NAMES)
def run(request):
    return request.param


def launched(run, catalogue):
    return planner.launch(**run["asked"], catalogue=catalogue)


def test_the_page_holds_the_tables_that_its_script_writes(catalogue):
    text = made.PAGE.read_text(encoding="utf-8")
    for name, table in made.tables(catalogue).items():
        assert table in text, name


def test_the_line_that_started_is_the_line_of_today(run, catalogue):
    line = list(launched(run, catalogue).launch.servers[0].lines[0].words)
    assert shlex.split(run["server"]) == line


def test_the_load_test_that_ran_is_that_of_today_but_for_the_wait(run, catalogue):
    words = list(launched(run, catalogue).test.bench)
    at = words.index("--ready-check-timeout-sec")
    assert shlex.split(run["load_test"]) == words[:at] + words[at + 2 :]


def test_the_log_holds_what_the_line_says(run):
    words, log = shlex.split(run["server"]), made.log_of(run["name"])
    for flag, column in (
        ("--max-model-len", "max_model_len"),
        ("--max-num-seqs", "max_num_seqs"),
        ("--max-num-batched-tokens", "max_num_batched_tokens"),
        ("--gpu-memory-utilization", "mem_fraction"),
        ("--tensor-parallel-size", "tp"),
    ):
        assert float(log[column]) == float(words[words.index(flag) + 1]), flag
    assert log["outcome"] == "fits"


def test_the_cache_is_what_the_fit_says(run, catalogue):
    log = made.log_of(run["name"])
    proof = launched(run, catalogue).to_dict()["proof"]
    assert proof["kv_tokens"] == pytest.approx(float(log["kv_tokens"]), rel=0.015)
    assert int(made.predicted_before()[run["name"]]["kv_tokens"]) == pytest.approx(
        proof["kv_tokens"], rel=0.01
    )


def test_every_request_was_served(run):
    told = json.loads((made.FOLDER / "results" / f"{run['name']}.json").read_text(encoding="utf-8"))
    asked = shlex.split(run["load_test"])
    assert told["completed"] == int(asked[asked.index("--num-prompts") + 1])
    assert told["failed"] == 0


def test_simulated_rates_were_within_a_sixth_where_weights_were_in_bf16():
    known = made.predicted_before()
    for name in ("llama-3.1-8b", "llama-3.1-8b-fp8-kv", "qwen3-30b-a3b"):
        measured, said = made.result_of(name), known[name]
        assert float(said["output_tps_total"]) == pytest.approx(measured["output_tps_total"], rel=1 / 6)
        assert float(said["tpot_ms"]) == pytest.approx(measured["tpot_ms"], rel=0.1)
