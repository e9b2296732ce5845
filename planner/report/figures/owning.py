"""What an hour of an owned GPU is made of, and what renting one costs beside it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from planner.report.figures.style import INK, SERIES, SIGNS, plain, styled
from planner.report.sentences import gpu_label
from planner.report.table import Column, Table

if TYPE_CHECKING:
    from plotly.graph_objects import Figure

    from planner.report.owning import OwningReport

ROW_PIXELS = 56

COLUMNS = (
    Column("gpu", "GPU", show=gpu_label),
    Column("paid", "owned\nor rented"),
    Column("part", "part or kind"),
    Column("usd_per_gpu_hour", "USD per\nGPU-hour", right=True, show="{:,.3f}".format),
    Column("provenance", "from", flexible=True),
)


def owning_table(report: OwningReport) -> Table:
    """Return the numbers of the figure: parts and sum of owning each GPU, and every kind of rent.

    Parameters
    ----------
    report : OwningReport
        Accelerators with a price of owning.

    Returns
    -------
    Table
    """
    rows = []
    for answer in report.priced:
        price = answer.price
        assert price is not None
        parts = [(one.name, one.usd_per_gpu_hour, one.provenance) for one in price.parts]
        rents = [(kind, rent.usd_per_gpu_hour, rent.provenance) for kind, rent in answer.rents.items()]
        owned = [*parts, ("all", price.usd_per_gpu_hour, None)]
        rows += [
            {"gpu": answer.gpu.id, "paid": paid, "part": part, "usd_per_gpu_hour": usd, "provenance": origin}
            for paid, lines in (("owned", owned), ("rented", rents))
            for part, usd, origin in lines
        ]
    return Table(COLUMNS, tuple(rows))


def owning_figure(report: OwningReport) -> Figure:
    """Return the parts of the cost of owning a GPU for an hour, a bar each, and kinds of rent as signs [USD].

    Parameters
    ----------
    report : OwningReport
        Accelerators with a price of owning.

    Returns
    -------
    plotly.graph_objects.Figure
    """
    from plotly.graph_objects import Bar, Figure, Scatter

    answers = [(answer, answer.price) for answer in report.priced if answer.price is not None]
    labels = [gpu_label(answer.gpu.id) for answer, _ in answers]
    figure = Figure()
    for place, part in enumerate(dict.fromkeys(one.name for _, price in answers for one in price.parts)):
        by_gpu = [{one.name: one for one in price.parts}.get(part) for _, price in answers]
        figure.add_trace(
            Bar(
                name=plain(part),
                orientation="h",
                y=labels,
                x=[one.usd_per_gpu_hour if one else 0.0 for one in by_gpu],
                customdata=[plain(one.provenance) if one else "" for one in by_gpu],
                marker={"color": SERIES[place % len(SERIES)]},
                hovertemplate="%{x:.3f} USD/h, owned: %{customdata}<extra>%{y}, " + plain(part) + "</extra>",
            )
        )
    for place, kind in enumerate(dict.fromkeys(kind for answer, _ in answers for kind in answer.rents)):
        rented = [answer for answer, _ in answers if kind in answer.rents]
        figure.add_trace(
            Scatter(
                name=f"rent: {plain(kind)}",
                mode="markers",
                x=[answer.rents[kind].usd_per_gpu_hour for answer in rented],
                y=[gpu_label(answer.gpu.id) for answer in rented],
                customdata=[plain(answer.rents[kind].provenance) for answer in rented],
                marker={"symbol": f"{SIGNS[place % len(SIGNS)]}-open", "size": 11, "color": INK},
                hovertemplate="%{x:.2f} USD/h: %{customdata}<extra>%{y}, " + plain(kind) + "</extra>",
            )
        )
    return styled(
        figure,
        x="USD per GPU-hour",
        y="",
        barmode="stack",
        height=200 + ROW_PIXELS * len(answers),
        yaxis_autorange="reversed",
    )
