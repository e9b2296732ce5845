"""Whether a report still says what planner says: what differs, then and now, and what changed meanwhile."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from planner.report.base import Report
from planner.report.reproduction import MARK
from planner.report.table import Column, Table, records_to_csv

SCHEMA = "planner.verify/1"
TOLERANCE = 1e-9
"""Relative difference of two numbers that are the same: other processors round the last digits elsewise."""

BESIDE = frozenset({MARK, "catalogue_digest"})
"""What says how a report was made, not what it says; it is reported apart."""

ABSENT = "(absent)"
LONGEST = 60

COLUMNS = (
    Column("file", "report", flexible=True),
    Column("path", "where", flexible=True),
    Column("then", "then", flexible=True),
    Column("now", "now", flexible=True),
)


@dataclass(frozen=True, slots=True)
class Difference:
    """One value that is not what it was.

    Parameters
    ----------
    path : str
        Where in the report, such as ``results[1].ttft_ms.value``.
    then, now : object
        What the report says, and what planner says.
    """

    path: str
    then: Any
    now: Any


@dataclass(frozen=True, slots=True)
class Verified:
    """One report that was made again.

    Parameters
    ----------
    file : str
        The report.
    function : str
        What was asked.
    compared : int
        Values that were compared.
    differences : tuple of Difference
        Those that are not what they were.
    changes : tuple of str
        What changed meanwhile: catalogue, prices, version, files.
    """

    file: str
    function: str
    compared: int
    differences: tuple[Difference, ...]
    changes: tuple[str, ...]

    @property
    def same(self) -> bool:
        """Return whether nothing differs."""
        return not self.differences

    @property
    def sentence(self) -> str:
        """Return the outcome in words."""
        meanwhile = f"; since then: {'; '.join(self.changes)}" if self.changes else ""
        if self.same:
            return f"{self.file}: all {self.compared:,} values are the same{meanwhile}."
        return f"{self.file}: {len(self.differences):,} of {self.compared:,} values differ{meanwhile}."


@dataclass(frozen=True, slots=True, repr=False)
class VerifyReport(Report):
    """Reports that were made again and compared.

    Parameters
    ----------
    answers : tuple of Verified
        One for each file.
    tolerance : float
        Relative difference below which two numbers are the same.
    """

    answers: tuple[Verified, ...]
    tolerance: float = TOLERANCE

    @property
    def same(self) -> bool:
        """Return whether nothing differs in any of them."""
        return all(answer.same for answer in self.answers)

    @property
    def title(self) -> str:
        """Return what the report is about."""
        return f"Reports made again: {', '.join(answer.file for answer in self.answers)}"

    @property
    def sentence(self) -> str:
        """Return the outcomes in words."""
        return " ".join(answer.sentence for answer in self.answers)

    def __repr__(self) -> str:
        """Return the outcomes in words."""
        return f"<VerifyReport: {self.sentence}>"

    def __str__(self) -> str:
        """Return the outcomes in words, one line for each report."""
        return "\n".join(answer.sentence for answer in self.answers)

    def tables(self) -> tuple[Table, ...]:
        """Return what differs, if anything does."""
        table = differences_table(self)
        return (table,) if table.rows else ()

    def to_dict(self) -> dict[str, Any]:
        """Return one JSON-ready object of schema `planner.verify/1`."""
        results = [
            {
                "file": answer.file,
                "function": answer.function,
                "same": answer.same,
                "compared": answer.compared,
                "differences": [
                    {"path": one.path, "then": one.then, "now": one.now} for one in answer.differences
                ],
                "changes": list(answer.changes),
            }
            for answer in self.answers
        ]
        return {"schema": SCHEMA, "same": self.same, "tolerance": self.tolerance, "results": results}

    def to_records(self) -> list[dict[str, Any]]:
        """Return one record for each value that differs."""
        return [
            {"file": answer.file, "path": one.path, "then": one.then, "now": one.now}
            for answer in self.answers
            for one in answer.differences
        ]

    def to_csv(self) -> str:
        """Return one line for each value that differs under a header."""
        return records_to_csv(self.to_records(), [column.key for column in COLUMNS])

    def _repr_html_(self) -> str:
        import html

        head = f"<p><strong>{html.escape(self.sentence)}</strong></p>"
        return head + "".join(table.to_html() for table in self.tables())


def differences_table(report: VerifyReport, most: int | None = None) -> Table:
    """Return what differs.

    Parameters
    ----------
    report : VerifyReport
        The report.
    most : int, optional
        Rows of each file, at most.

    Returns
    -------
    Table
    """
    rows = tuple(
        {"file": answer.file, "path": one.path, "then": _shown(one.then), "now": _shown(one.now)}
        for answer in report.answers
        for one in answer.differences[:most]
    )
    columns = COLUMNS if len(report.answers) > 1 else COLUMNS[1:]
    return Table(columns, rows, "What differs")


def _shown(value: Any) -> str:
    text = value if isinstance(value, str) else repr(value)
    return text if len(text) <= LONGEST else f"{text[: LONGEST - 3]}..."


def compared(then: Any, now: Any, tolerance: float) -> tuple[int, list[Difference]]:
    """Compare what a report says with what planner says.

    Parameters
    ----------
    then, now : JSON values
        The two reports, without their questions.
    tolerance : float
        Relative difference below which two numbers are the same.

    Returns
    -------
    tuple of int and list of Difference
        How many values were compared, and those that differ.
    """
    count, found = 0, []
    for path, before, after in _pairs(then, now, ""):
        count += 1
        if not _same(before, after, tolerance):
            found.append(Difference(path, before, after))
    return count, found


def _pairs(then: Any, now: Any, path: str) -> Iterator[tuple[str, Any, Any]]:
    """Yield every value of both, depth first, with where it stands."""
    if isinstance(then, Mapping) and isinstance(now, Mapping):
        for key in dict.fromkeys((*then, *now)):
            if key not in BESIDE:
                below = f"{path}.{key}" if path else str(key)
                yield from _pairs(then.get(key, ABSENT), now.get(key, ABSENT), below)
    elif isinstance(then, list) and isinstance(now, list):
        for place in range(max(len(then), len(now))):
            before = then[place] if place < len(then) else ABSENT
            after = now[place] if place < len(now) else ABSENT
            yield from _pairs(before, after, f"{path}[{place}]")
    else:
        yield path, then, now


def _same(then: Any, now: Any, tolerance: float) -> bool:
    numbers = all(isinstance(one, int | float) and not isinstance(one, bool) for one in (then, now))
    if not numbers:
        return type(then) is type(now) and bool(then == now)
    try:
        return math.isclose(then, now, rel_tol=tolerance, abs_tol=0.0)
    except OverflowError:
        return bool(then == now)


def price_dates(record: Any) -> list[str]:
    """Return the dates of all prices in a report, each once and in order."""
    return sorted(set(_price_dates(record)))


def _price_dates(record: Any) -> Iterator[str]:
    if isinstance(record, Mapping):
        if "usd_per_gpu_hour" in record and isinstance(record.get("date"), str):
            yield record["date"]
        for value in record.values():
            yield from _price_dates(value)
    elif isinstance(record, list):
        for value in record:
            yield from _price_dates(value)
