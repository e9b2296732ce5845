"""A report as Markdown: the answer, its tables, notes, assumptions, sources, and how to make it again."""

from __future__ import annotations

import re
from collections.abc import Iterator

from planner.report.base import Report
from planner.report.provenance import origin_facts
from planner.report.table import Table

_SIGNS = re.compile(r"([\\`*\[\]<>|~])|(?<!\w)_|_(?!\w)")
"""What Markdown would read as its own."""


def markdown_text(report: Report) -> str:
    """Return a report as Markdown.

    Parameters
    ----------
    report : Report
        The report.

    Returns
    -------
    str
        Every text of the user's escaped; it ends in a newline.
    """
    return "\n\n".join(_parts(report)) + "\n"


def _parts(report: Report) -> Iterator[str]:
    yield f"# {escaped(report.title)}"
    yield f"**{escaped(report.sentence)}**"
    for table in report.tables():
        yield from _titled(table)
    if report.warnings:
        yield "## Notes"
        yield "\n".join(f"- {escaped(said)}" for said in report.warnings)
    for found, usual in ((report.assumptions(), "Assumptions"), (report.sources(), "Sources")):
        if found is not None and found.rows:
            yield from _titled(found, usual)
    if report.reproduction is not None:
        yield "## How it was made"
        yield "\n".join(f"- {label}: {escaped(text)}" for label, text in origin_facts(report.reproduction))
        if report.reproduction.complete:
            yield fenced(report.reproduction.command)


def _titled(table: Table, usual: str = "") -> Iterator[str]:
    if title := table.title or usual:
        yield f"## {escaped(title)}"
    yield markdown_table(table)


def markdown_table(table: Table) -> str:
    """Return a table as the pipes of GitHub's Markdown.

    Parameters
    ----------
    table : Table
        The table.

    Returns
    -------
    str
    """
    heads = [escaped(column.heading) for column in table.columns]
    rules = ["---:" if column.right else "---" for column in table.columns]
    rows = [[escaped(cell) for cell in cells] for cells in table.cells()]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in (heads, rules, *rows))


def escaped(text: str) -> str:
    """Return text that Markdown shows as it is, on one line."""
    words = " ".join(text.split()).replace("&", "&amp;")
    return _SIGNS.sub(lambda sign: f"\\{sign[0]}", words)


def fenced(text: str) -> str:
    """Return text as a block of code, whatever quotes it holds."""
    ticks = max((len(run) for run in re.findall(r"`+", text)), default=0)
    fence = "`" * max(3, ticks + 1)
    return f"{fence}sh\n{text}\n{fence}"
