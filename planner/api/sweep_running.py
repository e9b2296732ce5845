"""How a sweep is worked at: its tasks in this process or over an executor, and its file that grows."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from planner.catalogue import Catalogue
from planner.errors import InvalidInput, PlannerError, shorten

if TYPE_CHECKING:
    from concurrent.futures import Executor, Future

    from planner.planning.sweeping import SweepQuestion, Task
    from planner.report.sweep import SweepReport
    from planner.report.sweep_parts import Part

ENDINGS = {".csv": "csv", ".parquet": "parquet"}

MOST_IN_MEMORY = 5_000_000
"""Rows that are kept without a file."""

WAITING_TASKS = 64
"""Tasks that an executor has at a time; enough for as many workers, and few enough to be held in memory."""


@contextmanager
def spread(executor: Executor | None, processes: int | None) -> Iterator[Executor | None]:
    """Give the executor that was given, or processes of this machine, or None for this process."""
    if executor is not None and processes is not None:
        raise InvalidInput("executor and processes exclude each other")
    if processes is None:
        yield executor
        return
    if isinstance(processes, bool) or not isinstance(processes, int) or not 1 <= processes <= 1024:
        raise InvalidInput(f"processes: {shorten(processes)} is out of range; from 1 to 1024")
    from concurrent.futures import ProcessPoolExecutor
    from multiprocessing import get_context

    # A process that is forked while threads of numpy run may never answer; "spawn" starts it anew.
    spawned = get_context("spawn")
    with ProcessPoolExecutor(processes, mp_context=spawned, initializer=_leave_interrupts) as pool:
        try:
            yield pool
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            raise


def _leave_interrupts() -> None:
    """Let Ctrl-C end the process that waits for this one: a queue that is cut off here never answers."""
    import signal

    signal.signal(signal.SIGINT, signal.SIG_IGN)


def swept(
    asked: SweepQuestion,
    book: Catalogue,
    out: str | None,
    restart: bool,
    workers: Executor | None,
    progress: Callable[[int, int], None] | None,
) -> SweepReport:
    """Do what is left of a sweep, in this process or by an executor.

    Parameters
    ----------
    asked : SweepQuestion
        The sweep.
    book : Catalogue
        Open, for this process.
    out : str or None
        The file that it is to become; None keeps the rows in memory.
    restart : bool
        Whether what was done before is thrown away.
    workers : Executor or None
        What the tasks are spread over.
    progress : callable or None
        Called with the rows that are done, and all of them.

    Returns
    -------
    SweepReport

    Raises
    ------
    InvalidInput
        Where the file cannot be written, or holds another sweep.
    """
    from planner.planning.sweep_rows import Rows
    from planner.report.sweep import SweepReport
    from planner.report.sweep_log import SweepLog
    from planner.report.sweep_parts import MEMORY, Summary, arrow_schema

    if out is None:
        if asked.rows > MOST_IN_MEMORY:
            raise InvalidInput(
                f"{asked.rows:,} rows are too many for memory; name a file that ends in .csv or .parquet"
            )
        found = {part.task: part for part in _parts(asked, book, MEMORY, asked.tasks(), workers, progress)}
        together, rows = Summary(), list[Rows]()
        for task in sorted(found):
            together.add(found[task].summary)
            rows += found[task].rows
        return SweepReport(asked, together, tuple(rows))
    form = ENDINGS.get(Path(out).suffix.lower())
    if form is None:
        raise InvalidInput(f"out: {shorten(out)} ends in neither .csv nor .parquet")
    if form == "parquet":
        arrow_schema()  # refuses to begin without pyarrow
    log = SweepLog(Path(out), asked.key, form, restart)
    try:
        left = (task for task in asked.tasks() if task.number not in log.done)
        for part in _parts(asked, book, form, left, workers, progress):
            log.append(part)
        together = log.summary()
        log.finish(
            {"schema": "planner.sweep/1", "key": asked.key, "catalogue_digest": asked.catalogue_digest}
        )
    finally:
        log.close()
    return SweepReport(asked, together, None, out)


def _parts(
    asked: SweepQuestion,
    book: Catalogue,
    form: str,
    tasks: Iterator[Task],
    workers: Executor | None,
    progress: Callable[[int, int], None] | None,
) -> Iterator[Part]:
    """Yield the tasks that are done, in whatever order they end."""
    said = progress or (lambda done, every: None)
    left = list(tasks)
    every = asked.rows
    done = every - sum(task.rows for task in left)
    for part, rows in (
        _here(asked, book, form, left) if workers is None else _there(asked, form, left, workers)
    ):
        yield part
        done += rows
        said(done, every)


def _here(asked: SweepQuestion, book: Catalogue, form: str, tasks: list[Task]) -> Iterator[tuple[Part, int]]:
    from planner.planning.sweep_rows import Sweeper
    from planner.report.sweep_parts import part_of

    sweeper = Sweeper(asked, book)
    for task in tasks:
        yield part_of(sweeper, task, form), task.rows


def _there(
    asked: SweepQuestion, form: str, tasks: list[Task], workers: Executor
) -> Iterator[tuple[Part, int]]:
    from concurrent.futures import FIRST_COMPLETED, BrokenExecutor, wait

    from planner.report.sweep_parts import done

    key, waiting = asked.key, iter(tasks)
    pending: dict[Future[Part], Task] = {}
    try:
        while True:
            for task in waiting:
                pending[workers.submit(done, asked, key, task, form)] = task
                if len(pending) >= WAITING_TASKS:
                    break
            if not pending:
                return
            for future in wait(pending, return_when=FIRST_COMPLETED).done:
                rows = pending.pop(future).rows
                yield future.result(), rows
    except BrokenExecutor as error:
        raise PlannerError(
            f"a worker of the sweep ended ({error}); what is done is kept, and the same again goes on with it"
        ) from None
    finally:
        for future in pending:
            future.cancel()
