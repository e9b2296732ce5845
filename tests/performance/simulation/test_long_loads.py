"""Arrivals so far apart that a float cannot tell the steps between them."""

from __future__ import annotations

import pytest

from planner.errors import InvalidInput
from planner.performance.simulation import PoissonArrivals, Trace
from tests.performance.simulation.loads import simulated


def test_a_rate_too_low_to_simulate_names_the_span():
    with pytest.raises(InvalidInput, match=r"the last of 200 requests arrives after .* s; at most 1e\+10 s"):
        simulated(arrivals=PoissonArrivals(rate_per_s=1e-300))


def test_a_trace_too_long_to_simulate_names_the_span():
    trace = Trace.from_lists("log", [0.0, 1e300], [100, 100], [10, 10])
    with pytest.raises(InvalidInput, match=r"arrives after 1e\+300 s; .* a shorter trace"):
        simulated(arrivals=trace, lengths=trace, requests=2)
