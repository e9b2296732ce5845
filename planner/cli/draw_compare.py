"""A comparison or a break-even on a terminal: the answer first, then its tables, then what to know of it."""

from __future__ import annotations

from rich.console import Console
from rich.text import Text

from planner.cli.draw import draw_lines, draw_table
from planner.report.base import Report


def draw_report(console: Console, report: Report) -> None:
    """Print a report: its sentence, tables and notes.

    Parameters
    ----------
    console : Console
        Where to.
    report : Report
        What.
    """
    console.print(Text(report.sentence, style="bold"))
    for table in report.tables():
        console.print()
        draw_table(console, table)
    if report.warnings:
        console.print()
        draw_lines(console, "Notes", report.warnings)
