"""A CSV file of measurements as rows with line numbers, and the one line that says what is wrong with it."""

from __future__ import annotations

import csv
import io
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from planner.catalogue.textfiles import read_bytes
from planner.errors import InvalidInput, nearest_names

MAX_FILE_BYTES = 256 * 2**20

CsvKind = Literal["start-up logs", "serving points"]

LOG_REQUIRED = ("engine", "model", "gpu")
LOG_SIZES = ("tp", "n_gpus")
"""At least one of these says how many GPUs share the model."""
LOG_MEASURED = (
    "weights_gib",
    "consumed_gib",
    "avail_kv_gib",
    "kv_size_gb",
    "kv_size_mib",
    "kv_tokens",
    "outcome",
)
"""At least one of these must be there to compare with."""
SERVING_MARKS = (
    "isl",
    "osl",
    "concurrency",
    "output_tps_per_gpu",
    "output_tps_total",
    "ttft_ms_median",
    "tpot_ms_median",
)
"""Columns that only a table of serving points has."""


@dataclass(frozen=True, slots=True)
class CsvRow:
    """One row of a table.

    Parameters
    ----------
    line : int
        Line of the file on which the row begins, counted from 1.
    cells : mapping of str to str
        Value by column, without surrounding blanks.
    """

    line: int
    cells: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class CsvTable:
    """A CSV file that has been read.

    Parameters
    ----------
    file : str
        Its path as it was given.
    columns : tuple of str
        The header.
    rows : tuple of CsvRow
        In the order of the file; blank lines are left out.
    """

    file: str
    columns: tuple[str, ...]
    rows: tuple[CsvRow, ...]


def read_csv(path: str | os.PathLike[str]) -> CsvTable:
    """Read a CSV file with a header, in UTF-8 with or without a byte-order mark.

    Parameters
    ----------
    path : path
        The file.

    Returns
    -------
    CsvTable

    Raises
    ------
    InvalidInput
        With file and line: unreadable, empty, binary, not UTF-8, not separated by commas, a column named
        twice or not at all, or a row that has more or fewer values than the header.
    """
    return parse_csv(str(path), read_text(path))


def read_text(path: str | os.PathLike[str]) -> str:
    """Read a file of text in UTF-8, with or without a byte-order mark.

    Parameters
    ----------
    path : path
        The file.

    Returns
    -------
    str

    Raises
    ------
    InvalidInput
        With file and line: unreadable, too large, binary or not UTF-8.
    """
    return _decode(str(path), _read_bytes(Path(path)))


def parse_csv(file: str, text: str) -> CsvTable:
    """Take the text of a CSV file apart.

    Parameters
    ----------
    file : str
        Its name, for messages.
    text : str
        What it holds.

    Returns
    -------
    CsvTable

    Raises
    ------
    InvalidInput
        As for `read_csv`.
    """
    reader = csv.reader(io.StringIO(text, newline=""), strict=True)
    try:
        header: tuple[str, ...] | None = None
        rows = []
        before = 0
        for values in reader:
            line, before = before + 1, reader.line_num
            if not values or values == [""]:
                continue
            if header is None:
                header = _header(file, line, values)
            elif len(values) != len(header):
                raise InvalidInput(
                    f"{file}:{line}: {len(values)} values, but the header has {len(header)} columns"
                )
            else:
                cells = dict(zip(header, (value.strip() for value in values), strict=True))
                rows.append(CsvRow(line, cells))
    except csv.Error as error:
        raise InvalidInput(f"{file}:{before + 1}: not a valid CSV row: {error}") from None
    if header is None:
        raise InvalidInput(f"{file}:1: the file is empty; a header and at least one row are needed")
    if not rows:
        raise InvalidInput(f"{file}:1: a header but no rows; at least one row is needed")
    return CsvTable(file, header, tuple(rows))


def recognise(table: CsvTable) -> CsvKind:
    """Say which kind of measurements a table holds.

    Parameters
    ----------
    table : CsvTable
        A table with any header.

    Returns
    -------
    str
        "start-up logs" or "serving points".

    Raises
    ------
    InvalidInput
        When it is neither, or lacks a column that start-up logs need.
    """
    columns = set(table.columns)
    missing = [name for name in LOG_REQUIRED if name not in columns]
    serving = sum(name in columns for name in SERVING_MARKS)
    if serving >= 2 and not columns & set(LOG_MEASURED):
        return "serving points"
    one_of = [names for names in (LOG_SIZES, LOG_MEASURED) if not columns & set(names)]
    if not missing and not one_of:
        return "start-up logs"
    wanted = [*missing, *(f"one of {', '.join(names)}" for names in one_of)]
    lacking = "; ".join(f"no column {_with_hint(name, table.columns)}" for name in wanted)
    raise InvalidInput(
        f"{table.file}:1: {lacking}; start-up logs need engine, model, gpu, tp or n_gpus, "
        "and a logged quantity such as weights_gib"
    )


def _with_hint(name: str, columns: Sequence[str]) -> str:
    near = nearest_names(name, columns, limit=1) if " " not in name else []
    return f"{name} (is {near[0]!r} meant?)" if near else name


def _read_bytes(path: Path) -> bytes:
    if os.path.isdir(path):
        # Two levels, as folders of measurements have: a whole disk may lie below.
        found = (str(one) for pattern in ("*.csv", "*/*.csv") for one in path.glob(pattern))
        inside = min(found, default=None)
        named = f"; name a file in it, such as {inside}" if inside else ", and there is no .csv in it"
        raise InvalidInput(f"{path}: is a folder{named}")
    return read_bytes(path, most_bytes=MAX_FILE_BYTES, otherwise="a file of measurements is smaller")


def _decode(file: str, raw: bytes) -> str:
    if raw.startswith((b"\xff\xfe", b"\xfe\xff")):
        raise InvalidInput(f"{file}:1: UTF-16 text; save the file as UTF-8")
    if b"\0" in raw:
        line = raw.count(b"\n", 0, raw.index(b"\0")) + 1
        raise InvalidInput(f"{file}:{line}: a NUL byte, so this is not a text file; text in UTF-8 is needed")
    try:
        return raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = raw.count(b"\n", 0, error.start) + 1
        bad = raw[error.start]
        raise InvalidInput(
            f"{file}:{line}: byte 0x{bad:02x} is not UTF-8; save the whole file as UTF-8"
        ) from None


def _header(file: str, line: int, values: Sequence[str]) -> tuple[str, ...]:
    names = tuple(value.strip() for value in values)
    if len(names) == 1 and any(mark in names[0] for mark in ";\t|"):
        raise InvalidInput(
            f"{file}:{line}: the columns are not separated by commas; save the file as comma-separated"
        )
    twice = next((name for i, name in enumerate(names) if name in names[:i]), None)
    if twice == "" or "" in names:
        raise InvalidInput(f"{file}:{line}: column {names.index('') + 1} has no name; name it or remove it")
    if twice is not None:
        raise InvalidInput(f"{file}:{line}: the column {twice!r} is named twice; each name may stand once")
    return names
