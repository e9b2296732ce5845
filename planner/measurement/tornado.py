"""How far the ratio of two costs moves with each input alone."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace

from planner.economics import DOLLAR, Currency
from planner.measurement.breaking_even import CONCURRENCY, Decided, same_deployment, usual
from planner.measurement.sides import Load, Side
from planner.performance.intervals import Estimate
from planner.planning.sensitivity import Swing, by_swing
from planner.units import format_significant

PRICE_SPAN = 0.2
"""A price without quotes may be negotiated so far."""
POWER_SPAN = 0.3
"""Power and space of owned hardware: 115 to 160 USD per kW-month and so much more or less draw."""
UTILISATIONS, AVAILABILITIES = (0.4, 0.9), (0.95, 0.999)
LENGTH_SPAN = 2.0
POWER_PARTS = ("colocation", "electricity")


def tornado(decided: Decided, currency: Currency = DOLLAR) -> tuple[Swing, ...]:
    """Return every input with the ratio of costs at both of its ends, the widest first.

    Parameters
    ----------
    decided : Decided
        Two options and what they cost.
    currency : Currency
        In which prices are named.

    Returns
    -------
    tuple of Swing
    """
    return by_swing([*_prices(decided, currency), *_rates(decided), *_use(decided), *_loads(decided)])


def _ratio(decided: Decided, first: Side, second: Side, load: Load | None = None) -> float:
    at = load or decided.load
    if load is None:
        return first.usd_per_million(at) / second.usd_per_million(at)
    return first.usd_per_million_at([at])[0] / second.usd_per_million_at([at])[0]


def _sides(decided: Decided) -> Iterator[tuple[int, Side]]:
    yield from enumerate((decided.first, decided.second))


def _with(decided: Decided, place: int, side: Side) -> float:
    both = [decided.first, decided.second]
    both[place] = side
    return _ratio(decided, both[0], both[1])


def _prices(decided: Decided, currency: Currency) -> Iterator[Swing]:
    for place, side in _sides(decided):
        if side.hosted is not None:
            factors = (1 - PRICE_SPAN, 1 + PRICE_SPAN)
            made = [replace(side, hosted=side.hosted.scaled(factor)) for factor in factors]
            span = f"{100 * PRICE_SPAN:.0f} %"
            yield Swing(
                f"price of {side.name}",
                f"-{span}",
                f"+{span}",
                _with(decided, place, made[0]),
                _with(decided, place, made[1]),
                f"assumed: {span} off",
            )
        elif side.price is not None:
            yield from _gpu_price(decided, place, side, currency)


def _gpu_price(decided: Decided, place: int, side: Side, currency: Currency) -> Iterator[Swing]:
    price = side.price
    assert price is not None
    quotes = sorted(quote.usd_per_gpu_hour for quote in price.quotes)
    if quotes and quotes[0] < quotes[-1]:
        low, high, why = quotes[0], quotes[-1], f"{len(quotes)} quotes, {price.kind}"
    else:
        low, high = (price.usd_per_gpu_hour * factor for factor in (1 - PRICE_SPAN, 1 + PRICE_SPAN))
        why = f"assumed: {100 * PRICE_SPAN:.0f} % off"
    yield _priced(decided, place, side, f"price of {side.name}", (low, high), why, currency)
    power = sum(part.usd_per_gpu_hour for part in price.parts if part.name in POWER_PARTS)
    if power:
        ends = (price.usd_per_gpu_hour - POWER_SPAN * power, price.usd_per_gpu_hour + POWER_SPAN * power)
        why = f"assumed: {100 * POWER_SPAN:.0f} % off"
        yield _priced(decided, place, side, f"power and space of {side.name}", ends, why, currency)


def _priced(
    decided: Decided,
    place: int,
    side: Side,
    name: str,
    ends: tuple[float, float],
    why: str,
    currency: Currency,
) -> Swing:
    assert side.price is not None
    made = [replace(side, price=replace(side.price, usd_per_gpu_hour=end)) for end in ends]
    ratios = [_with(decided, place, one) for one in made]
    low, high = (f"{currency.of_usd(end):,.2f} {currency.code}/h" for end in ends)
    return Swing(name, low, high, ratios[0], ratios[1], why)


def _rates(decided: Decided) -> Iterator[Swing]:
    for place, side in _sides(decided):
        rate = side.rate
        if rate is None:
            continue
        both = same_deployment(decided.first, decided.second)
        ratios = []
        for value in (rate.low, rate.high):
            moved = _at_rate(side, value)
            ratios.append(
                _ratio(decided, moved, _at_rate(decided.second, value))
                if both
                else _with(decided, place, moved)
            )
        name = "throughput of both" if both else f"throughput of {side.name}"
        why = f"80 % interval, {side.found.source}" if side.found else ""
        shown = [f"{format_significant(end, 3)} tok/s" for end in (rate.low, rate.high)]
        yield Swing(name, shown[0], shown[1], ratios[0], ratios[1], why)
        if both:
            return


def _at_rate(side: Side, value: float) -> Side:
    assert side.found is not None
    figures = {**(side.found.figures or {}), "output_tps_total": Estimate(value, value, value, "")}
    return replace(side, found=replace(side.found, figures=figures))


def _use(decided: Decided) -> Iterator[Swing]:
    for name, ends in (("utilisation", UTILISATIONS), ("availability", AVAILABILITIES)):
        ratios = []
        for end in ends:
            made = [
                replace(side, use=side.use.model_copy(update={name: end}))
                for side in (decided.first, decided.second)
            ]
            ratios.append(_ratio(decided, made[0], made[1]))
        why = "assumed" if abs(ratios[0] / ratios[1] - 1) > 1e-12 else "cancels"
        shown = [f"{100 * end:g} %" for end in ends]
        yield Swing(name, shown[0], shown[1], ratios[0], ratios[1], why)


def _loads(decided: Decided) -> Iterator[Swing]:
    load = decided.load
    named = [("input length", "isl", "tokens"), ("output length", "osl", "tokens")]
    if load.concurrency is not None:
        named.append(("requests at once", "concurrency", "requests"))
    for name, field, unit in named:
        value = getattr(load, field)
        ends = (max(1.0, value / LENGTH_SPAN), min(value * LENGTH_SPAN, _longest(decided, field, value)))
        ratios = [
            _ratio(decided, decided.first, decided.second, replace(load, **{field: end})) for end in ends
        ]
        upper = "double" if ends[1] == value * LENGTH_SPAN else "all that both hold"
        why = f"half, {upper} (model)"
        yield Swing(name, f"{ends[0]:,.0f} {unit}", f"{ends[1]:,.0f} {unit}", ratios[0], ratios[1], why)


def _longest(decided: Decided, field: str, value: float) -> float:
    """Return the most of a length that both deployments hold; requests at once may wait."""
    if field == CONCURRENCY:
        return math.inf
    return max(value, usual(decided.first, decided.second, decided.load, field)[1])
