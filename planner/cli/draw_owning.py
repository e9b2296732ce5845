"""The cost of owning on a terminal."""

from __future__ import annotations

from rich.console import Console

from planner.cli.draw import draw_facts, draw_lines, draw_table
from planner.economics import DOLLAR
from planner.report.owning import OwningReport


def draw_owning(console: Console, report: OwningReport) -> None:
    """Print what accelerators cost to own.

    Parameters
    ----------
    console : Console
        Where to.
    report : OwningReport
        What.
    """
    for answer in report.answers:
        if answer.price is None:
            console.print(answer.reason, markup=False)
            console.print()
            continue
        console.print(answer.sentence, style="bold", markup=False)
        console.print()
        draw_table(console, answer.parts_table(report.currency))
        console.print()
        draw_facts(console, answer.facts(report.currency))
        console.print()
        if answer.rents:
            draw_table(console, answer.rents_table(report.currency))
            console.print()
    if report.currency != DOLLAR:
        console.print(report.currency.sentence, markup=False)
        console.print()
    if report.warnings:
        draw_lines(console, "Notes", report.warnings)
        console.print()
    rows = report.sources().rows
    console.print("Sources", style="bold")
    draw_facts(console, [(str(row["what"]), f"{row['source']} ({row['date']})") for row in rows])
