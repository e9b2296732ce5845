"""Tokens a month at which the cheaper of two options changes, whole deployments counted."""

from __future__ import annotations

import math
from itertools import pairwise

from planner.planning.breakeven import BreakEven, Flip, PaidFor, winner

MOST_DEPLOYMENTS = 64
"""Deployments up to which flips are looked for; beyond, a step of one more is small."""

MILLION = 1e6


def monthly_usd(option: PaidFor, capacity: float, tokens: float) -> float:
    """Return what a volume costs in a month.

    Parameters
    ----------
    option : PaidFor
        With what a month of one deployment costs in `fixed_usd`.
    capacity : float
        Output tokens that one deployment yields in a month; infinite where nothing is deployed.
    tokens : float
        Output tokens a month, above 0.

    Returns
    -------
    float
        ``fixed * ceil(tokens / capacity) + variable * tokens / 1e6`` [USD a month].
    """
    return option.fixed_usd * _deployments(capacity, tokens) + option.variable_usd * tokens / MILLION


def _deployments(capacity: float, tokens: float) -> int:
    return 1 if math.isinf(capacity) else max(1, math.ceil(tokens / capacity * (1 - 1e-12)))


def volume_flip(first: PaidFor, second: PaidFor, capacities: tuple[float, float]) -> BreakEven:
    """Return the output tokens a month at which two options cost the same.

    Parameters
    ----------
    first, second : PaidFor
        With what a month of one deployment costs in `fixed_usd`.
    capacities : tuple of float
        Output tokens that one deployment of each yields in a month; infinite for a hosted service.

    Returns
    -------
    BreakEven
        Between two volumes at which a further deployment starts the difference of the costs is a line, so
        each flip is its zero, or the step itself.
    """
    names = (first.name, second.name)
    edges = _edges(capacities)
    flips: list[Flip] = []
    ends: list[float] = []
    before: float | None = None
    for low, high in pairwise(edges):
        inside = math.sqrt(max(low, high * 1e-9) * high)
        fixed = first.fixed_usd * _deployments(capacities[0], inside)
        fixed -= second.fixed_usd * _deployments(capacities[1], inside)
        slope = (first.variable_usd - second.variable_usd) / MILLION
        start, end = fixed + slope * low, fixed + slope * high
        if before is not None and (before <= 0) != (start <= 0):
            how = f"a further deployment starts at {low:,.4g} tokens"
            flips.append(Flip(low, None, None, *_order(names, before), how))
        if (start <= 0) != (end <= 0):
            how = f"closed form: the line of the difference of costs from {low:,.4g} to {high:,.4g} tokens"
            flips.append(Flip(-fixed / slope, None, None, *_order(names, start), how))
        before = end
    least = edges[1] * 1e-6
    for tokens in (least, edges[-1]):
        costs = (
            monthly_usd(first, capacities[0], tokens),
            monthly_usd(second, capacities[1], tokens),
        )
        ends.append(costs[0] / costs[1])
    reason = "" if flips else f"{winner(names, ends[1])} is cheaper at every volume"
    return BreakEven(tuple(flips), (least, edges[-1]), (ends[0], ends[1]), reason)


def _order(names: tuple[str, str], difference: float) -> tuple[str, str]:
    return names if difference <= 0 else (names[1], names[0])


def _edges(capacities: tuple[float, float]) -> list[float]:
    finite = [capacity for capacity in capacities if math.isfinite(capacity)]
    if not finite:
        return [0.0, MILLION * MILLION]
    most = MOST_DEPLOYMENTS * min(finite)
    steps = {count * each for each in finite for count in range(1, math.floor(most / each) + 1)}
    return [0.0, *sorted(steps)]
