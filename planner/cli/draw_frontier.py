"""A frontier on a terminal: the answer and why, then the points, layouts and what was tried."""

from __future__ import annotations

from rich.console import Console
from rich.text import Text

from planner.cli.draw import draw_facts, draw_lines, draw_table
from planner.report.frontier import FrontierReport
from planner.report.frontier_text import paragraphs
from planner.report.table import FACT_COLUMNS


def draw_frontier(console: Console, report: FrontierReport) -> None:
    """Print a report on a frontier.

    Parameters
    ----------
    console : Console
        Where to.
    report : FrontierReport
        What.
    """
    console.print(Text(f"{report.named}, {report.about}", style="bold"))
    for text in paragraphs(report):
        console.print()
        console.print(Text(text))
    for table in report.tables():
        console.print()
        if table.columns == FACT_COLUMNS:
            console.print(Text(table.title, style="bold"))
            draw_facts(console, [(row["label"], row["text"]) for row in table.rows])
        else:
            draw_table(console, table)
    if report.warnings:
        console.print()
        draw_lines(console, "Notes", report.warnings)
