"""How wrong predictions are, by quantity."""

from __future__ import annotations

from typing import TYPE_CHECKING

from planner.report.figures.style import SERIES, styled
from planner.report.validation import errors_table

if TYPE_CHECKING:
    from plotly.graph_objects import Figure

    from planner.measurement.validate_file import AnyValidation


def errors_figure(result: AnyValidation) -> Figure:
    """Return the median and the mean error of each quantity, and its bias [%].

    Parameters
    ----------
    result : ValidationResult or ServingValidation
        What was compared.

    Returns
    -------
    plotly.graph_objects.Figure
    """
    from plotly.graph_objects import Bar, Figure

    rows = errors_table(result).to_records()
    figure = Figure()
    for colour, (key, name) in zip(
        SERIES, (("median_ape", "median error"), ("mean_ape", "mean error"), ("bias", "bias")), strict=False
    ):
        bar = Bar(
            name=name,
            x=[row["quantity"] for row in rows],
            y=[100 * row[key] for row in rows],
            marker={"color": colour},
            customdata=[row["n"] for row in rows],
            hovertemplate=f"{name} %{{y:.1f}} % of %{{customdata:,}} rows<extra>%{{x}}</extra>",
        )
        figure.add_trace(bar)
    return styled(figure, x="", y="relative error, %", barmode="group")
