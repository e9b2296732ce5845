"""Where the cheaper of two options changes: solved in closed form, or by Brent's method in a stated bracket.

What decides is the ratio of their costs, first over second: below 1 the first is cheaper. Where the ratio
itself is uncertain, so is the point at which it is 1: the ends of its interval are where the ratio is as far
from 1 as its own 80 % interval reaches.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise

from planner.errors import InvalidInput
from planner.performance.intervals import Estimate

LADDER = 33
"""Points of a bracket, at even ratios: between two of them a ratio of costs crosses 1 once at most."""

LEVEL = 1e-9
"""Costs that are closer, as logarithms, are level: the same deployment once and twice, but for rounding."""

TOLERANCE = 1e-12
"""Of a solution, relative."""


@dataclass(frozen=True, slots=True)
class Flip:
    """A point at which both options cost the same.

    Parameters
    ----------
    at : float
        The point.
    low, high : float or None
        Its 80 % interval; None where an end lies outside of what was searched.
    below, above : str
        What is cheaper just below it, and just above.
    how : str
        How it was solved, with the bracket.
    """

    at: float
    low: float | None
    high: float | None
    below: str
    above: str
    how: str


@dataclass(frozen=True, slots=True)
class BreakEven:
    """Where the answer flips, or that it does not.

    Parameters
    ----------
    flips : tuple of Flip
        Rising; empty where the answer never flips.
    bracket : tuple of float
        What was searched.
    ratios : tuple of float
        Cost of the first over that of the second at both ends of it.
    reason : str
        Why it never flips; empty where it does.
    """

    flips: tuple[Flip, ...]
    bracket: tuple[float, float]
    ratios: tuple[float, float]
    reason: str = ""

    @property
    def flip(self) -> Flip | None:
        """Return the first flip."""
        return self.flips[0] if self.flips else None


@dataclass(frozen=True, slots=True)
class PaidFor:
    """What an option costs: by the hour whether used or not, and by the token.

    Parameters
    ----------
    name : str
        The option.
    fixed_usd : float
        Paid in any case: for a million output tokens at full use of the time, or for a month of one
        deployment [USD].
    variable_usd : float
        Paid for each million output tokens [USD].
    """

    name: str
    fixed_usd: float
    variable_usd: float = 0.0

    def __post_init__(self) -> None:
        """Refuse costs that nothing can have."""
        if not (
            0 <= self.fixed_usd < math.inf
            and 0 <= self.variable_usd < math.inf
            and self.fixed_usd + self.variable_usd > 0
        ):
            raise InvalidInput(f"{self.name}: costs of {self.fixed_usd:g} and {self.variable_usd:g} USD")


def winner(names: tuple[str, str], ratio: float) -> str:
    """Return the cheaper option at a ratio of costs, the first where they are level."""
    return names[0] if ratio <= 1 else names[1]


def price_flip(names: tuple[str, str], cost_ratio: Estimate, price_ratio: float) -> BreakEven:
    """Return the ratio of prices at which both cost the same: costs are proportional to prices.

    Parameters
    ----------
    names : tuple of str
        The options.
    cost_ratio : Estimate
        Cost of the first over that of the second, at the present prices.
    price_ratio : float
        Price of the first over that of the second.

    Returns
    -------
    BreakEven
        At ``price_ratio / cost_ratio``.
    """
    at = cost_ratio.inverse().scaled(price_ratio)
    how = "closed form: price ratio over cost ratio"
    flip = Flip(at.value, at.low, at.high, names[0], names[1], how)
    return BreakEven((flip,), (0.0, math.inf), (0.0, math.inf))


def utilisation_flip(first: PaidFor, second: PaidFor, cost_ratio: Estimate | None = None) -> BreakEven:
    """Return the utilisation at which two options cost the same.

    Parameters
    ----------
    first, second : PaidFor
        With what a million output tokens cost at full use in `fixed_usd`: at a utilisation u they cost
        ``fixed / u + variable``.
    cost_ratio : Estimate, optional
        First over second, for the width of the interval.

    Returns
    -------
    BreakEven
        At ``u = (fixed1 - fixed2) / (variable2 - variable1)``, where that lies above 0 and at most at 1.
    """
    names = (first.name, second.name)

    def solved(scale: float) -> float | None:
        """Return the solution with the cost of the first as many times what it is expected to be."""
        per_token = second.variable_usd - scale * first.variable_usd
        idle = scale * first.fixed_usd - second.fixed_usd
        if per_token == 0 or not 0 < idle / per_token <= 1:
            return None
        return idle / per_token

    ends = (
        _over(first.fixed_usd, second.fixed_usd),
        (first.fixed_usd + first.variable_usd) / (second.fixed_usd + second.variable_usd),
    )
    at = solved(1.0)
    if at is None:
        cheaper = winner(names, ends[1])
        why = f"{cheaper} is cheaper at every utilisation"
        if first.variable_usd == second.variable_usd == 0:
            why = f"both are paid whether used or not, so that utilisation cancels: {cheaper} is cheaper"
        elif first.fixed_usd == second.fixed_usd == 0:
            why = f"both are paid for what is used alone, so that utilisation cancels: {cheaper} is cheaper"
        return BreakEven((), (0.0, 1.0), ends, why)
    low, high = _ends(solved, cost_ratio, at)
    order = names if ends[0] < 1 else (names[1], names[0])
    how = "closed form: (fixed1 - fixed2) / (variable2 - variable1), costs for each token at full use"
    return BreakEven((Flip(at, low, high, *order, how),), (0.0, 1.0), ends)


def _over(one: float, other: float) -> float:
    return one / other if other else math.inf if one else 1.0


def _ends(
    solved: Callable[[float], float | None], ratio: Estimate | None, at: float
) -> tuple[float | None, float | None]:
    """Return the solutions with the ratio of costs at both ends of its interval, the smaller first."""
    if ratio is None:
        return None, None
    found = [solved(each / ratio.value) for each in (ratio.low, ratio.high)]
    known = [each for each in found if each is not None]
    lower = [each for each in known if each <= at]
    upper = [each for each in known if each >= at]
    return min(lower, default=None), max(upper, default=None)


def crossings(
    names: tuple[str, str],
    log_ratio: Callable[[Sequence[float]], Sequence[float]],
    bracket: tuple[float, float],
    widths: tuple[float, float] = (0.0, 0.0),
) -> BreakEven:
    """Return where the ratio of two costs is 1, for costs that have no closed form.

    Parameters
    ----------
    names : tuple of str
        The options.
    log_ratio : callable
        From values above 0 to ln(cost of the first / cost of the second).
    bracket : tuple of float
        Where it is looked for; both ends above 0.
    widths : tuple of float
        How far below and above its expected value the logarithm may truly be.

    Returns
    -------
    BreakEven
        Each flip is solved by Brent's method between two neighbours of a ladder on whose sides it lies.
    """
    low, high = bracket
    if not 0 < low < high < math.inf:
        raise InvalidInput(f"{low:g} to {high:g} is no range of numbers above 0")
    ladder = [low * (high / low) ** (step / (LADDER - 1)) for step in range(LADDER - 1)] + [high]
    logs = [float(value) for value in log_ratio(ladder)]
    ends = (math.exp(logs[0]), math.exp(logs[-1]))
    apart = [step for step, value in enumerate(logs) if abs(value) > LEVEL]
    flips = tuple(
        _flip(names, log_ratio, ladder, logs, (left, right), widths)
        for left, right in pairwise(apart)
        if (logs[left] < 0) != (logs[right] < 0)
    )
    reason = "" if flips else f"{_never(names, logs, apart)} from {_shown(low)} to {_shown(high)}"
    return BreakEven(flips, bracket, ends, reason)


def _never(names: tuple[str, str], logs: Sequence[float], apart: Sequence[int]) -> str:
    """Return who is cheaper where nothing flips; options that are level at every step have no winner."""
    if not apart:
        return "both cost the same"
    cheaper = f"{winner(names, math.exp(logs[apart[0]]))} is cheaper"
    return cheaper if len(apart) == len(logs) else f"{cheaper}, or both cost the same,"


def _shown(value: float) -> str:
    return f"{value:,.0f}" if value >= 1000 else f"{value:.4g}"


def _flip(
    names: tuple[str, str],
    log_ratio: Callable[[Sequence[float]], Sequence[float]],
    ladder: Sequence[float],
    logs: Sequence[float],
    piece: tuple[int, int],
    widths: tuple[float, float],
) -> Flip:
    """Solve one piece, and where the ratio is as far from 1 as it may be wrong on the pieces beside it."""
    left, right = piece
    at = _solved(log_ratio, ladder[left], ladder[right], 0.0)
    # The ratio is truly 1 where what is expected of it is as far below as it may truly be above.
    found = [_nearest(log_ratio, ladder, logs, piece, at, level) for level in (-widths[1], widths[0])]
    lower = [each for each in found if each is not None and each <= at]
    upper = [each for each in found if each is not None and each >= at]
    order = names if logs[left] < 0 else (names[1], names[0])
    ends = (_shown(ladder[left]), _shown(ladder[right]))
    how = f"Brent's method on ln(cost ratio) from {ends[0]} to {ends[1]}"
    return Flip(at, min(lower, default=None), max(upper, default=None), *order, how)


def _nearest(
    log_ratio: Callable[[Sequence[float]], Sequence[float]],
    ladder: Sequence[float],
    logs: Sequence[float],
    piece: tuple[int, int],
    at: float,
    level: float,
) -> float | None:
    """Return where the logarithm reaches a level going away from its zero in one direction, if it does."""
    if level == 0:
        return at
    left, right = piece
    towards_end = (logs[right] > logs[left]) == (level > 0)
    steps = range(left, len(ladder) - 1) if towards_end else range(right - 1, -1, -1)
    for step in steps:
        here, there = logs[step] - level, logs[step + 1] - level
        if (here <= 0) != (there <= 0):
            return _solved(log_ratio, ladder[step], ladder[step + 1], level)
    return None


def _solved(
    log_ratio: Callable[[Sequence[float]], Sequence[float]], low: float, high: float, level: float
) -> float:
    from scipy.optimize import brentq

    def gap(value: float) -> float:
        return float(log_ratio([value])[0]) - level

    return float(brentq(gap, low, high, xtol=TOLERANCE * low, rtol=4 * TOLERANCE))
