"""Traces of requests (when each came, how long it was) from CSV files or lines of JSON objects."""

from __future__ import annotations

import json
import math
import os
import re
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Literal

from planner.errors import InvalidInput, nearest_names
from planner.measurement.csvtable import CsvRow, parse_csv, read_text
from planner.performance.simulation import Trace
from planner.scenario.records import LARGEST_COUNT

TimeUnit = Literal["s", "ms", "us", "ns"]
SECONDS = {"s": 1.0, "ms": 1e-3, "us": 1e-6, "ns": 1e-9}

TIME_NAMES = ("arrival", "arrival_time", "arrived_at", "timestamp", "time", "start_time")
"""Columns with the arrival time. One of numbers ends in its unit, such as `arrival_s`."""
ISL_NAMES = (
    "isl",
    "input_tokens",
    "input_length",
    "prompt_tokens",
    "num_prefill_tokens",
    "contexttokens",
    "request_tokens",
)
OSL_NAMES = (
    "osl",
    "output_tokens",
    "output_length",
    "completion_tokens",
    "num_decode_tokens",
    "generatedtokens",
    "response_tokens",
)
NUMBER = re.compile(r"[-+]?(\d+\.?\d*|\.\d+)([eE][-+]?\d+)?", re.ASCII)


def read_trace(path: str | os.PathLike[str], time_unit: TimeUnit | None = None) -> Trace:
    """Read when requests came and how long they were.

    Parameters
    ----------
    path : path
        A CSV file with a header, or a file with one JSON object a line; more columns may stand there.
    time_unit : str, optional
        Unit of times that are numbers in a column whose name does not end in one. Dates need none.

    Returns
    -------
    Trace

    Raises
    ------
    InvalidInput
        With file and line: a column that is missing, a time that is missing, is not finite or falls, a length
        that is no whole number above zero, and files that are empty, binary or not UTF-8.
    """
    file = str(path)
    if time_unit is not None and time_unit not in SECONDS:
        raise InvalidInput(
            f"time_unit: {time_unit!r} is no unit of time here; it is one of {', '.join(SECONDS)}"
        )
    text = read_text(path)
    columns, rows = _json_rows(file, text) if text.lstrip()[:1] in ("{", "[") else _csv_rows(file, text)
    names = {_plain(name): name for name in columns}
    time, unit = _time_column(file, names, time_unit)
    isl = _column(file, names, ISL_NAMES, "input tokens")
    osl = _column(file, names, OSL_NAMES, "output tokens")
    times = _times(file, rows, time, unit)
    lengths = ([_length(file, row, column) for row in rows] for column in (isl, osl))
    return Trace.from_lists(file, times, *lengths)


def _csv_rows(file: str, text: str) -> tuple[Sequence[str], Sequence[CsvRow]]:
    table = parse_csv(file, text)
    return table.columns, table.rows


def _json_rows(file: str, text: str) -> tuple[Sequence[str], Sequence[CsvRow]]:
    """Return one row for each line; numbers stay as they are written, so that all are read in one way."""
    rows, columns = [], dict[str, None]()
    for line, part in enumerate(text.split("\n"), start=1):
        if not part.strip():
            continue
        try:
            found = json.loads(part, parse_int=str, parse_float=str, parse_constant=str)
        except (ValueError, RecursionError):
            raise InvalidInput(f"{file}:{line}: not valid JSON; write one object on each line") from None
        if not isinstance(found, dict):
            raise InvalidInput(f"{file}:{line}: not a JSON object; write one object on each line, no list")
        # Only what is text or a number can be a time or a length; anything else is as good as absent.
        rows.append(CsvRow(line, {k: v.strip() for k, v in found.items() if isinstance(v, str)}))
        columns.update(dict.fromkeys(found))
    return list(columns), rows


def _plain(name: str) -> str:
    return name.strip().lower().replace(" ", "_").replace("-", "_")


def _time_column(file: str, names: Mapping[str, str], given: TimeUnit | None) -> tuple[str, str | None]:
    """Return the column of times, and its unit where it is known."""
    for name in TIME_NAMES:
        for unit in SECONDS:
            if f"{name}_{unit}" in names:
                return names[f"{name}_{unit}"], unit
        if name in names:
            return names[name], given
    return _column(file, names, ("arrival_s", *TIME_NAMES), "arrival times"), given


def _column(file: str, names: Mapping[str, str], known: Sequence[str], what: str) -> str:
    for name in known:
        if name in names:
            return names[name]
    others = [name for name in names if name not in (*TIME_NAMES, *ISL_NAMES, *OSL_NAMES)]
    # Long names first: two short ones are easily alike.
    asked = sorted(known, key=len, reverse=True)
    near = next((near[0] for name in asked if (near := nearest_names(name, others, limit=1))), None)
    hint = f" (is {names[near]!r} meant?)" if near else ""
    raise InvalidInput(f"{file}:1: no column of {what}{hint}; name it {known[0]}")


def _times(file: str, rows: Sequence[CsvRow], column: str, unit: str | None) -> list[float]:
    """Return the times of all rows [s]: all numbers, or all dates."""
    times: list[float] = []
    kind: str | None = None
    for row in rows:
        text = row.cells.get(column, "")
        if not text:
            raise InvalidInput(f"{file}:{row.line}: {column} is missing; each request needs its time")
        number = NUMBER.fullmatch(text) is not None
        time = _number_s(file, row, column, unit) if number else _date_s(file, row, column)
        found = "a number" if number else "a date"
        if kind is not None and found != kind:
            raise InvalidInput(
                f"{file}:{row.line}: {column} {_shown(text)} is {found}, but the lines before have {kind}; "
                "use one of them"
            )
        if times and time < times[-1]:
            raise InvalidInput(
                f"{file}:{row.line}: {column} {_shown(text)} is before that of the request above; "
                "sort the file by time"
            )
        kind = found
        times.append(time)
    return times


def _number_s(file: str, row: CsvRow, column: str, unit: str | None) -> float:
    text = row.cells[column]
    if unit is None:
        raise InvalidInput(
            f"{file}:{row.line}: {column} {_shown(text)} has no unit; name the column arrival_s or "
            f"arrival_ms, or state the unit ({', '.join(SECONDS)})"
        )
    value = float(text) * SECONDS[unit]
    if not 0 <= value < math.inf:
        nearest = "; the nearest is 0" if value < 0 else ""
        raise InvalidInput(f"{file}:{row.line}: {column} {_shown(text)} is no time from 0 on{nearest}")
    return value


def _date_s(file: str, row: CsvRow, column: str) -> float:
    """Return a date as seconds; one without a time zone is taken as UTC, since only differences count."""
    text = row.cells[column]
    try:
        found = datetime.fromisoformat(text)
        return (found if found.tzinfo else found.replace(tzinfo=UTC)).timestamp()
    except (ValueError, OverflowError):
        raise InvalidInput(
            f"{file}:{row.line}: {column} {_shown(text)} is neither a finite number nor a date like "
            "2026-01-31 12:00:00.5"
        ) from None


def _length(file: str, row: CsvRow, column: str) -> int:
    text = row.cells.get(column, "")
    if not text:
        raise InvalidInput(f"{file}:{row.line}: {column} is missing; each request needs its lengths")
    value = float(text) if NUMBER.fullmatch(text) else math.nan
    if not (value.is_integer() and 1 <= value <= LARGEST_COUNT):
        nearest = "; the nearest is 1" if value < 1 else ""
        raise InvalidInput(
            f"{file}:{row.line}: {column} {_shown(text)} is no whole number of tokens from 1 on{nearest}"
        )
    return int(value)


def _shown(text: str) -> str:
    return repr(text if len(text) <= 40 else f"{text[:36]}...")
