"""How many operating points a second a sweep evaluates on one core, and that the cost grows linearly.

OPENBLAS_NUM_THREADS=1 python benchmarks/sweep.py
"""

from __future__ import annotations

import time

import numpy as np

from planner.catalogue import load_catalogue
from planner.performance.predict import make_service
from planner.performance.sweep import sweep
from planner.scenario import Deployment, Workload


def main() -> None:
    """Sweep one deployment at growing numbers of points, and compare with the steady state itself."""
    catalogue = load_catalogue()
    service = make_service(
        model=catalogue.model("deepseek-r1"),
        gpu=catalogue.gpu("mi355x"),
        deployment=Deployment(tp=8),
        workload=Workload(isl=1024, osl=1024),
        catalogue=catalogue,
    )
    dice = np.random.default_rng(1)
    for count in (250_000, 500_000, 1_000_000, 2_000_000, 4_000_000):
        concurrency = 2 ** dice.uniform(0, 10, count)
        isl, osl = 2 ** dice.uniform(7, 15, count), 2 ** dice.uniform(6, 12, count)
        began = time.perf_counter()
        found = sweep(service, concurrency=concurrency, isl=isl, osl=osl)
        taken = time.perf_counter() - began
        some = slice(0, 2000)
        exact = service.at(isl[some], osl[some], concurrency[some])
        off = np.abs(found.output_tps[some] / exact.output_tps - 1)
        print(
            f"{count:>9,} points in {taken:5.2f} s: {count / taken / 1e6:5.2f} million/s; "
            f"output rate off by {np.median(off):.2%} in the median, {np.quantile(off, 0.99):.1%} at the 99th"
        )


if __name__ == "__main__":
    main()
