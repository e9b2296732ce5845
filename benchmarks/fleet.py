"""How long a fleet of 10 GPU types, 5 models and 24 hours takes, its gap and its size.

    python benchmarks/fleet.py [SEED]

Rates, prices and stocks are drawn so that no type is best for all models, which is the hard case.
"""

from __future__ import annotations

import sys
import time

import numpy as np

from planner.planning.fleet import FleetProblem, Limits, ModelDemand, Offer, Supply
from planner.planning.fleet_solving import best_fleet

TYPES, MODELS, HOURS = 10, 5, 24
SIZES = ((1, 2, 4), (1, 2, 4), (2, 4, 8), (2, 4, 8), (4, 8, 16))
CASES = (
    ("fixed", "least-cost", Limits()),
    ("fixed", "least-cost", Limits(power_kw=1000)),
    ("fixed", "most-served", Limits(usd_per_hour=300)),
    ("reassigned", "least-cost", Limits()),
    ("reassigned", "most-served", Limits(usd_per_month=200_000)),
    ("hourly", "least-cost", Limits()),
    ("hourly", "most-served", Limits(usd_per_hour=300)),
)


def problem(seed: int, scaling: str, objective: str, limits: Limits, spare_units: int = 0) -> FleetProblem:
    """Return a fleet to be chosen, drawn at random."""
    rng = np.random.default_rng(seed)
    supplies = [
        Supply(
            gpu=f"type-{i}",
            unit_gpus=8,
            usd_per_gpu_hour=round(rng.uniform(1.5, 8), 2),
            stock_gpus=8 * int(rng.integers(8, 60)),
            kw_per_gpu=1.5,
        )
        for i in range(TYPES)
    ]
    offers, demands = [], []
    for m in range(MODELS):
        each = rng.uniform(0.5, 5)
        for supply in supplies:
            speed = rng.uniform(0.5, 2) * supply.usd_per_gpu_hour / 4
            offers += [
                Offer(
                    model=f"model-{m}",
                    gpu=supply.gpu,
                    label=f"TP{gpus}",
                    gpus=gpus,
                    rate_per_s=each * speed * gpus * rng.uniform(0.9, 1.2),
                )
                for gpus in SIZES[m]
            ]
        hours = np.arange(HOURS)
        day = 0.35 + 0.65 * np.exp(-(((hours - 14 - m) % 24) ** 2) / 40)
        rates = tuple(float(rate) for rate in rng.uniform(50, 400) * day)
        demands.append(ModelDemand(model=f"model-{m}", rates_per_s=rates))
    return FleetProblem(
        supplies=supplies,
        offers=offers,
        demands=demands,
        limits=limits,
        scaling=scaling,
        objective=objective,
        spare_units=spare_units,
    )


def main() -> None:
    seed = int(sys.argv[1]) if len(sys.argv) > 1 else 0
    print(f"{TYPES} GPU types, {MODELS} models, {HOURS} hours, 3 deployments each, seed {seed}")
    print("scaling     objective    spare   time s   gap %  columns  rows   USD/h  served %  status")
    for scaling, objective, limits in CASES:
        for spare in (0, 1):
            asked = problem(seed, scaling, objective, limits, spare)
            begin = time.perf_counter()
            found = best_fleet(asked)
            took = time.perf_counter() - begin
            size = f"{found.variables:8} {found.constraints:5}"
            print(
                f"{scaling:11} {objective:12} {spare:5} {took:8.1f} {100 * found.gap:7.2f} {size} "
                f"{found.usd_per_hour:7.0f} {100 * found.served_share:9.1f}  {found.status}"
            )


if __name__ == "__main__":
    main()
