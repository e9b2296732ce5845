"""The accuracy gate: errors on groups that were left out may not grow; what was predicted stays so."""

from __future__ import annotations

import importlib.util
import json
from functools import cache
from pathlib import Path

import numpy as np
import pytest

from planner.catalogue import load_catalogue
from planner.measurement.calibrate import Calibrated, cases_of, shipped
from planner.measurement.case_builder import CaseBuilder
from planner.measurement.cross_validation import leave_out
from planner.measurement.serving import load_serving_points
from planner.measurement.serving_setup import states_operating_point
from planner.measurement.setups import NotPredictable
from planner.measurement.static_runs import static_runs
from planner.measurement.validate_serving import predict_cases, scores_of
from planner.performance.levels import calibration_of

ROOT = Path(__file__).parents[2]
SPEC = importlib.util.spec_from_file_location("make_accuracy", ROOT / "docs" / "make_accuracy.py")
make_accuracy = importlib.util.module_from_spec(SPEC)
SPEC.loader.exec_module(make_accuracy)
WORSE_OVERALL, WORSE_IN_A_SLICE = 1.05, 1.10


@cache
def book():
    return load_catalogue()


@cache
def left_out():
    data, skipped = cases_of(shipped(), book())
    part = leave_out(data, only=(make_accuracy.GATE_FOLD,))
    made = Calibrated(calibration_of(book()), data, {"group": (part,)}, skipped, "")
    return make_accuracy.gate_scores(made, part)


@pytest.mark.parametrize("part", ["overall", "AMD", "NVIDIA", "service"])
def test_errors_on_groups_that_were_left_out_do_not_grow(part):
    known = json.loads((ROOT / "docs/accuracy.json").read_text())["gate"][part]
    allowed = WORSE_OVERALL if part == "overall" else WORSE_IN_A_SLICE
    for quantity, figures in known.items():
        assert left_out()[part][quantity]["median_ape"] <= allowed * figures["median_ape"], quantity


def test_of_points_that_state_what_is_needed_nearly_all_are_predicted():
    builder, stated, made = CaseBuilder(book()), 0, []
    for point in load_serving_points():
        complete = states_operating_point(point)
        stated += complete
        try:
            case = builder.case(point)
        except NotPredictable:
            continue
        if complete:
            made.append(case)
    assert len(made) / stated > 0.98
    predictions = predict_cases(builder, made, range(len(made)), calibration_of(book()))
    values = np.array([list(one.predicted.values()) for one in predictions])
    assert np.isfinite(values).all()
    assert (values > 0).all()


def test_own_static_runs_are_met():
    builder = CaseBuilder(book())
    cases = [builder.case(point) for point in static_runs()]
    scores = scores_of(predict_cases(builder, cases, range(len(cases)), calibration_of(book())))
    assert scores["tpot_ms"].median_ape < 0.15
    assert scores["ttft_ms"].median_ape < 0.15
