"""Where two prices make either option cheaper, and how far each input alone moves the answer."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from planner.report.figures.style import FONT_SIZE, INK, SERIES, plain, styled

if TYPE_CHECKING:
    from plotly.graph_objects import Figure

    from planner.measurement.breaking_even import Decided
    from planner.report.breakeven import BreakEvenReport

CELLS = 41
ON_COLOUR = "#1a1a1a"
TICKS = {-3: "1/8", -2: "1/4", -1: "1/2", 0: "1", 1: "2", 2: "4", 3: "8"}
"""Ratios of costs by their binary logarithm."""
SPAN = 3.0
"""Prices from a third to three times those that were given."""


def prices_figure(decided: Decided) -> Figure:
    """Return the ratio of costs over both prices of a GPU-hour, with the line on which it is 1.

    Parameters
    ----------
    decided : Decided
        Two options on GPUs.

    Returns
    -------
    plotly.graph_objects.Figure
    """
    from plotly.graph_objects import Contour, Figure, Heatmap, Scatter

    first, second = decided.first, decided.second
    one, other = plain(first.name), plain(second.name)
    across, up = (_prices(side.usd_per_gpu_hour) for side in (second, first))
    at_one = decided.ratio.value / (first.usd_per_gpu_hour / second.usd_per_gpu_hour)
    logs = [[math.log2(at_one * this / that) for that in across] for this in up]
    heat = Heatmap(
        x=across,
        y=up,
        z=logs,
        zmid=0,
        colorscale=[[0, SERIES[0]], [0.5, "#f4f4f4"], [1, SERIES[1]]],
        customdata=[[2**log for log in row] for row in logs],
        colorbar={
            "orientation": "h",
            "thickness": 14,
            "y": 1.0,
            "yanchor": "bottom",
            "title": {
                "text": f"cost of {one} over that of {other}",
                "side": "top",
                "font": {"size": FONT_SIZE},
            },
            "tickvals": list(TICKS),
            "ticktext": list(TICKS.values()),
        },
        hovertemplate=(
            f"{one} at %{{y:.2f}}, {other} at %{{x:.2f}} USD/h"
            f"<br>{one} costs %{{customdata:.2f}} times {other}<extra></extra>"
        ),
    )
    level = Contour(
        x=across,
        y=up,
        z=logs,
        contours={"start": 0, "end": 0, "size": 1, "coloring": "none"},
        line={"color": INK, "width": 2},
        showscale=False,
        hoverinfo="skip",
        name="both cost the same",
    )
    here = Scatter(
        x=[second.usd_per_gpu_hour],
        y=[first.usd_per_gpu_hour],
        mode="markers",
        marker={"symbol": "x", "size": 11, "color": INK},
        name="as asked",
    )
    figure = styled(
        Figure([heat, level, here]),
        x=f"{other}, USD per GPU-hour",
        y=f"{one}, USD per GPU-hour",
        showlegend=False,
    )
    corners = ((other, logs[-1][0] > 0, 0.02, 0.97), (one, logs[0][-1] < 0, 0.98, 0.03))
    for name, x, y in ((name, x, y) for name, cheaper, x, y in corners if cheaper):
        figure.add_annotation(
            text=f"{name} is cheaper",
            x=x,
            y=y,
            xref="paper",
            yref="paper",
            xanchor="left" if x < 1 / 2 else "right",
            showarrow=False,
            font={"color": ON_COLOUR},
        )
    return figure


def _prices(usd: float) -> list[float]:
    return [usd * SPAN ** (2 * step / (CELLS - 1) - 1) for step in range(CELLS)]


def tornado_figure(report: BreakEvenReport) -> Figure:
    """Return a bar for each input from the ratio of costs at its low end to that at its high end.

    Parameters
    ----------
    report : BreakEvenReport
        With swings.

    Returns
    -------
    plotly.graph_objects.Figure
        On a logarithmic axis; the line at 1 is where the answer flips.
    """
    from plotly.graph_objects import Bar, Figure

    decided = report.decided
    assert decided is not None
    swings = report.swings
    figure = Figure(
        Bar(
            orientation="h",
            y=[plain(swing.name) for swing in swings],
            base=[min(swing.low_ratio, swing.high_ratio) for swing in swings],
            x=[abs(swing.high_ratio - swing.low_ratio) for swing in swings],
            marker={
                "color": [SERIES[1] if swing.flips(decided.ratio.value) else SERIES[0] for swing in swings]
            },
            customdata=[
                [swing.low, f"{swing.low_ratio:.3f}", swing.high, f"{swing.high_ratio:.3f}", plain(swing.why)]
                for swing in swings
            ],
            hovertemplate="%{customdata[0]}: %{customdata[1]}<br>%{customdata[2]}: %{customdata[3]}"
            "<br>%{customdata[4]}<extra>%{y}</extra>",
        )
    )
    figure.add_vline(x=decided.ratio.value, line={"color": INK, "width": 1})
    figure.add_vline(x=1.0, line={"color": INK, "width": 1, "dash": "dash"})
    return styled(
        figure,
        x=f"cost of {plain(decided.names[0])}<br>over that of {plain(decided.names[1])}",
        y="",
        xaxis_type="log",
        yaxis_autorange="reversed",
        height=140 + 34 * len(swings),
        showlegend=False,
    )
