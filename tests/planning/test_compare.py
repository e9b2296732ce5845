"""The order of options: the article's figures, flip prices, and what must hold of any figures."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from planner.errors import InvalidInput
from planner.performance.intervals import Estimate
from planner.planning.compare import (
    Option,
    merit,
    pair_of,
    probability_ahead,
    rank,
    ratio_of,
)
from planner.planning.compare_kinds import rank_by_kind


def within(value: float, share: float = 0.12) -> Estimate:
    return Estimate(value, value / (1 + share), value * (1 + share), "measured")


def article() -> list[Option]:
    return [
        Option("mi355x", within(952 / 8), 2.50, True),
        Option("b200-sxm", within(498 / 16), 4.25, True),
        Option("b300-sxm", within(1568 / 8), 6.00, True),
    ]


figures = st.builds(
    lambda value, low, high: Estimate(value, value / (1 + low), value * (1 + high), "made"),
    st.floats(1e-2, 1e5),
    st.floats(0, 2),
    st.floats(0, 2),
)
prices = st.floats(0.01, 1000)


@st.composite
def priced_options(draw):
    many = draw(st.integers(2, 5))
    return [Option(f"gpu{i}", draw(figures), draw(prices)) for i in range(many)]


def test_the_articles_ranking_and_its_figures():
    found = rank(article())
    assert found.names == ("mi355x", "b300-sxm", "b200-sxm")
    assert found.ranks == {"mi355x": 1, "b300-sxm": 2, "b200-sxm": 3}
    shown = [round(merit(option).value, 1) for option in found.options]
    assert shown == [47.6, 32.7, 7.3]


def test_the_price_at_which_b300_and_mi355x_swap_is_the_ratio_of_their_rates():
    pair = pair_of(article()[0], article()[2])
    assert (pair.ahead, pair.behind) == ("mi355x", "b300-sxm")
    assert pair.flip_price_ratio.value == pytest.approx(952 / 1568, rel=1e-12)
    assert 1 / pair.flip_price_ratio.value == pytest.approx(1.647, abs=5e-4)
    assert pair.flip_usd_per_gpu_hour.value == pytest.approx(6.00 * 952 / 1568, rel=1e-12)


def test_without_prices_the_rate_per_gpu_decides_and_the_flip_stays():
    found = rank([replace(option, usd_per_gpu_hour=None) for option in article()])
    assert not found.priced
    assert found.names == ("b300-sxm", "mi355x", "b200-sxm")
    first = found.pairs[0]
    assert first.flip_price_ratio.value == pytest.approx(1568 / 952, rel=1e-12)
    assert first.flip_usd_per_gpu_hour is None


def test_the_interval_of_a_ratio_adds_the_squares_of_both_widths():
    found = ratio_of(within(200), within(100))
    width = math.sqrt(2) * math.log(1.12)
    assert found.low == pytest.approx(2 * math.exp(-width))
    assert found.high == pytest.approx(2 * math.exp(width))


def test_errors_that_are_shared_cancel():
    alone, shared = (ratio_of(within(200), within(100), share) for share in (0.0, 0.5))
    assert shared.high < alone.high
    assert shared.low > alone.low


def test_options_within_the_uncertainty_share_a_rank():
    near = [Option("a", within(100), 1.0), Option("b", within(104), 1.0), Option("c", within(50), 1.0)]
    found = rank(near)
    assert found.names == ("b", "a", "c")
    assert found.ranks == {"b": 1, "a": 1, "c": 3}
    assert found.winners == ("b", "a")
    assert not found.pairs[0].sure
    assert found.pairs[0].probability == pytest.approx(0.624, abs=5e-3)


@given(figures, figures)
def test_probabilities_of_both_orders_add_up_to_one(one, other):
    ahead, behind = probability_ahead(one, other), probability_ahead(other, one)
    assert 0 <= ahead <= 1
    assert ahead + behind == pytest.approx(1, abs=1e-12)
    assert (ahead >= 0.5) == (one.value >= other.value)


@given(figures, figures)
def test_an_order_is_sure_where_the_interval_of_the_ratio_leaves_one_out(one, other):
    ratio, ahead = ratio_of(one, other), probability_ahead(one, other)
    if abs(ratio.low - 1) > 1e-9 and abs(ahead - 0.9) > 1e-9:
        assert (ahead > 0.9) == (ratio.low > 1)


@given(figures, figures)
def test_swapping_two_figures_inverts_their_ratio(one, other):
    there, back = ratio_of(one, other), ratio_of(other, one)
    assert there.value * back.value == pytest.approx(1)
    assert there.low * back.high == pytest.approx(1)


@given(priced_options(), st.integers(0, 4), st.floats(1, 50))
def test_raising_a_price_never_improves_a_rank(options, which, by):
    raised = options[which % len(options)]
    before = rank(options)
    dearer = replace(raised, usd_per_gpu_hour=raised.usd_per_gpu_hour * by)
    after = rank([dearer if option is raised else option for option in options])
    assert after.ranks[raised.name] >= before.ranks[raised.name]
    assert after.names.index(raised.name) >= before.names.index(raised.name)


@given(priced_options())
def test_ranks_follow_the_order_of_what_is_surely_ahead(options):
    found = rank(options)
    assert min(found.ranks.values()) == 1
    for pair in found.pairs:
        if pair.sure:
            assert found.ranks[pair.ahead] < len(options) + 1
            assert found.ranks[pair.behind] > 1


@given(priced_options())
def test_at_the_flip_price_two_options_cost_the_same(options):
    one, other = options[:2]
    pair = pair_of(one, other)
    first = one if pair.ahead == one.name else other
    second = other if first is one else one
    at_flip = replace(first, usd_per_gpu_hour=pair.flip_usd_per_gpu_hour.value)
    assert merit(at_flip).value == pytest.approx(merit(second).value, rel=1e-9)


def test_the_kind_of_price_alone_flips_the_winner(catalogue):
    options = [option for option in article() if option.name != "b200-sxm"]
    quotes = {option.name: catalogue.prices(option.name) for option in options}
    found, lacking = rank_by_kind(options, quotes)
    winners = {each.kind: each.median.names[0] for each in found}
    assert winners["TCO-hyperscaler"] == "b300-sxm"
    assert winners["assumption"] == "mi355x"
    assert lacking["on-demand"] == ("mi355x",)
    for each in found:
        for name, price in each.prices.items():
            assert each.low[name] <= price.usd_per_gpu_hour <= each.high[name]


def test_a_winner_that_loses_at_some_quotes_is_said_not_to_hold(catalogue):
    options = [option for option in article() if option.name != "mi355x"]
    even = [replace(options[0], output_tps_per_gpu=within(196 / 1.15)), options[1]]
    found, _ = rank_by_kind(even, {option.name: catalogue.prices(option.name) for option in even})
    spread = next(each for each in found if each.kind == "on-demand")
    assert not spread.holds


@pytest.mark.parametrize("price", [0.0, -1.0, math.inf])
def test_a_price_that_cannot_be_is_refused(price):
    with pytest.raises(InvalidInput, match="not above 0"):
        Option("a", within(1), price)


def test_a_rate_that_cannot_be_is_refused():
    with pytest.raises(InvalidInput, match="no rate"):
        Option("a", Estimate(0.0, 0.0, 0.0, "made"))
