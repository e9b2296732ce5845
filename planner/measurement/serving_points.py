"""One measured operating point of a service, and reading such points from a tidy CSV."""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, fields
from typing import Any

from planner.errors import InvalidInput, nearest_names
from planner.measurement.csvtable import CsvRow, CsvTable, read_csv
from planner.measurement.pool_notes import counted_once
from planner.measurement.serving_flags import ServingFlag, flags_of
from planner.measurement.serving_sources import source_flags

REQUIRED = ("model", "gpu")
MEASURED = (
    "output_tps_total",
    "output_tps_per_gpu",
    "total_tps_per_gpu",
    "tps_per_user",
    "ttft_ms_median",
    "ttft_ms_mean",
    "tpot_ms_median",
    "tpot_ms_mean",
    "e2e_s_median",
)
"""At least one of these columns must be there to compare with."""


@dataclass(frozen=True, slots=True)
class ServingPoint:
    """One measured operating point: the columns of the tidy schema, None where nothing was published.

    Rates are divided by all GPUs of the deployment. Lengths are in tokens, rates in tokens or requests per
    second, `*_ms` in milliseconds and `*_s` in seconds. `flags` says what kind of figure it is, `where` in
    which file and line it stands, and `own` whether the user measured it.
    """

    source: str | None
    source_url: str | None
    date: str | None
    model: str
    gpu: str
    vendor: str | None
    n_gpus: int | None
    n_nodes: int | None
    tp: int | None
    pp: int | None
    ep: int | None
    dp: int | None
    disagg: bool | None
    prefill_gpus: int | None
    decode_gpus: int | None
    weight_dtype: str | None
    kv_dtype: str | None
    engine: str | None
    engine_version: str | None
    isl: float | None
    osl: float | None
    concurrency: float | None
    request_rate: float | None
    spec_decode: str | None
    prefix_hit: float | None
    output_tps_total: float | None
    output_tps_per_gpu: float | None
    total_tps_per_gpu: float | None
    tps_per_user: float | None
    ttft_ms_median: float | None
    ttft_ms_p99: float | None
    tpot_ms_median: float | None
    tpot_ms_p99: float | None
    e2e_s_median: float | None
    notes: str | None
    ttft_ms_mean: float | None
    tpot_ms_mean: float | None
    flags: ServingFlag = ServingFlag.NONE
    where: str = ""
    own: bool = False

    @property
    def cited(self) -> str:
        """Return who measured it and when, as figures say where they come from."""
        if self.own:
            file = self.where.rpartition(":")[0]
            return f"measured by you on {self.date or 'a day not stated'} ({file})"
        return f"measured: {self.source} ({self.date or 'undated'})"

    @property
    def whole_service(self) -> bool:
        """Return whether the rates are those of a whole service, not of its prefill or decode part alone."""
        return not self.flags & ServingFlag.ONE_PHASE


COLUMNS = tuple(field.name for field in fields(ServingPoint) if field.name not in ("flags", "where", "own"))


@dataclass(frozen=True, slots=True)
class UnreadablePoint:
    """A row with a value that is not what its column holds.

    Parameters
    ----------
    line : int
        Line of the file.
    what : str
        Column, value and what would be right.
    """

    line: int
    what: str


def load_serving(path: str | os.PathLike[str]) -> list[ServingPoint]:
    """Read a tidy CSV of serving points.

    Parameters
    ----------
    path : path
        A CSV file in UTF-8 with the columns `model` and `gpu` and at least one measured quantity. Further
        columns of `ServingPoint` are used where they are there, in any order; others are ignored.

    Returns
    -------
    list of ServingPoint
        One for each row, in the file's order.

    Raises
    ------
    InvalidInput
        With file and line: not UTF-8, a column that is needed is missing, a row of another length, or a value
        that is not what its column holds.
    """
    table, points = read_serving(path)
    for point in points:
        if isinstance(point, UnreadablePoint):
            raise InvalidInput(f"{table.file}:{point.line}: {point.what}")
    return [point for point in points if isinstance(point, ServingPoint)]


def read_serving(path: str | os.PathLike[str]) -> tuple[CsvTable, list[ServingPoint | UnreadablePoint]]:
    """Read a tidy CSV of serving points and keep going at a row that cannot be read.

    Parameters
    ----------
    path : path
        As for `load_serving`.

    Returns
    -------
    tuple of CsvTable and list
        The raw table, and one entry for each of its rows in order: a point, or what cannot be read of it.

    Raises
    ------
    InvalidInput
        With file and line, when the file is no such table.
    """
    table = serving_table(path)
    return table, list(parse_points(table, table.rows))


def serving_table(path: str | os.PathLike[str]) -> CsvTable:
    """Read a CSV file and check that it has the columns of serving points.

    Parameters
    ----------
    path : path
        As for `load_serving`.

    Returns
    -------
    CsvTable

    Raises
    ------
    InvalidInput
        With file and line.
    """
    table = read_csv(path)
    missing = [_with_hint(name, table.columns) for name in REQUIRED if name not in table.columns]
    if missing:
        raise InvalidInput(
            f"{table.file}:1: no column {', no column '.join(missing)}; serving points need both"
        )
    if not set(MEASURED) & set(table.columns):
        raise InvalidInput(
            f"{table.file}:1: no measured quantity; one of these columns is needed: {', '.join(MEASURED)}"
        )
    return table


def ignored_columns(table: CsvTable) -> dict[str, str | None]:
    """Return the columns of a table that no serving point has.

    Parameters
    ----------
    table : CsvTable
        A table of serving points.

    Returns
    -------
    dict of str to str or None
        Each such column, with the one that was probably meant.
    """
    absent = [name for name in COLUMNS if name not in table.columns]
    near = {name: nearest_names(name, absent, limit=1) for name in table.columns if name not in COLUMNS}
    return {name: (found[0] if found else None) for name, found in near.items()}


def parse_points(table: CsvTable, rows: Iterable[CsvRow]) -> Iterable[ServingPoint | UnreadablePoint]:
    """Turn rows of text into points, with the flags of each row and of its source.

    Parameters
    ----------
    table : CsvTable
        The table that the rows are of.
    rows : iterable of CsvRow
        All of its rows or some.

    Yields
    ------
    ServingPoint or UnreadablePoint
        The latter for the first cell of a row that is not what its column holds.
    """
    empty: dict[str, Any] = dict.fromkeys(COLUMNS)
    readers = [(name, _READERS[name]) for name in table.columns if name in _READERS]
    for row in rows:
        values = dict(empty)
        cells = row.cells
        try:
            for name, read in readers:
                text = cells[name]
                if text:
                    values[name] = read(text)
        except ValueError as error:
            shown = text if len(text) <= 40 else f"{text[:36]}..."
            yield UnreadablePoint(row.line, f"{name} is {shown!r}; {error}")
            continue
        lacking = next((name for name in REQUIRED if not values[name]), None)
        if lacking:
            yield UnreadablePoint(row.line, f"{lacking} is empty")
            continue
        flags = flags_of(values) | source_flags(values["source"])
        yield ServingPoint(**counted_once(values), flags=flags, where=f"{table.file}:{row.line}")


def _with_hint(name: str, columns: Sequence[str]) -> str:
    near = nearest_names(name, columns, limit=1)
    return f"{name} (is {near[0]!r} meant?)" if near else name


LARGEST = 1e12
"""Nothing that is served is counted in larger numbers; a larger one is a slip or an attack."""


def _number(text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        raise ValueError("a number is needed, with a point for decimals and no separators") from None
    if not 0 <= value <= LARGEST:
        raise ValueError(f"a number from 0 to {LARGEST:g} is needed")
    return value


def _rate(text: str) -> float:
    return math.inf if text.lower() in ("inf", "infinity") else _number(text)


def _share(text: str) -> float:
    value = _number(text)
    if value > 1:
        raise ValueError("a share from 0 to 1 is needed")
    return value


def _count(text: str) -> int:
    value = _number(text)
    if value != int(value):
        raise ValueError("a whole number is needed")
    return int(value)


def _size(text: str) -> int:
    value = _count(text)
    if value < 1:
        raise ValueError("a whole number of 1 or more is needed")
    return value


def _flag(text: str) -> bool:
    lowered = text.lower()
    if lowered in ("true", "yes", "1"):
        return True
    if lowered in ("false", "no", "0"):
        return False
    raise ValueError("true or false is needed")


_BY_NAME: dict[str, Callable[[str], Any]] = {
    "request_rate": _rate,
    "prefix_hit": _share,
    "ep": _count,
    "prefill_gpus": _count,
    "decode_gpus": _count,
}
_BY_TYPE: dict[str, Callable[[str], Any]] = {
    "str": str,
    "str | None": str,
    "int | None": _size,
    "float | None": _number,
    "bool | None": _flag,
}
_READERS = {
    field.name: _BY_NAME.get(field.name) or _BY_TYPE[str(field.type)]
    for field in fields(ServingPoint)
    if field.name in COLUMNS
}
