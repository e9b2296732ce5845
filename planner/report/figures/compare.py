"""What each accelerator yields for its money with intervals, and the same under every kind of price."""

from __future__ import annotations

from typing import TYPE_CHECKING

from planner.planning.compare import merit
from planner.report.figures.style import error_bar, gpu_colours, plain, styled
from planner.report.prediction_text import interval, number
from planner.report.sentences import gpu_label

if TYPE_CHECKING:
    from plotly.graph_objects import Figure

    from planner.report.compare import CompareReport


def merit_figure(report: CompareReport) -> Figure:
    """Return the output for each dollar an hour, or of each GPU without prices, with 80 % intervals.

    Parameters
    ----------
    report : CompareReport
        The comparison.

    Returns
    -------
    plotly.graph_objects.Figure
    """
    from plotly.graph_objects import Bar, Figure

    ranking, colours = report.ranking, _colours(report)
    merits = [merit(option, ranking.priced) for option in ranking.options]
    unit = "tok/s per USD/h" if ranking.priced else "tok/s a GPU"
    bar = Bar(
        x=[_label(report, name) for name in ranking.names],
        y=[each.value for each in merits],
        error_y=error_bar(*zip(*((each.value, each.low, each.high) for each in merits), strict=True)),
        marker={"color": [colours[name] for name in ranking.names]},
        customdata=[
            [number(each.value), interval(each), plain(each.provenance), ranking.ranks[name]]
            for name, each in zip(ranking.names, merits, strict=True)
        ],
        hovertemplate="%{customdata[0]} " + unit + "<br>80 %: %{customdata[1]}<br>%{customdata[2]}"
        "<br>place %{customdata[3]}<extra>%{x}</extra>",
    )
    return styled(Figure(bar), x="", y=f"output {unit}", bargap=0.5, showlegend=False)


def kinds_figure(report: CompareReport) -> Figure:
    """Return what each dollar an hour buys under every kind of price, from the dearest to the cheapest quote.

    Parameters
    ----------
    report : CompareReport
        A comparison whose accelerators share a kind of price.

    Returns
    -------
    plotly.graph_objects.Figure
    """
    from plotly.graph_objects import Bar, Figure

    colours, kinds = _colours(report), report.kinds
    figure = Figure()
    for name in report.ranking.names:
        rates = [{option.name: option for option in each.median.options}[name] for each in kinds]
        per_gpu = rates[0].output_tps_per_gpu.value
        values = [merit(option).value for option in rates]
        figure.add_trace(
            Bar(
                name=gpu_label(name),
                x=[each.kind for each in kinds],
                y=values,
                error_y=error_bar(
                    values,
                    [per_gpu / each.high[name] for each in kinds],
                    [per_gpu / each.low[name] for each in kinds],
                ),
                marker={"color": colours[name]},
                customdata=[
                    [f"{each.prices[name].usd_per_gpu_hour:.2f}", plain(each.prices[name].provenance)]
                    for each in kinds
                ],
                hovertemplate="%{y:.1f} tok/s per USD/h at %{customdata[0]} USD/h<br>%{customdata[1]}",
            )
        )
    return styled(figure, x="kind of price", y="output tok/s per USD/h", barmode="group")


def _colours(report: CompareReport) -> dict[str, str]:
    return gpu_colours([(answer.gpu, answer.vendor) for answer in report])


def _label(report: CompareReport, name: str) -> str:
    return plain(f"{report[name].gpus} x {gpu_label(name)}")
