"""Single facts of a fit answer, and the whole answer as plain text."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from planner.economics import hourly_cost_usd
from planner.memory.records import MemoryFit
from planner.report.certainty import how_sure, provenance_line
from planner.report.measured import (
    measured_notes,
    measured_source_rows,
    measured_sources,
    measured_table,
    price_text,
)
from planner.report.provenance import price_rows, sources_table
from planner.report.sentences import gpu_label, layout, requests_held
from planner.report.table import Table, facts_table
from planner.report.tables import assumptions_table, layouts_table, memory_table, side_by_side, with_marks
from planner.units import format_bytes

if TYPE_CHECKING:
    from planner.report.fit import FitAnswer

WIDTH = 100
"""Columns of wrapped text."""


def answer_facts(answer: FitAnswer) -> list[tuple[str, str]]:
    """Return what stands below the memory table: the format, the limit, how sure, what else fits, the price.

    Parameters
    ----------
    answer : FitAnswer
        The answer.

    Returns
    -------
    list of (label, text)
    """
    memory, small = answer.memory, answer.one_node
    facts = [("weights", answer.weight_format), _limit(memory)]
    facts += [("or by" if number else "lifted by", remedy) for number, remedy in enumerate(memory.remedies)]
    if memory.verdict == "tight":
        facts.append(("tight", _tight(memory)))
    facts.append(("how sure", how_sure(answer)))
    if memory.max_context:
        facts.append(("longest request", f"{memory.max_context:,} tokens, alone"))
    if small is not None and small.deployment != memory.deployment:
        facts.append(("one node", _in_short(answer, small)))
    if answer.smallest is not None and answer.smallest.deployment != memory.deployment:
        facts.append(("smallest", _in_short(answer, answer.smallest)))
    if memory.safe_max_num_seqs:
        facts.append(("max_num_seqs", f"at most {memory.safe_max_num_seqs:,}, or the engine does not start"))
    if answer.price is not None:
        usd = answer.price.usd_per_gpu_hour
        hourly = hourly_cost_usd(gpus=answer.gpus, usd_per_gpu_hour=usd)
        gpus = "1 GPU" if answer.gpus == 1 else f"{answer.gpus} GPUs"
        facts.append(("price", f"{gpus} x {usd:,.2f} = {hourly:,.2f} USD/h ({price_text(answer.price)})"))
    if answer.no_price is not None:
        facts.append(("price", f"none: {answer.no_price}"))
    return facts


def _limit(memory: MemoryFit) -> tuple[str, str]:
    """Return what ends first: of a deployment that fits easily, only once the load grows."""
    if memory.verdict == "fits":
        return ("first limit", f"when the load grows: {memory.binding_limit}")
    return ("limited by", memory.binding_limit)


def _tight(memory: MemoryFit) -> str:
    """Return what tight means for this deployment: a yes that may fail, or a no that is near."""
    spread = format_bytes(memory.uncertainty_bytes)
    if memory.fits:
        return f"it fits (exit code 0), but with less to spare than the {spread} by which estimates are off"
    return (
        "it does not fit as set up (exit code 3), but would with other options, or lacks less than the "
        f"{spread} by which estimates are off"
    )


def _in_short(answer: FitAnswer, memory: MemoryFit) -> str:
    holding = f", {memory.kv_tokens:,} tokens, {requests_held(memory)}" if memory.fits else ""
    gpus = f"{memory.deployment.gpus} x {gpu_label(answer.gpu)} ({layout(memory.deployment)})"
    return f"{gpus}: {memory.verdict}{holding}"


def fit_tables(answers: Sequence[FitAnswer]) -> tuple[Table, ...]:
    """Return the tables of a fit report in the order in which they are read.

    Parameters
    ----------
    answers : sequence of FitAnswer
        The answers, of one model.

    Returns
    -------
    tuple of Table
    """
    tables: list[Table | None] = [] if len(answers) == 1 else [side_by_side(answers)]
    for answer in answers:
        facts = [*answer_facts(answer), ("how known", provenance_line(answer))]
        tables += [memory_table(answer), facts_table(facts, gpu_label(answer.gpu)), layouts_table(answer)]
    tables.append(measured_table(answers))
    return tuple(table for table in tables if table is not None)


def fit_sources(answers: Sequence[FitAnswer]) -> Table:
    """Return where prices and measured figures come from, each with its date.

    Parameters
    ----------
    answers : sequence of FitAnswer
        The answers, of one model.

    Returns
    -------
    Table
    """
    prices = (row for answer in answers for row in price_rows(gpu_label(answer.gpu), answer.price))
    return sources_table((*prices, *measured_source_rows(answers)))


def fit_text(answers: Sequence[FitAnswer], left_out: Iterable[str] = ()) -> str:
    """Return what the command line prints, as plain text without bars and colours.

    Parameters
    ----------
    answers : sequence of FitAnswer
        The answers, of one model.
    left_out : iterable of str
        Which accelerators are left out and why.

    Returns
    -------
    str
    """
    parts = [] if len(answers) == 1 else [side_by_side(answers).to_text()]
    for answer in answers:
        parts.append(_wrapped(answer.sentence))
        parts.append(f"{memory_table(answer).to_text()}{_wrapped(provenance_line(answer))}")
        parts.append("".join(_wrapped(text, label) for label, text in answer_facts(answer) if text))
        others = layouts_table(answer)
        if others is not None:
            parts.append(others.to_text())
    measured = measured_table(answers)
    if measured is not None:
        sources = [*measured_notes(answers), *measured_sources(answers)]
        parts.append(measured.to_text() + "".join(_wrapped(text, "measured") for text in sources))
    table, marks = with_marks(assumptions_table(answers), "provenance")
    parts.append(table.to_text() + "".join(_wrapped(text, mark) for mark, text in marks))
    notes = dict.fromkeys((*left_out, *(warning for answer in answers for warning in answer.warnings)))
    if notes:
        parts.append("Notes\n" + "".join(_wrapped(note, " -") for note in notes))
    return "\n".join(parts)


def _wrapped(text: str, label: str = "") -> str:
    """Return wrapped text behind a label, or at the margin without one."""
    first = f"{label:<17}" if len(label) > 2 else f"{label} " if label else ""
    return textwrap.fill(text, WIDTH, initial_indent=first, subsequent_indent=" " * len(first)) + "\n"
