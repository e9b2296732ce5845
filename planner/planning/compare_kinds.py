"""The same options under every kind of price: which comes first at the median, and at any quote."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from planner.catalogue import Price, PriceKind
from planner.economics import PricePerHour, catalogue_price
from planner.errors import Unsupported
from planner.planning.compare import Option, Ranking, rank


@dataclass(frozen=True, slots=True)
class KindRanking:
    """Options in order at prices of one kind.

    Parameters
    ----------
    kind : str
        The terms.
    prices : dict of str to PricePerHour
        By option; the median of the quotes.
    low, high : dict of str to float
        The lowest and highest quote of each [USD/h].
    median, at_low, at_high : Ranking
        The order at the median, where all pay their lowest, and where all pay their highest quote.
    worst : Ranking
        The order where the winner at the median pays its highest quote and every other its lowest.
    """

    kind: str
    prices: dict[str, PricePerHour]
    low: dict[str, float]
    high: dict[str, float]
    median: Ranking
    at_low: Ranking
    at_high: Ranking
    worst: Ranking

    @property
    def holds(self) -> bool:
        """Return whether the winner at the median wins at any quotes."""
        return self.worst.names[0] == self.median.names[0]


def rank_by_kind(
    options: Sequence[Option], quotes: Mapping[str, Sequence[Price]]
) -> tuple[tuple[KindRanking, ...], dict[str, tuple[str, ...]]]:
    """Put options in order under every kind of price that all of them have.

    Parameters
    ----------
    options : sequence of Option
        Their own prices do not count here; fewer than two have no order.
    quotes : mapping of str to sequence of Price
        Of each option those of the catalogue.

    Returns
    -------
    tuple of KindRanking, and dict of str to tuple of str
        Kinds in the order of `PriceKind`; and of kinds that only some have, those that lack one.
    """
    found: list[KindRanking] = []
    lacking: dict[str, tuple[str, ...]] = {}
    if len(options) < 2:
        return (), {}
    for kind in PriceKind:
        prices = {option.name: _price(option.name, kind, quotes) for option in options}
        without = tuple(name for name, price in prices.items() if price is None)
        if not without:
            found.append(_ranking(kind, options, {name: price for name, price in prices.items() if price}))
        elif len(without) < len(options):
            lacking[kind.value] = without
    return tuple(found), lacking


def _price(name: str, kind: PriceKind, quotes: Mapping[str, Sequence[Price]]) -> PricePerHour | None:
    try:
        return catalogue_price(gpu=name, kind=kind, quotes=quotes.get(name, ()))
    except Unsupported:
        return None


def _ranking(kind: PriceKind, options: Sequence[Option], prices: dict[str, PricePerHour]) -> KindRanking:
    low = {name: min(quote.usd_per_gpu_hour for quote in price.quotes) for name, price in prices.items()}
    high = {name: max(quote.usd_per_gpu_hour for quote in price.quotes) for name, price in prices.items()}
    median = rank(_at(options, {name: price.usd_per_gpu_hour for name, price in prices.items()}))
    first = median.names[0]
    return KindRanking(
        kind=kind.value,
        prices=prices,
        low=low,
        high=high,
        median=median,
        at_low=rank(_at(options, low)),
        at_high=rank(_at(options, high)),
        worst=rank(_at(options, {**low, first: high[first]})),
    )


def _at(options: Sequence[Option], usd_per_gpu_hour: Mapping[str, float]) -> list[Option]:
    return [replace(option, usd_per_gpu_hour=usd_per_gpu_hour[option.name]) for option in options]
