"""Cards that are bought: cost of an hour and of tokens, defaults, and what is refused."""

from __future__ import annotations

import pytest

from planner import breakeven, compare, predict
from planner.catalogue import load_catalogue
from planner.economics import bought_price, only_bought, use_of_purchase
from planner.economics.purchase import PurchaseTerms, purchase_price
from planner.errors import InvalidInput, Unsupported

CARDS = "rx-7900-xtx,rtx-3090-ti,rtx-4090"
ASKED = {
    "model": "llama-2-7b",
    "engine": "mlc-llm",
    "weight_dtype": "int4",
    "isl": 512,
    "osl": 256,
    "concurrency": 1,
}


def test_the_price_of_an_hour_is_its_formula():
    # 1,600 USD over 4 years without interest: 400 USD a year over 8,760 h; 0.5 kW in a quarter of the hours.
    terms = PurchaseTerms(
        price_usd=1600,
        life_years=4,
        hours_a_day=6,
        kw_per_gpu=0.5,
        electricity_usd_per_kwh=0.2,
        cost_of_capital=0,
    )
    found = purchase_price(terms)
    assert found.kind == "purchase"
    assert found.used_share == 0.25
    assert [part.usd_per_gpu_hour for part in found.parts] == pytest.approx([400 / 8760, 0.5 * 0.25 * 0.2])
    assert found.usd_per_gpu_hour == pytest.approx(sum(part.usd_per_gpu_hour for part in found.parts))


def test_resale_and_interest_count():
    terms = PurchaseTerms(
        price_usd=1000,
        life_years=2,
        hours_a_day=24,
        kw_per_gpu=0.4,
        electricity_usd_per_kwh=0,
        cost_of_capital=0.1,
        residual_share=0.5,
    )
    factor = 0.1 / (1 - 1.1**-2)
    expected = 1000 * (1 - 0.5 / 1.1**2) * factor / 8760
    assert purchase_price(terms).usd_per_gpu_hour == pytest.approx(expected)


def test_the_catalogue_fills_what_is_not_given(catalogue):
    found = bought_price(catalogue.gpu("rtx-4090"), catalogue)
    factor = 0.05 / (1 - 1.05**-3)
    assert found.usd_per_gpu_hour == pytest.approx(1599 * factor / 8760 + 0.55 * 0.3333 * 0.17)
    assert "list price, published, 2022-10" in found.provenance
    assert "8 hours a day (assumed" in found.provenance
    given = bought_price(catalogue.gpu("rtx-4090"), catalogue, {"price_usd": {"4090": 2400.0}})
    assert "2,400 USD (given by you)" in given.provenance


def test_tokens_at_full_load_pay_for_the_hours_in_which_a_card_is_off():
    report = predict(gpu="rtx-4090", price_kind="purchase", throughput="simulated", **ASKED)
    answer = report.answers[0]
    rate = answer.figures["output_tps_total"].value
    hourly = answer.price.usd_per_gpu_hour / 0.3333
    assert answer.usd_per_million_output_tokens.value == pytest.approx(hourly / 3600 / rate * 1e6)
    assert answer.tokens_per_dollar.value == pytest.approx(3600 * rate / hourly)


def test_cards_without_a_common_rent_are_compared_as_bought():
    report = compare(gpu=CARDS, **ASKED)
    assert any("compared as bought, at list prices" in note for note in report.notes)
    assert {answer.price.kind for answer in report.answers} == {"purchase"}
    assert [answer.gpu for answer in report.answers] == ["rx-7900-xtx", "rtx-4090", "rtx-3090-ti"]
    assert report.answers[0].use.provenance == "8 hours a day, assumed"
    catalogue = load_catalogue()
    assert not only_bought([catalogue.gpu(name) for name in ("rtx-4090", "rtx-5090")], catalogue)
    assert not only_bought([catalogue.gpu(name) for name in ("rx-7900-xtx", "mi355x")], catalogue)


def test_a_price_of_one_s_own_changes_the_order():
    report = compare(gpu=CARDS, purchase={"rtx-4090": 900.0}, hours_a_day=24, **ASKED)
    assert report.answers[0].gpu == "rtx-4090"
    assert report.answers[0].use.utilisation == 1.0


def test_buying_is_held_against_renting_and_an_api():
    against = {"gpu": "rtx-4090", **ASKED}
    rent = breakeven(price_kind="purchase,on-demand", over="utilisation", **against)
    flip = rent.decided.result.flip
    rates = {side.name: side.price.usd_per_gpu_hour for side in rent.sides}
    assert flip.at == pytest.approx(rates["purchase"] / rates["on-demand"], rel=1e-6)
    api = breakeven(price_kind="purchase,api", api_price=(0.2, 0.2), over="volume", **against)
    first = api.decided.result.flip
    # A deployment's month over what the API asks for a million output tokens with their input (2 to 1).
    month = rates["purchase"] * 730
    assert first.at == pytest.approx(month / 0.6 * 1e6, rel=1e-6)


def test_without_prices_the_use_is_the_usual_one():
    sides = breakeven(gpu="rx-7900-xtx,rtx-4090", over="price", purchase=None, **ASKED).sides
    assert {side.use.utilisation for side in sides} == {0.7}
    bought = breakeven(gpu="rx-7900-xtx,rtx-4090", over="price", purchase={"4090": 1500.0}, **ASKED)
    assert {side.use.utilisation for side in bought.sides} == {0.3333}
    assert {side.price.kind for side in bought.sides} == {"purchase"}


@pytest.mark.parametrize(
    ("options", "error", "said"),
    [
        ({"price_kind": "purchase", "colocation": 100.0}, InvalidInput, "colocation: no part of a purchase"),
        ({"price_kind": "on-demand", "hours_a_day": 4}, InvalidInput, "price kind own or purchase"),
        ({"purchase": {"rtx-5090": 2000.0}}, InvalidInput, "not among the GPUs asked about"),
        ({"price_kind": "purchase", "hours_a_day": 25}, InvalidInput, "hours_a_day"),
    ],
)
def test_impossible_purchases_are_refused_in_a_line(options, error, said):
    with pytest.raises(error, match=said) as caught:
        compare(gpu=CARDS, **ASKED, **options)
    assert "\n" not in str(caught.value)


def test_a_gpu_without_a_list_price_says_so(catalogue):
    with pytest.raises(Unsupported, match="--purchase mi355x=USD"):
        bought_price(catalogue.gpu("mi355x"), catalogue)


def test_hours_are_the_use(catalogue):
    found = use_of_purchase(catalogue, {"hours_a_day": 12}, None)
    assert (found.utilisation, found.availability, found.provenance) == (
        0.5,
        1.0,
        "12 hours a day, given by you",
    )
