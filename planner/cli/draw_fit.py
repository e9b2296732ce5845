"""A fit answer on a terminal: the verdict, a bar of one GPU's memory, and the tables behind it."""

from __future__ import annotations

from collections.abc import Sequence

from rich.console import Console
from rich.text import Text

from planner.cli.draw import draw_facts, draw_lines, draw_table
from planner.report.certainty import provenance_line
from planner.report.facts import answer_facts
from planner.report.fit import FitAnswer, FitReport
from planner.report.measured import measured_notes, measured_sources, measured_table
from planner.report.sentences import gpu_label
from planner.report.table import GIB, Table
from planner.report.tables import (
    assumptions_table,
    layouts_table,
    memory_parts,
    memory_table,
    side_by_side,
    with_marks,
)

PART_LOOK = {
    "weights": ("█", "blue"),
    "KV cache": ("▓", "green"),
    "state": ("▚", "cyan"),
    "activation": ("▒", "yellow"),
    "graphs": ("░", "magenta"),
    "buffers": ("╱", "bright_black"),
    "reserve": ("·", "bright_black"),
}
"""Sign and colour of each part: the signs differ, so that the bar can be read without colour."""

VERDICT_STYLE = {"fits": "green", "tight": "yellow", "does not fit": "red"}
LONGEST_BAR = 80
LABEL_WIDTH = 20
"""Columns left for the figures behind a bar."""


def draw_fit(console: Console, report: FitReport) -> None:
    """Print a fit report.

    Parameters
    ----------
    console : Console
        Where to.
    report : FitReport
        One answer, or several that are compared first.
    """
    if len(report) > 1:
        _draw_comparison(console, report.answers)
    else:
        _draw_single(console, report.answer)
    _draw_measured(console, report.answers)
    console.print()
    table, marks = with_marks(assumptions_table(report.answers), "provenance")
    draw_table(console, table)
    draw_facts(console, marks)
    if report.warnings:
        console.print()
        draw_lines(console, "Notes", report.warnings)


def _draw_single(console: Console, answer: FitAnswer) -> None:
    _print_verdict(console, answer)
    console.print()
    table = memory_table(answer)
    console.print(Text(table.title, style="bold"))
    console.print(memory_bar(answer, _bar_width(console)))
    console.print()
    draw_table(console, _with_signs(table))
    console.print(Text(provenance_line(answer), style="dim"))
    console.print()
    draw_facts(console, answer_facts(answer))
    others = layouts_table(answer)
    if others is not None:
        console.print()
        draw_table(console, others)


def _draw_comparison(console: Console, answers: Sequence[FitAnswer]) -> None:
    console.print(Text(f"{answers[0].named}{_status(answers[0])}", style="bold"))
    console.print()
    draw_table(console, side_by_side(answers))
    console.print()
    for answer in answers:
        _print_verdict(console, answer)
    console.print()
    console.print(Text("Memory of the fullest GPU (│ all that is usable)", style="bold"))
    longest = max(_scale_bytes(answer) for answer in answers)
    label = max(len(gpu_label(answer.gpu)) for answer in answers)
    for answer in answers:
        line = Text(gpu_label(answer.gpu).ljust(label + 2))
        line.append(memory_bar(answer, _bar_width(console) - label - 2, longest))
        console.print(line)
    console.print(_legend(answers))
    for answer in answers:
        console.print()
        console.print(Text(gpu_label(answer.gpu), style="bold"))
        draw_facts(console, answer_facts(answer))


def _print_verdict(console: Console, answer: FitAnswer) -> None:
    console.print(Text(answer.sentence, style=f"bold {VERDICT_STYLE[answer.memory.verdict]}"))


def _status(answer: FitAnswer) -> str:
    return "" if answer.config_status == "published" else f" (configuration {answer.config_status})"


def _draw_measured(console: Console, answers: Sequence[FitAnswer]) -> None:
    table, notes = measured_table(answers), measured_notes(answers)
    if table is None and not notes:
        return
    console.print()
    if table is not None:
        draw_table(console, table)
    for note in notes:
        console.print(Text(f"measured: {note}"))
    for source in measured_sources(answers):
        console.print(Text(f"measured: {source}", style="dim"))


def _with_signs(table: Table) -> Table:
    rows = tuple({**row, "part": f"{_sign(str(row['part']))} {row['part']}"} for row in table.rows)
    return Table(table.columns, rows)


def _sign(part: str) -> str:
    return PART_LOOK.get(part, (" ", ""))[0]


def _bar_width(console: Console) -> int:
    return min(console.width - LABEL_WIDTH, LONGEST_BAR)


def _scale_bytes(answer: FitAnswer) -> float:
    """Return what the whole bar stands for: the memory, or what is wanted where that is more [bytes]."""
    wanted = sum(size for _, size, _ in memory_parts(answer.memory))
    return max(answer.memory.per_rank.usable_bytes, wanted)


def memory_bar(answer: FitAnswer, width: int, scale_bytes: float | None = None) -> Text:
    """Return one GPU's memory as a bar; a rule marks the end of what is there.

    Parameters
    ----------
    answer : FitAnswer
        The answer.
    width : int
        Columns of the whole scale.
    scale_bytes : float, optional
        What the whole width stands for [bytes]; by default this GPU's own memory or need.

    Returns
    -------
    Text
    """
    scale = scale_bytes or _scale_bytes(answer)
    usable_bytes = answer.memory.per_rank.usable_bytes
    end = round(usable_bytes / scale * width)
    bar = Text()
    filled = 0.0
    for name, size, _ in memory_parts(answer.memory):
        sign, style = PART_LOOK[name]
        columns = round((filled + size) / scale * width) - round(filled / scale * width)
        filled += size
        for _ in range(columns):
            if len(bar) == end:
                bar.append("│", style="bold")
            bar.append(sign, style=style if len(bar) <= end else "red")
    bar.append(" " * max(0, end - len(bar)))
    if len(bar) == end:
        bar.append("│", style="bold")
    wanted_bytes = sum(size for _, size, _ in memory_parts(answer.memory))
    needed = f"{wanted_bytes / GIB:,.1f} of " if wanted_bytes > usable_bytes * 1.0001 else ""
    bar.append(f" {needed}{usable_bytes / GIB:,.1f} GiB", style="dim")
    return bar


def _legend(answers: Sequence[FitAnswer]) -> Text:
    used = {name for answer in answers for name, _, _ in memory_parts(answer.memory)}
    legend = Text()
    for name, (sign, style) in PART_LOOK.items():
        if name in used:
            legend.append(sign, style=style)
            legend.append(f" {name}  ")
    return legend
