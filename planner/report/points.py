"""Every point of the frontiers of a report in one table."""

from __future__ import annotations

from typing import TYPE_CHECKING

from planner.report.frontier_records import KEYS
from planner.report.prediction_text import number
from planner.report.sentences import gpu_label
from planner.report.table import Column, Table

if TYPE_CHECKING:
    from planner.report.frontier import FrontierReport

COLUMNS = (
    Column("gpu", "GPU", show=gpu_label),
    Column("deployment", "deployment", flexible=True),
    Column("gpus", "GPUs", right=True),
    Column("concurrency", "requests\nat once", right=True, show=number),
    Column("tps_per_user", "tok/s\na request", right=True, show=number),
    Column("output_tps_per_gpu", "tok/s\na GPU", right=True, show=number),
    Column("output_tps_per_gpu_low", "80 % from", right=True, show=number),
    Column("output_tps_per_gpu_high", "80 % to", right=True, show=number),
    Column("usd_per_million_output_tokens", "USD per M\noutput tokens", right=True, show=number),
    Column("ttft_ms", "TTFT\nms", right=True, show=number),
    Column("source", "from"),
)


def points_table(report: FrontierReport) -> Table:
    """Return the points of all frontiers, none left out.

    Parameters
    ----------
    report : FrontierReport
        The frontiers.

    Returns
    -------
    Table
        CSV and JSON have every field of a point.
    """
    shown = {column.key for column in COLUMNS}
    more = tuple(key for key in KEYS if key not in shown)
    return Table(COLUMNS, tuple(report.to_records()), "Points of the frontiers", more)
