"""The tables and sources of a prediction as exports show them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from planner.report.measured import point_source
from planner.report.prediction_tables import (
    figures_table,
    kernels_table,
    measured_table,
    side_by_side,
    step_table,
    steps_side_by_side,
)
from planner.report.prediction_text import facts
from planner.report.provenance import price_rows, sources_table
from planner.report.sentences import gpu_label
from planner.report.table import Table, facts_table

if TYPE_CHECKING:
    from planner.report.prediction import PredictAnswer


def prediction_tables(answers: Sequence[PredictAnswer]) -> tuple[Table, ...]:
    """Return the tables of a report in the order in which they are read.

    Parameters
    ----------
    answers : sequence of PredictAnswer
        The answers, of one model and load.

    Returns
    -------
    tuple of Table
    """
    tables: list[Table | None] = [] if len(answers) == 1 else [side_by_side(answers)]
    for answer in answers:
        if answer.answered:
            label = gpu_label(answer.gpu)
            measured = measured_table(answer)
            tables += [
                replace(figures_table(answer), title=f"{label}: figures"),
                facts_table(facts(answer), f"{label}: how it comes about"),
                measured and replace(measured, title=f"{label}: measured"),
            ]
    tables.append(step_table(answers[0]) if len(answers) == 1 else steps_side_by_side(answers))
    tables.append(kernels_table(answers))
    return tuple(table for table in tables if table is not None)


def prediction_sources(answers: Sequence[PredictAnswer]) -> Table:
    """Return where prices and measured figures come from, each with its date.

    Parameters
    ----------
    answers : sequence of PredictAnswer
        The answers.

    Returns
    -------
    Table
    """
    prices = [row for answer in answers for row in price_rows(gpu_label(answer.gpu), answer.price)]
    found = [answer.predicted.measured for answer in answers if answer.predicted.measured is not None]
    return sources_table([*prices, *(point_source(point) for one in found for point in one.points)])
