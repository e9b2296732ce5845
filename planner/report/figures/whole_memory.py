"""The memory of all GPUs of each deployment, part by part, with the ends of its nodes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from planner.report.figures.memory import NAMES_PIXELS, PART_COLOURS, ROW_PIXELS
from planner.report.figures.style import INK, plain, styled
from planner.report.sentences import gpu_label
from planner.report.table import GIB
from planner.report.whole_memory import node_bytes, whole_parts

if TYPE_CHECKING:
    from plotly.graph_objects import Figure

    from planner.report.fit import FitAnswer


def whole_memory_figure(answers: Sequence[FitAnswer]) -> Figure:
    """Return the memory of all GPUs of each deployment by part [GiB]; an upright stroke is the end of a node.

    Parameters
    ----------
    answers : sequence of FitAnswer
        One bar each, in order from the top.

    Returns
    -------
    plotly.graph_objects.Figure
    """
    from plotly.graph_objects import Bar, Figure, Scatter

    figure = Figure()
    wholes = [whole_parts(answer) for answer in answers]
    labels = [_label(answer) for answer in answers]
    for part, colour in PART_COLOURS.items():
        sizes = [whole.get(part, 0.0) / GIB for whole in wholes]
        if any(sizes):
            figure.add_trace(
                Bar(
                    name=part,
                    orientation="h",
                    x=sizes,
                    y=labels,
                    marker={"color": colour},
                    hovertemplate=f"{part} %{{x:,.1f}} GiB of all GPUs<extra>%{{y}}</extra>",
                )
            )
    ends = [
        (number * node_bytes(answer) / GIB, label)
        for answer, label in zip(answers, labels, strict=True)
        for number in range(1, answer.nodes + 1)
    ]
    figure.add_trace(
        Scatter(
            name="end of a node",
            mode="markers",
            x=[place for place, _ in ends],
            y=[label for _, label in ends],
            marker={"symbol": "line-ns-open", "size": ROW_PIXELS - 6, "color": INK, "line": {"width": 3}},
            hovertemplate="a node ends at %{x:,.0f} GiB<extra>%{y}</extra>",
        )
    )
    return styled(
        figure,
        x="memory of all GPUs, GiB",
        y="",
        barmode="stack",
        height=NAMES_PIXELS + ROW_PIXELS * len(answers),
        yaxis_autorange="reversed",
        yaxis_dtick=1,
    )


def _label(answer: FitAnswer) -> str:
    nodes = "" if answer.nodes == 1 else f", {answer.nodes} nodes"
    fits = "" if answer.fits else ", does not fit"
    return plain(f"{answer.gpus} x {gpu_label(answer.gpu)}{nodes}{fits}")
