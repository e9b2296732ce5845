"""The price of one GPU for one hour: given by the user, or taken from the catalogue's quotes."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from numbers import Real
from typing import Any

from planner.catalogue import Price, PriceKind
from planner.errors import InvalidInput, Unsupported, shorten

GIVEN = "given"
"""Kind of a price that the user states."""

OWN = "own"
"""Kind of a price worked out from what owning costs; quotes of others' owning are of the kinds TCO-..."""

PURCHASE = "purchase"
"""Kind of a price worked out from what a card was bought for, and the hours in which it works."""

API = "api"
"""Kind of a hosted price, which is per token and never per GPU-hour."""

OWNING_ARGUMENTS = {
    "capex": "capex_usd_per_gpu",
    "kw": "kw_per_gpu",
    "cost_of_capital": "cost_of_capital",
    "life_years": "life_years",
    "colocation": "colocation_usd_per_kw_month",
    "power_in_colocation": "power_in_colocation",
    "electricity": "electricity_usd_per_kwh",
    "pue": "pue",
    "resale": "residual_share",
    "network_capex": "network_usd_per_gpu",
    "spares": "spare_share",
    "staff": "staff_usd_per_gpu_year",
    "purchase": "price_usd",
    "hours_a_day": "hours_a_day",
}
"""Arguments of the front door, spelt as their options, and the fields of `OwningTerms` they stand for."""

PUBLISHED = "published"
"""Confidence of a quote that somebody published; others are inferred, unverified or assumed."""

LOWEST_USD_PER_GPU_HOUR = 0.01
HIGHEST_USD_PER_GPU_HOUR = 1000.0
"""No accelerator has been rented for less or more; a price outside is a slip of the keyboard."""


def terms_given(arguments: Mapping[str, Any]) -> dict[str, Any]:
    """Return those of the arguments of the front door that are terms of owning, by field of `OwningTerms`.

    Parameters
    ----------
    arguments : mapping
        By name; None is what was not given.

    Returns
    -------
    dict
    """
    given = {field: arguments.get(name) for name, field in OWNING_ARGUMENTS.items()}
    return {field: value for field, value in given.items() if value is not None}


@dataclass(frozen=True, slots=True)
class CostPart:
    """One part of what an owned GPU costs.

    Parameters
    ----------
    name : str
        Such as "colocation".
    usd_per_gpu_hour : float
        Its share of a GPU-hour [USD/h]; what is got back is negative.
    provenance : str
        From what figures, and where those come from.
    """

    name: str
    usd_per_gpu_hour: float
    provenance: str


@dataclass(frozen=True, slots=True)
class PricePerHour:
    """A price and where it comes from.

    Parameters
    ----------
    usd_per_gpu_hour : float
        Price of one GPU [USD/h].
    kind : str
        The terms, such as "on-demand"; "given" by the user, or "own" from what owning costs.
    provenance : str
        Who quotes it and when.
    quotes : tuple of Price
        The quotes it is the median of; empty for a price that the user states.
    parts : tuple of CostPart
        What a price of the kind "own" is the sum of.
    caveats : tuple of str
        What a reader must know before relying on it, the weightiest first.
    used_share : float
        Share of the hours that are paid in which the GPU can serve at all; below 1 of a purchase.
    """

    usd_per_gpu_hour: float
    kind: str
    provenance: str
    quotes: tuple[Price, ...] = ()
    parts: tuple[CostPart, ...] = ()
    caveats: tuple[str, ...] = ()
    used_share: float = 1.0

    @property
    def usd_per_used_hour(self) -> float:
        """Return the price of an hour in which the GPU serves, the hours beside it paid [USD/h]."""
        return self.usd_per_gpu_hour / self.used_share


def given_price(usd_per_gpu_hour: float) -> PricePerHour:
    """Return the price that a user states.

    Parameters
    ----------
    usd_per_gpu_hour : float
        Price of one GPU [USD/h].

    Returns
    -------
    PricePerHour

    Raises
    ------
    InvalidInput
        When it lies outside what any accelerator has been rented for.
    """
    given: object = usd_per_gpu_hour
    if isinstance(given, bool) or not isinstance(given, Real):
        raise InvalidInput(f"price: {shorten(given)} is no number of USD per GPU-hour")
    low, high = LOWEST_USD_PER_GPU_HOUR, HIGHEST_USD_PER_GPU_HOUR
    if not math.isfinite(usd_per_gpu_hour) or not low <= usd_per_gpu_hour <= high:
        raise InvalidInput(
            f"price {usd_per_gpu_hour:g} is out of range; {low:g} to {high:,.0f} USD per GPU-hour"
        )
    return PricePerHour(float(usd_per_gpu_hour), GIVEN, "given by you")


def catalogue_price(*, gpu: str, kind: PriceKind | str, quotes: Sequence[Price]) -> PricePerHour:
    """Return the median of what providers ask on terms of one kind, with the range it spans.

    Parameters
    ----------
    gpu : str
        Id of the accelerator.
    kind : PriceKind or str
        The terms; quotes of other kinds are left out, since they do not compare.
    quotes : sequence of Price
        The quotes of the accelerator.

    Returns
    -------
    PricePerHour
        The median over the latest quote of each provider; the mean of the two in the middle where their
        number is even. Quotes that nobody published are left out unless there are no others.

    Raises
    ------
    Unsupported
        When nobody quotes this kind; it names the kinds that are quoted.
    """
    from statistics import median  # late: it is slow to import and most questions name no kind

    of_kind = [quote for quote in quotes if quote.kind == kind]
    if not of_kind:
        have = sorted({quote.kind.value for quote in quotes})
        akin = [other for other in have if other.split("-")[0] == kind.split("-")[0]]
        near = f"nearest: {', '.join(akin)}; " if akin else ""
        listed = ", ".join(have) or "none"
        raise Unsupported(
            f"{gpu} has no {kind} price; {near}kinds quoted: {listed}; or state one: --price {gpu}=USD"
        )
    published = _latest_of_each(quote for quote in of_kind if quote.confidence == PUBLISHED)
    wanted = published or _latest_of_each(of_kind)
    said = _said(wanted)
    if not published:
        said += f" ({', '.join(sorted({quote.confidence for quote in wanted}))}: no published quote)"
    usd = median(quote.usd_per_gpu_hour for quote in wanted)
    return PricePerHour(usd, PriceKind(kind).value, said, wanted)


def _latest_of_each(quotes: Iterable[Price]) -> tuple[Price, ...]:
    """Return the latest quote of each provider, the cheapest first."""
    latest: dict[str, Price] = {}
    for quote in sorted(quotes, key=lambda quote: quote.date):
        latest[quote.provider] = quote
    return tuple(sorted(latest.values(), key=lambda quote: quote.usd_per_gpu_hour))


def _said(quotes: Sequence[Price]) -> str:
    dates = sorted(quote.date for quote in quotes)
    if len(quotes) == 1:
        return f"{quotes[0].provider}, {dates[0]}"
    low, high = quotes[0].usd_per_gpu_hour, quotes[-1].usd_per_gpu_hour
    when = dates[0] if dates[0] == dates[-1] else f"{dates[0]} to {dates[-1]}"
    return f"median of {len(quotes)} quotes, {low:.2f} to {high:.2f} USD/h, {when}"
