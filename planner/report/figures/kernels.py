"""How much of what a device could do its operations reach, by how long they take."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from planner.report.figures.style import INK, SERIES, SIGNS, plain, styled
from planner.report.measured_kernels import size_of

if TYPE_CHECKING:
    from plotly.graph_objects import Figure


def kernels_figure(rows: Sequence[Mapping[str, Any]]) -> Figure:
    """Return the share of its limit that each measured operation reaches, against its time [us].

    Parameters
    ----------
    rows : sequence of mapping
        In the columns of the kernel table; those without a share are left out.

    Returns
    -------
    plotly.graph_objects.Figure
        A sign for each system and operation.
    """
    from plotly.graph_objects import Figure, Scatter

    groups: dict[tuple[str, str], list[Mapping[str, Any]]] = {}
    for row in rows:
        if row.get("achieved_fraction") is not None:
            groups.setdefault((str(row["system"]), str(row["op"])), []).append(row)
    figure = Figure()
    for place, ((system, op), shown) in enumerate(groups.items()):
        figure.add_trace(
            Scatter(
                name=plain(f"{op}, {system}"),
                mode="markers",
                x=[row["latency_us"] for row in shown],
                y=[100 * row["achieved_fraction"] for row in shown],
                text=[plain(f"{row.get('dtype') or ''} {size_of(row)}".strip()) for row in shown],
                marker={
                    "symbol": SIGNS[place % len(SIGNS)],
                    "color": SERIES[place % len(SERIES)],
                    "size": 8,
                    "line": {"color": INK, "width": 0.5},
                },
                hovertemplate="%{y:.1f} % of its limit in %{x:,.4g} us<br>%{text}",
            )
        )
    return styled(figure, x="time of one call, us (logarithmic)", y="of the limit, %", xaxis_type="log")
