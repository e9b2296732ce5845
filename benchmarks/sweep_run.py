"""How many rows a second `planner sweep` writes, in one process and in two.

OPENBLAS_NUM_THREADS=1 python benchmarks/sweep_run.py [ROWS]
"""

from __future__ import annotations

import os
import sys
import tempfile
import time
from pathlib import Path

import planner

MODELS = ("deepseek-r1", "gpt-oss-120b")
GPUS = ("mi355x", "b200")


def main(rows: int) -> None:
    """Sweep four deployments with as many loads as make the rows, in each form and number of processes."""
    side = max(1, round((rows / len(MODELS) / len(GPUS) / 64) ** 0.5))
    asked = {
        "model": MODELS,
        "gpu": GPUS,
        "tp": 8,
        "isl": [128 + 61 * i for i in range(side)],
        "osl": [64 + 29 * i for i in range(side)],
        "concurrency": [1 + 8 * i for i in range(64)],
        "price": 2.5,
    }
    with tempfile.TemporaryDirectory() as folder:
        for form in ("csv", "parquet"):
            alone = 0.0
            for processes in (None, 1, 2):
                out = Path(folder) / f"rows.{form}"
                began, worked = time.perf_counter(), cpu_s()
                report = planner.sweep(**asked, out=out, processes=processes)
                taken, busy = time.perf_counter() - began, cpu_s() - worked
                rate = len(report) / taken
                where = "this process" if processes is None else f"{processes} worker process(es)"
                scaling = f", {rate / alone:.2f} times one worker" if processes == 2 else ""
                alone = rate if processes == 1 else alone
                print(
                    f"{form:8} {where:21} {len(report):>10,} rows in {taken:6.2f} s: "
                    f"{rate / 1e3:6,.0f} k rows/s, "
                    f"{len(report) / busy / 1e3:,.0f} k rows per CPU-second, "
                    f"{out.stat().st_size / 2**20:,.0f} MiB{scaling}"
                )


def cpu_s() -> float:
    """Return the processor time of this process and of the children that have ended [s]."""
    times = os.times()
    return times.user + times.system + times.children_user + times.children_system


if __name__ == "__main__":
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 2_000_000)
