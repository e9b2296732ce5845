"""A training run on a terminal: side by side, the parts of a step, memory, money, achieved rates."""

from __future__ import annotations

from rich.console import Console
from rich.text import Text

from planner.cli.draw import draw_lines, draw_table
from planner.report.achieved import AchievedReport
from planner.report.training import TrainReport
from planner.report.training_tables import train_tables


def draw_train(console: Console, report: TrainReport) -> None:
    """Print a report on training.

    Parameters
    ----------
    console : Console
        Where to.
    report : TrainReport
        One answer, or several side by side.
    """
    for answer in report:
        console.print(Text(answer.sentence, style="bold"))
    several = len(report) > 1
    for table in train_tables(report.answers)[0 if several else 1 :]:
        console.print()
        draw_table(console, table)
    if report.warnings:
        console.print()
        draw_lines(console, "Notes", report.warnings)


def draw_achieved(console: Console, report: AchievedReport) -> None:
    """Print datasheet against achieved."""
    for table in report.tables():
        draw_table(console, table)
