"""The price of a GPU-hour: given, or the median of the catalogue's quotes of one kind."""

from __future__ import annotations

import math
import statistics

import pytest

from planner.catalogue import Price
from planner.catalogue.figures import Source
from planner.economics import catalogue_price, given_price
from planner.errors import InvalidInput, Unsupported


def quote(provider, usd, date, confidence="published", kind="on-demand"):
    source = Source(title="a price list", date=date)
    return Price(
        gpu="made", provider=provider, usd_per_gpu_hour=usd, kind=kind, source=source, date=date,
        confidence=confidence,
    )  # fmt: skip


def priced(*quotes):
    return catalogue_price(gpu="made", kind="on-demand", quotes=quotes)


def test_two_quotes_have_the_price_between_them():
    price = priced(quote("one", 2.0, "2026-01"), quote("two", 5.0, "2026-03"))
    assert price.usd_per_gpu_hour == 3.5
    assert price.provenance == "median of 2 quotes, 2.00 to 5.00 USD/h, 2026-01 to 2026-03"


def test_only_the_latest_quote_of_a_provider_counts():
    price = priced(quote("one", 9.0, "2025-01"), quote("one", 2.0, "2026-01"), quote("two", 4.0, "2026-01"))
    assert price.usd_per_gpu_hour == 3.0
    assert price.provenance == "median of 2 quotes, 2.00 to 4.00 USD/h, 2026-01"


@pytest.mark.parametrize("confidence", ["inferred", "unverified", "assumed"])
def test_quotes_that_nobody_published_count_only_where_there_are_no_others(confidence):
    doubtful = quote("one", 8.0, "2026-01", confidence)
    assert priced(doubtful, quote("two", 4.0, "2026-01")).usd_per_gpu_hour == 4.0
    alone = priced(doubtful)
    assert alone.usd_per_gpu_hour == 8.0
    assert alone.provenance == f"one, 2026-01 ({confidence}: no published quote)"


def test_a_kind_is_the_median_of_its_quotes_and_of_no_other_kind(catalogue):
    for gpu in catalogue.gpu_ids():
        quotes = catalogue.prices(gpu)
        for kind in {quote.kind for quote in quotes}:
            price = catalogue_price(gpu=gpu, kind=kind, quotes=quotes)
            assert {one.kind for one in price.quotes} == {kind}
            assert len({one.provider for one in price.quotes}) == len(price.quotes)
            assert price.usd_per_gpu_hour == statistics.median(one.usd_per_gpu_hour for one in price.quotes)


def test_a_single_quote_names_its_provider(catalogue):
    price = catalogue_price(gpu="mi355x", kind="assumption", quotes=catalogue.prices("mi355x"))
    assert price.usd_per_gpu_hour == 2.5
    assert price.provenance.startswith("Wafer AI")


def test_a_kind_that_nobody_quotes_names_those_that_are(catalogue):
    with pytest.raises(Unsupported, match="mi355x has no spot price; kinds quoted: 3y-rental"):
        catalogue_price(gpu="mi355x", kind="spot", quotes=catalogue.prices("mi355x"))


@pytest.mark.parametrize("bad", [0.0, -4.0, 1001.0, math.nan, math.inf])
def test_a_price_out_of_range_is_refused_with_the_range(bad):
    with pytest.raises(InvalidInput, match=r"out of range; 0\.01 to 1,000 USD per GPU-hour"):
        given_price(bad)


def test_a_price_of_numpy_is_a_number_that_json_has():
    import json

    import numpy as np

    assert json.dumps(given_price(np.float32(2.5)).usd_per_gpu_hour) == "2.5"
