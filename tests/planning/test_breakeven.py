"""Where the cheaper option changes: closed forms, Brent's method, and what must hold of either."""

from __future__ import annotations

import math

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from planner.errors import InvalidInput
from planner.performance.intervals import Estimate
from planner.planning.breakeven import (
    PaidFor,
    crossings,
    price_flip,
    utilisation_flip,
)
from planner.planning.breakeven_volume import monthly_usd, volume_flip
from planner.planning.sensitivity import Swing, by_swing

NAMES = ("a", "b")
amounts = st.floats(1e-3, 1e4)


def test_the_price_ratio_of_b300_and_mi355x_is_exact():
    # Costs at 6.00 and 2.50 USD/h with 1,568 and 952 tok/s on 8 GPUs each.
    ratio = (6.00 / 1568) / (2.50 / 952)
    found = price_flip(("b300", "mi355x"), Estimate(ratio, ratio, ratio, "made"), 6.00 / 2.50)
    assert found.flip.at == pytest.approx(1568 / 952, rel=1e-12)
    assert (found.flip.below, found.flip.above) == ("b300", "mi355x")


def test_the_interval_of_a_flip_price_is_that_of_the_cost_ratio():
    found = price_flip(NAMES, Estimate(0.5, 0.4, 0.8, "made"), 2.0)
    assert (found.flip.at, found.flip.low, found.flip.high) == (4.0, 2.5, 5.0)


def test_owning_meets_renting_by_the_hour_at_the_ratio_of_their_prices():
    found = utilisation_flip(PaidFor("own", 2.1), PaidFor("rent", 0.0, 3.0))
    assert found.flip.at == pytest.approx(0.7, rel=1e-12)
    assert (found.flip.below, found.flip.above) == ("rent", "own")


@pytest.mark.parametrize(
    ("first", "second", "why"),
    [
        (PaidFor("own", 2.0), PaidFor("reserved", 3.0), "whether used or not"),
        (PaidFor("rent", 0.0, 2.0), PaidFor("api", 0.0, 3.0), "what is used alone"),
        (PaidFor("own", 4.0), PaidFor("api", 0.0, 3.0), "api is cheaper at every utilisation"),
    ],
)
def test_options_that_never_meet_say_why(first, second, why):
    found = utilisation_flip(first, second)
    assert found.flip is None
    assert why in found.reason


@given(amounts, amounts, amounts, amounts)
def test_at_the_flip_both_cost_the_same(f1, v1, f2, v2):
    first, second = PaidFor("a", f1, v1), PaidFor("b", f2, v2)
    flip = utilisation_flip(first, second).flip
    assume(flip is not None)
    # Close slopes cancel digits; the solution is then known to fewer of them.
    assume(abs(v1 - v2) > 1e-3 * max(v1, v2) and abs(f1 - f2) > 1e-3 * max(f1, f2))
    costs = [option.fixed_usd / flip.at + option.variable_usd for option in (first, second)]
    assert costs[0] == pytest.approx(costs[1], rel=1e-9)
    assert utilisation_flip(second, first).flip.at == pytest.approx(flip.at, rel=1e-9)


def test_the_interval_of_a_flip_utilisation_is_solved_at_both_ends():
    ratio = Estimate(0.7, 0.7 / 1.2, 0.7 * 1.2, "made")
    flip = utilisation_flip(PaidFor("own", 2.1), PaidFor("rent", 0.0, 3.0), ratio).flip
    assert flip.low == pytest.approx(0.7 / 1.2)
    assert flip.high == pytest.approx(0.7 * 1.2)
    wide = Estimate(0.7, 0.35, 1.4, "made")
    assert utilisation_flip(PaidFor("own", 2.1), PaidFor("rent", 0.0, 3.0), wide).flip.high is None


def test_a_crossing_is_solved_to_the_last_digits_and_says_its_bracket():
    found = crossings(NAMES, lambda xs: [math.log(x / 777.7) for x in xs], (1, 1e5), (0.1, 0.2))
    assert len(found.flips) == 1
    flip = found.flip
    assert flip.at == pytest.approx(777.7, rel=1e-10)
    assert flip.low == pytest.approx(777.7 * math.exp(-0.2), rel=1e-9)
    assert flip.high == pytest.approx(777.7 * math.exp(0.1), rel=1e-9)
    assert (flip.below, flip.above) == NAMES
    assert "Brent" in flip.how


def test_every_crossing_is_found_and_open_ends_stay_open():
    found = crossings(NAMES, lambda xs: [math.sin(math.log(x)) for x in xs], (1.5, 1e4), (2, 2))
    assert [flip.at for flip in found.flips] == pytest.approx([math.exp(math.pi), math.exp(2 * math.pi)])
    assert [flip.below for flip in found.flips] == ["b", "a"]
    assert all(flip.low is None and flip.high is None for flip in found.flips)


def test_no_crossing_says_what_is_cheaper_and_both_ends():
    found = crossings(NAMES, lambda xs: [-1.0 / x for x in xs], (1, 100))
    assert found.flip is None
    assert "a is cheaper from 1 to 100" in found.reason
    assert found.ratios == pytest.approx((math.exp(-1), math.exp(-0.01)))


@given(st.floats(2, 9e3), st.floats(0.2, 3))
def test_swapping_options_leaves_the_point_and_swaps_the_sides(at, slope):
    there = crossings(NAMES, lambda xs: [slope * math.log(x / at) for x in xs], (1, 1e4), (0.1, 0.3))
    back = crossings(("b", "a"), lambda xs: [-slope * math.log(x / at) for x in xs], (1, 1e4), (0.3, 0.1))
    assert there.flip.at == pytest.approx(back.flip.at, rel=1e-9)
    assert (there.flip.below, there.flip.above) == (back.flip.below, back.flip.above)
    assert there.flip.low == (None if back.flip.low is None else pytest.approx(back.flip.low, rel=1e-9))


def test_a_volume_is_fixed_costs_over_the_price_of_a_token():
    own, api = PaidFor("own", 20_000.0), PaidFor("api", 0.0, 10.0)
    found = volume_flip(own, api, (3e9, math.inf))
    assert found.flip.at == pytest.approx(2e9, rel=1e-12)
    assert (found.flip.below, found.flip.above) == ("api", "own")
    at = found.flip.at
    assert monthly_usd(own, 3e9, at) == pytest.approx(monthly_usd(api, math.inf, at), rel=1e-9)


def test_a_hosted_service_that_is_cheaper_than_a_full_deployment_always_is():
    found = volume_flip(PaidFor("own", 20_000.0), PaidFor("api", 0.0, 5.0), (3e9, math.inf))
    assert found.flip is None
    assert found.reason == "api is cheaper at every volume"


def test_after_a_step_the_second_deployment_may_flip_the_answer_back():
    found = volume_flip(PaidFor("own", 20_000.0), PaidFor("api", 0.0, 10.0), (2.5e9, math.inf))
    points = [flip.at for flip in found.flips]
    assert points[:3] == pytest.approx([2.0e9, 2.5e9, 4.0e9])
    assert [flip.above for flip in found.flips[:3]] == ["own", "api", "own"]


def test_two_deployments_flip_at_steps_only():
    found = volume_flip(PaidFor("small", 10.0), PaidFor("large", 15.0), (1e9, 2e9))
    assert found.flips[0].at == pytest.approx(1e9)
    assert "further deployment" in found.flips[0].how


def test_a_range_that_is_none_is_refused():
    with pytest.raises(InvalidInput, match="no range"):
        crossings(NAMES, lambda xs: list(xs), (10, 10))


def test_bars_are_sorted_by_how_far_they_move_the_ratio():
    small, large = Swing("x", "1", "2", 0.9, 1.05, ""), Swing("y", "1", "2", 0.5, 0.95, "")
    assert by_swing([small, large]) == (large, small)
    assert small.flips(0.95)
    assert not large.flips(0.95)
    assert large.swing == pytest.approx(1.9)


def test_options_that_are_level_have_no_flip_in_either_order():
    """Eight GPUs and twice eight cost the same for each token, but for rounding, wherever they are full."""

    def logs(values):
        noise = [1e-16 if step % 2 else -1e-16 for step in range(len(values))]
        return [one if value < 100 else -0.2 for value, one in zip(values, noise, strict=True)]

    both = [
        crossings(names, lambda values, sign=sign: [sign * one for one in logs(values)], (1.0, 1e4))
        for names, sign in ((NAMES, 1), (NAMES[::-1], -1))
    ]
    assert [found.flips for found in both] == [(), ()]
    assert both[0].reason == both[1].reason == "a is cheaper, or both cost the same, from 1 to 10,000"
    level = crossings(NAMES, lambda values: [0.0 for _ in values], (1.0, 10.0))
    assert level.reason == "both cost the same from 1 to 10"


def test_a_flip_over_a_stretch_of_level_costs_is_found_once():
    found = crossings(
        NAMES, lambda values: [min(0.0, v - 10) + max(0.0, v - 50) for v in values], (1.0, 100.0)
    )
    assert len(found.flips) == 1
    assert 10 <= found.flip.at <= 50
    assert (found.flip.below, found.flip.above) == NAMES


@given(amounts, amounts, amounts, st.booleans())
def test_the_order_of_the_options_changes_nothing_of_a_volume(usd, one, other, same_price):
    first, second = PaidFor("a", usd), PaidFor("b", usd if same_price else 1.7 * usd)
    found = volume_flip(first, second, (one, other))
    turned = volume_flip(second, first, (other, one))
    points = [[(flip.at, flip.below, flip.above) for flip in each.flips] for each in (found, turned)]
    assert points[0] == points[1]
    assert found.reason == turned.reason


def test_deployments_at_one_price_of_which_one_carries_more_never_flip():
    found = volume_flip(PaidFor("small", 100.0), PaidFor("large", 100.0), (5e8, 6e8))
    assert found.flips == ()
    assert found.reason == "large is cheaper at every volume, or both cost the same"
