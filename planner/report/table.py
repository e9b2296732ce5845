"""A table with units: the same rows as text cells, CSV, JSON records, HTML and a pandas frame."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from planner.distribution import installing
from planner.errors import Unsupported

if TYPE_CHECKING:
    import pandas

GIB = 2.0**30
"""Bytes of one GiB."""


@dataclass(frozen=True, slots=True)
class Column:
    """One column of a table.

    Parameters
    ----------
    key : str
        Name of the field in CSV and JSON, with its unit.
    heading : str
        What people read, with the unit.
    right : bool
        Aligned to the right, as numbers are.
    show : callable, optional
        From a value to its text; `str` by default. None is always an empty cell.
    flexible : bool
        May be wrapped where the table is too wide.
    """

    key: str
    heading: str
    right: bool = False
    show: Callable[[Any], str] = str
    flexible: bool = False

    def cell(self, value: Any) -> str:
        """Return the text of one value."""
        return "" if value is None else self.show(value)


@dataclass(frozen=True, slots=True)
class Table:
    """Rows of values under columns.

    Parameters
    ----------
    columns : tuple of Column
        In order.
    rows : tuple of mapping
        Values by column key; a missing one is None.
    title : str
        What the table shows.
    more_keys : tuple of str
        Further keys of the rows, which CSV, JSON and frames hold and the drawn table does not.
    """

    columns: tuple[Column, ...]
    rows: tuple[Mapping[str, Any], ...]
    title: str = ""
    more_keys: tuple[str, ...] = ()

    @property
    def keys(self) -> tuple[str, ...]:
        """Return the keys of CSV, JSON and frames, in order."""
        return (*(column.key for column in self.columns), *self.more_keys)

    def filled(self) -> Table:
        """Return the same without the columns that no row fills; their keys stay in CSV, JSON and frames."""
        shown = tuple(one for one in self.columns if any(row.get(one.key) is not None for row in self.rows))
        left = tuple(column.key for column in self.columns if column not in shown)
        return replace(self, columns=shown, more_keys=(*self.more_keys, *left))

    def cells(self) -> list[list[str]]:
        """Return the text of every cell, row by row."""
        return [[column.cell(row.get(column.key)) for column in self.columns] for row in self.rows]

    def without_empty(self) -> Table:
        """Return the table with columns that say nothing in any row kept for CSV, JSON and frames alone."""
        shown = tuple(
            column for column in self.columns if any(row.get(column.key) is not None for row in self.rows)
        )
        hidden = tuple(column.key for column in self.columns if column not in shown)
        return Table(shown, self.rows, self.title, (*self.more_keys, *hidden))

    def to_records(self) -> list[dict[str, Any]]:
        """Return the rows as plain dictionaries with every key."""
        return [{key: row.get(key) for key in self.keys} for row in self.rows]

    def to_csv(self) -> str:
        """Return the rows as CSV with a header of keys."""
        return records_to_csv(self.to_records(), self.keys)

    def to_frame(self) -> pandas.DataFrame:
        """Return the rows as a pandas frame."""
        return frame_of(self.to_records())

    def to_text(self) -> str:
        """Return the table as plain text, as wide as it is."""
        heads = [column.heading.split("\n") for column in self.columns]
        tall = max(len(lines) for lines in heads)
        top = [[""] * (tall - len(lines)) + lines for lines in heads]
        rows = [*map(list, zip(*top, strict=True)), *self.cells()]
        widths = [max(len(row[number]) for row in rows) for number in range(len(self.columns))]
        lines = [self._text_line(row, widths) for row in rows]
        lines.insert(tall, "-" * max(len(line) for line in lines))
        return "\n".join([self.title, *lines] if self.title else lines) + "\n"

    def _text_line(self, cells: list[str], widths: list[int]) -> str:
        padded = (
            cell.rjust(width) if column.right else cell.ljust(width)
            for column, cell, width in zip(self.columns, cells, widths, strict=True)
        )
        return "  ".join(padded).rstrip()

    def to_html(self) -> str:
        """Return the table as HTML, every text escaped."""
        import html

        heads = "".join(f"<th>{html.escape(column.heading)}</th>" for column in self.columns)
        body = "".join(f"<tr>{self._html_row(cells)}</tr>" for cells in self.cells())
        caption = f"<caption>{html.escape(self.title)}</caption>" if self.title else ""
        return f"<table>{caption}<thead><tr>{heads}</tr></thead><tbody>{body}</tbody></table>"

    def _html_row(self, cells: list[str]) -> str:
        import html

        return "".join(
            f'<td style="text-align:{"right" if column.right else "left"}">{html.escape(cell)}</td>'
            for column, cell in zip(self.columns, cells, strict=True)
        )

    def _repr_html_(self) -> str:
        return self.to_html()


FACT_COLUMNS = (Column("label", "what"), Column("text", "value", flexible=True))


def facts_table(facts: Iterable[tuple[str, str]], title: str = "") -> Table:
    """Return single facts as a table, those without a text left out.

    Parameters
    ----------
    facts : iterable of (label, text)
        The facts, in order.
    title : str
        What they are about.

    Returns
    -------
    Table
    """
    return Table(FACT_COLUMNS, tuple({"label": label, "text": text} for label, text in facts if text), title)


def frame_of(records: Sequence[Mapping[str, Any]]) -> pandas.DataFrame:
    """Return records as a pandas frame.

    Parameters
    ----------
    records : sequence of mapping
        Values by key.

    Returns
    -------
    pandas.DataFrame

    Raises
    ------
    Unsupported
        Where pandas is not installed; it names the extra that brings it.
    """
    try:
        import pandas
    except ImportError:
        raise Unsupported(
            f"to_frame needs pandas, which is not installed: {installing('notebook')}"
        ) from None
    return pandas.DataFrame(records)


def records_to_csv(records: Sequence[Mapping[str, Any]], keys: Sequence[str]) -> str:
    """Return records as CSV.

    Parameters
    ----------
    records : sequence of mapping
        Values by key; None is an empty field.
    keys : sequence of str
        The columns, in order.

    Returns
    -------
    str
        Lines that end in a newline.
    """
    import csv
    import io

    text = io.StringIO()
    writer = csv.DictWriter(text, keys, lineterminator="\n", extrasaction="ignore")
    writer.writeheader()
    writer.writerows(records)
    return text.getvalue()
