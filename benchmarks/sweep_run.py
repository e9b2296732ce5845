"""How many rows a second `planner sweep` writes, in one process, and how that scales to two workers.

OPENBLAS_NUM_THREADS=1 python benchmarks/sweep_run.py [ROWS]

Workers are started before the clock. The scaling says something on a quiet machine alone, so the load is
printed beside it; rows of a CPU-second do not depend on it.
"""

from __future__ import annotations

import os
import sys
import tempfile
import time
from collections.abc import Iterator
from concurrent.futures import Executor, ProcessPoolExecutor, wait
from contextlib import contextmanager
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import planner

MODELS = ("deepseek-r1", "gpt-oss-120b")
GPUS = ("mi355x", "b200")
AT_ONCE = 64
EXACT_LOADS = 15_000
"""Loads of a deployment of which each is solved by itself."""


def main(rows: int) -> None:
    """Sweep in each form and number of workers, and say how much faster two are than one."""
    groups = len(MODELS) * len(GPUS)
    many, few = loads(rows // groups), loads(EXACT_LOADS)
    print(f"{os.cpu_count()} cores, load {os.getloadavg()[0]:.2f} before")
    scaling = []
    with tempfile.TemporaryDirectory() as folder:
        for name, form, asked in (
            ("CSV", "csv", many),
            ("Parquet", "parquet", many),
            ("exact CSV", "csv", few),
        ):
            out, rates = Path(folder) / f"rows.{form}", {}
            for workers in (0, 1, 2):
                with pool(workers) as executor:
                    rates[workers] = timed(name, workers, executor, {**asked, "out": out})
            scaling.append(f"{name} {rates[2] / rates[1]:.2f}")
    print(f"two workers over one: {', '.join(scaling)}; load {os.getloadavg()[0]:.2f} after")


def loads(wanted: int) -> dict[str, Any]:
    """Return the question whose deployments have about so many loads each."""
    side = max(1, round((wanted / AT_ONCE) ** 0.5))
    return {
        "model": MODELS,
        "gpu": GPUS,
        "tp": 8,
        "isl": [128 + 61 * i for i in range(side)],
        "osl": [64 + 29 * i for i in range(side)],
        "concurrency": [1 + 8 * i for i in range(AT_ONCE)],
        "price": 2.5,
    }


@contextmanager
def pool(workers: int) -> Iterator[Executor | None]:
    """Give so many workers that have started and hold the catalogue; None for this process itself."""
    if not workers:
        yield None
        return
    with ProcessPoolExecutor(workers, mp_context=get_context("spawn")) as executor:
        # A worker that is busy takes no second one, so that each of them gets some.
        wait([executor.submit(warm) for _ in range(4 * workers)])
        yield executor


def warm() -> None:
    """Import what a sweep needs, and read the catalogue."""
    planner.sweep(model=MODELS[0], gpu=GPUS[0], tp=8, isl=128, osl=64)
    time.sleep(0.2)


def timed(name: str, workers: int, executor: Executor | None, asked: dict[str, Any]) -> float:
    """Sweep once and print how fast; return rows a second."""
    began, worked = time.perf_counter(), time.process_time()
    report = planner.sweep(**asked, executor=executor)
    taken, busy = time.perf_counter() - began, time.process_time() - worked
    rate = len(report) / taken
    where = f"{workers} worker(s)" if workers else "this process"
    # Processor time of workers is known to them alone.
    of_cpu = "" if workers else f", {len(report) / busy / 1e3:,.0f} k rows per CPU-second"
    size = asked["out"].stat().st_size / 2**20
    print(
        f"{name:10} {where:13} {len(report):>10,} rows in {taken:6.2f} s: "
        f"{rate / 1e3:6,.0f} k rows/s{of_cpu}, {size:,.0f} MiB"
    )
    return rate


if __name__ == "__main__":
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 4_000_000)
