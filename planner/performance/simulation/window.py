"""Which part of a simulation counts: warm-up before it and drain after it are left out."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

from planner.performance.simulation.requests import Floats

Measure = Literal["steady", "all"]


@dataclass(frozen=True, slots=True)
class Window:
    """The span of time that counts.

    Parameters
    ----------
    measure : str
        ``steady``: from the arrival after the warm-up to the last arrival. ``all``: everything, as benchmark
        tools count.
    warmup_requests : int
        Arrivals before the span begins.
    begin_s, end_s : float
        The span [s].
    """

    measure: Measure
    warmup_requests: int
    begin_s: float
    end_s: float

    @property
    def length_s(self) -> float:
        """Return its length [s]."""
        return self.end_s - self.begin_s


def warmup_requests(count: int, share: float, concurrency: int | None, times: Floats | None) -> int | None:
    """Return the arrivals to leave out, or None where no steady part would be left.

    Parameters
    ----------
    count : int
        Requests.
    share : float
        Share of them that is warm-up. In a closed loop it is the first request of each user at least, since
        all of them come at once.
    concurrency : int or None
        Users of a closed loop.
    times : array or None
        Arrival times of an open one [s].

    Returns
    -------
    int or None
    """
    warmup = max(math.ceil(share * count), concurrency or 0)
    if warmup >= count - 1 or (times is not None and times[warmup] >= times[-1]):
        return None
    return warmup
