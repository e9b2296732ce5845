"""A comparison on a terminal: the order first, then figures, money, pairs and kinds of prices."""

from __future__ import annotations

from rich.console import Console
from rich.text import Text

from planner.cli.draw import draw_lines, draw_table
from planner.report.compare import CompareReport


def draw_compare(console: Console, report: CompareReport) -> None:
    """Print a comparison.

    Parameters
    ----------
    console : Console
        Where to.
    report : CompareReport
        What.
    """
    console.print(Text(report.sentence, style="bold"))
    for table in report.tables():
        console.print()
        draw_table(console, table)
    if report.warnings:
        console.print()
        draw_lines(console, "Notes", report.warnings)
