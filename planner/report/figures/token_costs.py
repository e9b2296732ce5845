"""What a million tokens cost on each accelerator of a comparison and at hosted APIs, by what is counted."""

from __future__ import annotations

from typing import TYPE_CHECKING

from planner.report.figures.style import HOSTED, INK, error_bar, gpu_colours, plain, styled
from planner.report.prediction_text import interval, number
from planner.report.sentences import gpu_label

if TYPE_CHECKING:
    from plotly.graph_objects import Bar, Figure

    from planner.report.compare import CompareReport
    from planner.report.hosted import HostedAnswer

COUNTED = (
    ("usd_per_million_output_all", "all on the output"),
    ("usd_per_million_output", "output"),
    ("usd_per_million_input", "input"),
    ("usd_per_million_cached", "cached input"),
    ("usd_per_million_total", "every token"),
)
LABELS = dict(COUNTED)
PATTERNS = ("/", "\\", "x", ".")
"""Of hosted APIs, which have one colour."""


def token_costs_figure(report: CompareReport) -> Figure:
    """Return USD per million tokens with 80 % intervals, a group for each way of counting.

    Parameters
    ----------
    report : CompareReport
        A comparison with prices. What a hosted API asks is a price and has no interval.

    Returns
    -------
    plotly.graph_objects.Figure
        On a logarithmic axis: cached input costs a hundredth of output.
    """
    from plotly.graph_objects import Bar, Figure

    colours = gpu_colours([(answer.gpu, answer.vendor) for answer in report])
    figure = Figure()
    for answer in report:
        costs = answer.costs
        if costs is None:
            continue
        pairs = [
            (label, cost)
            for key, label in COUNTED
            if (cost := getattr(costs, key)) is not None and cost.value > 0
        ]
        values = [cost.value for _, cost in pairs]
        figure.add_trace(
            Bar(
                name=plain(f"{answer.gpus} x {gpu_label(answer.gpu)}"),
                x=[label for label, _ in pairs],
                y=values,
                error_y=error_bar(values, [cost.low for _, cost in pairs], [cost.high for _, cost in pairs]),
                marker={"color": colours[answer.gpu]},
                customdata=[
                    [number(cost.value), interval(cost), plain(cost.provenance)] for _, cost in pairs
                ],
                hovertemplate="USD %{customdata[0]} per million<br>80 %: %{customdata[1]}<br>"
                "%{customdata[2]}",
            )
        )
    for place, offer in enumerate(report.hosted):
        figure.add_trace(_hosted_bar(offer, PATTERNS[place % len(PATTERNS)]))
    return styled(
        figure,
        x="what the cost is charged to",
        y="USD per million tokens (logarithmic)",
        yaxis_type="log",
        barmode="group",
    )


def _hosted_bar(offer: HostedAnswer, pattern: str) -> Bar:
    """Return the bars of a hosted API; what it gives away has no place on a logarithmic axis."""
    from plotly.graph_objects import Bar

    price = offer.price
    asked = {
        "usd_per_million_output_all": offer.usd_per_million_output_all,
        "usd_per_million_output": price.usd_per_million_output,
        "usd_per_million_input": price.usd_per_million_input,
        "usd_per_million_cached": price.cached,
        "usd_per_million_total": offer.usd_per_million_total,
    }
    shown = [(LABELS[key], usd) for key, usd in asked.items() if usd > 0]
    return Bar(
        name=plain(offer.name),
        x=[label for label, _ in shown],
        y=[usd for _, usd in shown],
        marker={"color": HOSTED, "line": {"color": INK, "width": 1}, "pattern": {"shape": pattern}},
        customdata=[[number(usd), plain(price.provenance)] for _, usd in shown],
        hovertemplate="USD %{customdata[0]} per million<br>%{customdata[1]}",
    )
