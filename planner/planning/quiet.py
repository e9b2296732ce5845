"""What a library of C prints by itself goes to standard error: output is for answers alone."""

from __future__ import annotations

import ctypes
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress

OUTPUT, ERRORS = 1, 2


@contextmanager
def output_aside() -> Iterator[None]:
    """Send what is written to the descriptor of standard output to that of standard error meanwhile."""
    with suppress(AttributeError, OSError, ValueError):
        sys.stdout.flush()
    try:
        kept = os.dup(OUTPUT)
    except OSError:  # a process without output has nothing to keep clean
        yield
        return
    try:
        os.dup2(ERRORS, OUTPUT)
        yield
    finally:
        _flush_c()
        os.dup2(kept, OUTPUT)
        os.close(kept)


def _flush_c() -> None:
    """Write what C holds back, which would else come out later, and among answers."""
    with suppress(AttributeError, OSError, TypeError):
        ctypes.CDLL(None).fflush(None)
