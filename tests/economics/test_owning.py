"""Owning: the annuity against numpy-financial, the published table, and what moves the cost which way."""

from __future__ import annotations

import math

import numpy_financial
import pytest
from hypothesis import given
from hypothesis import strategies as st

from planner.catalogue import load_catalogue
from planner.economics import (
    OwningTerms,
    book_view,
    capital_recovery_factor,
    own_price,
    owned_terms,
    owning_price,
    resale_value,
)
from planner.economics.owned import all_in_power
from planner.errors import InvalidInput, Unsupported

# USD per GPU-hour and kW per GPU of the InferenceX table of 2026-09 (own, at hyperscaler volume).
PUBLISHED = {
    "h100-sxm": (1.17, 1.37),
    "h200-sxm": (1.22, 1.37),
    "b200-sxm": (1.73, 1.71),
    "b300-sxm": (2.26, 1.90),
    "gb200-nvl72": (1.86, 1.87),
    "gb300-nvl72": (2.31, 2.12),
    "mi300x": (0.95, 1.39),
    "mi325x": (1.10, 1.69),
    "mi355x": (1.50, 2.09),
    "vr200-nvl72": (3.61, 3.3),
    "rtx-pro-6000": (0.68, 0.975),
    "tpu-v7": (1.21, 1.207),
}

ROUNDING_USD_PER_HOUR = 0.02
"""A capex rounded to 1,000 USD is wrong by 500 x 0.3155 / 8760 = 0.018 USD/h at most, a price by 0.005."""

TERMS = {
    "capex_usd_per_gpu": 31_000.0,
    "cost_of_capital": 0.1,
    "life_years": 4.0,
    "kw_per_gpu": 2.09,
    "colocation_usd_per_kw_month": 130.0,
    "power_in_colocation": True,
}


def usd(**changes):
    return owning_price(OwningTerms(**{**TERMS, **changes})).usd_per_gpu_hour


# -- the annuity --


def test_capital_recovery_at_ten_percent_over_four_years():
    assert capital_recovery_factor(0.1, 4) == pytest.approx(0.1 / (1 - 1.1**-4), abs=1e-12)
    assert round(capital_recovery_factor(0.1, 4), 4) == 0.3155


@given(rate=st.floats(1e-4, 0.9), years=st.integers(1, 30))
def test_the_annuity_is_that_of_numpy_financial(rate, years):
    assert capital_recovery_factor(rate, years) == pytest.approx(
        -numpy_financial.pmt(rate, years, 1.0), rel=1e-9, abs=1e-9
    )


@given(rate=st.floats(0, 1e-9), years=st.integers(1, 30))
def test_without_interest_it_is_paid_in_equal_parts(rate, years):
    # 1/n + r (n + 1) / (2 n) to first order; the closed form itself loses all digits here.
    expected = 1 / years + rate * (years + 1) / (2 * years)
    assert capital_recovery_factor(rate, years) == pytest.approx(expected, abs=1e-12)


@given(rate=st.floats(0.001, 0.5), years=st.integers(1, 15), share=st.floats(0, 0.9))
def test_the_payments_repay_what_was_bought_less_the_resale(rate, years, share):
    terms = OwningTerms(**{**TERMS, "cost_of_capital": rate, "life_years": years, "residual_share": share})
    yearly = (terms.capex_usd_per_gpu - resale_value(terms)) * capital_recovery_factor(rate, years)
    flows = [-terms.capex_usd_per_gpu, *[yearly] * years]
    flows[-1] += share * terms.capex_usd_per_gpu
    # The payments and the resale are worth what was paid at the start.
    assert numpy_financial.npv(rate, flows) == pytest.approx(0, abs=1e-6)


# -- the published table --


@pytest.mark.parametrize("gpu", PUBLISHED)
def test_the_published_cost_of_owning_comes_out_of_its_inputs(catalogue, gpu):
    published, kw = PUBLISHED[gpu]
    card = catalogue.gpu(gpu)
    found = owned_terms(card, catalogue)
    assert found.terms.kw_per_gpu == pytest.approx(kw)
    assert (found.terms.cost_of_capital, found.terms.life_years) == (pytest.approx(0.1), 4)
    assert found.terms.colocation_usd_per_kw_month == 130
    assert found.terms.power_in_colocation
    assert found.price.usd_per_gpu_hour == pytest.approx(published, abs=ROUNDING_USD_PER_HOUR)
    assert card.inferencex.own.value == published


def test_every_gpu_with_a_capex_and_a_power_has_a_price(catalogue):
    for gpu in catalogue.ids("owning"):
        assert own_price(catalogue.gpu(gpu), catalogue).kind == "own"
    with_tco = {gpu.id for gpu in catalogue.gpus() if gpu.inferencex}
    assert with_tco == set(PUBLISHED) == set(catalogue.ids("owning"))


def test_every_capex_says_that_it_was_inferred_and_why_b300_is_the_exception(catalogue):
    for gpu in catalogue.ids("owning"):
        assert catalogue.load_entry("owning", gpu).capex.confidence == "inferred"
    assert "the exception" in catalogue.load_entry("owning", "b300-sxm").capex.note


@pytest.mark.parametrize("gpu", PUBLISHED)
def test_power_on_top_lowers_the_capex_that_the_table_implies_by_a_tenth_to_a_fifth(catalogue, gpu):
    published, kw = PUBLISHED[gpu]
    factor = capital_recovery_factor(0.1, 4)
    inside = (published * 8760 - kw * 130 * 12) / factor
    on_top = inside - kw * 1.25 * 8760 * 0.08 / factor
    assert 0.08 < 1 - on_top / inside < 0.215


# -- the parts --


def test_worked_by_hand():
    price = owning_price(OwningTerms(**TERMS))
    hardware, colocation = price.parts
    assert (hardware.name, colocation.name) == ("hardware", "colocation")
    assert hardware.usd_per_gpu_hour == pytest.approx(31_000 * 0.1 / (1 - 1.1**-4) / 8760, rel=1e-12)
    assert colocation.usd_per_gpu_hour == pytest.approx(2.09 * 130 * 12 / 8760, rel=1e-12)
    assert price.usd_per_gpu_hour == pytest.approx(1.4886, abs=5e-5)


def test_every_part_is_counted_once():
    terms = OwningTerms(
        **{**TERMS, "power_in_colocation": False, "electricity_usd_per_kwh": 0.08, "pue": 1.25},
        residual_share=0.2,
        network_usd_per_gpu=4_000,
        spare_share=0.03,
        staff_usd_per_gpu_year=876,
    )
    price = owning_price(terms)
    by_name = {part.name: part.usd_per_gpu_hour for part in price.parts}
    factor = capital_recovery_factor(0.1, 4) / 8760
    assert by_name == pytest.approx(
        {
            "hardware": 31_000 * factor,
            "network": 4_000 * factor,
            "spares": 0.03 * 35_000 * factor,
            "resale": -0.2 * 31_000 / 1.1**4 * factor,
            "colocation": 2.09 * 130 / 730,
            "electricity": 2.09 * 1.25 * 0.08,
            "staff": 0.1,
        }
    )
    assert price.usd_per_gpu_hour == pytest.approx(math.fsum(by_name.values()), rel=1e-12)


def test_power_within_the_colocation_price_is_not_paid_again():
    assert usd(electricity_usd_per_kwh=0.5, pue=2.0) == usd()


@given(
    capex=st.floats(1e3, 1e5),
    rate=st.floats(0, 0.3),
    years=st.floats(1, 10),
    share=st.floats(0, 0.5),
    spares=st.floats(0, 0.2),
)
def test_the_accounts_view_splits_the_same_hardware(capex, rate, years, share, spares):
    terms = OwningTerms(
        **{**TERMS, "capex_usd_per_gpu": capex, "cost_of_capital": rate, "life_years": years},
        residual_share=share,
        spare_share=spares,
    )
    book = book_view(terms)
    hardware = sum(p.usd_per_gpu_hour for p in owning_price(terms).parts if p.name != "colocation")
    together = book.depreciation_usd_per_gpu_hour + book.financing_usd_per_gpu_hour
    assert together == pytest.approx(hardware, rel=1e-9)
    assert book.financing_usd_per_gpu_hour >= -1e-12
    assert book.book_value_usd[0] == pytest.approx(capex * (1 + spares))


def test_book_value_falls_in_a_straight_line_to_the_resale():
    book = book_view(OwningTerms(**TERMS, residual_share=0.2))
    assert book.book_value_usd == pytest.approx((31_000, 24_800, 18_600, 12_400, 6_200))


@given(more=st.floats(1.01, 3))
@pytest.mark.parametrize(
    ("field", "sign"),
    [
        ("capex_usd_per_gpu", 1),
        ("cost_of_capital", 1),
        ("kw_per_gpu", 1),
        ("colocation_usd_per_kw_month", 1),
        ("life_years", -1),
    ],
)
def test_which_way_each_term_moves_the_cost(field, sign, more):
    assert sign * (usd(**{field: TERMS[field] * more}) - usd()) > 0


@given(share=st.floats(0.01, 0.9))
def test_resale_lowers_and_spares_raise_the_cost(share):
    assert usd(residual_share=share) < usd() < usd(spare_share=share)


# -- what is given and what is not --


def test_what_is_given_goes_before_the_catalogue_and_says_so(catalogue):
    card = catalogue.gpu("mi355x")
    given_by_you = {"capex_usd_per_gpu": {"mi355x": 25_000, "b300": 1}, "life_years": 5}
    found = owned_terms(card, catalogue, given_by_you)
    assert (found.terms.capex_usd_per_gpu, found.terms.life_years) == (25_000, 5)
    assert found.provenance["capex_usd_per_gpu"] == "given by you"
    assert found.provenance["kw_per_gpu"] == "published, 2026-09"
    assert "25,000 USD (given by you)" in found.price.provenance


def test_electricity_on_top_needs_a_colocation_price_without_power(catalogue):
    card = catalogue.gpu("mi355x")
    with pytest.raises(InvalidInput, match="130 USD per kW-month of the catalogue includes power"):
        owned_terms(card, catalogue, {"electricity_usd_per_kwh": 0.08})
    stated = {"electricity_usd_per_kwh": 0.08, "colocation_usd_per_kw_month": 90}
    found = owned_terms(card, catalogue, stated)
    assert not found.terms.power_in_colocation
    assert found.terms.pue == 1.25
    with pytest.raises(InvalidInput, match="nothing is billed on top"):
        owned_terms(card, catalogue, {**stated, "power_in_colocation": True})


def test_the_power_of_a_chip_alone_is_never_taken(catalogue):
    card = catalogue.gpu("a100")
    assert card.tdp_watts == 400
    assert all_in_power(card, catalogue) is None
    with pytest.raises(Unsupported, match="no all-in power is known"):
        owned_terms(card, catalogue, {"capex_usd_per_gpu": 10_000})
    stated = {"capex_usd_per_gpu": 10_000, "kw_per_gpu": {"a100": 0.8}}
    assert owned_terms(card, catalogue, stated).terms.kw_per_gpu == 0.8


def test_a_card_without_a_capex_is_owned_at_its_list_price(catalogue):
    found = owned_terms(catalogue.gpu("rx-7900-xtx"), catalogue)
    assert found.stood_in == ("capex_usd_per_gpu", "kw_per_gpu")
    # 999 USD, and 355 W beside 100 W of the machine, at 10 % over 4 years and 130 USD per kW-month.
    assert (found.terms.capex_usd_per_gpu, found.terms.kw_per_gpu) == (999, 0.455)
    expected = 999 * 0.1 / (1 - 1.1**-4) / 8760 + 0.455 * 130 * 12 / 8760
    assert found.price.usd_per_gpu_hour == pytest.approx(expected)
    assert found.provenance["capex_usd_per_gpu"] == "list price, published, 2022-12"
    assert found.provenance["kw_per_gpu"] == "TDP and 100 W of its machine, assumed"
    assert found.caveats == (
        "the capex is the list price of the card without the machine around it, the power its TDP and an "
        "assumed one of that machine and no staff is counted; give your own with --capex, --kw and --staff",
    )


def test_what_is_given_goes_before_the_list_price(catalogue):
    card = catalogue.gpu("rx-7900-xtx")
    found = owned_terms(card, catalogue, {"capex_usd_per_gpu": 1500, "kw_per_gpu": {"rx-7900-xtx": 0.6}})
    assert (found.terms.capex_usd_per_gpu, found.terms.kw_per_gpu, found.stood_in) == (1500, 0.6, ())
    assert found.caveats == ("no staff is counted; give your own with --staff",)


def test_a_capex_goes_before_a_list_price_and_without_either_none_is_made_up(catalogue, tmp_path):
    price = "{value: 999 USD, source: a shop, date: 2026-01}"
    own = tmp_path / "own.yaml"
    own.write_text(f"purchases:\n  h100-sxm: {{price: {price}}}\n", encoding="utf-8")
    found = owned_terms(catalogue.gpu("h100-sxm"), load_catalogue(own))
    assert (found.terms.capex_usd_per_gpu, found.terms.kw_per_gpu, found.stood_in) == (26_000, 1.37, ())
    with pytest.raises(Unsupported, match="no price of buying one is known"):
        owned_terms(catalogue.gpu("a100"), catalogue)


@pytest.mark.parametrize(
    ("field", "bad"),
    [
        ("capex_usd_per_gpu", -1.0),
        ("capex_usd_per_gpu", math.nan),
        ("cost_of_capital", -0.01),
        ("cost_of_capital", 1.0),
        ("life_years", 0.0),
        ("kw_per_gpu", math.inf),
        ("pue", 0.9),
        ("residual_share", 1.0),
        ("colocation_usd_per_kw_month", "130"),
    ],
)
def test_impossible_terms_are_one_line(field, bad):
    with pytest.raises(InvalidInput, match=f"^OwningTerms {field}: .* is not possible"):
        OwningTerms(**{**TERMS, field: bad})


@pytest.mark.parametrize(("rate", "years"), [(-0.1, 4), (0.1, 0), (math.nan, 4), (0.1, math.inf), ("x", 4)])
def test_an_impossible_annuity_is_refused(rate, years):
    with pytest.raises(InvalidInput, match=r"cost_of_capital|life_years"):
        capital_recovery_factor(rate, years)
