"""Frontiers drawn: output of a GPU, and what it costs, against what each request gets."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from planner.report.figures.style import DASHES, SIGNS, gpu_colours, plain, styled
from planner.report.prediction_text import interval, number, time_text
from planner.report.sentences import gpu_label

if TYPE_CHECKING:
    from plotly.graph_objects import Figure

    from planner.measurement.frontier_points import MeasuredMarker
    from planner.performance.intervals import Estimate
    from planner.planning.search import Point
    from planner.report.frontier import FrontierAnswer

USERS = "tok/s for each request"
OTHERS = 0.6
"""Opacity of measured runs with another engine or other weights."""
BAND = 0.15
"""Opacity of the 80 % interval."""


def frontier_figure(answers: Sequence[FrontierAnswer]) -> Figure:
    """Return output tok/s of a GPU against tok/s of a request: a line and a band for each accelerator.

    Parameters
    ----------
    answers : sequence of FrontierAnswer
        The answers; measured runs are open signs in the colour of their accelerator, faint with another
        engine or other weights.

    Returns
    -------
    plotly.graph_objects.Figure
    """
    from plotly.graph_objects import Scatter

    figure = _lines(answers, lambda point: point.output_tps_per_gpu)
    colours = _colours(answers)
    for place, answer in enumerate(answers):
        for alike, what, faint in ((True, "measured", 1.0), (False, "measured, other set-ups", OTHERS)):
            shown = [one for one in answer.measured if one.alike is alike]
            if not shown:
                continue
            figure.add_trace(
                Scatter(
                    name=f"{plain(gpu_label(answer.gpu))}, {what}",
                    x=[one.tps_per_user for one in shown],
                    y=[one.output_tps_per_gpu for one in shown],
                    mode="markers",
                    opacity=faint,
                    marker={
                        "symbol": f"{SIGNS[place % len(SIGNS)]}-open",
                        "color": colours[answer.gpu],
                        "size": 7,
                    },
                    text=[plain(_measured_hover(one)) for one in shown],
                    hovertemplate="%{y:,.0f} tok/s a GPU, %{x:,.1f} a request<br>%{text}<extra></extra>",
                )
            )
    return styled(figure, x=USERS, y="output tok/s a GPU")


def cost_figure(answers: Sequence[FrontierAnswer]) -> Figure:
    """Return USD per million output tokens against tok/s of a request, for accelerators with a price.

    Parameters
    ----------
    answers : sequence of FrontierAnswer
        The answers.

    Returns
    -------
    plotly.graph_objects.Figure
    """
    figure = _lines(answers, lambda point: point.usd_per_million_output_tokens)
    return styled(
        figure, x=USERS, y="USD per million output tokens (logarithmic)", yaxis_type="log", yaxis_dtick="D2"
    )


def _colours(answers: Sequence[FrontierAnswer]) -> dict[str, str]:
    return gpu_colours([(answer.gpu, answer.vendor) for answer in answers])


def _lines(answers: Sequence[FrontierAnswer], quantity: Callable[[Point], Estimate | None]) -> Figure:
    from plotly.graph_objects import Figure, Scatter

    figure, colours = Figure(), _colours(answers)
    for place, answer in enumerate(answers):
        pairs = [(point, value) for point in answer.points if (value := quantity(point)) is not None]
        if not pairs:
            continue
        label, colour = plain(gpu_label(answer.gpu)), colours[answer.gpu]
        users = [point.tps_per_user.value for point, _ in pairs]
        figure.add_trace(
            Scatter(
                name=f"{label}, 80 % interval",
                x=[*users, *reversed(users)],
                y=[*(value.high for _, value in pairs), *(value.low for _, value in reversed(pairs))],
                fill="toself",
                mode="none",
                fillcolor=_faint(colour),
                legendgroup=label,
                showlegend=False,
                hoverinfo="skip",
            )
        )
        figure.add_trace(
            Scatter(
                name=f"{label}, simulated",
                x=users,
                y=[value.value for _, value in pairs],
                mode="lines+markers",
                line={"color": colour, "dash": DASHES[place % len(DASHES)]},
                marker={"symbol": SIGNS[place % len(SIGNS)], "size": 5},
                legendgroup=label,
                text=[plain(_hover(point, value)) for point, value in pairs],
                hovertemplate="%{y:,.4g} at %{x:,.1f} tok/s a request<br>%{text}<extra>" + label + "</extra>",
            )
        )
    return figure


def _faint(colour: str) -> str:
    red, green, blue = (int(colour[at : at + 2], 16) for at in (1, 3, 5))
    return f"rgba({red},{green},{blue},{BAND})"


def _hover(point: Point, value: Estimate) -> str:
    candidate = point.candidate
    return (
        f"{candidate.label}, {candidate.gpus} GPUs, {number(point.concurrency)} requests at once; "
        f"80 % interval {interval(value)}; TTFT {time_text(point.ttft_ms.value)}; {point.provenance}"
    )


def _measured_hover(marker: MeasuredMarker) -> str:
    point = marker.point
    kinds = [name for name, yes in (("prefill apart", point.disagg), ("drafts", point.spec_decode)) if yes]
    ran = (f"{point.n_gpus} GPUs", point.engine or "engine not stated", point.weight_dtype, *kinds)
    load = f"{point.concurrency:g} requests at once" if point.concurrency else "load not stated"
    return f"measured: {', '.join(one for one in ran if one)}; {load}; {point.source}, {point.date}"
