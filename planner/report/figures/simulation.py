"""How latencies are spread over the requests of a simulation."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from planner.report.figures.style import SERIES, styled

if TYPE_CHECKING:
    from plotly.graph_objects import Figure

    from planner.performance.simulation import SimulationResult

POINTS = 200
"""Of a curve; more cannot be told apart on a screen."""


def latency_figure(result: SimulationResult) -> Figure:
    """Return the share of requests that are faster than a time, for first tokens and for tokens after it.

    Parameters
    ----------
    result : SimulationResult
        The outcome; the requests that are counted are shown.

    Returns
    -------
    plotly.graph_objects.Figure
    """
    from plotly.graph_objects import Figure, Scatter

    columns = result.requests.columns()
    counted = columns["measured"].astype(bool)
    figure = Figure()
    for colour, dash, (key, name) in zip(
        SERIES,
        ("solid", "dash"),
        (("ttft_s", "time to first token"), ("tpot_s", "time per output token")),
        strict=False,
    ):
        times, shares = _spread(columns[key][counted].tolist())
        curve = Scatter(
            name=name,
            x=[1e3 * time for time in times],
            y=[100 * share for share in shares],
            mode="lines",
            line={"color": colour, "dash": dash, "shape": "hv"},
            hovertemplate="%{y:.0f} % within %{x:,.1f} ms<extra>" + name + "</extra>",
        )
        figure.add_trace(curve)
    return styled(figure, x="ms (logarithmic)", y="share of requests, %", xaxis_type="log")


def _spread(values: Iterable[float]) -> tuple[list[float], list[float]]:
    """Return quantiles and their shares, of the values that are numbers."""
    known = sorted(value for value in values if value == value)
    last = len(known) - 1
    if last < 0:
        return [], []
    steps = min(POINTS, last) or 1
    places = [round(step * last / steps) for step in range(steps + 1)]
    return [known[place] for place in places], [(place + 1) / (last + 1) for place in places]
