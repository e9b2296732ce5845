"""An answer on a media model on a terminal: words, tables and notes."""

from __future__ import annotations

from rich.console import Console
from rich.text import Text

from planner.cli.draw import draw_lines, draw_table
from planner.report.base import Report

MEDIA = "planner.report.media"
"""Where reports on media models are made; they are not imported to find that a report is none."""


def drawn_as_media(console: Console, report: Report) -> bool:
    """Print a report where it is on a media model.

    Parameters
    ----------
    console : Console
        Where to.
    report : Report
        Any report.

    Returns
    -------
    bool
        Whether it was one, and was printed.
    """
    if not type(report).__module__.startswith(MEDIA):
        return False
    for line in report.sentence.splitlines():
        console.print(Text(line, style="bold"))
    for table in report.tables():
        console.print()
        draw_table(console, table)
    if report.warnings:
        console.print()
        draw_lines(console, "Notes", report.warnings)
    return True
