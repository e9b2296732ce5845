"""Accelerators for a traffic of media, and prices at which two of them cost the same."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from planner.errors import InvalidInput
from planner.planning.media import MediaDemand, media_flip, media_plan

ASKED = {"request_rate": 10.0, "peak_factor": 1.5, "peak_utilisation": 0.75, "spare": 1}


def planned(**more):
    return media_plan(MediaDemand(**{**ASKED, **more}), seconds=2.0, node_gpus=8)


def test_a_plan_in_closed_form():
    plan = planned()
    assert plan.serving == math.ceil(10 * 1.5 * 2 / 0.75) == 40
    assert (plan.nodes, plan.gpus, plan.spare) == (6, 48, 8)
    assert plan.busy == pytest.approx(10 * 2 / 48)
    assert plan.usd_per_unit(3.6) == pytest.approx(48 * 3.6 / 3600 / 10)
    one_by_one = planned(part_nodes=True)
    assert (one_by_one.gpus, one_by_one.spare) == (41, 1)


@given(rate=st.floats(0.001, 1000), more=st.floats(1, 10))
def test_more_traffic_never_needs_fewer(rate, more):
    few, many = (planned(request_rate=one) for one in (rate, rate * more))
    assert few.gpus <= many.gpus
    assert few.busy <= few.utilisation


@pytest.mark.parametrize(
    "wrong",
    [
        {"request_rate": 0.0},
        {"request_rate": math.inf},
        {"request_rate": "many"},
        {"peak_factor": 0.5},
        {"peak_utilisation": 1.1},
        {"spare": -1},
        {"slo_e2e_s": math.nan},
    ],
)
def test_a_traffic_that_cannot_be_is_refused(wrong):
    with pytest.raises(InvalidInput, match=next(iter(wrong))):
        planned(**wrong)


def test_the_hours_of_a_month():
    assert planned(request_rate=10_000 / (730 * 3600)).gpu_hours_per_month == pytest.approx(10_000 * 2 / 3600)


@given(first=st.floats(0.1, 1000), second=st.floats(0.1, 1000), usd=st.floats(0.1, 100))
def test_at_the_flip_both_cost_the_same(first, second, usd):
    flip = media_flip((first, first / 1.2, first * 1.2), (second, second / 1.1, second * 1.1), usd, usd)
    assert flip.low < flip.ratio < flip.high
    assert flip.first_usd * first == pytest.approx(usd * second)
    assert flip.second_usd * second == pytest.approx(usd * first)


def test_without_prices_there_is_only_a_ratio():
    flip = media_flip((2, 2, 2), (3, 3, 3), None, None)
    assert (flip.ratio, flip.low, flip.high) == (1.5, 1.5, 1.5)
    assert flip.first_usd is flip.second_usd is None
