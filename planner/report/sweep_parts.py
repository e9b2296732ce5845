"""A part of a sweep as text or columns, with a summary of its rows, as a worker hands it back."""

from __future__ import annotations

import io
import math
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from planner.distribution import installing
from planner.errors import Unsupported
from planner.planning.sweep_rows import COLUMNS, Rows, Sweeper
from planner.planning.sweeping import SweepQuestion, Task
from planner.report.sweep_text import csv_bytes

if TYPE_CHECKING:
    import pyarrow

CSV, PARQUET, MEMORY = "csv", "parquet", "memory"

SUMMED = ("output_tps_total", "ttft_ms", "tpot_ms", "usd_per_million_output_tokens")
"""Columns whose sums tell two sweeps apart."""

MOST_REASONS = 1000
"""Reasons that are counted by their words; further ones are counted together."""
FURTHER = "other reasons"


@dataclass(slots=True)
class Summary:
    """What is said of many rows.

    Parameters
    ----------
    rows : int
        How many.
    states, reasons : dict of str to int
        How many rows are answered, do not fit or are refused, and why.
    sums : dict of str to float
        Of `SUMMED`.
    best : dict
        By model and accelerator (a tab between): the row with the most output of a GPU, and the row with the
        cheapest output.
    """

    rows: int = 0
    states: dict[str, int] = field(default_factory=dict)
    reasons: dict[str, int] = field(default_factory=dict)
    sums: dict[str, float] = field(default_factory=dict)
    best: dict[str, dict[str, dict[str, Any]]] = field(default_factory=dict)

    def add_rows(self, rows: Rows) -> None:
        """Count the rows of one piece."""
        self.rows += rows.count
        for state, count in _counted(rows, "state"):
            self.states[state] = self.states.get(state, 0) + count
        for reason, count in _counted(rows, "reason"):
            self._add_reason(reason, count)
        for name in SUMMED:
            values = rows.varying.get(name)
            if values is not None:
                total = float(values[values == values].sum())
                self.sums[name] = self.sums.get(name, 0.0) + total
        self._consider(f"{rows.fixed['model']}\t{rows.fixed['gpu']}", _best_of(rows))

    def add(self, other: Summary) -> None:
        """Count what another summary counted, which comes later in the sweep."""
        self.rows += other.rows
        for state, count in other.states.items():
            self.states[state] = self.states.get(state, 0) + count
        for name, total in other.sums.items():
            self.sums[name] = self.sums.get(name, 0.0) + total
        for reason, count in other.reasons.items():
            self._add_reason(reason, count)
        for pair, best in other.best.items():
            self._consider(pair, best)

    def _add_reason(self, reason: str, count: int) -> None:
        known = reason in self.reasons or len(self.reasons) < MOST_REASONS
        name = reason if known else FURTHER
        self.reasons[name] = self.reasons.get(name, 0) + count

    def _consider(self, pair: str, found: dict[str, dict[str, Any]]) -> None:
        held = self.best.setdefault(pair, {})
        for what, (column, sign) in BEST.items():
            if what in found and (what not in held or sign * found[what][column] > sign * held[what][column]):
                held[what] = found[what]

    def to_dict(self) -> dict[str, Any]:
        """Return the summary as a JSON-ready object."""
        return {
            "rows": self.rows,
            "states": self.states,
            "reasons": self.reasons,
            "sums": self.sums,
            "best": self.best,
        }


BEST = {"most_output": ("output_tps_per_gpu", 1.0), "cheapest": ("usd_per_million_output_tokens", -1.0)}
"""By what the best row is chosen; of equals the first."""


def _best_of(rows: Rows) -> dict[str, dict[str, Any]]:
    found = {}
    for what, (column, sign) in BEST.items():
        values = rows.varying.get(column)
        if values is not None and (values == values).any():
            ranked = sign * values
            ranked[ranked != ranked] = -math.inf
            found[what] = record_at(rows, int(ranked.argmax()))
    return found


def _counted(rows: Rows, column: str) -> Iterator[tuple[str, int]]:
    if column in rows.varying:
        yield from Counter(value for value in rows.varying[column].tolist() if value).items()
    elif rows.fixed.get(column):
        yield rows.fixed[column], rows.count


def record_at(rows: Rows, place: int) -> dict[str, Any]:
    """Return one row as a record with every column."""
    return {
        name: _plain(rows.varying[name][place]) if name in rows.varying else rows.fixed.get(name)
        for name in COLUMNS
    }


def _plain(value: Any) -> Any:
    plain = value.item() if hasattr(value, "item") else value
    return None if plain != plain else plain


def records(parts: Sequence[Rows]) -> Iterator[dict[str, Any]]:
    """Yield every row as a record with every column."""
    for rows in parts:
        columns = {name: values.tolist() for name, values in rows.varying.items()}
        fixed = {name: rows.fixed.get(name) for name in COLUMNS}
        for values in zip(*columns.values(), strict=True):
            named = zip(columns, values, strict=True)
            yield {**fixed, **{name: None if value != value else value for name, value in named}}


@dataclass(frozen=True, slots=True)
class Part:
    """A task that is done.

    Parameters
    ----------
    task : int
        Its place in the sweep.
    payload : bytes
        Its rows as CSV without a header, or as a stream of Arrow; empty where rows are kept in memory.
    rows : tuple of Rows
        The rows, where they are kept in memory.
    summary : Summary
        What is said of them.
    """

    task: int
    payload: bytes
    rows: tuple[Rows, ...]
    summary: Summary


_SWEEPERS: dict[str, Sweeper] = {}
"""The sweep that this process works at, by its key."""


def done(asked: SweepQuestion, key: str, task: Task, form: str) -> Part:
    """Do one task; this is what an executor runs.

    Parameters
    ----------
    asked : SweepQuestion
        The sweep.
    key : str
        Its key, which is costly to work out for each task.
    task : Task
        Which part.
    form : str
        ``csv``, ``parquet`` or ``memory``.

    Returns
    -------
    Part
    """
    if key not in _SWEEPERS:
        _SWEEPERS.clear()
        _SWEEPERS[key] = Sweeper(asked)
    return part_of(_SWEEPERS[key], task, form)


def part_of(sweeper: Sweeper, task: Task, form: str) -> Part:
    """Do one task with a sweeper at hand."""
    rows = tuple(sweeper.rows_of(task))
    summary = Summary()
    for one in rows:
        summary.add_rows(one)
    if form == MEMORY:
        return Part(task.number, b"", rows, summary)
    payload = csv_bytes(rows) if form == CSV else _arrow_bytes(rows)
    return Part(task.number, payload, (), summary)


def arrow_schema() -> pyarrow.Schema:
    """Return the columns of a sweep as Arrow has them.

    Raises
    ------
    Unsupported
        Where pyarrow is not installed; it names the extra that brings it.
    """
    try:
        import pyarrow
    except ImportError:
        raise Unsupported(f"Parquet needs pyarrow, which is not installed: {installing('sweep')}") from None
    types = {int: pyarrow.int64(), float: pyarrow.float64(), str: pyarrow.string()}
    return pyarrow.schema([(name, types[kind]) for name, kind in COLUMNS.items()])


def arrow_table(rows: Rows) -> pyarrow.Table:
    """Return rows as a table of Arrow; NaN becomes null."""
    import pyarrow

    schema = arrow_schema()
    arrays = [
        pyarrow.array(rows.varying[one.name], type=one.type, from_pandas=True)
        if one.name in rows.varying
        else pyarrow.repeat(pyarrow.scalar(rows.fixed.get(one.name), type=one.type), rows.count)
        for one in schema
    ]
    return pyarrow.Table.from_arrays(arrays, schema=schema)


def _arrow_bytes(parts: Sequence[Rows]) -> bytes:
    import pyarrow

    table = pyarrow.concat_tables([arrow_table(rows) for rows in parts])
    sink = io.BytesIO()
    with pyarrow.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    return sink.getvalue()
