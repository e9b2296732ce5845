"""The file of a run: one line of JSON for each request, on the disk as soon as it was answered."""

from __future__ import annotations

import json
import os
import queue
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from planner.errors import InvalidInput
from planner.measurement.endpoint.records import Endpoint, EndpointLoad, Outcome

SCHEMA = "planner.endpoint-run/1"

GATHER_S = 0.1
"""How long an answer may wait until it is written."""


class Journal:
    """Writes lines in a thread of its own, so that the disk never holds up the clock.

    It waits a moment for others, so as not to work while many streams end together; then all lines that wait
    are written, and forced to the disk once.

    Parameters
    ----------
    path : Path
        The file; lines are added to one that exists.
    new : bool
        Whether it must not be there yet.
    """

    def __init__(self, path: Path, *, new: bool) -> None:
        self.path = path
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            self._file = open(path, "xb" if new else "ab")  # noqa: SIM115 (closed by close)
        except FileExistsError:
            raise InvalidInput(f"--save {path}: is there already; --resume {path} goes on with it") from None
        except OSError as error:
            raise InvalidInput(f"{path}: cannot be written: {error.strerror or error}") from None
        self._waiting: queue.SimpleQueue[dict[str, Any] | None] = queue.SimpleQueue()
        self._failed: OSError | None = None
        self._thread = threading.Thread(target=self._write, name="journal", daemon=True)
        self._thread.start()

    def add(self, line: dict[str, Any]) -> None:
        """Hand over one line; an error of the disk comes with the next one.

        Parameters
        ----------
        line : dict
            JSON-ready, but for an `Outcome`, which the thread puts into words.
        """
        self._check()
        self._waiting.put(line)

    def close(self) -> None:
        """Write what waits, and close the file."""
        self._waiting.put(None)
        self._thread.join()
        self._file.close()
        self._check()

    def _check(self) -> None:
        if self._failed is not None:
            raise InvalidInput(f"{self.path}: cannot be written: {self._failed.strerror}") from None

    def _write(self) -> None:
        ended = False
        while not ended:
            lines = [self._waiting.get()]
            if lines[0] is not None:
                time.sleep(GATHER_S)
            while not self._waiting.empty():
                lines.append(self._waiting.get())
            ended = lines[-1] is None
            texts = [_text(line) for line in lines if line is not None]
            try:
                self._file.write("".join(texts).encode())
                self._file.flush()
                os.fsync(self._file.fileno())
            except OSError as error:
                self._failed = error
                return


def _text(line: dict[str, Any]) -> str:
    return json.dumps(line, separators=(",", ":"), default=Outcome.to_dict) + "\n"


@dataclass(slots=True)
class Kept:
    """What a file of a run holds.

    Parameters
    ----------
    endpoint, load : Endpoint, EndpointLoad
        What was asked.
    facts : dict
        What else the first line says.
    server : dict
        What the server was.
    points : dict of int to list of Outcome
        The requests of each point; of one that was begun again only the last.
    ended : set of int
        Points that came to their end.
    whole_bytes : int
        Length of the file without a last line that was cut off.
    """

    endpoint: Endpoint
    load: EndpointLoad
    facts: dict[str, Any]
    server: dict[str, Any] = field(default_factory=dict)
    points: dict[int, list[Outcome]] = field(default_factory=dict)
    ended: set[int] = field(default_factory=set)
    whole_bytes: int = 0


def read_journal(path: Path) -> Kept:
    """Read the file of a run; a last line that was cut off is left out.

    Parameters
    ----------
    path : Path
        What a `Journal` wrote.

    Returns
    -------
    Kept

    Raises
    ------
    InvalidInput
        With file and line, when it is no such file.
    """
    lines = list(_lines(path))
    if not lines or lines[0][1].get("schema") != SCHEMA:
        raise InvalidInput(f"{path}:1: is no file of a run of `planner measure endpoint`")
    first = lines[0][1]
    try:
        kept = Kept(Endpoint(**first["endpoint"]), EndpointLoad(**first["load"]), dict(first["facts"]))
    except (KeyError, TypeError, InvalidInput) as error:
        raise InvalidInput(f"{path}:1: is no first line of a run: {error}") from None
    for number, line, end in lines[1:]:
        try:
            _take(kept, line)
        except (KeyError, TypeError, ValueError):
            raise InvalidInput(f"{path}:{number}: is no line of a run") from None
        kept.whole_bytes = end
    kept.whole_bytes = lines[-1][2]
    return kept


def _take(kept: Kept, line: dict[str, Any]) -> None:
    match line["kind"]:
        case "server":
            kept.server = line["server"]
        case "begin":
            kept.points[int(line["point"])] = []
        case "request":
            kept.points[int(line["point"])].append(Outcome.from_dict(line["request"]))
        case "end":
            kept.points[int(line["point"])]  # One that never began cannot have ended.
            kept.ended.add(int(line["point"]))
        case other:
            raise ValueError(other)


def _lines(path: Path) -> Iterator[tuple[int, dict[str, Any], int]]:
    """Yield number, object and end of each whole line."""
    try:
        data = path.read_bytes()
    except OSError as error:
        raise InvalidInput(f"{path}: cannot be read: {error.strerror or error}") from None
    end = 0
    for number, text in enumerate(data.split(b"\n")[:-1], start=1):
        end += len(text) + 1
        try:
            line = json.loads(text)
        except (ValueError, RecursionError):
            line = None
        if not isinstance(line, dict):
            raise InvalidInput(f"{path}:{number}: is no JSON object")
        yield number, line, end
