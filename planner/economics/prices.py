"""The price of one GPU for one hour: given by the user, or taken from the catalogue's quotes."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from planner.catalogue import Price, PriceKind
from planner.errors import InvalidInput, Unsupported

GIVEN = "given"
"""Kind of a price that the user states."""

LOWEST_USD_PER_GPU_HOUR = 0.01
HIGHEST_USD_PER_GPU_HOUR = 1000.0
"""No accelerator has been rented for less or more; a price outside is a slip of the keyboard."""


@dataclass(frozen=True, slots=True)
class PricePerHour:
    """A price and where it comes from.

    Parameters
    ----------
    usd_per_gpu_hour : float
        Price of one GPU [USD/h].
    kind : str
        The terms, such as "on-demand", or "given".
    provenance : str
        Who quotes it and when.
    """

    usd_per_gpu_hour: float
    kind: str
    provenance: str


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
    low, high = LOWEST_USD_PER_GPU_HOUR, HIGHEST_USD_PER_GPU_HOUR
    if not math.isfinite(usd_per_gpu_hour) or not low <= usd_per_gpu_hour <= high:
        raise InvalidInput(
            f"price {usd_per_gpu_hour:g} is out of range; {low:g} to {high:,.0f} USD per GPU-hour"
        )
    return PricePerHour(usd_per_gpu_hour, GIVEN, "given by you")


def catalogue_price(*, gpu: str, kind: PriceKind | str, quotes: Sequence[Price]) -> PricePerHour:
    """Return the median of the catalogue's quotes of one kind, with the range they span.

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
        For an even number of quotes the lower of the two in the middle, so that it is a price somebody asks.

    Raises
    ------
    Unsupported
        When nobody quotes this kind; it names the kinds that are quoted.
    """
    wanted = sorted(
        (quote for quote in quotes if quote.kind == kind), key=lambda quote: quote.usd_per_gpu_hour
    )
    if not wanted:
        have = ", ".join(sorted({quote.kind.value for quote in quotes})) or "none"
        raise Unsupported(f"{gpu} has no {kind} price; kinds quoted: {have}; or state one: --price {gpu}=USD")
    middle = wanted[(len(wanted) - 1) // 2]
    dates = sorted(quote.date for quote in wanted)
    if len(wanted) == 1:
        said = f"{middle.provider}, {middle.date}"
    else:
        low, high = wanted[0].usd_per_gpu_hour, wanted[-1].usd_per_gpu_hour
        said = f"median of {len(wanted)} quotes, {low:.2f} to {high:.2f} USD/h, {dates[0]} to {dates[-1]}"
    return PricePerHour(middle.usd_per_gpu_hour, str(PriceKind(kind).value), said)
