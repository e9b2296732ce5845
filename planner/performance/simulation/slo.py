"""What a request must keep to count as served well, and the share of requests that must."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from planner.errors import InvalidInput
from planner.performance.simulation.requests import Requests
from planner.scenario.records import Scenario, Share

LIMITS = ("ttft_s", "tpot_s", "e2e_s")


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
            if limit is not None and limit <= 0:
                raise InvalidInput(
                    f"LatencySlo {name}: {limit:g} s is not above zero; no request is that quick; try 0.001"
                )

    def kept(self, requests: Requests) -> npt.NDArray[np.bool_]:
        """Return which requests keep every limit; one with a single output token has no TPOT to keep."""
        good = np.ones(len(requests.isl), dtype=np.bool_)
        if self.ttft_s is not None:
            good &= requests.ttft_s <= self.ttft_s
        if self.e2e_s is not None:
            good &= requests.e2e_s <= self.e2e_s
        if self.tpot_s is not None:
            good &= (requests.osl == 1) | (requests.tpot_s <= self.tpot_s)
        return good
