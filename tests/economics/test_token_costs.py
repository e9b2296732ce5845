"""Costs of tokens: the article's figures, nothing paid twice or not at all, arrays and estimates."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from planner.economics import (
    CACHED_WEIGHT,
    FULL_LOAD,
    Use,
    cached_weight,
    flip_price,
    planned_use,
    token_costs,
    usd_per_month,
)
from planner.economics.tokens import tokens_per_usd, usd_per_million_tokens
from planner.errors import InvalidInput
from planner.performance.intervals import Estimate

LOAD = {"isl": 1024.0, "osl": 400.0}
ASKED = {"output_tps_total": 952.0, "gpus": 8, "usd_per_gpu_hour": 2.5, "use": FULL_LOAD, **LOAD}

rates = st.floats(1.0, 1e6)
shares = st.floats(0.01, 1.0)


@pytest.mark.parametrize(
    ("rate", "gpus", "usd", "expected"), [(952, 8, 2.50, 47.6), (498, 16, 4.25, 7.3), (1568, 8, 6.00, 32.7)]
)
def test_the_three_figures_of_the_article(rate, gpus, usd, expected):
    asked = {**ASKED, "output_tps_total": float(rate), "gpus": gpus, "usd_per_gpu_hour": usd}
    costs = token_costs(**asked)
    assert costs.output_tps_per_usd_per_hour == rate / (gpus * usd)
    assert round(costs.output_tps_per_usd_per_hour, 1) == expected
    assert costs.usd_per_hour == gpus * usd


def test_the_price_at_which_b300_and_mi355x_change_places():
    flip = flip_price(output_tps=1568, gpus=8, other_output_tps=952, other_usd_per_hour=8 * 2.5)
    assert flip / 2.5 == pytest.approx(1568 / 952, rel=1e-12)
    assert round(flip / 2.5, 3) == 1.647


def test_at_full_load_they_are_those_of_predict():
    costs = token_costs(**ASKED)
    plain = {"output_tokens_per_s": 952.0, "gpus": 8, "usd_per_gpu_hour": 2.5}
    assert costs.usd_per_million_output_all == pytest.approx(usd_per_million_tokens(**plain), rel=1e-12)
    assert costs.tokens_per_usd == pytest.approx(tokens_per_usd(**plain), rel=1e-12)


@pytest.mark.parametrize("weight", [0.01, 0.5, 1.0])
def test_what_plans_and_sweeps_show_does_not_rest_on_the_assumed_weight_of_cached_input(weight):
    asked = {**ASKED, "prefix_hit": 0.5, "prefill_share": 0.25}
    one, other = token_costs(**asked), token_costs(**asked, cached_weight=weight)
    for name in ("usd_per_million_output_all", "usd_per_million_total", "tokens_per_usd", "usd_per_hour"):
        assert getattr(one, name) == getattr(other, name)
    assert one.usd_per_million_input != other.usd_per_million_input


def test_worked_by_hand():
    # 20 USD/h for 1,000 tok/s out and 2,000 in, of which half is cached; a quarter of the time is prefill.
    costs = token_costs(
        output_tps_total=1000.0,
        isl=2000,
        osl=1000,
        gpus=8,
        usd_per_gpu_hour=2.5,
        use=Use(utilisation=0.5, availability=0.8),
        prefix_hit=0.5,
        prefill_share=0.25,
        kw_per_gpu=2.0,
        cached_weight=0.25,
    )
    paid = 20 / 3600 / 0.4  # USD for each second that serves
    assert costs.usd_per_million_output_all == pytest.approx(1e6 * paid / 1000)
    assert costs.usd_per_million_total == pytest.approx(1e6 * paid / 3000)
    assert costs.usd_per_million_output == pytest.approx(1e6 * 0.75 * paid / 1000)
    assert costs.usd_per_million_input == pytest.approx(1e6 * 0.25 * paid / 1250)
    assert costs.usd_per_million_cached == pytest.approx(0.25 * costs.usd_per_million_input)
    assert costs.joules_per_output_token == pytest.approx(16.0)
    assert costs.kwh_per_million_output == pytest.approx(16e6 / 3.6e6 / 0.4)


@given(
    rate=rates,
    isl=st.floats(1, 1e6),
    osl=st.floats(1, 1e5),
    hit=st.floats(0, 0.99),
    prefill=st.floats(0, 1),
    weight=st.floats(0.01, 1),
    used=shares,
)
def test_every_dollar_is_charged_once(rate, isl, osl, hit, prefill, weight, used):
    use = Use(utilisation=used, availability=0.9)
    costs = token_costs(
        **{**ASKED, "output_tps_total": rate, "isl": isl, "osl": osl, "use": use},
        prefix_hit=hit,
        prefill_share=prefill,
        cached_weight=weight,
    )
    asked = rate * isl / osl
    served_s = 3600 * use.served
    by_kind = (
        rate * costs.usd_per_million_output
        + asked * (1 - hit) * costs.usd_per_million_input
        + asked * hit * costs.usd_per_million_cached
    )
    assert by_kind * served_s / 1e6 == pytest.approx(20.0, rel=1e-9)
    assert rate * costs.usd_per_million_output_all * served_s / 1e6 == pytest.approx(20.0, rel=1e-9)
    assert (rate + asked) * costs.usd_per_million_total * served_s / 1e6 == pytest.approx(20.0, rel=1e-9)
    assert 0 <= costs.usd_per_million_cached <= costs.usd_per_million_input


@given(less=st.floats(0.05, 0.99))
def test_cost_falls_with_use_and_rises_with_price(less):
    costs = token_costs(**ASKED)
    for use in (Use(utilisation=less, availability=1), Use(utilisation=1, availability=less)):
        idle = token_costs(**{**ASKED, "use": use})
        assert idle.usd_per_million_output_all == pytest.approx(costs.usd_per_million_output_all / less)
        assert idle.tokens_per_usd < costs.tokens_per_usd
    cheaper = token_costs(**{**ASKED, "usd_per_gpu_hour": 2.5 * less})
    assert cheaper.usd_per_million_total < costs.usd_per_million_total


def test_without_a_prefill_share_nothing_is_apportioned():
    costs = token_costs(**ASKED)
    assert costs.usd_per_million_output is None
    assert costs.usd_per_million_input is None
    assert costs.joules_per_output_token is None


def test_arrays_give_what_single_numbers_give():
    rate = np.array([952.0, 498.0, 1568.0])
    gpus, usd, share = np.array([8, 16, 8]), np.array([2.5, 4.25, 6.0]), np.array([0.1, 0.3, 0.2])
    many = token_costs(
        **{**ASKED, "output_tps_total": rate, "gpus": gpus, "usd_per_gpu_hour": usd}, prefill_share=share
    )
    for at in range(3):
        one = token_costs(
            **{
                **ASKED,
                "output_tps_total": float(rate[at]),
                "gpus": int(gpus[at]),
                "usd_per_gpu_hour": float(usd[at]),
            },
            prefill_share=float(share[at]),
        )
        assert many.usd_per_million_output[at] == pytest.approx(one.usd_per_million_output, rel=1e-12)
        assert many.usd_per_million_input[at] == pytest.approx(one.usd_per_million_input, rel=1e-12)
        assert many.tokens_per_usd[at] == pytest.approx(one.tokens_per_usd, rel=1e-12)


def test_an_estimate_keeps_its_interval_the_right_way_round():
    rate = Estimate(952.0, 800.0, 1100.0, "simulated")
    costs = token_costs(**{**ASKED, "output_tps_total": rate}, prefill_share=0.2)
    cost = costs.usd_per_million_output_all
    assert cost.low < cost.value < cost.high
    assert cost.value == token_costs(**ASKED).usd_per_million_output_all
    assert cost.high == token_costs(**{**ASKED, "output_tps_total": 800.0}).usd_per_million_output_all
    assert (costs.tokens_per_usd.low, cost.provenance) == (800.0 * 180, "simulated")
    assert costs.usd_per_hour == 20.0


@pytest.mark.parametrize(
    ("field", "bad"),
    [
        ("output_tps_total", 0.0),
        ("output_tps_total", math.nan),
        ("output_tps_total", np.array([1.0, math.nan])),
        ("output_tps_total", np.array([1.0, -1.0])),
        ("output_tps_total", "952"),
        ("gpus", 0),
        ("gpus", True),
        ("usd_per_gpu_hour", -2.5),
        ("usd_per_gpu_hour", math.inf),
        ("isl", 0),
        ("osl", -1),
        ("prefix_hit", 1.01),
        ("prefill_share", -0.1),
        ("kw_per_gpu", 0),
        ("cached_weight", 0),
    ],
)
def test_impossible_arguments_are_one_line(field, bad):
    with pytest.raises(InvalidInput, match=field) as refused:
        token_costs(**{**ASKED, field: bad})
    assert "\n" not in str(refused.value)


# -- cached input --


def test_a_cached_token_costs_the_time_of_its_traffic():
    # 35 kB a token at 4 TB/s are 8.75 ns; a prefill of 50,000 tok/s takes 20 us for one.
    weight = cached_weight(kv_bytes_per_token=35e3, bytes_per_s=4e12, prefill_s_per_token=20e-6)
    assert weight == pytest.approx(35e3 / 4e12 / 20e-6)
    slow = cached_weight(kv_bytes_per_token=35e3, bytes_per_s=1e9, prefill_s_per_token=20e-6)
    assert slow == 1.0


def test_the_assumed_weight_lies_among_what_hosted_apis_ask(catalogue):
    offers = [catalogue.load_entry("hosted", key) for key in catalogue.ids("hosted")]
    asked = [offer.cached_input / offer.input for offer in offers if offer.cached_input is not None]
    assert 0.03 < min(asked) < CACHED_WEIGHT < max(asked) < 0.19
    assert sorted(asked)[len(asked) // 2] == pytest.approx(CACHED_WEIGHT)


# -- use --


@pytest.mark.parametrize("bad", [0.0, -0.1, 1.0001, math.nan, "1", True])
def test_use_outside_what_is_possible_is_refused(bad):
    with pytest.raises(InvalidInput, match="Use utilisation"):
        Use(utilisation=bad, availability=1.0)
    with pytest.raises(InvalidInput, match="Use availability"):
        Use(utilisation=1.0, availability=bad)


def test_use_has_no_default():
    with pytest.raises(InvalidInput, match="Use utilisation"):
        Use(availability=0.99)


def test_planning_assumes_less_than_everything_and_says_so(catalogue):
    use = planned_use(catalogue)
    assert (use.utilisation, use.availability) == (0.7, 0.99)
    assert use.sentence == "70 % used and 99 % available (utilisation and availability assumed)"
    half = planned_use(catalogue, utilisation=0.5)
    assert half.sentence == "50 % used and 99 % available (availability assumed)"
    assert planned_use(catalogue, 0.5, 1.0).provenance == "given by you"
    assert "at full load" in FULL_LOAD.sentence


def test_a_month_has_730_hours():
    assert usd_per_month(gpus=8, usd_per_gpu_hour=2.5) == 14_600


def test_no_module_hides_a_public_function_of_its_name():
    """Importing a submodule sets it on the package, where it would hide a function of the same name."""
    import pkgutil

    import planner.economics

    modules = {module.name for module in pkgutil.iter_modules(planner.economics.__path__)}
    assert not modules & set(planner.economics.__all__)
