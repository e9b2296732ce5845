"""A prediction on a terminal: the answer, its figures with intervals, and the working behind them."""

from __future__ import annotations

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
)
from planner.report.prediction_text import facts, load_text, measured_sentence
from planner.report.sentences import gpu_label


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
    for answer in report:
        if len(report) > 1:
            console.print()
        _draw_answer(console, answer)
    warnings = dict.fromkeys(warning for answer in report for warning in _labelled(report, answer))
    if warnings:
        console.print()
        draw_lines(console, "Notes", warnings)


def _draw_answer(console: Console, answer: PredictAnswer) -> None:
    console.print(Text(answer.sentence, style="bold"))
    if not answer.answered:
        return
    console.print()
    draw_table(console, figures_table(answer))
    for table in (step_table(answer), kernels_table(answer), measured_table(answer)):
        if table is not None:
            console.print()
            draw_table(console, table)
    if answer.predicted.measured is not None:
        console.print(Text(measured_sentence(answer.predicted.measured), style="dim"))
    console.print()
    draw_facts(console, facts(answer))


def _labelled(report: PredictReport, answer: PredictAnswer) -> list[str]:
    """Return what to know of an answer, with its accelerator where that is not so of all."""
    shared = set.intersection(*(set(each.warnings) for each in report))
    return [
        warning if warning in shared else f"{gpu_label(answer.gpu)}: {warning}" for warning in answer.warnings
    ]
