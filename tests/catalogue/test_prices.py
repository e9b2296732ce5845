"""The shipped prices: all of them dated, sourced, of a known kind, and none a placeholder."""

from __future__ import annotations

from collections import Counter

import pytest

from planner.catalogue import Catalogue, Price, PriceKind, Source, check_price
from planner.catalogue.price import PLACEHOLDERS


def test_every_price_is_there(catalogue: Catalogue) -> None:
    prices = catalogue.prices()
    assert len(prices) == 212
    assert Counter(price.kind.value for price in prices) == {
        "on-demand": 117,
        "spot": 25,
        "TCO-hyperscaler": 23,
        "3y-rental": 21,
        "TCO-neocloud": 10,
        "assumption": 9,
        "reserved-short": 3,
        "reserved-1y": 2,
        "reserved": 1,
        "TCO-own": 1,
    }
    assert sum(price.usd_per_gpu_hour for price in prices) == pytest.approx(SUM_OF_PRICES, abs=5e-4)


SUM_OF_PRICES = 659.1381


@pytest.mark.parametrize(
    ("gpu", "provider", "usd", "kind", "date"),
    [
        ("mi355x", "Wafer AI (as its Kimi K3 article prices it)", 2.50, "assumption", "2026"),
        ("b200", "Wafer AI (as its Kimi K3 article prices it)", 4.25, "assumption", "2026"),
        ("b300", "Wafer AI (as its Kimi K3 article prices it)", 6.00, "assumption", "2026"),
        ("mi355x", "InferenceX TCO model (3-year commit rental)", 2.90, "3y-rental", "2026-09"),
        ("b200", "InferenceX TCO model (own, hyperscaler volume)", 1.73, "TCO-hyperscaler", "2026-09"),
        ("h100", "Verda", 1.99, "on-demand", "2026-11-30"),
    ],
)
def test_exact_prices(
    catalogue: Catalogue, gpu: str, provider: str, usd: float, kind: str, date: str
) -> None:
    found = [price for price in catalogue.prices(gpu, kind) if price.provider == provider]
    assert (usd, date) in {(price.usd_per_gpu_hour, price.date) for price in found}


def test_every_price_is_dated_sourced_and_real(catalogue: Catalogue) -> None:
    for price in catalogue.prices():
        assert price.date >= "2024"
        assert price.source.title
        assert price.usd_per_gpu_hour not in PLACEHOLDERS
    undated = [price for price in catalogue.prices() if price.as_of]
    assert len(undated) == 23
    assert {price.date for price in undated} == {"2026-11-30"}


def test_prices_are_selected_by_gpu_and_kind(catalogue: Catalogue) -> None:
    everything = catalogue.prices()
    assert [price for price in everything if price.gpu == "b200-sxm"] == catalogue.prices("B200")
    spot = catalogue.prices(kind=PriceKind.SPOT)
    assert spot == [price for price in everything if price.kind is PriceKind.SPOT]
    assert catalogue.prices("mi355x", "on-demand") == []


def test_one_price_is_for_a_part_without_figures(catalogue: Catalogue) -> None:
    known = set(catalogue.gpu_ids())
    assert {price.gpu for price in catalogue.prices()} - known == {"openai-jalapeno"}
    warnings = [problem for price in catalogue.prices() for problem in check_price(price, price.gpu in known)]
    assert [warning.message for warning in warnings] == ["'openai-jalapeno' is no gpu of the catalogue"]


def own_price(usd: float) -> Price:
    return Price(
        gpu="b200-sxm",
        provider="x",
        usd_per_gpu_hour=usd,
        kind=PriceKind.SPOT,
        source=Source(title="x", date="2026"),
        date="2026",
    )


def test_a_price_can_be_made_in_code() -> None:
    assert own_price(3.5).usd_per_gpu_hour == 3.5


@pytest.mark.parametrize("bad", [9.99, 0.01, 0.0, -1.0, float("nan"), float("inf")])
def test_a_price_made_in_code_is_checked_too(bad: float) -> None:
    with pytest.raises(ValueError, match="usd_per_gpu_hour"):
        own_price(bad)
