"""One GPU's memory by part, a bar for each accelerator."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from planner.report.figures.style import SERIES, plain, styled
from planner.report.sentences import gpu_label
from planner.report.table import GIB
from planner.report.tables import memory_parts

if TYPE_CHECKING:
    from plotly.graph_objects import Figure

    from planner.report.fit import FitAnswer

PART_COLOURS = dict(
    zip(("weights", "KV cache", "state", "activation", "graphs", "buffers", "reserve"), SERIES, strict=False)
)
"""Each part keeps its colour, whichever of them an answer has."""

ROW_PIXELS = 46
"""Height of one bar with its gap."""
NAMES_PIXELS = 220
"""Height of the axis and of a name for every part, one below the other as on a narrow screen."""


def memory_figure(answers: Sequence[FitAnswer]) -> Figure:
    """Return the memory of the fullest GPU of each deployment, part by part [GiB].

    Parameters
    ----------
    answers : sequence of FitAnswer
        One bar each, in order from the top.

    Returns
    -------
    plotly.graph_objects.Figure
    """
    from plotly.graph_objects import Bar, Figure

    figure = Figure()
    for part, colour in PART_COLOURS.items():
        sizes = [
            next((size / GIB for name, size, _ in memory_parts(answer.memory) if name == part), 0.0)
            for answer in answers
        ]
        if any(sizes):
            bar = Bar(
                name=part,
                orientation="h",
                x=sizes,
                y=[_label(answer) for answer in answers],
                marker={"color": colour},
                hovertemplate=f"{part} %{{x:,.2f}} GiB<extra>%{{y}}</extra>",
            )
            figure.add_trace(bar)
    return styled(
        figure,
        x="memory of the fullest GPU, GiB",
        y="",
        barmode="stack",
        height=NAMES_PIXELS + ROW_PIXELS * len(answers),
        yaxis_autorange="reversed",
        yaxis_dtick=1,
    )


def _label(answer: FitAnswer) -> str:
    return plain(f"{answer.gpus} x {gpu_label(answer.gpu)}")
