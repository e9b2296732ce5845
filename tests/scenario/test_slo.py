"""An SLO is the limits that were given, or nothing."""

from __future__ import annotations

from planner.performance.simulation import LatencySlo as Simulated
from planner.scenario.slo import LatencySlo, latency_slo


def test_only_limits_that_were_given_count() -> None:
    assert latency_slo() is None
    made = latency_slo(ttft_s=2.0, e2e_s=30.0)
    assert made == LatencySlo(ttft_s=2.0, e2e_s=30.0)
    assert made.limits == {"ttft_s": 2.0, "e2e_s": 30.0}
    assert Simulated is LatencySlo
