"""A prediction on a terminal: the answer, its figures with intervals, and the working behind them."""

from __future__ import annotations

from collections.abc import Sequence

from rich.console import Console
from rich.text import Text

from planner.cli.draw import draw_facts, draw_lines, draw_table
from planner.report.prediction import PredictAnswer, PredictReport
from planner.report.prediction_tables import (
    figures_table,
    kernels_table,
    measured_table,
    side_by_side,
    step_table,
    steps_side_by_side,
)
from planner.report.prediction_text import facts, load_text, measured_sentence
from planner.report.sentences import gpu_label
from planner.report.table import Table


def draw_predict(console: Console, report: PredictReport) -> None:
    """Print a report on throughput.

    Parameters
    ----------
    console : Console
        Where to.
    report : PredictReport
        One answer, or several that are compared first.
    """
    if len(report) > 1:
        first = report.answer
        console.print(Text(f"{first.fit.named}, {load_text(first.load)}", style="bold"))
        console.print()
        draw_table(console, side_by_side(report.answers))
        _draw_several(console, report.answers)
    else:
        _draw_single(console, report.answer)
    if report.warnings:
        console.print()
        draw_lines(console, "Notes", report.warnings)


def _draw_single(console: Console, answer: PredictAnswer) -> None:
    console.print(Text(answer.sentence, style="bold"))
    if not answer.answered:
        return
    console.print()
    draw_table(console, figures_table(answer))
    _draw_tables(console, step_table(answer), kernels_table([answer]))
    _draw_measured(console, answer)
    console.print()
    draw_facts(console, facts(answer))


def _draw_several(console: Console, answers: Sequence[PredictAnswer]) -> None:
    for answer in answers:
        console.print()
        console.print(Text(answer.sentence, style="bold"))
    _draw_tables(console, steps_side_by_side(answers), kernels_table(answers))
    for answer in answers:
        if answer.answered:
            console.print()
            console.print(Text(gpu_label(answer.gpu), style="bold"))
            draw_facts(console, facts(answer))
            _draw_measured(console, answer)


def _draw_measured(console: Console, answer: PredictAnswer) -> None:
    found = answer.predicted.measured
    if found is not None:
        _draw_tables(console, measured_table(answer))
        console.print(Text(measured_sentence(found), style="dim"))


def _draw_tables(console: Console, *tables: Table | None) -> None:
    for table in tables:
        if table is not None:
            console.print()
            draw_table(console, table)
