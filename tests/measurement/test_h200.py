"""Our own runs of one H200: the page holds what its script writes, and the errors stay what they were."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path
from statistics import median

import pytest

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT / "docs"))
make_h200 = importlib.import_module("make_h200")
own_runs = importlib.import_module("own_runs")


@pytest.fixture(scope="module")
def runs():
    return make_h200.RUNS.points()


def test_the_page_holds_the_tables_that_its_script_writes(catalogue):
    text = make_h200.PAGE.read_text(encoding="utf-8")
    for name, made in make_h200.tables(catalogue).items():
        if name not in ("operators", "after"):  # these move with the shipped calibration
            assert made in text, name
    assert {found[1] for found in own_runs.MARKS.findall(text)} == set(make_h200.tables(catalogue))


def test_every_point_was_predicted_before(runs):
    known = make_h200.RUNS.predicted_before()
    assert len(runs) == 54 + 20
    assert all(own_runs.key_of(point) in known for point in runs)


def test_steps_were_predicted_within_fifteen_per_cent_before_any_calibration(runs):
    static = [point for point in runs if own_runs.is_static(point)]
    assert median(make_h200.RUNS.errors_before("tpot_ms", static)) == pytest.approx(0.067, abs=0.0005)


def test_held_out_steps_are_within_seven_per_cent_after_calibration(catalogue):
    assert median(make_h200.RUNS.held_out(catalogue, own_runs.is_static, 1)) < 0.07


def test_memory_is_within_two_per_cent(catalogue):
    made = own_runs.validate_startup_logs(make_h200.RUNS.directory / "startup_logs.csv", catalogue)
    scores = made.scores()
    assert made.predicted == made.rows == 10
    assert scores["weights_gib"].median_ape < 0.005
    assert scores["kv_pool_gib"].median_ape < 0.02


def test_no_point_beats_the_memory(catalogue, runs):
    from planner.measurement.case_builder import CaseBuilder

    builder = CaseBuilder(catalogue)
    assert not builder.gather([builder.case(point) for point in runs]).faster_than_light().any()


def test_no_calibration_learns_from_them():
    from planner.measurement.calibrate import shipped

    assert not any(point.source == "planner measure engine" for point in shipped())


def test_the_operators_are_all_there():
    import csv

    with (ROOT / "measurements/kernels/own_h200.csv").open(encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == 1145
    assert {row["system"] for row in rows} == {"h200-sxm"}
    shares = [float(row["achieved_fraction"]) for row in rows if row["achieved_fraction"]]
    assert min(shares) > 0
    assert max(shares) < 1
