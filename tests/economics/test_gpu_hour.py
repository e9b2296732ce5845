"""The price of a GPU-hour: given, or the median of the catalogue's quotes of one kind."""

from __future__ import annotations

import math
import statistics

import pytest

from planner.economics import catalogue_price, given_price
from planner.errors import InvalidInput, Unsupported


def test_a_kind_is_the_lower_median_of_its_quotes_and_of_no_other_kind(catalogue):
    quotes = catalogue.prices("b200-sxm")
    on_demand = [quote.usd_per_gpu_hour for quote in quotes if quote.kind == "on-demand"]
    price = catalogue_price(gpu="b200-sxm", kind="on-demand", quotes=quotes)
    assert price.usd_per_gpu_hour == statistics.median_low(on_demand)
    assert price.kind == "on-demand"
    assert (
        f"median of {len(on_demand)} quotes, {min(on_demand):.2f} to {max(on_demand):.2f} USD/h"
        in price.provenance
    )


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
