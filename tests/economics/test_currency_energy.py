"""Currencies with a stated rate, and energy from all-in power."""

from __future__ import annotations

import math

import pytest

from planner.economics import DOLLAR, currency_of, energy_usd, power_of, token_costs
from planner.economics.currency import CODES
from planner.economics.use import FULL_LOAD
from planner.errors import InvalidInput, Unsupported


def test_a_currency_is_a_code_and_a_rate_that_somebody_states():
    euro = currency_of("eur", 0.92)
    assert (euro.code, euro.per_usd) == ("EUR", 0.92)
    assert euro.of_usd(2.5) == pytest.approx(2.3)
    assert euro.sentence == "1 USD = 0.92 EUR (given by you)"
    assert currency_of("jpy", 150, "2026-11-30").sentence == "1 USD = 150 JPY (given by you, 2026-11-30)"


def test_usd_needs_no_rate():
    assert currency_of() is DOLLAR
    assert currency_of("usd") is DOLLAR
    assert currency_of("USD", 1.0) is DOLLAR


@pytest.mark.parametrize(
    ("code", "rate", "said"),
    [
        ("euro", 0.92, "no currency of ISO 4217; nearest: EUR"),
        ("", 1.0, "no currency of ISO 4217"),
        (5, 1.0, "no currency of ISO 4217"),
        ("xau", 1.0, "no currency of ISO 4217"),
        ("eur", None, "no rate of EUR; state one: 1 USD = so many EUR"),
        ("eur", 0.0, "greater than 0"),
        ("eur", -0.92, "greater than 0"),
        ("eur", math.nan, "finite"),
        ("usd", 0.92, "1 USD is 1 USD, and not 0.92"),
        (None, 0.92, "a rate of no currency"),
    ],
)
def test_what_is_no_currency_is_one_line(code, rate, said):
    with pytest.raises(InvalidInput, match=said) as refused:
        currency_of(code, rate)
    assert "\n" not in str(refused.value)


def test_codes_are_those_of_iso_4217():
    assert all(len(code) == 3 and code.isupper() for code in CODES)
    assert {"USD", "EUR", "CNY", "INR", "JPY", "GBP", "BRL", "ZAR", "XOF"} <= CODES
    assert not {"BTC", "XAU", "XXX", "DEM", "HRK"} & CODES


# -- energy --


def test_power_is_the_published_all_in_figure(catalogue):
    power = power_of(catalogue.gpu("mi355x"), catalogue)
    assert (power.kw_per_gpu, power.assumed) == (2.09, False)
    assert power.provenance.startswith("published: SemiAnalysisAI/InferenceX-app")
    assert power_of(catalogue.gpu("mi355x"), catalogue, kw_per_gpu=1.8).provenance == "given by you"


def test_a_tdp_counts_only_where_the_user_says_so(catalogue):
    card = catalogue.gpu("a100")
    with pytest.raises(Unsupported, match="no all-in power is known"):
        power_of(card, catalogue)
    assumed = power_of(card, catalogue, tdp_overhead=1.6)
    assert assumed.kw_per_gpu == pytest.approx(0.64)
    assert assumed.assumed
    assert assumed.provenance == "assumed: 1.6 x the TDP of 400 W, as you asked"
    with pytest.raises(InvalidInput, match=r"tdp_overhead: 0\.9 is below 1"):
        power_of(card, catalogue, tdp_overhead=0.9)


def test_energy_of_the_article_s_mi355x(catalogue):
    kw = power_of(catalogue.gpu("mi355x"), catalogue).kw_per_gpu
    costs = token_costs(
        output_tps_total=952.0, isl=1024, osl=400, gpus=8, usd_per_gpu_hour=2.5, use=FULL_LOAD, kw_per_gpu=kw
    )
    assert costs.joules_per_output_token == pytest.approx(8 * 2090 / 952)
    assert costs.kwh_per_million_output == pytest.approx(8 * 2.09 / (952 * 3600) * 1e6)
    cost = energy_usd(kwh=costs.kwh_per_million_output, usd_per_kwh=0.08, pue=1.25)
    assert cost == pytest.approx(costs.kwh_per_million_output * 0.1)


@pytest.mark.parametrize(
    ("field", "bad"), [("kwh", -1.0), ("usd_per_kwh", math.nan), ("pue", 0.9), ("pue", math.inf)]
)
def test_impossible_energy_is_refused(field, bad):
    with pytest.raises(InvalidInput, match=field):
        energy_usd(**{"kwh": 5.0, "usd_per_kwh": 0.08, "pue": 1.2, field: bad})
