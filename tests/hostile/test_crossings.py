"""Questions that build on answers, and that what they check would be seen."""

from __future__ import annotations

import json
import random
from types import SimpleNamespace

import pytest
from crossings import CHECKS, WEIGHTS, Crossing, breakeven_agrees, launch_agrees, sweep_agrees, told
from scenarios import run_one

import planner

RUNS, PARTS = 30, 3


@pytest.mark.parametrize("part", range(PARTS))
def test_answers_that_build_on_each_other_agree(part, catalogue):
    drawing = Crossing(catalogue)
    made = [run_one(drawing, 5, number) for number in range(part, RUNS, PARTS)]
    assert [(one.function, one.asked, one.wrong) for one in made if one.wrong] == []
    assert sum(one.state == "answered" for one in made) >= RUNS / PARTS / 4


def test_everything_is_asked(catalogue):
    drawing = Crossing(catalogue)
    drawn = {drawing.draw(random.Random(f"1:{number}"))[0] for number in range(600)}
    assert drawn == set(WEIGHTS) - {"media"}
    assert set(CHECKS) <= drawn


@pytest.fixture
def rng() -> random.Random:
    """Return random numbers that are always the same."""
    return random.Random(1)


ON = {"model": "llama-3.1-8b", "tp": 1}
LOAD = {"isl": 1000, "osl": 100}


def test_a_pool_that_the_flags_do_not_give_is_seen(catalogue, rng):
    asked = {**ON, **LOAD, "gpu": "h100"}
    record = planner.launch(catalogue=catalogue, **asked).to_dict()
    assert list(launch_agrees(catalogue, asked, record, rng)) == []
    record["proof"]["kv_tokens"] += 16
    assert len(list(launch_agrees(catalogue, asked, record, rng))) == 1
    argv = record["servers"][0]["nodes"][0]["argv"]
    argv[argv.index("--gpu-memory-utilization") + 1] = "0.01"
    assert "do not fit" in next(launch_agrees(catalogue, asked, record, rng))


@pytest.mark.parametrize("over", ["price", "isl"])
def test_a_point_that_flips_elsewhere_is_seen(over, catalogue, rng):
    price = {"h100": 2.0, "mi300x": 1.7}
    asked = {**ON, **LOAD, "gpu": "h100,mi300x", "price": price, "over": over, "throughput": "simulated"}
    asked["concurrency"] = 16
    record = planner.breakeven(catalogue=catalogue, **asked).to_dict()
    assert len(record["flips"]) == 1
    assert list(breakeven_agrees(catalogue, asked, record, rng)) == []
    record["flips"][0]["at"] *= 0.5
    assert len(list(breakeven_agrees(catalogue, asked, record, rng))) == 1


def test_a_row_that_differs_from_its_prediction_is_seen(catalogue, rng, monkeypatch):
    asked = {**ON, "gpu": "h100", "isl": 1000, "osl": 100, "concurrency": "4,8"}
    record = planner.sweep(catalogue=catalogue, **asked).to_dict()
    assert list(sweep_agrees(catalogue, asked, record, rng)) == []
    rows = planner.sweep(catalogue=catalogue, **asked).to_records()
    rows[0]["ttft_ms"] *= 1.01
    monkeypatch.setattr(planner, "sweep", lambda **_: SimpleNamespace(to_records=lambda: rows))
    (line,) = sweep_agrees(catalogue, asked, record, rng)
    assert "row 0: ttft_ms" in line


def test_a_command_is_told_with_its_code(tmp_path):
    out = tmp_path / "fit.json"
    code, _ = told(["fit", "--model", "llama-3.1-8b", "--gpu", "h100", "--out", str(out)])
    assert code == 0
    assert json.loads(out.read_text())["fits"]
    assert told(["fit"])[0] == 2


def test_a_simulation_of_what_does_not_fit_has_a_header(catalogue):
    made = planner.simulate(
        model="llama-3.3-70b", gpu="h100", tp=1, concurrency=1, catalogue=catalogue, **LOAD
    )
    lines = made.to_csv().splitlines()
    assert len(lines) == 1
    assert lines[0].startswith("arrival_s,")
    assert lines[0].endswith(",e2e_s")
