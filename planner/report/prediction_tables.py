"""The tables of a prediction: its figures, side by side, the step, the kernels, and what was measured."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from planner.report.measured import point_record
from planner.report.prediction_text import interval, number
from planner.report.sentences import gpu_label, layout
from planner.report.table import Column, Table

if TYPE_CHECKING:
    from planner.performance.intervals import Estimate
    from planner.report.prediction import PredictAnswer

NAMES = {
    "output_tps_total": "output tok/s, all GPUs",
    "output_tps_per_gpu": "output tok/s a GPU",
    "total_tps_per_gpu": "input and output tok/s a GPU",
    "tps_per_user": "tok/s for each request",
    "ttft_ms": "time to first token, ms",
    "tpot_ms": "time per output token, ms",
    "usd_per_million_output_tokens": "USD per million output tokens",
    "tokens_per_dollar": "output tokens per USD",
}
"""What people read for each figure."""

FIGURE_COLUMNS = (
    Column("name", "figure"),
    Column("value", "expected", right=True, show=number),
    Column("interval", "80 % interval", right=True),
    Column("source", "from"),
)

MODEL_COLUMN = Column("simulated", "model says", right=True, show=number)
"""Beside figures that were measured, or that a provider says."""

STEP_COLUMNS = (
    Column("operator", "part of a step"),
    Column("time_ms", "ms", right=True, show="{:,.2f}".format),
    Column("share", "share", right=True, show="{:.0%}".format),
    Column("bound", "bound by"),
)

KERNEL_COLUMNS = (
    Column("what", "for"),
    Column("kernel", "kernel"),
    Column("compute_dtype", "in"),
    Column("cost", "costs", right=True),
    Column("note", "why, and what avoids it", flexible=True),
)

MEASURED_COLUMNS = (
    Column("concurrency", "requests\nat once", right=True, show="{:,.0f}".format),
    Column("gpus", "GPUs", right=True),
    Column("engine", "engine", flexible=True),
    Column("weight_dtype", "weights"),
    Column("output_tps_total", "output\ntok/s", right=True, show=number),
    Column("tps_per_user", "tok/s a\nrequest", right=True, show=number),
    Column("ttft_ms", "TTFT\nms", right=True, show=number),
    Column("tpot_ms", "TPOT\nms", right=True, show=number),
    Column("date", "date"),
)

SIDE_COLUMNS = (
    Column("gpu", "GPU", show=gpu_label),
    Column("gpus", "GPUs", right=True),
    Column("layout", "layout", flexible=True),
    Column("output_tps_total", "output\ntok/s", right=True, show=number),
    Column("interval", "80 %\ninterval", right=True),
    Column("output_tps_per_gpu", "tok/s\na GPU", right=True, show=number),
    Column("tps_per_user", "tok/s a\nrequest", right=True, show=number),
    Column("ttft_ms", "TTFT\nms", right=True, show=number),
    Column("tpot_ms", "TPOT\nms", right=True, show=number),
)
COST_COLUMN = Column("usd_per_million_output_tokens", "USD per\nM output", right=True, show="{:,.2f}".format)
FROM_COLUMN = Column("source", "from", flexible=True)


def figures_table(answer: PredictAnswer) -> Table:
    """Return the figures of one answer with their intervals, and money where there is a price.

    Parameters
    ----------
    answer : PredictAnswer
        The answer.

    Returns
    -------
    Table
    """
    named: list[tuple[str, Estimate | None]] = [
        *((name, answer.figures.get(name)) for name in NAMES if name in answer.figures),
        ("usd_per_million_output_tokens", answer.usd_per_million_output_tokens),
        ("tokens_per_dollar", answer.tokens_per_dollar),
    ]
    rows = [
        {
            "name": NAMES[name],
            "value": found.value,
            "simulated": _model_says(answer, name),
            "interval": interval(found),
            "source": answer.predicted.source_of(name if name in answer.figures else "output_tps_total"),
        }
        for name, found in named
        if found is not None
    ]
    other = answer.predicted.measured is not None or answer.predicted.provided is not None
    columns = (*FIGURE_COLUMNS, MODEL_COLUMN) if other else FIGURE_COLUMNS
    return Table(columns, tuple(rows))


def _model_says(answer: PredictAnswer, name: str) -> float | None:
    """Return what the model says of a figure that was measured or is a provider's; None of any other."""
    prediction = answer.predicted.prediction
    if prediction is None or answer.predicted.source_of(name) == "simulated":
        return None
    found: float = getattr(prediction, name).value
    return found


def side_by_side(answers: Sequence[PredictAnswer]) -> Table:
    """Return one row for each accelerator.

    Parameters
    ----------
    answers : sequence of PredictAnswer
        The answers, of one model and load.

    Returns
    -------
    Table
    """
    columns = [*SIDE_COLUMNS]
    if any(answer.price for answer in answers):
        columns.append(COST_COLUMN)
    return Table((*columns, FROM_COLUMN), tuple(_side_row(answer) for answer in answers))


def _side_row(answer: PredictAnswer) -> dict[str, Any]:
    cost = answer.usd_per_million_output_tokens
    rate = answer.figures.get("output_tps_total")
    return {
        "gpu": answer.gpu,
        "gpus": answer.gpus,
        "layout": layout(answer.fit.memory.deployment),
        **{name: found.value for name, found in answer.figures.items()},
        "interval": None if rate is None else interval(rate),
        "usd_per_million_output_tokens": None if cost is None else cost.value,
        "source": _state(answer) if rate is None else _sources(answer),
    }


def _sources(answer: PredictAnswer) -> str:
    """Return where a row's figures are from, and its TTFT where that is from elsewhere."""
    rate, first = (answer.predicted.source_of(name) for name in ("output_tps_total", "ttft_ms"))
    return rate if first == rate or "ttft_ms" not in answer.figures else f"{rate}, TTFT {first}"


def _state(answer: PredictAnswer) -> str:
    if not answer.fit.fits:
        return "does not fit"
    return "overloaded" if answer.predicted.overload else "not measured"


def step_table(answer: PredictAnswer) -> Table | None:
    """Return the parts of a decode step, the largest first; None without a prediction."""
    prediction = answer.predicted.prediction
    if prediction is None:
        return None
    rows = tuple(
        {"operator": row.operator, "time_ms": 1e3 * row.time_s, "share": row.share, "bound": row.bound}
        for row in prediction.step_breakdown
    )
    return Table(STEP_COLUMNS, rows, "Where the time of a decode step goes (simulated)")


def steps_side_by_side(answers: Sequence[PredictAnswer]) -> Table | None:
    """Return the parts of a decode step, one column for each accelerator that has a prediction.

    Parameters
    ----------
    answers : sequence of PredictAnswer
        The answers.

    Returns
    -------
    Table or None
        None without any prediction; the parts in the order of the first one.
    """
    shown = [answer for answer in answers if answer.predicted.prediction is not None]
    parts: dict[str, dict[str, Any]] = {}
    for answer in shown:
        for row in (step_table(answer) or Table((), ())).rows:
            parts.setdefault(row["operator"], {"operator": row["operator"]})[answer.gpu] = row["time_ms"]
    if not parts:
        return None
    columns = (
        STEP_COLUMNS[0],
        *(Column(each.gpu, gpu_label(each.gpu), right=True, show="{:,.2f}".format) for each in shown),
    )
    return Table(columns, tuple(parts.values()), "Where the time of a decode step goes (simulated, ms)")


def kernels_table(answers: Sequence[PredictAnswer]) -> Table | None:
    """Return the kernels that were assumed and what they cost; None where no rule speaks of any.

    Parameters
    ----------
    answers : sequence of PredictAnswer
        The answers; several have a column with the accelerator.

    Returns
    -------
    Table or None
    """
    rows = tuple(
        {
            "gpu": answer.gpu,
            "what": f"{kernel.operator} {kernel.phase}",
            "kernel": kernel.kernel,
            "compute_dtype": kernel.compute_dtype,
            "cost": cost_text(kernel.slowdown, kernel.padding),
            "note": kernel.note + (f"; {kernel.remedy}" if kernel.remedy else ""),
        }
        for answer in answers
        if answer.predicted.prediction is not None
        for kernel in answer.predicted.prediction.kernels
    )
    if not rows:
        return None
    columns = KERNEL_COLUMNS if len(answers) == 1 else (SIDE_COLUMNS[0], *KERNEL_COLUMNS)
    return Table(columns, rows, "Kernels assumed")


def cost_text(slowdown: float, padding: float) -> str:
    """Return what a kernel costs: times longer than the fast one, and work on heads that are padding."""
    said = []
    if slowdown > 1:
        said.append(f"{slowdown:.2g}x time")
    if padding > 1:
        said.append(f"{padding:.2g}x heads")
    return ", ".join(said) or "nothing"


def measured_table(answer: PredictAnswer) -> Table | None:
    """Return the runs that were measured at the load or on both sides of it; None where there are none."""
    found = answer.predicted.measured
    if found is None:
        return None
    rows = tuple(
        {
            **point_record(point),
            "ttft_ms": point.ttft_ms_median or point.ttft_ms_mean,
            "tpot_ms": point.tpot_ms_median or point.tpot_ms_mean,
        }
        for point in found.points
    )
    return Table(MEASURED_COLUMNS, rows, "Measured")
