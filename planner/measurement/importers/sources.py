"""Reading a result file that may be anything: bounded, as text, line by line, and as JSON or CSV."""

from __future__ import annotations

import csv
import io
import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, BinaryIO

from planner.catalogue.textfiles import open_regular
from planner.errors import InvalidInput, shorten
from planner.measurement.csvtable import MAX_FILE_BYTES

LONGEST_LINE = 16 * 2**20
"""Bytes of one line at most: a record of one request, with its token times."""

ARCHIVES = {
    b"PK\x03\x04": "a zip archive",
    b"\x1f\x8b": "a gzip file",
    b"BZh": "a bzip2 file",
    b"\xfd7zXZ\x00": "an xz file",
    b"\x28\xb5\x2f\xfd": "a zstandard file",
    b"PAR1": "a Parquet file",
    b"SQLite format 3\x00": "an SQLite database",
}


@dataclass(frozen=True, slots=True)
class SourceFile:
    """A readable text file.

    Parameters
    ----------
    path : str
        As it is called in messages: on one line, without control characters.
    place : str
        Where it is.
    """

    path: str
    place: str

    def lines(self) -> Iterator[tuple[int, str]]:
        """Yield each line with its number, one at a time; bytes that are not UTF-8 become question marks."""
        with _opened(self.place, self.path) as file:
            number = 0
            while raw := file.readline(LONGEST_LINE):
                number += 1
                if b"\0" in raw:
                    raise InvalidInput(f"{self.path}:{number}: a NUL byte, so this is not a text file")
                if len(raw) == LONGEST_LINE and not raw.endswith(b"\n"):
                    raise InvalidInput(
                        f"{self.path}:{number}: a line of over {LONGEST_LINE // 2**20} MiB; none is so long"
                    )
                yield (
                    number,
                    raw.decode("utf-8-sig" if number == 1 else "utf-8", errors="replace").rstrip("\r\n"),
                )

    def first_line(self) -> str | None:
        """Return the first line that is not blank, or None where it is longer than a line may be."""
        with _opened(self.place, self.path) as file:
            for raw in iter(lambda: file.readline(LONGEST_LINE), b""):
                if raw.strip():
                    if len(raw) == LONGEST_LINE and not raw.endswith(b"\n"):
                        return None
                    return raw.decode("utf-8-sig", errors="replace").strip()
        return ""

    def text(self) -> str:
        """Return the whole file; one byte that is not UTF-8 is an error with its line."""
        with _opened(self.place, self.path) as file:
            raw = file.read(MAX_FILE_BYTES)
        if b"\0" in raw:
            line = raw.count(b"\n", 0, raw.index(b"\0")) + 1
            raise InvalidInput(f"{self.path}:{line}: a NUL byte, so this is not a text file")
        try:
            return raw.decode("utf-8-sig")
        except UnicodeDecodeError as error:
            line = raw.count(b"\n", 0, error.start) + 1
            byte = raw[error.start]
            raise InvalidInput(f"{self.path}:{line}: byte 0x{byte:02x} is not UTF-8") from None


def open_source(path: str | os.PathLike[str]) -> SourceFile:
    """Check that a path leads to a file of text that is not too large.

    Parameters
    ----------
    path : path
        The file.

    Returns
    -------
    SourceFile

    Raises
    ------
    InvalidInput
        In one line: missing, a directory, a device, a link to itself, empty, too large, an archive or binary.
    """
    name = shown_path(path)
    if "\0" in os.fspath(path):
        raise InvalidInput(f"{shorten(name)}: no file has a NUL byte in its name")
    with _opened(os.fspath(path), name) as file:
        head = file.read(4096)
    if not head.strip():
        raise InvalidInput(f"{name}: the file is empty")
    for magic, what in ARCHIVES.items():
        if head.startswith(magic):
            raise InvalidInput(f"{name}: {what}; unpack it and give the files in it")
    if head.startswith((b"\xff\xfe", b"\xfe\xff")):
        raise InvalidInput(f"{name}:1: UTF-16 text; save the file as UTF-8")
    if b"\0" in head:
        raise InvalidInput(f"{name}:1: a NUL byte, so this is not a text file")
    return SourceFile(name, os.fspath(path))


def shown_path(path: str | os.PathLike[str]) -> str:
    """Return a path as messages and tables call it: on one line, without control characters."""
    return "".join(sign if sign.isprintable() else "\ufffd" for sign in os.fspath(path))


@contextmanager
def _opened(place: str, name: str) -> Iterator[BinaryIO]:
    """Open a file; what goes wrong while it is read is an error of the file too."""
    with _open(place, name) as file:
        try:
            yield file
        except OSError as error:
            raise InvalidInput(f"{name}: cannot be read: {error.strerror or error}") from None


def _open(place: str, name: str) -> BinaryIO:
    if os.path.isdir(place):
        raise InvalidInput(f"{name}: a directory; give the files in it")
    return open_regular(place, most_bytes=MAX_FILE_BYTES, otherwise="result files are smaller", shown=name)


class BadJson(ValueError):
    """Text that is not the JSON of one record."""


def parse_json(text: str) -> Any:
    """Return what a JSON text holds; NaN and Infinity are floats, a key given twice is refused.

    Parameters
    ----------
    text : str
        One JSON value.

    Returns
    -------
    object

    Raises
    ------
    BadJson
        With line and column, where it is not JSON, is nested too deeply, or gives a key twice.
    """
    try:
        return _DECODER.decode(text)
    except json.JSONDecodeError as error:
        raise BadJson(f"not valid JSON at line {error.lineno}, column {error.colno}: {error.msg}") from None
    except RecursionError:
        raise BadJson("nested too deeply") from None
    except ValueError as error:
        # A key given twice, or a number of thousands of digits.
        raise BadJson(shorten(str(error)).strip("'\"")) from None


def complete_items(text: str) -> tuple[list[Any], int | None]:
    """Return the values that stand whole in a text that is not one JSON value.

    Parameters
    ----------
    text : str
        A list that breaks off, or objects one after the other, as of several files that were joined.

    Returns
    -------
    tuple of list and int or None
        The items of the list, or the objects, and the position from which nothing can be read, if any.
    """
    items: list[Any] = []
    position = _skip(text, 0)
    listed = text[position : position + 1] == "["
    while position < len(text):
        start = _skip(text, position + 1 if listed else position)
        try:
            item, position = _DECODER.raw_decode(text, start)
        except (ValueError, RecursionError):
            return items, start
        items.append(item)
        position = _skip(text, position)
        if listed and text[position : position + 1] != ",":
            return items, position
    return items, None


def _skip(text: str, position: int) -> int:
    while text[position : position + 1] in (" ", "\n", "\r", "\t"):
        position += 1
    return position


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        seen: set[str] = set()
        twice = next(key for key, _ in pairs if key in seen or seen.add(key))  # type: ignore[func-returns-value]
        raise ValueError(f"the key {shorten(twice)} is given twice")
    return found


_DECODER = json.JSONDecoder(object_pairs_hook=_once)


def csv_lines(file: str, text: str) -> list[tuple[int, list[str]]]:
    """Return the rows of a CSV text with the line on which each begins, empty ones left out.

    Parameters
    ----------
    file : str
        Its name, for the message.
    text : str
        What it holds.

    Returns
    -------
    list of tuple of int and list of str

    Raises
    ------
    InvalidInput
        With file and line, where the quoting is broken.
    """
    reader = csv.reader(io.StringIO(text, newline=""), strict=True)
    rows = []
    before = 0
    try:
        for values in reader:
            line, before = before + 1, reader.line_num
            if any(value.strip() for value in values):
                rows.append((line, [value.strip() for value in values]))
    except csv.Error as error:
        raise InvalidInput(f"{file}:{before + 1}: not a valid CSV row: {error}") from None
    return rows
