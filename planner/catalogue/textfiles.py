"""Reading a file that somebody names: a regular one of bounded size, whatever its name leads to.

The size of a device or a pipe is 0 and its content may have no end, so that a limit on the size alone bounds
nothing, and a pipe without a writer would be waited for without end.
"""

from __future__ import annotations

import os
import stat
from typing import BinaryIO

from planner.errors import InvalidInput, PlannerError, shorten


def open_regular(
    path: str | os.PathLike[str],
    *,
    most_bytes: int,
    otherwise: str,
    error: type[PlannerError] = InvalidInput,
    shown: str | None = None,
) -> BinaryIO:
    """Open a regular file for reading.

    Parameters
    ----------
    path : path
        The file.
    most_bytes : int
        How large it may be [bytes].
    otherwise : str
        What is said of a larger one, such as "not a catalogue file".
    error : type
        The error that is raised.
    shown : str, optional
        What messages call the file; its path by default.

    Returns
    -------
    binary file

    Raises
    ------
    PlannerError
        Of the type that was asked for, with the file: missing, a directory, a device, a pipe, or too large.
    """
    name = os.fspath(path) if shown is None else shown
    handle = -1
    try:
        # Not blocking: a pipe without a writer would wait for ever.
        handle = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0))
        about = os.fstat(handle)
    except OSError as problem:
        if handle >= 0:
            os.close(handle)
        raise error(f"{name}: cannot be read: {problem.strerror or problem}") from None
    except ValueError:  # a NUL byte, or a surrogate that no file system has
        raise error(f"{shorten(name)}: cannot be read: no file has such a name") from None
    why = None
    if stat.S_ISDIR(about.st_mode):
        why = "cannot be read: Is a directory"
    elif not stat.S_ISREG(about.st_mode):
        why = "cannot be read: no regular file, but a device or a pipe"
    elif about.st_size > most_bytes:
        why = f"larger than {_size(most_bytes)}; {otherwise}"
    if why:
        os.close(handle)
        raise error(f"{name}: {why}")
    return os.fdopen(handle, "rb")


def read_bytes(
    path: str | os.PathLike[str],
    *,
    most_bytes: int,
    otherwise: str,
    error: type[PlannerError] = InvalidInput,
) -> bytes:
    """Read a regular file of bounded size.

    Parameters
    ----------
    path, most_bytes, otherwise, error
        As for `open_regular`.

    Returns
    -------
    bytes

    Raises
    ------
    PlannerError
        As `open_regular`, and where the file grows beyond its limit while it is read.
    """
    with open_regular(path, most_bytes=most_bytes, otherwise=otherwise, error=error) as file:
        try:
            raw = file.read(most_bytes + 1)
        except OSError as problem:
            raise error(f"{os.fspath(path)}: cannot be read: {problem.strerror or problem}") from None
    if len(raw) > most_bytes:
        raise error(f"{os.fspath(path)}: larger than {_size(most_bytes)}; {otherwise}")
    return raw


def read_plain(path: str | os.PathLike[str], *, most_bytes: int, otherwise: str) -> str:
    """Read a small file of text in UTF-8, with or without a byte-order mark.

    Parameters
    ----------
    path, most_bytes, otherwise
        As for `open_regular`.

    Returns
    -------
    str

    Raises
    ------
    InvalidInput
        As `read_bytes`, and with the line of what is not UTF-8.
    """
    raw = read_bytes(path, most_bytes=most_bytes, otherwise=otherwise)
    try:
        return raw.decode("utf-8-sig")
    except UnicodeDecodeError as problem:
        line = raw.count(b"\n", 0, problem.start) + 1
        raise InvalidInput(f"{os.fspath(path)}:{line}: not UTF-8 text") from None


def _size(count: int) -> str:
    kib = f"{count // 2**10} KiB" if count >= 2**10 else f"{count} bytes"
    return f"{count // 2**20} MiB" if count >= 2**20 else kib
