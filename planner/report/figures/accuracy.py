"""How wrong predictions were on what they never saw, by slice."""

from __future__ import annotations

from typing import TYPE_CHECKING

from planner.report.accuracy import NAMES, serving_accuracy
from planner.report.figures.style import INK, SERIES, SIGNS, plain, styled

if TYPE_CHECKING:
    from plotly.graph_objects import Figure

ROW_PIXELS = 30


def accuracy_figure() -> Figure:
    """Return the median error of each quantity by slice, the best at the bottom [%].

    Returns
    -------
    plotly.graph_objects.Figure
    """
    from plotly.graph_objects import Figure, Scatter

    rows = serving_accuracy().rows
    figure = Figure()
    for place, quantity in enumerate(NAMES.values()):
        shown = [row for row in rows if row["quantity"] == quantity]
        figure.add_trace(
            Scatter(
                name=quantity,
                mode="markers",
                x=[100 * row["median_ape"] for row in shown],
                y=[plain(row["slice"]) for row in shown],
                customdata=[[row["n"], 100 * row["within_20pct"]] for row in shown],
                marker={
                    "symbol": SIGNS[place],
                    "size": 10,
                    "color": SERIES[place],
                    "line": {"color": INK, "width": 0.5},
                },
                hovertemplate="median error %{x:.1f} % of %{customdata[0]:,} points<br>"
                "%{customdata[1]:.0f} % of them within 20 %<extra>%{y}, " + quantity + "</extra>",
            )
        )
    return styled(
        figure,
        x="median error, %",
        y="",
        height=140 + ROW_PIXELS * len({row["slice"] for row in rows}),
        yaxis_autorange="reversed",
    )
