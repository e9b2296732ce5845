"""Scores: hand-computed errors, and invariants."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from planner.measurement.comparison import Pair, error_score, verdict_score

AMOUNTS = st.floats(min_value=1e-3, max_value=1e12)


def test_errors_are_relative_to_what_was_measured() -> None:
    score = error_score([Pair(100, 101), Pair(100, 96), Pair(50, 65), Pair(10, 10)])
    # Absolute errors 1 %, 4 %, 30 %, 0 %; signed +1, -4, +30, 0 %.
    assert score.n == 4
    assert score.median_ape == pytest.approx(0.025)
    assert score.mean_ape == pytest.approx(0.0875)
    assert (score.within_1pct, score.within_2pct, score.within_5pct) == (0.5, 0.5, 0.75)
    assert (score.within_8pct, score.within_20pct) == (0.75, 0.75)
    assert score.bias == pytest.approx(0.005)
    assert score.median_abs_error == pytest.approx(2.5)


def test_the_dictionary_has_the_promised_names() -> None:
    named = error_score([Pair(1, 1)]).to_dict()
    assert {"n", "median_ape", "mean_ape", "within_20pct", "bias", "coverage_80"} <= set(named)
    assert named["coverage_80"] is None


def test_verdicts_are_counted_in_four_kinds() -> None:
    score = verdict_score([(True, True)] * 5 + [(False, False)] * 3 + [(True, False)] + [(False, True)])
    assert score.n == 10
    assert score.accuracy == pytest.approx(0.8)
    assert score.to_dict()["fits_but_refused"] == 1
    assert score.to_dict()["fails_but_accepted"] == 1


@given(st.lists(st.tuples(AMOUNTS, AMOUNTS), min_size=1, max_size=30), st.floats(1e-3, 1e3))
def test_the_unit_of_a_quantity_does_not_change_its_relative_errors(
    values: list[tuple[float, float]], unit: float
) -> None:
    one = error_score([Pair(a, b) for a, b in values])
    other = error_score([Pair(a * unit, b * unit) for a, b in values])
    assert other.median_ape == pytest.approx(one.median_ape, rel=1e-9, abs=1e-12)
    assert other.bias == pytest.approx(one.bias, rel=1e-9, abs=1e-12)
    assert other.median_abs_error == pytest.approx(one.median_abs_error * unit, rel=1e-6)
    assert one.within_1pct <= one.within_2pct <= one.within_5pct <= one.within_8pct <= one.within_20pct
