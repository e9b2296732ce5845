"""Are intervals of ratios and probabilities of an order honest, on points that no calibration saw?

    OPENBLAS_NUM_THREADS=1 python benchmarks/order.py

Whole groups of model, GPU and engine are left out (about 3 minutes on one core). Two points of different GPUs
make a pair where model, engine, lengths, load and number of GPUs agree; all pairs at one load count as one.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterator
from itertools import pairwise

import numpy as np

from planner.catalogue import load_catalogue
from planner.measurement.calibrate import cases_of, shipped
from planner.measurement.cross_validation import cross_conformal, leave_out
from planner.performance.intervals import Estimate
from planner.planning.compare import probability_ahead, ratio_of

BINS = (0.5, 0.6, 0.7, 0.8, 0.9, 1.0)


def pairs() -> Iterator[tuple[str, float, float, float, bool]]:
    """Yield of every pair name, weight, probability, measured ratio and whether its interval holds it."""
    data, _ = cases_of(shipped(), load_catalogue())
    part = leave_out(data, "group", told=print)
    widths = cross_conformal(data, part)
    same: defaultdict[tuple[object, ...], list[int]] = defaultdict(list)
    for i, case in enumerate(data.cases):
        about = case.about
        if data.teaches[i, 0] and math.isfinite(part.predicted[i, 0]) and about.kind == "service":
            load = (case.isl, case.osl, case.concurrency, case.pools.gpus)
            same[(about.model, about.engine, about.speculative, about.disaggregated, *load)].append(i)
    rates = {}
    for members in same.values():
        for i in members:
            value = math.exp(part.predicted[i, 0])
            low, high = widths[i]["output"]
            rates[i] = Estimate(value, value * math.exp(min(low, 0)), value * math.exp(max(high, 0)), "")
        apart = [
            (i, j)
            for at, i in enumerate(members)
            for j in members[at + 1 :]
            if data.cases[i].about.gpu != data.cases[j].about.gpu
        ]
        for i, j in apart:
            first, second = (i, j) if rates[i].value >= rates[j].value else (j, i)
            measured = math.exp(data.measured[first, 0] - data.measured[second, 0])
            ratio = ratio_of(rates[first], rates[second])
            about = data.cases[first].about
            name = f"{about.model}: {about.gpu} over {data.cases[second].about.gpu} ({about.engine})"
            inside = ratio.low <= measured <= ratio.high
            yield name, 1 / len(apart), probability_ahead(rates[first], rates[second]), measured, inside


def main() -> None:
    found = list(pairs())
    weight, likely, measured = (np.array([row[i] for row in found], dtype=float) for i in (1, 2, 3))
    inside = np.array([row[4] for row in found])
    right = measured > 1
    print(f"{len(found)} pairs at {weight.sum():.0f} loads")
    print(f"80 % intervals of ratios hold {np.average(inside, weights=weight):.1%}")
    for low, high in pairwise(BINS):
        some = (likely >= low) & (likely <= high if high == BINS[-1] else likely < high)
        said, true = (np.average(values[some], weights=weight[some]) for values in (likely, right))
        print(f"probability {low:.1f} to {high:.1f}: {some.sum():5d} pairs, said {said:.2f}, true {true:.2f}")
    sure = likely >= 0.9
    wrong: defaultdict[str, float] = defaultdict(float)
    for (name, each, *_), missed in zip(found, sure & ~right, strict=True):
        wrong[name] += each * missed
    print(
        "sure and wrong:",
        ", ".join(f"{name} {n:.1f}" for name, n in sorted(wrong.items(), key=lambda one: -one[1])[:4]),
    )
    far = np.abs(np.log(measured)) > math.log(1.2)
    by_load = np.average(right[far], weights=weight[far])
    print(f"measured 20 % apart: {far.sum()} pairs, right {right[far].mean():.1%} ({by_load:.1%} by load)")


if __name__ == "__main__":
    main()
