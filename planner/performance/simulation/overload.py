"""Whether more requests came than the engine can serve, which no latency can describe."""

from __future__ import annotations

import math
from dataclasses import dataclass

from planner.performance.simulation.requests import Requests
from planner.performance.simulation.window import Window

GROWTH = 0.05
"""A queue that grows by this share of the requests is overload, beyond what chance explains."""
DEVIATIONS = 2.0


@dataclass(frozen=True, slots=True)
class Flow:
    """Requests in and out of the window.

    Parameters
    ----------
    offered_per_s : float
        Arrivals [requests/s]; those of a closed loop, or all at once, are what is sustained.
    sustained_per_s : float
        Finished requests [requests/s].
    queue_growth_per_s : float
        By how much the queue grew, net [requests/s].
    waiting_at_end : int
        Length of the queue when the last request arrived.
    overloaded : bool
        Whether the queue grows without end.
    """

    offered_per_s: float
    sustained_per_s: float
    queue_growth_per_s: float
    waiting_at_end: int
    overloaded: bool


def flow(requests: Requests, window: Window, cv: float | None) -> Flow:
    """Return what came and what went, and whether that can go on.

    The queue's net growth over the window is compared with 5 % of its arrivals plus two standard deviations
    of their number, ``cv * sqrt(arrivals)``. Where everything counts, growth is up to the last arrival.

    Parameters
    ----------
    requests : Requests
        What became of each.
    window : Window
        The span that counts.
    cv : float or None
        Spread of the gaps between arrivals; None for a closed loop, which cannot be overloaded.

    Returns
    -------
    Flow
    """
    last = float(requests.arrival_s.max())
    span = last - window.begin_s
    finished = (requests.finish_s > window.begin_s) & (requests.finish_s <= window.end_s)
    sustained = int(finished.sum()) / window.length_s
    arrived = int((requests.arrival_s > window.begin_s).sum())
    waiting = requests.waiting_at(last)
    # The first requests find the engine empty, so before any request nothing waits.
    growth = waiting - (requests.waiting_at(window.begin_s) if window.warmup_requests else 0)
    chance = GROWTH * arrived + DEVIATIONS * (cv or 0.0) * math.sqrt(arrived)
    return Flow(
        offered_per_s=arrived / span if cv is not None and span > 0 else sustained,
        sustained_per_s=sustained,
        queue_growth_per_s=growth / span if span > 0 else 0.0,
        waiting_at_end=waiting,
        overloaded=cv is not None and span > 0 and growth > max(chance, 1),
    )
