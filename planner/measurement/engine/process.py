"""Running a program that may hang, crash or leave children: it is given a time, and all of it is ended."""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path

GRACE_S = 10.0
"""Between asking a program to stop and ending it."""


def run_program(
    command: Sequence[str], *, log: Path, seconds: float, environment: Mapping[str, str] | None = None
) -> int | None:
    """Run a program with its output in a file, and end it with its children when it is done or out of time.

    Parameters
    ----------
    command : sequence of str
        The program and its arguments.
    log : Path
        What it prints.
    seconds : float
        How long it may take [s].
    environment : mapping of str to str, optional
        Variables beside those of this process.

    Returns
    -------
    int or None
        Its exit code; None when its time was up.
    """
    with log.open("ab") as output:
        child = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            env={**os.environ, **(environment or {})},
            start_new_session=True,
        )
        try:
            return child.wait(timeout=seconds)
        except subprocess.TimeoutExpired:
            return None
        finally:
            _end(child)


def _end(child: subprocess.Popen[bytes]) -> None:
    """End the whole process group, whether or not its leader still runs."""
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(child.pid, signal.SIGTERM)
    with suppress(subprocess.TimeoutExpired):
        child.wait(timeout=GRACE_S)
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(child.pid, signal.SIGKILL)
    child.wait()
