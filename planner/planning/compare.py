"""Which of several options comes first, how sure that is, and the price at which the order flips.

An option yields output tokens per GPU and costs so much per GPU-hour; its merit is the one over the other,
tok/s for each USD/h. Every rate is an estimate with an 80 % interval, read here as a quantity whose logarithm
is normal, with a width of its own to either side.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations

from planner.errors import InvalidInput
from planner.performance.intervals import Estimate

DECILE = 1.2815515655446004
"""Standard deviations from the middle of a normal quantity to its 90 % quantile."""

SURE = 0.9
"""An order that holds with this probability is larger than the uncertainty: the 80 % interval of the ratio
then lies on one side of 1."""

SHARED_ERROR = 0.0
"""Correlation of the errors of two figures that is taken off their difference: none, which is the careful
choice. What both have in common cancels, so the true spread of a ratio is no larger."""

EVEN = 0.5

MANY = 6
"""Options beyond which a report does not tell of every two of them."""


@dataclass(frozen=True, slots=True)
class Option:
    """One of the things to choose from.

    Parameters
    ----------
    name : str
        What it is called, such as the id of the accelerator.
    output_tps_per_gpu : Estimate
        Generated tokens of each GPU [tok/s].
    usd_per_gpu_hour : float or None
        Price of one GPU [USD/h].
    measured : bool
        Whether the rate was measured; a model says it otherwise.
    """

    name: str
    output_tps_per_gpu: Estimate
    usd_per_gpu_hour: float | None = None
    measured: bool = False

    def __post_init__(self) -> None:
        """Refuse rates and prices that nothing can have."""
        rate, price = self.output_tps_per_gpu, self.usd_per_gpu_hour
        if not 0 < rate.low <= rate.value <= rate.high < math.inf:
            raise InvalidInput(f"{self.name}: {rate.low:g} to {rate.high:g} around {rate.value:g} is no rate")
        if price is not None and not 0 < price < math.inf:
            raise InvalidInput(f"{self.name}: a price of {price:g} USD/h is not above 0")


@dataclass(frozen=True, slots=True)
class Pair:
    """Two options, the one that is ahead first.

    Parameters
    ----------
    ahead, behind : str
        Their names; as they were given where they are level.
    lead : Estimate
        Merit of the first over that of the second; 1 where they are level.
    probability : float
        That the first is truly ahead, 0.5 to 1.
    price_ratio : float or None
        Price of the first over that of the second; None without prices.
    flip_price_ratio : Estimate
        Ratio of their prices under which the first is ahead: that of their rates per GPU.
    flip_usd_per_gpu_hour : Estimate or None
        Price of the first above which it falls behind, at the price of the second [USD/h].
    usd_per_gpu_hour : tuple of float or None
        Their prices now [USD/h].
    """

    ahead: str
    behind: str
    lead: Estimate
    probability: float
    price_ratio: float | None
    flip_price_ratio: Estimate
    flip_usd_per_gpu_hour: Estimate | None
    usd_per_gpu_hour: tuple[float | None, float | None] = (None, None)

    @property
    def sure(self) -> bool:
        """Return whether the difference is larger than the uncertainty."""
        return self.probability >= SURE


@dataclass(frozen=True, slots=True)
class Ranking:
    """Options in order.

    Parameters
    ----------
    options : tuple of Option
        The best first.
    ranks : dict of str to int
        1 and the options that are surely ahead; what the uncertainty does not tell apart shares a rank.
    pairs : tuple of Pair
        Every two of them, the best first.
    priced : bool
        Whether merit is tok/s for each USD/h; tok/s per GPU where prices are missing.
    """

    options: tuple[Option, ...]
    ranks: dict[str, int]
    pairs: tuple[Pair, ...]
    priced: bool

    @property
    def names(self) -> tuple[str, ...]:
        """Return the names, the best first."""
        return tuple(option.name for option in self.options)

    @property
    def told_pairs(self) -> tuple[Pair, ...]:
        """Return the pairs to tell of: all of few options, and of many the first with each other one."""
        if len(self.options) <= MANY:
            return self.pairs
        return tuple(pair for pair in self.pairs if self.names[0] in (pair.ahead, pair.behind))

    @property
    def winners(self) -> tuple[str, ...]:
        """Return what comes first: several where the uncertainty does not tell them apart."""
        return tuple(name for name in self.names if self.ranks[name] == 1)


def merit(option: Option, priced: bool = True) -> Estimate:
    """Return what an option is ranked by.

    Parameters
    ----------
    option : Option
        The option.
    priced : bool
        Whether its price counts.

    Returns
    -------
    Estimate
        Output rate for each dollar an hour [tok/s per USD/h], or per GPU [tok/s].
    """
    if not priced:
        return option.output_tps_per_gpu
    if option.usd_per_gpu_hour is None:
        raise InvalidInput(f"{option.name} has no price")
    return option.output_tps_per_gpu.scaled(1 / option.usd_per_gpu_hour)


def probability_ahead(first: Estimate, second: Estimate, shared: float = SHARED_ERROR) -> float:
    """Return the probability that one figure is truly above another.

    Parameters
    ----------
    first, second : Estimate
        The figures, above 0.
    shared : float
        Correlation of their errors, from 0 to below 1.

    Returns
    -------
    float
        ``Phi(ln(first / second) / s)``, where ``s`` is the spread of the sides that would change the order:
        down from the larger, up from the smaller. The two orders add up to 1.
    """
    gap = math.log(first.value / second.value)
    if gap < 0:
        return 1 - probability_ahead(second, first, shared)
    spread = _spread(_down(first), _up(second), shared)
    if spread == 0:
        return 1.0 if gap > 0 else EVEN
    return 0.5 * math.erfc(-gap / spread / math.sqrt(2))


def ratio_of(first: Estimate, second: Estimate, shared: float = SHARED_ERROR) -> Estimate:
    """Return one figure over another, with its 80 % interval.

    Parameters
    ----------
    first, second : Estimate
        The figures, above 0.
    shared : float
        Correlation of their errors.

    Returns
    -------
    Estimate
        Widths of the logarithms are added as squares, less what is shared.
    """
    value = first.value / second.value
    low = _spread(_down(first), _up(second), shared)
    high = _spread(_up(first), _down(second), shared)
    provenance = " / ".join(dict.fromkeys((first.provenance, second.provenance)))
    return Estimate(value, value * math.exp(-DECILE * low), value * math.exp(DECILE * high), provenance)


def _down(figure: Estimate) -> float:
    return math.log(figure.value / figure.low) / DECILE


def _up(figure: Estimate) -> float:
    return math.log(figure.high / figure.value) / DECILE


def _spread(one: float, other: float, shared: float) -> float:
    return math.sqrt(max(0.0, one * one + other * other - 2 * shared * one * other))


def rank(options: Sequence[Option]) -> Ranking:
    """Put options in order, the best first.

    Parameters
    ----------
    options : sequence of Option
        With names of their own. Prices count where all of them have one.

    Returns
    -------
    Ranking
    """
    priced = bool(options) and all(option.usd_per_gpu_hour is not None for option in options)
    ordered = sorted(options, key=lambda option: -merit(option, priced).value)
    surely = {
        option.name: sum(
            probability_ahead(merit(other, priced), merit(option, priced)) >= SURE for other in ordered
        )
        for option in ordered
    }
    pairs = tuple(pair_of(one, other) for one, other in combinations(ordered, 2))
    return Ranking(
        tuple(ordered), {name: 1 + ahead for name, ahead in surely.items()}, pairs, priced and bool(ordered)
    )


def pair_of(one: Option, other: Option) -> Pair:
    """Compare two options.

    Parameters
    ----------
    one, other : Option
        In any order. Prices count where both have one.

    Returns
    -------
    Pair
        With the price at which the order flips: at equal merit ``p1 / p2 = rate1 / rate2``.
    """
    priced = one.usd_per_gpu_hour is not None and other.usd_per_gpu_hour is not None
    ahead, behind = sorted((one, other), key=lambda option: -merit(option, priced).value)
    first, second = merit(ahead, priced), merit(behind, priced)
    flip = ratio_of(ahead.output_tps_per_gpu, behind.output_tps_per_gpu)
    price = behind.usd_per_gpu_hour
    return Pair(
        ahead=ahead.name,
        behind=behind.name,
        lead=ratio_of(first, second),
        probability=probability_ahead(first, second),
        price_ratio=_price_ratio(ahead, behind),
        flip_price_ratio=flip,
        flip_usd_per_gpu_hour=None if price is None else flip.scaled(price),
        usd_per_gpu_hour=(ahead.usd_per_gpu_hour, price),
    )


def _price_ratio(one: Option, other: Option) -> float | None:
    if one.usd_per_gpu_hour is None or other.usd_per_gpu_hour is None:
        return None
    return one.usd_per_gpu_hour / other.usd_per_gpu_hour
