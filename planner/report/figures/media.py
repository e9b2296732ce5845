"""The time of a unit of media by part, a bar for each accelerator."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from planner.report.figures.memory import NAMES_PIXELS, ROW_PIXELS
from planner.report.figures.style import SERIES, plain, styled
from planner.report.sentences import gpu_label

if TYPE_CHECKING:
    from plotly.graph_objects import Figure

    from planner.report.media import MediaAnswer

"""Height of one bar with its gap."""


def parts_figure(answers: Sequence[MediaAnswer]) -> Figure:
    """Return the time of a unit on each accelerator, part by part, as the model has it [s].

    Parameters
    ----------
    answers : sequence of MediaAnswer
        One bar each, in order from the top; those that do not fit have none.

    Returns
    -------
    plotly.graph_objects.Figure
    """
    from plotly.graph_objects import Bar, Figure

    timed = [answer for answer in answers if answer.time is not None]
    names = dict.fromkeys(part.name for answer in timed if answer.time for part in answer.time.parts)
    figure = Figure()
    for name, colour in zip(names, SERIES * 2, strict=False):
        seconds = [
            sum(part.seconds for part in answer.time.parts if part.name == name) if answer.time else 0.0
            for answer in timed
        ]
        bar = Bar(
            name=name,
            orientation="h",
            x=seconds,
            y=[plain(gpu_label(answer.gpu)) for answer in timed],
            marker={"color": colour},
            hovertemplate=f"{name} %{{x:,.2f}} s<extra>%{{y}}</extra>",
        )
        figure.add_trace(bar)
    return styled(
        figure,
        x="time of a unit, s",
        y="",
        barmode="stack",
        height=NAMES_PIXELS + ROW_PIXELS * len(timed),
        yaxis_autorange="reversed",
        yaxis_dtick=1,
    )
