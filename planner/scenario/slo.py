"""The latencies that a request must keep to count as served well, and the share of requests that must."""

from __future__ import annotations

from typing import Any

from planner.errors import InvalidInput
from planner.scenario.records import Scenario, Share

LIMITS = ("ttft_s", "tpot_s", "e2e_s")

SHORTEST_S = 1e-9
"""No clock of a processor tells less [s]."""


class LatencySlo(Scenario):
    """Limits that a share of the requests must keep; a limit that is None does not count."""

    ttft_s: float | None = None
    """Arrival to first token, at most [s]."""
    tpot_s: float | None = None
    """Mean time of an output token after the first, at most [s]."""
    e2e_s: float | None = None
    """Arrival to last token, at most [s]."""
    share: Share = 0.95
    """Share of the requests that must keep all limits."""

    def model_post_init(self, context: Any, /) -> None:
        """Refuse limits that nothing can keep, and an SLO without any."""
        limits = {name: getattr(self, name) for name in LIMITS}
        if all(limit is None for limit in limits.values()):
            raise InvalidInput(f"LatencySlo: no limit is given; give one of {', '.join(LIMITS)}")
        for name, limit in limits.items():
            if limit is not None and limit < SHORTEST_S:
                raise InvalidInput(
                    f"LatencySlo {name}: {limit:g} s is not above zero by any clock; try 0.001"
                )

    @property
    def limits(self) -> dict[str, float]:
        """Return the limits that were given, by name [s]."""
        return {name: limit for name in LIMITS if (limit := getattr(self, name)) is not None}


def latency_slo(
    ttft_s: float | None = None, tpot_s: float | None = None, e2e_s: float | None = None
) -> LatencySlo | None:
    """Return an SLO of the limits that were given, or None where none was."""
    if ttft_s is None and tpot_s is None and e2e_s is None:
        return None
    return LatencySlo(ttft_s=ttft_s, tpot_s=tpot_s, e2e_s=e2e_s)
