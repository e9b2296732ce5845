"""A break-even in words: where the answer flips, how sure that is, and what is cheaper now."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from planner.measurement.breaking_even import PRICE, UNITS, UTILISATION, VOLUME
from planner.report.owning import caveat_sentence
from planner.report.prediction_text import number
from planner.units import format_count

if TYPE_CHECKING:
    from planner.measurement.breaking_even import Decided
    from planner.planning.breakeven import Flip
    from planner.report.breakeven import BreakEvenReport


def point_text(over: str, value: float | None) -> str:
    """Return a point as people read it, such as "62 %", "1.65" or "4.1 G"; empty where it is open."""
    if value is None:
        return ""
    if over == UTILISATION:
        return f"{100 * value:.1f} %"
    if over == VOLUME:
        return format_count(value)
    return f"{value:,.2f}" if over == PRICE else f"{value:,.0f}"


def interval_text(over: str, flip: Flip) -> str:
    """Return the interval of a flip; an end outside of what was searched is open."""
    if flip.low == flip.high:
        return ""  # both open, or exact at these prices
    if flip.low is None:
        return f"80 % interval up to {point_text(over, flip.high)}"
    if flip.high is None:
        return f"80 % interval from {point_text(over, flip.low)}"
    return f"80 % interval {point_text(over, flip.low)} to {point_text(over, flip.high)}"


def report_sentence(report: BreakEvenReport) -> str:
    """Return where the answer flips and what is cheaper now.

    Parameters
    ----------
    report : BreakEvenReport
        The break-even.

    Returns
    -------
    str
    """
    if report.decided is None:
        said = f"{report.about}: {_dtypes(report)}."
    else:
        said = f"{report.about}: {_flips(report, report.decided)} {now_text(report.decided)}"
    prices = [side.price for side in report.sides if side.price is not None]
    return " ".join(dict.fromkeys([said, *(text for price in prices if (text := caveat_sentence(price)))]))


def shown_flip(report: BreakEvenReport, flip: Flip) -> Flip:
    """Return a flip in the currency of the report, where it is a price and no ratio."""
    decided, per_usd = report.decided, report.currency.per_usd
    if decided is None or decided.over != PRICE or not decided.hosted:
        return flip
    low, high = (None if end is None else per_usd * end for end in (flip.low, flip.high))
    return replace(flip, at=per_usd * flip.at, low=low, high=high)


def now_text(decided: Decided) -> str:
    """Return what is cheaper as asked, and by how much."""
    names, ratio = decided.names, decided.ratio.value
    cheaper, dearer = names if ratio <= 1 else (names[1], names[0])
    less = 100 * (1 - min(ratio, 1 / ratio))
    if abs(ratio - 1) < 5e-4:
        return (
            f"As asked both {'cost the same' if decided.priced else 'take the same GPU time'} for each token."
        )
    if decided.priced:
        return f"As asked {cheaper} costs {less:.0f} % less than {dearer} for each token."
    return f"As asked {cheaper} takes {less:.0f} % less GPU time than {dearer} for each token."


def _flips(report: BreakEvenReport, decided: Decided) -> str:
    found, over = decided.result, decided.over
    if found.flip is None:
        ends = " and ".join(number(ratio) for ratio in found.ratios)
        return f"never flips: {found.reason} ({' / '.join(decided.names)}: {ends} at both ends)."
    if over == PRICE:
        return _price(report, decided, shown_flip(report, found.flip))
    said = []
    for flip in found.flips[:3]:
        interval = interval_text(over, flip)
        point = point_text(over, flip.at)
        what = "utilisation" if over == UTILISATION else UNITS[over]
        at = point if over == UTILISATION else f"{point} {what}"
        said.append(
            f"{flip.below} is cheaper below {at}, {flip.above} above" + (f" ({interval})" if interval else "")
        )
    if len(found.flips) > 3:
        said.append(f"{len(found.flips) - 3} more flips above")
    return "; ".join(said) + "."


def _price(report: BreakEvenReport, decided: Decided, flip: Flip) -> str:
    spread, currency = interval_text(PRICE, flip), report.currency
    interval = f" ({spread})" if spread else ""
    if decided.hosted:
        return (
            f"{flip.below} is cheaper than {flip.above} while its GPU-hour costs under {flip.at:,.2f} "
            f"{currency.code}{interval}."
        )
    said = f"{flip.below} wins if its price is under {flip.at:.2f} times {flip.above}'s{interval}"
    first, second = decided.first.price, decided.second.price
    if first is None or second is None:
        return said + "."
    present = first.usd_per_gpu_hour / second.usd_per_gpu_hour
    other = currency.of_usd(second.usd_per_gpu_hour)
    price = f"{flip.at * other:,.2f} {currency.code}/h at {flip.above}'s {other:,.2f}"
    return f"{said}, {price}; it is {present:.2f} times now."


def _dtypes(report: BreakEvenReport) -> str:
    said = [f"{row.dtype}: {row.winner} ({row.ratio.value:.2f})" for row in report.dtypes]
    winners = {row.winner for row in report.dtypes}
    head = "the format of the weights flips the answer" if len(winners) > 1 else "never flips"
    return f"{head}; cheaper by format ({' / '.join(report.names)} costs): {', '.join(said)}"
