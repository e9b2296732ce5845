"""How far another predictor lies from published measurements, by model, accelerator and engine.

Run it with an interpreter that has planner and the package of the provider (Python 3.11 to 3.13):

    pip install -e '.[aiconfigurator]'
    python benchmarks/providers.py [--provider aiconfigurator] [--points 5] [--groups 60]

Of each group of one model, accelerator and engine that is served in aggregate without drafts some points are
asked, evenly over the load. Prints errors, quantiles of ln(measured / predicted), and why others are refused.
"""

from __future__ import annotations

import argparse
import math
import time
from collections import Counter, defaultdict
from collections.abc import Iterable

import numpy as np

from planner.catalogue import load_catalogue
from planner.errors import PlannerError
from planner.measurement.calibrate import cases_of, shipped
from planner.measurement.cases import Case
from planner.measurement.serving_setup import SetupResolver
from planner.performance.providers import Provided, Provider, ProviderPoint, provider
from planner.performance.steady import SERVICE
from planner.scenario import Deployment

FIGURES = {"output": ("output_tps_per_gpu", 1.0), "TPOT": ("tpot_ms", 1e3), "TTFT": ("ttft_ms", 1e3)}


def comparable(cases: Iterable[Case]) -> dict[tuple[str, str, str], list[Case]]:
    """Return the cases that a provider may be asked about, by model, accelerator and engine."""
    groups: defaultdict[tuple[str, str, str], list[Case]] = defaultdict(list)
    for case in cases:
        about = case.about
        plain = about.kind == "service" and not about.disaggregated and not about.speculative
        if case.kind == SERVICE and plain and about.vendor == "NVIDIA" and math.isfinite(case.concurrency):
            groups[about.model, about.gpu, about.engine].append(case)
    return groups


def spread(cases: list[Case], most: int) -> list[Case]:
    """Return some of the cases, evenly over their load."""
    ordered = sorted(cases, key=lambda case: (case.concurrency, case.isl))
    if len(ordered) <= most:
        return ordered
    return [ordered[round(at)] for at in np.linspace(0, len(ordered) - 1, most)]


def asked(case: Case, resolver: SetupResolver, other: Provider) -> Provided:
    """Ask a provider about one case."""
    setup, layout = resolver.setup(case.point), case.pools.decode
    deployment = Deployment(
        tp=layout.tp,
        pp=layout.pp,
        dp=layout.dp,
        ep=layout.ep,
        weight_dtype=setup.weight_dtype,
        kv_dtype="fp8" if setup.kv_dtype.startswith("fp8") else "bf16",
    )
    return other.figures(
        ProviderPoint(
            model=setup.model,
            gpu=setup.gpu,
            deployment=deployment,
            engine=setup.engine or "",
            node_gpus=setup.gpu.node_gpus,
            isl=round(case.isl),
            osl=round(case.osl),
            concurrency=max(1, round(case.concurrency / (layout.copies or 1))),
        )
    )


def main() -> None:
    """Ask about every group and print the errors."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--provider", default="aiconfigurator")
    parser.add_argument("--points", type=int, default=5, help="of each group, at most (default 5)")
    parser.add_argument("--groups", type=int, default=1000, help="groups, the largest first")
    options = parser.parse_args()
    catalogue, other = load_catalogue(), provider(options.provider)
    groups = comparable(cases_of(shipped(), catalogue)[0].cases)
    resolver, errors, refused = SetupResolver(catalogue), defaultdict(list), Counter()
    begin, answered = time.perf_counter(), 0
    for name, cases in sorted(groups.items(), key=lambda one: -len(one[1]))[: options.groups]:
        for case in spread(cases, options.points):
            try:
                said = asked(case, resolver, other)
            except PlannerError as error:
                refused[f"{' '.join(name[1:])}: {str(error)[:90]}"] += 1
                continue
            answered += 1
            for (label, (figure, scale)), measured in zip(FIGURES.items(), case.measured, strict=True):
                if math.isfinite(measured) and figure in said.figures:
                    errors[label].append(measured + math.log(scale if label != "output" else 1.0))
                    errors[label][-1] -= math.log(said.figures[figure].value)
    print(f"{answered} points of {len(groups)} groups answered in {time.perf_counter() - begin:.0f} s")
    for label, found in errors.items():
        logs = np.array(found)
        off = np.abs(np.expm1(-logs))
        low, high = np.quantile(logs, [0.1, 0.9])
        print(
            f"{label:6} n {len(logs)}, median error {np.median(off):.1%}, "
            f"within 20 %: {np.mean(off <= 0.2):.0%}, ln(measured / predicted) "
            f"{low:+.2f} / {np.median(logs):+.2f} / {high:+.2f} (10, 50, 90 %)"
        )
    for reason, count in refused.most_common():
        print(f"{count:4} without an answer: {reason}")


if __name__ == "__main__":
    main()
