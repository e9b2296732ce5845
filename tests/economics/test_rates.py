"""Money: cost per hour and output per dollar, with the published figures of Kimi K3."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from planner.economics import hourly_cost_usd, output_rate_per_usd_per_hour
from planner.errors import InvalidInput
from planner.measurement.serving import load_serving, measured_rates, serving_directory

positive = st.floats(min_value=1e-3, max_value=1e6)


@pytest.mark.parametrize(
    ("gpu", "usd_per_gpu_hour", "gpus", "peak", "single", "expected"),
    [
        ("MI355X", 2.50, 8, 952, 118, 47.6),
        ("B200", 4.25, 16, 498, 90, 7.3),
        ("B300", 6.00, 8, 1568, 172, 32.7),
    ],
)
def test_published_rates_of_kimi_k3(gpu, usd_per_gpu_hour, gpus, peak, single, expected):
    points = load_serving(serving_directory() / "wafer_kimi_k3.csv")
    rates = measured_rates(point for point in points if point.gpu == gpu)
    assert (rates.peak.output_tps_total, rates.peak.n_gpus) == (peak, gpus)
    assert rates.single_stream.tps_per_user == single
    found = output_rate_per_usd_per_hour(
        output_tokens_per_s=rates.peak.output_tps_total,
        gpus=rates.peak.n_gpus,
        usd_per_gpu_hour=usd_per_gpu_hour,
    )
    assert round(found, 1) == expected


@given(rate=positive, gpus=st.integers(1, 1000), price=positive)
def test_twice_the_gpus_or_the_price_halves_what_a_dollar_buys(rate, gpus, price):
    once = output_rate_per_usd_per_hour(output_tokens_per_s=rate, gpus=gpus, usd_per_gpu_hour=price)
    more = output_rate_per_usd_per_hour(output_tokens_per_s=rate, gpus=2 * gpus, usd_per_gpu_hour=price)
    dear = output_rate_per_usd_per_hour(output_tokens_per_s=rate, gpus=gpus, usd_per_gpu_hour=2 * price)
    assert math.isclose(more, once / 2)
    assert math.isclose(dear, once / 2)


def test_hourly_cost_counts_every_gpu():
    assert hourly_cost_usd(gpus=16, usd_per_gpu_hour=4.25) == 68.0


@pytest.mark.parametrize("bad", [0.0, -1.0, math.nan, math.inf])
def test_impossible_figures_are_refused(bad):
    with pytest.raises(InvalidInput, match="usd_per_gpu_hour must be a finite number above 0"):
        hourly_cost_usd(gpus=8, usd_per_gpu_hour=bad)
    with pytest.raises(InvalidInput, match="output_tokens_per_s"):
        output_rate_per_usd_per_hour(output_tokens_per_s=bad, gpus=8, usd_per_gpu_hour=1.0)
