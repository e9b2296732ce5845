"""Rows of a sweep as lines of CSV, worked out column by column: numbers have seven digits, as by ``%.7g``.

A line is a column of a table of bytes in which each value has as much room as it may need; what is not needed
is zero and left out in the end. A number half-way between two of seven digits may be rounded to either.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from planner.planning.sweep_rows import COLUMNS, Rows

Bytes = npt.NDArray[np.uint8]

DIGITS = 7
LEAST, MOST = 1e-4, 9999999.5
"""From here to below there, ``%.7g`` writes no exponent."""
POWERS = 10.0 ** np.arange(DIGITS - 1 + 5, -1, -1)
"""What a number from 10^e on is multiplied by to have seven digits before the point, from e = -5 on."""
LEADING = 5
"""Room before the digits: ``0.000``."""
ZERO, POINT = ord("0"), ord(".")


def csv_header() -> str:
    """Return the first line of the CSV of a sweep."""
    return ",".join(COLUMNS) + "\n"


def csv_bytes(parts: Sequence[Rows]) -> bytes:
    """Return rows as lines of CSV without a header, in UTF-8."""
    return b"".join(_lines(rows) for rows in parts)


def _lines(rows: Rows) -> bytes:
    blocks: list[Bytes] = []
    held = ""
    for number, name in enumerate(COLUMNS):
        held += "," if number else ""
        if name not in rows.varying:
            held += _cell(rows.fixed.get(name))
            continue
        blocks += [_alike(held, rows.count), _block(rows.varying[name])]
        held = ""
    blocks.append(_alike(f"{held}\n", rows.count))
    # What is alike in all lines is not looked through, and what no line needs is left out.
    needed = [block[block.any(1)] if block.strides[1] else block for block in blocks]
    table = np.empty((rows.count, sum(len(block) for block in needed)), np.uint8)
    np.concatenate([block.T for block in needed], axis=1, out=table)
    text: bytes = table[table != 0].tobytes()
    return text


def _alike(text: str, count: int) -> Bytes:
    signs = np.frombuffer(text.encode(), np.uint8)
    return np.broadcast_to(signs[:, None], (signs.size, count))


def _block(values: npt.NDArray[Any]) -> Bytes:
    if values.dtype.kind == "f":
        return decimals(values)
    if values.dtype.kind in "iu":
        return integers(values)
    return _words([_cell(value) for value in values.tolist()])


def _words(cells: Sequence[str]) -> Bytes:
    encoded = np.array([cell.encode() for cell in cells])
    return encoded.view(np.uint8).reshape(len(cells), encoded.dtype.itemsize).T


def integers(values: npt.NDArray[Any]) -> Bytes:
    """Return whole numbers from 0 on as digits, a column of bytes for each."""
    places = len(str(int(values.max(initial=0))))
    table = np.empty((places, values.size), np.uint8)
    left = values.astype(np.int64)
    for place in reversed(range(places)):
        left, digit = np.divmod(left, 10)
        # Zeros before the first digit are left out, but for the only one.
        table[place] = digit + ZERO
        if place < places - 1:
            table[place, values < 10 ** (places - 1 - place)] = 0
    return table


def decimals(values: npt.NDArray[np.float64]) -> Bytes:
    """Return numbers as ``%.7g`` writes them, a column of bytes for each; NaN is empty."""
    usual = (values >= LEAST) & (values < MOST)
    size = np.where(usual, values, 1.0)
    exponent = np.floor(np.log10(size)).astype(np.int8)
    scaled = np.rint(size * POWERS[exponent + 5])
    # Rounding may carry into an eighth digit, and a logarithm be a digit off.
    exponent += (scaled >= 10**DIGITS).astype(np.int8) - (scaled < 10 ** (DIGITS - 1)).astype(np.int8)
    left = np.rint(size * POWERS[exponent + 5]).astype(np.uint32)
    table = np.zeros((LEADING + 2 * DIGITS, values.size), np.uint8)
    more = np.zeros(values.size, bool)
    for place in reversed(range(DIGITS)):
        rest = left // np.uint32(10)
        digit = (left - 10 * rest).astype(np.uint8)
        left = rest
        table[LEADING + 2 * place + 1] = POINT * (more & (exponent == place))
        more |= digit != 0
        table[LEADING + 2 * place] = (digit + ZERO) * (more | (exponent >= place))
    small = exponent < 0
    if small.any():
        for place, sign in enumerate((ZERO, POINT, ZERO, ZERO, ZERO)):
            table[place] = sign * (small & (exponent < 1 - place))
    for row in np.flatnonzero(~usual):
        text = b"" if np.isnan(values[row]) else f"{values[row]:.{DIGITS}g}".encode()
        table[:, row] = 0
        table[: len(text), row] = np.frombuffer(text, np.uint8)
    return table


def _cell(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, float):
        return f"{value:.{DIGITS}g}"
    if not isinstance(value, str):
        return str(value)
    text = io.StringIO()
    csv.writer(text, lineterminator="").writerow([value])
    return text.getvalue()
