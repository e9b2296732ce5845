"""The tables of a break-even: the options, where the answer flips, and what moves it."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from planner.report.breakeven_records import unit_of
from planner.report.breakeven_text import point_text, shown_flip
from planner.report.prediction_text import interval, number
from planner.report.provenance import price_rows, sources_table
from planner.report.table import Column, Table

if TYPE_CHECKING:
    from planner.measurement.sides import Load, Side
    from planner.planning.breakeven import Flip
    from planner.report.breakeven import BreakEvenReport


def _ratio(value: float) -> str:
    return f"{value:,.3f}"


def breakeven_tables(report: BreakEvenReport) -> tuple[Table, ...]:
    """Return all tables of a break-even in the order in which they are read.

    Parameters
    ----------
    report : BreakEvenReport
        The break-even.

    Returns
    -------
    tuple of Table
        Those that have rows.
    """
    tables = (options_table(report), dtypes_table(report), flips_table(report), tornado_table(report))
    return tuple(table for table in tables if table is not None)


def options_table(report: BreakEvenReport) -> Table:
    """Return both options: what they yield, and what they cost."""
    priced, currency = all(side.priced for side in report.sides), report.currency
    columns = (
        Column("name", "option"),
        Column("gpus", "GPUs", right=True),
        Column("layout", "layout", flexible=True),
        Column("output_tps", "output\ntok/s", right=True, show=number),
        Column("interval", "80 %\ninterval", right=True),
        Column("source", "from"),
        Column("usd_per_gpu_hour", f"{currency.code} per\nGPU-hour", right=True, show="{:,.2f}".format),
        Column(
            "cost",
            f"{currency.code} per\nM output" if priced else "GPU-hours\nper M output",
            right=True,
            show="{:,.2f}".format,
        ),
        Column("paid", "idle time", flexible=True),
    )
    load = report.decided.load if report.decided else None
    use = report.sides[0].use.sentence
    rows = tuple(_option_row(side, load, currency.per_usd if priced else 1.0) for side in report.sides)
    return Table(columns, rows, f"The options, {use}")


def _option_row(side: Side, load: Load | None, per_usd: float) -> dict[str, Any]:
    """Return one option; what is shown as money is so many times what it is in USD."""
    rate, found = side.rate, side.found
    return {
        "name": side.name,
        "gpus": side.gpus or None,
        "layout": (found.label or found.memory.deployment.layout) if found else "hosted API",
        "output_tps": rate.value if rate else None,
        "interval": interval(rate) if rate else None,
        "source": found.source if found else "price",
        "usd_per_gpu_hour": per_usd * side.price.usd_per_gpu_hour if side.price else None,
        "cost": per_usd * side.usd_per_million(load) if load else None,
        "paid": "costs nothing" if side.paid_when_used else "paid",
    }


def flips_table(report: BreakEvenReport) -> Table | None:
    """Return every point at which the answer flips; None where there is none."""
    decided = report.decided
    if decided is None or not decided.result.flips:
        return None
    columns = (
        Column("at", "flips at", right=True),
        Column("interval", "80 % interval", right=True),
        Column("below", "cheaper\nbelow"),
        Column("above", "cheaper\nabove"),
        Column("how", "how it was solved", flexible=True),
    )
    rows = tuple(_flip_row(shown_flip(report, flip), report.over) for flip in decided.result.flips)
    return Table(columns, rows, f"Where the answer flips, {unit_of(report, report.currency)}")


def _flip_row(flip: Flip, over: str) -> dict[str, Any]:
    ends = [point_text(over, flip.low) or "?", point_text(over, flip.high) or "?"]
    return {
        "at": point_text(over, flip.at),
        "interval": None if flip.low == flip.high else " to ".join(ends),
        "below": flip.below,
        "above": flip.above,
        "how": flip.how,
    }


def dtypes_table(report: BreakEvenReport) -> Table | None:
    """Return both options with every format of the weights that was asked about."""
    if not report.dtypes:
        return None
    columns = (
        Column("dtype", "weights"),
        Column("first", report.names[0], right=True, show=number),
        Column("second", report.names[1], right=True, show=number),
        Column("ratio", "ratio", right=True, show=_ratio),
        Column("interval", "80 % interval", right=True),
        Column("winner", "cheaper"),
    )
    priced = all(side.priced for side in report.sides)
    per_usd = report.currency.per_usd if priced else 1.0
    rows = tuple(
        {
            "dtype": row.dtype,
            "first": per_usd * row.costs[0],
            "second": per_usd * row.costs[1],
            "ratio": row.ratio.value,
            "interval": f"{row.ratio.low:.2f} to {row.ratio.high:.2f}",
            "winner": row.winner,
        }
        for row in report.dtypes
    )
    unit = report.currency.code if priced else "GPU-hours"
    return Table(columns, rows, f"By format of the weights, {unit} per million output tokens")


def tornado_table(report: BreakEvenReport) -> Table | None:
    """Return what one input alone does to the ratio of costs, the widest first."""
    decided = report.decided
    if decided is None or not report.swings:
        return None
    columns = (
        Column("input", "input", flexible=True),
        Column("low", "low", right=True),
        Column("high", "high", right=True),
        Column("low_ratio", "ratio\nat low", right=True, show=_ratio),
        Column("high_ratio", "ratio\nat high", right=True, show=_ratio),
        Column("flips", "flips"),
        Column("why", "ends", flexible=True),
    )
    rows = tuple(
        {
            "input": swing.name,
            "low": swing.low,
            "high": swing.high,
            "low_ratio": swing.low_ratio,
            "high_ratio": swing.high_ratio,
            "flips": "yes" if swing.flips(decided.ratio.value) else "",
            "why": swing.why,
        }
        for swing in report.swings
    )
    first, second = decided.names
    title = f"Cost of {first} over that of {second}, one input at a time ({decided.ratio.value:.3f} as asked)"
    return Table(columns, rows, title)


def breakeven_sources(report: BreakEvenReport) -> Table:
    """Return the runs that were measured and the quotes, with their dates."""
    return sources_table(row for side in report.sides for row in _side_sources(side))


def _side_sources(side: Side) -> Iterable[dict[str, Any]]:
    measured = side.found.measured if side.found else None
    for point in measured.points if measured else ():
        yield {
            "what": f"measured: {side.name}, {point.n_gpus} GPUs",
            "source": point.source,
            "date": point.date,
            "url": point.source_url,
        }
    yield from price_rows(side.name, side.price)
    if side.hosted is not None:
        yield {"what": f"price of {side.name}", "source": side.hosted.provenance}
