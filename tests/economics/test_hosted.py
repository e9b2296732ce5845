"""Hosted prices, months and the closed forms of break-even."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import brentq

from planner.economics import (
    FULL_LOAD,
    HostedPrice,
    Use,
    check_kinds,
    flip_price,
    flip_utilisation,
    flip_volume,
    hosted_price,
    monthly_cost,
    output_tokens_per_month,
    token_costs,
    usd_per_month,
)
from planner.errors import InvalidInput, UnknownName, Unsupported

K3 = HostedPrice(usd_per_million_input=3, usd_per_million_output=15, usd_per_million_cached=0.3)
LOAD = {"isl": 1024.0, "osl": 400.0}


def test_a_request_worked_by_hand():
    assert K3.usd_per_request(isl=1000, osl=100) == pytest.approx((3000 + 1500) / 1e6)
    assert K3.usd_per_request(isl=1000, osl=100, prefix_hit=0.5) == pytest.approx((1500 + 150 + 1500) / 1e6)
    assert K3.usd_per_million_output_all(isl=1000, osl=100) == pytest.approx(45)


def test_without_a_price_of_its_own_cached_input_costs_as_any():
    plain = HostedPrice(usd_per_million_input=3, usd_per_million_output=15)
    assert plain.usd_per_request(isl=1000, osl=100, prefix_hit=0.9) == plain.usd_per_request(
        isl=1000, osl=100
    )


def test_published_prices_carry_provider_source_and_date(catalogue):
    price = hosted_price("kimi-k3", catalogue)
    assert (price.usd_per_million_input, price.usd_per_million_output, price.cached) == (3, 15, 0.3)
    assert price.kind == "api"
    assert price.provenance.startswith("Moonshot, published: platform.kimi.ai")
    assert price.provenance.endswith("(2026-07-18)")
    assert hosted_price("kimi-k3", catalogue, "novita-kimi-k3").provenance.startswith("Novita")


def test_a_model_without_an_offer_asks_for_one(catalogue):
    with pytest.raises(Unsupported, match=r"llama-3.1-8b: no hosted price is known; state one: --api-price"):
        hosted_price("llama-3.1-8b", catalogue)
    with pytest.raises(UnknownName, match="nearest: novita-kimi-k3"):
        hosted_price("kimi-k3", catalogue, "novita")


@pytest.mark.parametrize("bad", [-1.0, math.nan, math.inf, "3"])
def test_impossible_hosted_prices_are_one_line(bad):
    with pytest.raises(InvalidInput, match=r"HostedPrice usd_per_million_input: .* is not possible"):
        HostedPrice(usd_per_million_input=bad, usd_per_million_output=15)


def test_nothing_is_free():
    with pytest.raises(InvalidInput, match="nothing is free"):
        HostedPrice(usd_per_million_input=0, usd_per_million_output=0)


# -- kinds --


def test_kinds_are_mixed_only_when_asked_for_and_then_warned_of():
    kinds = {"mi355x": "own", "b200": "on-demand", "b300": "own"}
    with pytest.raises(InvalidInput, match=r"\(own: mi355x, b300; on-demand: b200\); .* --mixed-kinds"):
        check_kinds(kinds)
    assert "own: mi355x, b300; on-demand: b200" in check_kinds(kinds, mixed_kinds=True)
    assert check_kinds({"mi355x": "own", "b300": "own"}) is None
    with pytest.raises(InvalidInput, match="do not compare"):
        check_kinds({"mi355x": "own", "kimi-k3": K3.kind})


# -- months --

MONTH = {"output_tps_total": 1000.0, "gpus": 8, "usd_per_gpu_hour": 2.5}


def test_a_volume_takes_whole_deployments():
    use = Use(utilisation=0.5, availability=0.8)
    one = output_tokens_per_month(output_tps_total=1000.0, use=use)
    assert one == pytest.approx(730 * 3600 * 1000 * 0.4)
    exact = monthly_cost(output_tokens=2 * one, use=use, **MONTH)
    assert (exact.copies, exact.gpus, exact.usd_per_month) == (2, 16, 29_200)
    assert exact.utilisation == pytest.approx(0.5)
    more = monthly_cost(output_tokens=2.01 * one, use=use, **MONTH)
    assert more.copies == 3
    assert more.usd_per_million_output == pytest.approx(1e6 * 43_800 / (2.01 * one))


@given(volume=st.floats(1e6, 1e12), used=st.floats(0.05, 1))
def test_a_volume_costs_at_least_what_its_tokens_do(volume, used):
    use = Use(utilisation=used, availability=0.95)
    month = monthly_cost(output_tokens=volume, use=use, **MONTH)
    costs = token_costs(use=use, **MONTH, **LOAD)
    assert month.usd_per_million_output >= costs.usd_per_million_output_all * (1 - 1e-9)
    assert month.utilisation <= use.utilisation * (1 + 1e-9)


@pytest.mark.parametrize("bad", [0.0, -5.0, math.nan])
def test_a_volume_of_nothing_is_refused(bad):
    with pytest.raises(InvalidInput, match="output_tokens must be a finite number above 0 tokens a month"):
        monthly_cost(output_tokens=bad, use=FULL_LOAD, **MONTH)


# -- break-even --


@given(rent=st.floats(0.5, 20), own=st.floats(0.1, 20))
def test_the_utilisation_at_which_owning_and_renting_cost_the_same(rent, own):
    found = flip_utilisation(rent_usd_per_gpu_hour=rent, own_usd_per_gpu_hour=own)
    if own >= rent:
        assert found is None
        return
    # An owned hour is paid whether used or not, a rented one while it is used.
    assert found == pytest.approx(brentq(lambda u: own - rent * u, 0, 1, xtol=1e-14), rel=1e-9)


@given(
    rate=st.floats(10, 1e5),
    other=st.floats(10, 1e5),
    gpus=st.integers(1, 64),
    per_hour=st.floats(1, 500),
)
def test_at_the_flip_price_both_cost_the_same(rate, other, gpus, per_hour):
    price = flip_price(output_tps=rate, gpus=gpus, other_output_tps=other, other_usd_per_hour=per_hour)
    here = token_costs(output_tps_total=rate, gpus=gpus, usd_per_gpu_hour=price, use=FULL_LOAD, **LOAD)
    there = token_costs(output_tps_total=other, gpus=1, usd_per_gpu_hour=per_hour, use=FULL_LOAD, **LOAD)
    assert here.usd_per_million_output_all == pytest.approx(there.usd_per_million_output_all, rel=1e-9)


@given(hit=st.floats(0, 0.95), scale=st.floats(0.2, 5))
def test_the_volume_at_which_an_api_costs_a_deployment(hit, scale):
    hosted = HostedPrice(usd_per_million_input=0.5 * scale, usd_per_million_output=2 * scale)
    asked = {"isl": 1024.0, "osl": 400.0, "prefix_hit": hit}
    use = Use(utilisation=0.7, availability=0.99)
    volume = flip_volume(hosted=hosted, use=use, **asked, **MONTH)
    carried = output_tokens_per_month(output_tps_total=1000.0, use=use)
    month = usd_per_month(gpus=8, usd_per_gpu_hour=2.5)
    per_token = hosted.usd_per_request(**asked) / 400
    if volume is None:
        assert per_token * carried < month
        return
    assert volume <= carried
    assert per_token * volume == pytest.approx(month, rel=1e-9)
    one = monthly_cost(output_tokens=volume, use=use, **MONTH)
    assert one.usd_per_month == pytest.approx(per_token * volume, rel=1e-9)


def test_an_api_that_is_cheaper_than_a_full_deployment_never_loses():
    cheap = HostedPrice(usd_per_million_input=0.01, usd_per_million_output=0.1)
    assert flip_volume(hosted=cheap, use=FULL_LOAD, **LOAD, **MONTH) is None


@pytest.mark.parametrize("bad", [0.0, -1.0, math.nan])
def test_impossible_prices_have_no_break_even(bad):
    with pytest.raises(InvalidInput, match="rent_usd_per_gpu_hour"):
        flip_utilisation(rent_usd_per_gpu_hour=bad, own_usd_per_gpu_hour=1.0)
    with pytest.raises(InvalidInput, match="usd_per_gpu_hour"):
        flip_volume(hosted=K3, use=FULL_LOAD, **LOAD, **{**MONTH, "usd_per_gpu_hour": bad})
