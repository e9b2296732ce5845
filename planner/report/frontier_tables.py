"""The tables of a frontier: the best of each accelerator, its points, its layouts, and measured runs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from planner.report.frontier_text import facts, slo_text
from planner.report.measured import point_source
from planner.report.prediction_text import interval, number
from planner.report.provenance import price_rows, sources_table
from planner.report.sentences import gpu_label
from planner.report.table import Column, Table, facts_table

if TYPE_CHECKING:
    from planner.measurement.frontier_points import MeasuredMarker
    from planner.planning.search import Point
    from planner.report.frontier import FrontierAnswer

MOST_ROWS = 12
"""Points of a frontier that a table shows; all are in JSON and CSV."""
MOST_MEASURED = 6

POINT_COLUMNS = (
    Column("gpus", "GPUs", right=True),
    Column("deployment", "deployment", flexible=True),
    Column("concurrency", "requests\nat once", right=True, show=number),
    Column("tps_per_user", "tok/s a\nrequest", right=True, show=number),
    Column("output_tps_per_gpu", "tok/s\na GPU", right=True, show=number),
    Column("interval", "80 %\ninterval", right=True),
    Column("ttft_ms", "TTFT\nms", right=True, show=number),
)
COST_COLUMN = Column("usd_per_million_output_tokens", "USD per\nM output", right=True, show="{:,.2f}".format)
BOUND_COLUMN = Column("bound_by", "bound by", flexible=True)
GPU_COLUMN = Column("gpu", "GPU", show=gpu_label)

MEASURED_COLUMNS = (
    Column("gpus", "GPUs", right=True),
    Column("engine", "engine", flexible=True),
    Column("concurrency", "requests\nat once", right=True, show=number),
    Column("tps_per_user", "tok/s a\nrequest", right=True, show=number),
    Column("output_tps_per_gpu", "tok/s\na GPU", right=True, show=number),
    Column("weight_dtype", "weights"),
    Column("apart", "apart,\ndrafts"),
    Column("date", "date"),
)


def best_table(answers: Sequence[FrontierAnswer]) -> Table:
    """Return the best point of each accelerator that has one, side by side.

    Parameters
    ----------
    answers : sequence of FrontierAnswer
        The answers.

    Returns
    -------
    Table
    """
    rows = tuple(
        {"gpu": answer.gpu, **_row(answer.best), "bound_by": answer.bound_by}
        for answer in answers
        if answer.best is not None
    )
    priced = any(answer.price for answer in answers)
    columns = (GPU_COLUMN, *POINT_COLUMNS, *((COST_COLUMN,) if priced else ()), BOUND_COLUMN)
    slo = answers[0].slo
    return Table(columns, rows, "Best of each" + (f" with {slo_text(slo)}" if slo else ""))


def answer_tables(answer: FrontierAnswer) -> tuple[Table, ...]:
    """Return the frontier of an accelerator, its best layouts, measured runs, and what was left out.

    Parameters
    ----------
    answer : FrontierAnswer
        The answer.

    Returns
    -------
    tuple of Table
    """
    label = gpu_label(answer.gpu)
    tables = [
        _frontier_table(answer, label),
        _layouts_table(answer, label),
        _measured_table(answer, label),
        facts_table(facts(answer), f"{label}: what was tried"),
    ]
    return tuple(table for table in tables if table.rows)


def _columns(answer: FrontierAnswer) -> tuple[Column, ...]:
    return (*POINT_COLUMNS, COST_COLUMN) if answer.price else POINT_COLUMNS


def _frontier_table(answer: FrontierAnswer, label: str) -> Table:
    shown = spread(answer.points, MOST_ROWS)
    more = len(answer.points) - len(shown)
    left = "1 point between is" if more == 1 else f"{more} points between are"
    title = f"{label}: nothing has more of both" + (f" ({left} left out)" if more else "")
    return Table(_columns(answer), tuple(_row(point) for point in shown), title)


def _layouts_table(answer: FrontierAnswer, label: str) -> Table:
    rows = tuple({**_row(point), "bound_by": prediction.bound_by} for point, prediction in answer.layouts)
    return Table((*_columns(answer), BOUND_COLUMN), rows, f"{label}: the best of each layout")


def _measured_table(answer: FrontierAnswer, label: str) -> Table:
    best = [marker for marker in answer.measured if marker.best]
    rows = tuple(_measured_row(marker) for marker in spread(best, MOST_MEASURED))
    return Table(MEASURED_COLUMNS, rows, f"{label}: measured runs that none beats")


def _measured_row(marker: MeasuredMarker) -> dict[str, Any]:
    point = marker.point
    kinds = [name for name, yes in (("apart", point.disagg), ("drafts", point.spec_decode)) if yes]
    return {
        "gpus": point.n_gpus,
        "engine": " ".join(part for part in (point.engine, point.engine_version) if part) or None,
        "concurrency": point.concurrency,
        "tps_per_user": marker.tps_per_user,
        "output_tps_per_gpu": marker.output_tps_per_gpu,
        "weight_dtype": point.weight_dtype,
        "apart": ", ".join(kinds) or None,
        "date": point.date,
    }


def spread(points: Sequence[Any], most: int) -> list[Any]:
    """Return at most so many of a sequence, both ends among them, evenly by place."""
    last = len(points) - 1
    if last < most:
        return list(points)
    return [points[round(place * last / (most - 1))] for place in range(most)]


def _row(point: Point) -> dict[str, Any]:
    cost = point.usd_per_million_output_tokens
    return {
        "gpus": point.candidate.gpus,
        "deployment": point.candidate.label,
        "concurrency": point.concurrency,
        "tps_per_user": point.tps_per_user.value,
        "output_tps_per_gpu": point.output_tps_per_gpu.value,
        "interval": interval(point.output_tps_per_gpu),
        "ttft_ms": point.ttft_ms.value,
        "usd_per_million_output_tokens": None if cost is None else cost.value,
    }


def frontier_sources(answers: Sequence[FrontierAnswer]) -> Table:
    """Return where prices and measured runs come from, each with its date.

    Parameters
    ----------
    answers : sequence of FrontierAnswer
        The answers.

    Returns
    -------
    Table
    """
    prices = [row for answer in answers for row in price_rows(gpu_label(answer.gpu), answer.price)]
    runs = [point_source(one.point) for answer in answers for one in answer.measured if one.best]
    return sources_table([*prices, *runs])
