"""What accelerators yield under a load with intervals, and where the time of a decode step goes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from planner.report.figures.style import INK, SERIES, error_bar, gpu_colours, plain, styled
from planner.report.prediction_text import interval, number
from planner.report.sentences import gpu_label

if TYPE_CHECKING:
    from plotly.graph_objects import Figure

    from planner.report.prediction import PredictAnswer


def throughput_figure(answers: Sequence[PredictAnswer]) -> Figure:
    """Return the output of a GPU of each accelerator that has figures, with 80 % intervals [tok/s].

    Parameters
    ----------
    answers : sequence of PredictAnswer
        The answers.

    Returns
    -------
    plotly.graph_objects.Figure
    """
    from plotly.graph_objects import Bar, Figure

    shown = [answer for answer in answers if answer.answered]
    rates = [answer.figures["output_tps_per_gpu"] for answer in shown]
    colours = gpu_colours([(answer.gpu, answer.fit.vendor) for answer in shown])
    bar = Bar(
        x=[_label(answer) for answer in shown],
        y=[rate.value for rate in rates],
        error_y=error_bar(*zip(*((rate.value, rate.low, rate.high) for rate in rates), strict=True)),
        marker={"color": [colours[answer.gpu] for answer in shown]},
        customdata=[
            [number(rate.value), interval(rate), answer.predicted.source_of("output_tps_per_gpu")]
            for answer, rate in zip(shown, rates, strict=True)
        ],
        hovertemplate="%{customdata[0]} tok/s a GPU<br>80 %: %{customdata[1]}<br>%{customdata[2]}"
        "<extra>%{x}</extra>",
    )
    return styled(Figure(bar), x="", y="output tok/s a GPU", bargap=0.5, showlegend=False)


def step_figure(answers: Sequence[PredictAnswer]) -> Figure:
    """Return the parts of a decode step, a bar for each accelerator that has a prediction [ms].

    Parameters
    ----------
    answers : sequence of PredictAnswer
        The answers.

    Returns
    -------
    plotly.graph_objects.Figure
    """
    from plotly.graph_objects import Bar, Figure

    steps = {
        _label(answer): {row.operator: row for row in answer.predicted.prediction.step_breakdown}
        for answer in answers
        if answer.predicted.prediction is not None
    }
    parts = dict.fromkeys(part for rows in steps.values() for part in rows)
    figure = Figure()
    for place, part in enumerate(parts):
        bar = Bar(
            name=plain(part),
            orientation="h",
            y=list(steps),
            x=[1e3 * rows[part].time_s if part in rows else 0.0 for rows in steps.values()],
            customdata=[rows[part].bound if part in rows else "" for rows in steps.values()],
            marker={"color": SERIES[place % len(SERIES)], "line": {"color": INK, "width": 0.5}},
            hovertemplate=f"{plain(part)} %{{x:,.2f}} ms, bound by %{{customdata}}<extra>%{{y}}</extra>",
        )
        figure.add_trace(bar)
    return styled(
        figure,
        x="time of a decode step (simulated), ms",
        y="",
        barmode="stack",
        height=160 + 46 * len(steps),
        yaxis_autorange="reversed",
    )


def _label(answer: PredictAnswer) -> str:
    return plain(f"{answer.gpus} x {gpu_label(answer.gpu)}")
