"""A progress bar on standard error, where that is a terminal."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager


@contextmanager
def progress_bar(label: str) -> Iterator[Callable[[int, int], None] | None]:
    """Give a function that moves a progress bar on a terminal, and None elsewhere.

    Parameters
    ----------
    label : str
        What is counted.

    Yields
    ------
    callable or None
        It takes what is done, and all of it.
    """
    if not sys.stderr.isatty():
        yield None
        return
    from rich.console import Console
    from rich.progress import Progress

    with Progress(console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(label, total=None)
        yield lambda done, every: bar.update(task, completed=done, total=every)
