"""Which part of a decode step is mispredicted: found again where it was planted."""

from __future__ import annotations

import numpy as np
import pytest

from planner.measurement.blame import LEAST_SHIFT, PARTS, WAITING, blames, factors_of, step_parts
from planner.measurement.case_builder import CaseBuilder
from planner.measurement.serving_points import load_serving
from planner.measurement.serving_sources import serving_directory
from planner.performance.levels import calibration_of


@pytest.fixture(scope="module")
def runs(catalogue):
    """Cases of static batches of one H200, with their builder."""
    builder = CaseBuilder(catalogue)
    points = load_serving(serving_directory().parent / "h200" / "static.csv")
    return builder, [builder.case(point) for point in points]


def test_parts_add_up_to_the_predicted_time(runs, catalogue):
    builder, cases = runs
    data = builder.gather(cases)
    parameters = calibration_of(catalogue).parameters([case.about for case in cases])
    together = np.sum(list(step_parts(data, parameters).values()), axis=0)
    np.testing.assert_allclose(together, np.exp(data.predict(parameters)[:, 1]), rtol=1e-9)


def test_right_predictions_need_no_factor():
    parts = np.random.default_rng(1).uniform(1, 5, (20, 4))
    np.testing.assert_allclose(factors_of(parts, parts.sum(1)), 1.0, atol=1e-9)


@pytest.mark.parametrize("planted", range(4))
@pytest.mark.parametrize("factor", [0.4, 1.8])
def test_a_planted_factor_is_found(planted, factor):
    parts = np.random.default_rng(planted).uniform(1, 5, (40, 4))
    true = np.ones(4)
    true[planted] = factor
    found = factors_of(parts, parts @ true)
    assert found == pytest.approx(true, abs=0.02)


def test_the_part_that_was_made_slower_is_named(runs, catalogue):
    builder, cases = runs
    calibration = calibration_of(catalogue)
    llama = [case for case in cases if case.about.model == "llama-3.1-8b" and np.isfinite(case.measured[1])]
    data = builder.gather(llama)
    parts = step_parts(data, calibration.parameters([case.about for case in llama]))
    times = sum(parts.values()) + parts[PARTS["attention"]]  # attention takes twice as long
    from dataclasses import replace

    slower = [
        replace(case, measured=(case.measured[0], float(np.log(time)), case.measured[2]))
        for case, time in zip(llama, times, strict=True)
    ]
    (one,) = blames(builder, slower, calibration)
    assert one.operator == "attention"
    assert one.factor == pytest.approx(2.0, abs=0.1)
    assert one.rows == len(llama) == 8
    assert "most by attention, which seem to take 1.98 times" in one.sentence


def test_nothing_is_named_where_nothing_is_wrong(runs, catalogue):
    builder, cases = runs
    calibration = calibration_of(catalogue)
    timed = [case for case in cases if np.isfinite(case.measured[1])]
    data = builder.gather(timed)
    from dataclasses import replace

    predicted = data.predict(calibration.parameters([case.about for case in timed]))[:, 1]
    right = [
        replace(case, measured=(case.measured[0], float(value), case.measured[2]))
        for case, value in zip(timed, predicted, strict=True)
    ]
    for one in blames(builder, right, calibration):
        assert one.operator is None
        assert abs(one.error) < 1e-9
    assert LEAST_SHIFT < 0.05
    assert WAITING not in PARTS.values()
    assert blames(builder, [], calibration) == []
