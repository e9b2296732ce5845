"""Where the cheaper of two options changes, over whatever may vary."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

from planner.errors import InvalidInput
from planner.measurement.sides import Load, Side
from planner.performance.intervals import Estimate
from planner.planning.breakeven import (
    BreakEven,
    Flip,
    crossings,
    price_flip,
    utilisation_flip,
)
from planner.planning.breakeven_volume import volume_flip
from planner.planning.compare import ratio_of

PRICE, UTILISATION, VOLUME = "price", "utilisation", "volume"
ISL, OSL, CONTEXT, CONCURRENCY, WEIGHT_DTYPE = "isl", "osl", "context", "concurrency", "weight-dtype"
LENGTHS = (ISL, OSL, CONTEXT)
OVERS = (PRICE, UTILISATION, VOLUME, *LENGTHS, CONCURRENCY, WEIGHT_DTYPE)
"""What may vary."""

UNITS = {
    PRICE: "",
    UTILISATION: "share",
    VOLUME: "output tokens a month",
    ISL: "input tokens",
    OSL: "output tokens",
    CONTEXT: "tokens of a request",
    CONCURRENCY: "requests at once",
}

SHORTEST, MOST_AT_ONCE = 16.0, 4096.0
"""Ends of brackets that nobody gives: tokens, and requests at once."""


@dataclass(frozen=True, slots=True)
class Decided:
    """Two options, what they cost now, and where that flips.

    Parameters
    ----------
    first, second : Side
        The options.
    load : Load
        The load.
    over : str
        What varies.
    ratio : Estimate
        Cost of the first over that of the second as asked.
    result : BreakEven
        Where it flips.
    """

    first: Side
    second: Side
    load: Load
    over: str
    ratio: Estimate
    result: BreakEven

    @property
    def names(self) -> tuple[str, str]:
        """Return the names of both options."""
        return self.first.name, self.second.name

    @property
    def hosted(self) -> bool:
        """Return whether one of them is a hosted API, so that a flip over price is a price and no ratio."""
        return self.first.hosted is not None or self.second.hosted is not None

    @property
    def priced(self) -> bool:
        """Return whether money is compared; GPU-hours of a token are otherwise."""
        return self.first.priced and self.second.priced


def cost_ratio(first: Side, second: Side, load: Load) -> Estimate:
    """Return the cost of one option over that of another, with its 80 % interval.

    Parameters
    ----------
    first, second : Side
        The options.
    load : Load
        The load asked for.

    Returns
    -------
    Estimate
        Of one deployment under two prices the rate cancels; a hosted price is exact.
    """
    value = first.usd_per_million(load) / second.usd_per_million(load)
    rates = first.rate, second.rate
    if (rates[0] is None and rates[1] is None) or same_deployment(first, second):
        return Estimate(value, value, value, "the rate of the deployment cancels")
    exact = Estimate(1.0, 1.0, 1.0, "hosted price")
    spread = ratio_of(rates[1] or exact, rates[0] or exact)
    return spread.scaled(value / spread.value)


def same_deployment(first: Side, second: Side) -> bool:
    """Return whether both options are one deployment that is paid for in two ways."""
    return first.found is not None and first.found is second.found


def decide(
    first: Side, second: Side, load: Load, over: str, bracket: tuple[float, float] | None = None
) -> Decided:
    """Return where the cheaper of two options changes.

    Parameters
    ----------
    first, second : Side
        The options.
    load : Load
        The load.
    over : str
        One of `OVERS`, but for the dtype of the weights, which is no number.
    bracket : tuple of float, optional
        Where lengths and concurrencies are searched.

    Returns
    -------
    Decided

    Raises
    ------
    InvalidInput
        Where prices are missing that the question needs.
    """
    first, second = first.anchored(load), second.anchored(load)
    if over in (UTILISATION, VOLUME) and not (first.priced and second.priced):
        missing = " and ".join(side.name for side in (first, second) if not side.priced)
        raise InvalidInput(
            f"{over}: no price of {missing}; give one with --price, --price-kind or --api-price"
        )
    ratio = cost_ratio(first, second, load)
    if over == PRICE:
        result = _over_price(first, second, ratio)
    elif over == UTILISATION:
        result = utilisation_flip(first.by_token(load), second.by_token(load), ratio)
    elif over == VOLUME:
        result = _over_volume(first, second, load)
    else:
        result = _over_load(first, second, load, over, ratio, bracket)
    return Decided(first, second, load, over, ratio, result)


def _over_price(first: Side, second: Side, ratio: Estimate) -> BreakEven:
    """Return the ratio of two prices of a GPU-hour; against a hosted API the price of a GPU-hour itself."""
    names = (first.name, second.name)
    if first.hosted is not None:
        return price_flip((second.name, first.name), ratio.inverse(), second.usd_per_gpu_hour)
    if second.hosted is not None:
        return price_flip(names, ratio, first.usd_per_gpu_hour)
    return price_flip(names, ratio, first.usd_per_gpu_hour / second.usd_per_gpu_hour)


def _over_volume(first: Side, second: Side, load: Load) -> BreakEven:
    """Return the volumes, the first with the solutions at both ends of the rates' intervals."""

    def solved(end: str) -> BreakEven:
        scales = [getattr(side.rate, end) / side.rate.value if side.rate else 1.0 for side in (first, second)]
        (one, capacity), (other, other_capacity) = (
            side.by_month(load, scale) for side, scale in zip((first, second), scales, strict=True)
        )
        return volume_flip(one, other, (capacity, other_capacity))

    found = solved("value")
    if found.flip is None:
        return found
    ends = [flip.at for end in ("low", "high") if (flip := solved(end).flip) is not None]
    low = min((end for end in ends if end <= found.flip.at), default=None)
    high = max((end for end in ends if end >= found.flip.at), default=None)
    return replace(found, flips=(replace(found.flip, low=low, high=high), *found.flips[1:]))


def _over_load(
    first: Side, second: Side, load: Load, over: str, ratio: Estimate, bracket: tuple[float, float] | None
) -> BreakEven:
    def log_ratio(values: Sequence[float]) -> list[float]:
        loads = [moved(load, over, value) for value in values]
        costs = (first.usd_per_million_at(loads), second.usd_per_million_at(loads))
        return [math.log(one / other) for one, other in zip(*costs, strict=True)]

    ends = _bracket(usual(first, second, load, over), bracket, over)
    widths = (math.log(ratio.value / ratio.low), math.log(ratio.high / ratio.value))
    return crossings((first.name, second.name), log_ratio, ends, widths)


def _bracket(held: tuple[float, float], given: tuple[float, float] | None, over: str) -> tuple[float, float]:
    """Return where to search; lengths beyond what a deployment holds have no rate."""
    if (
        given is not None
        and over in LENGTHS
        and (given[1] > held[1] or (over == CONTEXT and given[0] < held[0]))
    ):
        raise InvalidInput(
            f"between: {given[0]:,.0f} to {given[1]:,.0f} {UNITS[over]} lies outside of what both hold, "
            f"{held[0]:,.0f} to {held[1]:,.0f}"
        )
    return given or held


def moved(load: Load, over: str, value: float) -> Load:
    """Return a load with one of its quantities at another value."""
    if over == CONTEXT:
        return replace(load, isl=value - load.osl)
    return replace(load, **{over: value})


def usual(first: Side, second: Side, load: Load, over: str) -> tuple[float, float]:
    """Return the bracket in which a load is searched: what both deployments hold as they are."""
    if over == CONCURRENCY:
        return 1.0, MOST_AT_ONCE
    held = min(float(side.found.memory.max_context) for side in (first, second) if side.found is not None)
    if over == CONTEXT:
        return load.osl + SHORTEST, max(held, load.osl + 2 * SHORTEST)
    other = load.osl if over == ISL else load.isl
    return SHORTEST, max(held - other, 2 * SHORTEST)


def flip_at(decided: Decided, flip: Flip) -> tuple[float, float]:
    """Return what both options cost at a flip over a load, to check it by [USD per million output tokens]."""
    loads = [moved(decided.load, decided.over, flip.at)]
    return decided.first.usd_per_million_at(loads)[0], decided.second.usd_per_million_at(loads)[0]
