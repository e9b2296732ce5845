"""Tables and labelled facts on a rich console, in one look for every command."""

from __future__ import annotations

from collections.abc import Iterable

from rich import box
from rich.cells import cell_len
from rich.console import Console
from rich.padding import Padding
from rich.table import Table as RichTable
from rich.text import Text

from planner.report.table import Table

GAP = 2
"""Columns of the screen between two columns of a table."""

LEAST_FLEXIBLE = 7
"""Width down to which a column that may wrap gives way, where it has no longer word."""

LONGEST_WORD = 10
"""Letters of a word that a column keeps on one line; longer ones, such as addresses, are cut."""


def draw_table(console: Console, table: Table, styles: Iterable[str] = ()) -> None:
    """Print a table with its title; columns that may wrap do so when the console is narrow.

    The others keep their width, if need be beyond the console's: a figure cut short is a wrong figure.

    Parameters
    ----------
    console : Console
        Where to.
    table : Table
        What.
    styles : iterable of str
        Rich styles of the rows, in order; none by default.
    """
    if table.title:
        console.print(Text(table.title, style="bold"))
    drawn = RichTable(box=box.SIMPLE_HEAD, pad_edge=False, padding=(0, 1, 0, 0), show_edge=False)
    rows = table.cells()
    least = _least_widths(table, rows)
    for column, width in zip(table.columns, least, strict=True):
        drawn.add_column(
            Text(column.heading),
            justify="right" if column.right else "left",
            no_wrap=not column.flexible,
            overflow="fold",
            min_width=width if column.flexible else None,
        )
    row_styles = list(styles) or [""] * len(rows)
    for cells, style in zip(rows, row_styles, strict=True):
        drawn.add_row(*(Text(cell) for cell in cells), style=style or None)
    needed = sum(least) + GAP * (len(least) - 1)
    if needed > console.width:
        drawn.width = needed
    console.print(drawn, crop=False)


def _least_widths(table: Table, rows: list[list[str]]) -> list[int]:
    """Return the columns of the screen that each column takes when only flexible ones give way."""
    found = []
    for number, column in enumerate(table.columns):
        texts = [*column.heading.split("\n"), *(cells[number] for cells in rows)]
        widest = max(cell_len(text) for text in texts)
        word = max((cell_len(word) for text in texts for word in text.split()), default=0)
        least = max(LEAST_FLEXIBLE, min(word, LONGEST_WORD))
        found.append(min(widest, least) if column.flexible else widest)
    return found


def draw_facts(console: Console, facts: Iterable[tuple[str, str]], label_width: int = 0) -> None:
    """Print labels and texts in two columns; long texts wrap in their own column.

    Parameters
    ----------
    console : Console
        Where to.
    facts : iterable of (label, text)
        A fact without text is left out.
    label_width : int
        Width of the labels at least [columns].
    """
    grid = RichTable.grid(padding=(0, 2, 0, 0))
    grid.add_column(no_wrap=True, style="dim", min_width=label_width)
    grid.add_column(overflow="fold")
    for label, text in facts:
        if text:
            grid.add_row(Text(label), Text(text))
    console.print(grid)


def draw_lines(console: Console, title: str, lines: Iterable[str]) -> None:
    """Print a title and a list of wrapped lines, or nothing where there are none."""
    listed = list(lines)
    if not listed:
        return
    console.print(Text(title, style="bold"))
    grid = RichTable.grid(padding=(0, 1, 0, 0))
    grid.add_column(no_wrap=True)
    grid.add_column(overflow="fold")
    for line in listed:
        grid.add_row(Text("-"), Text(line))
    console.print(Padding(grid, (0, 0, 0, 1)))
