"""How far predictions are from the very points that a calibration learned from, as a table."""

from __future__ import annotations

from collections.abc import Sequence

from planner.measurement.own_calibration import InSample
from planner.measurement.validate_serving import QUANTITIES
from planner.report.table import Column, Table


def in_sample_table(errors: Sequence[InSample]) -> Table:
    """Return the errors before and after, which says that the points were learned from.

    Parameters
    ----------
    errors : sequence of InSample
        Of each quantity.

    Returns
    -------
    Table
    """
    columns = (
        Column("quantity", "median error", show=lambda name: QUANTITIES[name].partition(" [")[0]),
        Column("points", "points", right=True, show="{:,}".format),
        Column("before", "before", right=True, show="{:.1%}".format),
        Column("after", "after", right=True, show="{:.1%}".format),
    )
    rows = tuple(
        {"quantity": one.quantity, "points": one.points, "before": one.before, "after": one.after}
        for one in errors
    )
    return Table(columns, rows, "On the points that it learned from (in-sample: others are further off)")
