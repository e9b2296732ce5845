"""Our own runs of two H200: the page holds what its script writes, and the errors stay what they were."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path
from statistics import median

import pytest

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT / "docs"))
made = importlib.import_module("make_h200_x2")
own_runs = importlib.import_module("own_runs")


@pytest.fixture(scope="module")
def runs():
    return made.RUNS.points()


def test_the_page_holds_the_tables_that_its_script_writes(catalogue):
    text = made.PAGE.read_text(encoding="utf-8")
    tables = made.tables(catalogue)
    for name, table in tables.items():
        if name not in ("operators", "after"):  # these move with the shipped calibration
            assert table in text, name
    assert {found[1] for found in own_runs.MARKS.findall(text)} == set(tables)


def test_every_point_was_predicted_before(runs):
    known = made.RUNS.predicted_before()
    assert len(runs) == 43 + 8
    assert {own_runs.label_of(point) for point in runs} == {
        "llama-3.1-70b TP2", "llama-3.1-70b PP2", "deepseek-v2-lite TP2", "deepseek-v2-lite PP2",
    }  # fmt: skip
    assert all(own_runs.key_of(point) in known for point in runs)


def test_steps_were_predicted_within_fifteen_per_cent_before_any_calibration(runs):
    static = [point for point in runs if own_runs.is_static(point)]
    assert median(made.RUNS.errors_before("tpot_ms", static)) == pytest.approx(0.074, abs=0.0005)


def test_held_out_steps_are_within_seven_per_cent_after_calibration(catalogue):
    assert median(made.RUNS.held_out(catalogue, own_runs.is_static, 1)) < 0.07


def test_memory_is_within_two_per_cent(catalogue):
    logs = own_runs.validate_startup_logs(made.RUNS.directory / "startup_logs.csv", catalogue)
    scores = logs.scores()
    assert logs.predicted == logs.rows == 5
    assert scores["weights_gib"].median_ape < 0.005
    assert scores["kv_pool_gib"].median_ape < 0.02


def test_no_point_beats_the_memory(catalogue, runs):
    from planner.measurement.case_builder import CaseBuilder

    builder = CaseBuilder(catalogue)
    assert not builder.gather([builder.case(point) for point in runs]).faster_than_light().any()


def test_all_collectives_are_there_and_none_beats_its_link():
    rows = own_runs.read_rows(made.KERNELS)
    assert len(rows) == 5 * 21 * 2 + 13
    assert {row["gpus"] for row in rows} == {"2"}
    assert max(float(row["link_fraction"]) for row in rows) < 1
    known = made.predicted_us()
    assert all((row["op"], int(row["bytes"])) in known for row in rows)


def test_large_collectives_were_predicted_within_five_per_cent():
    measured, predicted = made.measured_us(), made.predicted_us()
    for op in ("nccl_all_reduce", "nccl_all_gather", "nccl_reduce_scatter", "nccl_alltoall"):
        errors = [
            abs(predicted[op, size] / time - 1)
            for (known, graph, size), time in measured.items()
            if (known, graph) == (op, "true") and size >= made.LARGE
        ]
        assert median(errors) < 0.05, op
