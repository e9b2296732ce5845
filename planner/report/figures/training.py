"""A training run in figures: where the time of a step goes, and what takes the memory."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from planner.report.figures.memory import NAMES_PIXELS, ROW_PIXELS
from planner.report.figures.style import INK, SERIES, plain, styled
from planner.report.sentences import gpu_label
from planner.report.table import GIB
from planner.report.training_tables import MEMORY_NAMES, STEP_NAMES

if TYPE_CHECKING:
    from plotly.graph_objects import Figure

    from planner.report.training import TrainAnswer


def step_figure(answers: Sequence[TrainAnswer]) -> Figure:
    """Return the parts of a step as shares, a bar for each accelerator that holds the run.

    Parameters
    ----------
    answers : sequence of TrainAnswer
        The answers.

    Returns
    -------
    plotly.graph_objects.Figure
    """
    steps = {_label(answer): answer.trained.plan.step for answer in answers if answer.trained.plan.step}
    rows = {
        STEP_NAMES[part]: [step.parts_s[part] / step.step_s for step in steps.values()] for part in STEP_NAMES
    }
    return _stacked(list(steps), rows, "share of a step (simulated)", "%{x:.1%}")


def memory_figure(answers: Sequence[TrainAnswer]) -> Figure:
    """Return the memory of the fullest GPU of each run, part by part [GiB].

    Parameters
    ----------
    answers : sequence of TrainAnswer
        The answers.

    Returns
    -------
    plotly.graph_objects.Figure
    """
    rows = {
        name: [answer.trained.plan.memory.parts_bytes[part] / GIB for answer in answers]
        for part, name in MEMORY_NAMES.items()
    }
    return _stacked([_label(one) for one in answers], rows, "memory of the fullest GPU, GiB", "%{x:,.1f} GiB")


def _stacked(labels: list[str], rows: dict[str, list[float]], axis: str, shown: str) -> Figure:
    from plotly.graph_objects import Bar, Figure

    figure = Figure()
    for place, (name, values) in enumerate(rows.items()):
        if any(values):
            bar = Bar(
                name=plain(name),
                orientation="h",
                y=labels,
                x=values,
                marker={"color": SERIES[place % len(SERIES)], "line": {"color": INK, "width": 0.5}},
                hovertemplate=f"{plain(name)} {shown}<extra>%{{y}}</extra>",
            )
            figure.add_trace(bar)
    return styled(
        figure,
        x=axis,
        y="",
        barmode="stack",
        height=NAMES_PIXELS + ROW_PIXELS * len(labels),
        yaxis_autorange="reversed",
        yaxis_dtick=1,
    )


def _label(answer: TrainAnswer) -> str:
    return plain(f"{answer.trained.plan.run.gpus:,} x {gpu_label(answer.gpu)}")
