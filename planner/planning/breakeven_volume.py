"""Tokens a month at which the cheaper of two options changes, whole deployments counted."""

from __future__ import annotations

import math
from itertools import pairwise

from planner.planning.breakeven import LEVEL, BreakEven, Flip, PaidFor

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
    level_somewhere = False
    ahead = 0  # -1 while the first is cheaper, 1 while the second is, 0 as long as neither was
    for low, high in pairwise(edges):
        inside = math.sqrt(max(low, high * 1e-9) * high)
        fixed = first.fixed_usd * _deployments(capacities[0], inside)
        fixed -= second.fixed_usd * _deployments(capacities[1], inside)
        slope = (first.variable_usd - second.variable_usd) / MILLION
        level = LEVEL * max(first.fixed_usd, second.fixed_usd, abs(slope) * high)
        starts, ends_as = (_sign(fixed + slope * volume, level) for volume in (low, high))
        if ahead * starts < 0:
            how = f"a further deployment starts at {low:,.4g} tokens"
            flips.append(Flip(low, None, None, *_order(names, ahead), how))
        level_somewhere |= starts == ends_as == 0
        ahead = starts or ahead
        if ahead * ends_as < 0:
            how = f"closed form: the line of the difference of costs from {low:,.4g} to {high:,.4g} tokens"
            flips.append(Flip(-fixed / slope, None, None, *_order(names, ahead), how))
        ahead = ends_as or ahead
    least = edges[1] * 1e-6
    for tokens in (least, edges[-1]):
        costs = (
            monthly_usd(first, capacities[0], tokens),
            monthly_usd(second, capacities[1], tokens),
        )
        ends.append(costs[0] / costs[1])
    reason = "" if flips else _never(names, ahead, level_somewhere)
    return BreakEven(tuple(flips), (least, edges[-1]), (ends[0], ends[1]), reason)


def _never(names: tuple[str, str], ahead: int, level_somewhere: bool) -> str:
    """Return who is cheaper where nothing flips; whole deployments of two sizes are level at some volumes."""
    if not ahead:
        return "both cost the same at every volume"
    said = f"{_order(names, ahead)[0]} is cheaper at every volume"
    return f"{said}, or both cost the same" if level_somewhere else said


def _sign(difference: float, level: float) -> int:
    return 0 if abs(difference) <= level else 1 if difference > 0 else -1


def _order(names: tuple[str, str], ahead: int) -> tuple[str, str]:
    return names if ahead < 0 else (names[1], names[0])


def _edges(capacities: tuple[float, float]) -> list[float]:
    finite = [capacity for capacity in capacities if math.isfinite(capacity)]
    if not finite:
        return [0.0, MILLION * MILLION]
    most = MOST_DEPLOYMENTS * min(finite)
    steps = {count * each for each in finite for count in range(1, math.floor(most / each) + 1)}
    return [0.0, *sorted(steps)]
