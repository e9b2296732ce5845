"""Write the tables of `accuracy-h200.md` from `measurements/h200` and `measurements/kernels/own_h200.csv`.

python docs/make_h200.py
"""

from __future__ import annotations

import csv
import json
import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np

from planner import load_catalogue
from planner.catalogue import Catalogue
from planner.measurement.blame import Blame, blames
from planner.measurement.calibrate import adapt
from planner.measurement.case_builder import CaseBuilder
from planner.measurement.serving_points import ServingPoint, load_serving
from planner.measurement.validate import validate_startup_logs
from planner.performance.levels import Calibration, calibration_of

ROOT = Path(__file__).parents[1]
PAGE = Path(__file__).with_name("accuracy-h200.md")
RUNS = ROOT / "measurements" / "h200"
QUANTITIES = {
    "tpot_ms": "tpot_ms_median",
    "ttft_ms": "ttft_ms_median",
    "output_tps_per_gpu": "output_tps_per_gpu",
}
MARKS = re.compile(r"(<!-- (\w+): begin -->\n).*?(<!-- \2: end -->)", re.DOTALL)

Key = tuple[str, int, int, bool]


def points() -> list[ServingPoint]:
    """Return what was measured: static batches, then loads."""
    loads = ROOT / "measurements" / "serving" / "own_h200.csv"
    return [*load_serving(RUNS / "static.csv"), *load_serving(loads)]


def is_static(point: ServingPoint) -> bool:
    """Return whether it is a batch that started together."""
    return "static" in (point.notes or "")


def key_of(point: ServingPoint) -> Key:
    """Return what a point and its prediction have in common."""
    return (point.model, int(point.isl or 0), int(point.concurrency or 0), is_static(point))


def predicted_before() -> dict[Key, dict[str, float]]:
    """Return what was predicted before anything was measured, by point."""
    with (RUNS / "predicted_before.csv").open(encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    return {
        (row["model"], int(row["isl"]), int(row["concurrency"]), "static" in row["notes"]): {
            name: float(row[f"predicted_{name}"]) for name in QUANTITIES
        }
        for row in rows
    }


def errors_before(quantity: str, chosen: Iterable[ServingPoint]) -> list[float]:
    """Return |predicted / measured - 1| of what was predicted before the runs."""
    known = predicted_before()
    found = []
    for point in chosen:
        measured = getattr(point, QUANTITIES[quantity])
        if measured:
            found.append(abs(known[key_of(point)][quantity] / measured - 1))
    return found


def held_out(catalogue: Catalogue, kept: Callable[[ServingPoint], bool], quantity: int) -> list[float]:
    """Return errors on each half of the runs after calibrating on the other half.

    Parameters
    ----------
    catalogue : Catalogue
        With the shipped calibration, which knows none of them.
    kept : callable
        Which points errors are taken of.
    quantity : int
        0 output rate, 1 TPOT, 2 TTFT.

    Returns
    -------
    list of float
        |predicted / measured - 1| of every point, each predicted by what it was not part of.
    """
    groups: dict[tuple[str, bool], list[ServingPoint]] = defaultdict(list)
    for point in points():
        groups[point.model, is_static(point)].append(point)
    found: list[float] = []
    for half in (0, 1):
        learnt = [point for group in groups.values() for point in group[half::2]]
        asked = [point for group in groups.values() for point in group[1 - half :: 2] if kept(point)]
        moved = adapt(calibration_of(catalogue), learnt, catalogue)
        found += errors(catalogue, moved, asked, quantity)
    return found


def errors(
    catalogue: Catalogue, calibration: Calibration, asked: Sequence[ServingPoint], quantity: int
) -> list[float]:
    """Return |predicted / measured - 1| of one quantity under a calibration."""
    builder = CaseBuilder(catalogue)
    cases = [builder.case(point) for point in asked]
    data = builder.gather(cases)
    logs = data.predict(calibration.parameters([case.about for case in cases])) - data.measured
    return [float(abs(np.expm1(value))) for value in logs[:, quantity] if np.isfinite(value)]


def named(catalogue: Catalogue) -> list[Blame]:
    """Return the part of a step that is mispredicted most in each model's static batches."""
    builder = CaseBuilder(catalogue)
    cases = [builder.case(point) for point in points() if is_static(point)]
    return blames(builder, cases, calibration_of(catalogue))


def tables(catalogue: Catalogue) -> dict[str, str]:
    """Return the generated part under each mark of the page."""
    return {
        "environment": environment_text(),
        "memory": memory_table(catalogue),
        "before": before_table(),
        "steps": steps_table(),
        "operators": operators_table(catalogue),
        "after": after_table(catalogue),
        "kernels": kernels_table(),
    }


def environment_text() -> str:
    """Return on what was measured, as one paragraph."""
    told = json.loads((RUNS / "environment.json").read_text(encoding="utf-8"))
    return (
        f"{told['device']} ({told['memory_total']}, {told['power_limit']}), driver {told['driver_version']}, "
        f"{told['engine']},\ntorch {told['torch']} ({told['runtime']}), Python {told['python']}; "
        f"{told['date']}.\n"
    )


def memory_table(catalogue: Catalogue) -> str:
    """Return weights, KV pool and requests of each start-up."""
    rows = []
    for made in validate_startup_logs(RUNS / "startup_logs.csv", catalogue).predictions:
        log = made.log
        cells = [log.model, f"{log.mem_fraction:.2f}" if log.mem_fraction else "", log.outcome]
        for quantity in ("weights_gib", "kv_pool_gib", "max_concurrency"):
            pair = made.pairs.get(quantity)
            cells += (
                [
                    f"{pair.measured:,.2f}",
                    f"{pair.predicted:,.2f}",
                    f"{pair.predicted / pair.measured - 1:+.1%}",
                ]
                if pair
                else ["", "", ""]
            )
        rows.append(cells)
    heads = ["model", "fraction", "outcome"]
    for name in ("weights [GiB]", "KV pool [GiB]", "requests of 36,864"):
        heads += [name, "predicted", "error"]
    return _table(heads, rows, numbers_from=3)


def before_table() -> str:
    """Return median errors by model, before any calibration on these runs."""
    rows = []
    for model in (*dict.fromkeys(point.model for point in points()), None):
        chosen = [point for point in points() if model in (None, point.model)]
        static = [point for point in chosen if is_static(point)]
        served = [point for point in chosen if not is_static(point)]
        cells = [model or "**all**"]
        for quantity, part in (
            ("tpot_ms", static), ("ttft_ms", static),
            ("output_tps_per_gpu", served), ("tpot_ms", served), ("ttft_ms", served),
        ):  # fmt: skip
            cells.append(_median(errors_before(quantity, part)))
        rows.append(cells)
    heads = ["model", "step", "prefill", "output rate, load", "TPOT, load", "TTFT, load"]
    return _table(heads, rows, numbers_from=1)


def steps_table() -> str:
    """Return every decode step, measured and predicted before."""
    known = predicted_before()
    rows = []
    for point in points():
        if is_static(point) and point.tpot_ms_median:
            said = known[key_of(point)]["tpot_ms"]
            sizes = [f"{point.isl:,.0f}", f"{point.concurrency:,.0f}"]
            times = [f"{point.tpot_ms_median:.2f}", f"{said:.2f}", f"{said / point.tpot_ms_median - 1:+.0%}"]
            rows.append([point.model, *sizes, *times])
    return _table(["model", "context", "batch", "step [ms]", "predicted", "error"], rows, numbers_from=1)


def operators_table(catalogue: Catalogue) -> str:
    """Return the part of a step that explains each model's disagreement best."""
    rows = [
        [
            one.group.split("/")[0],
            f"{one.error:+.0%}",
            one.operator or "none",
            f"{one.factor:.2f}",
            f"{one.shift:+.0%}",
        ]
        for one in named(catalogue)
    ]
    heads = ["model", "step, predicted / measured - 1", "part", "takes, times predicted", "of the step"]
    return _table(heads, rows, numbers_from=1)


def after_table(catalogue: Catalogue) -> str:
    """Return median errors on halves that were left out, before and after calibrating on the other half."""
    shipped = calibration_of(catalogue)
    rows = []
    for name, kept, quantity in (
        ("step", is_static, 1),
        ("prefill", is_static, 2),
        ("TPOT under load", _served, 1),
        ("output rate under load", _served, 0),
        ("TTFT under load", _served, 2),
    ):
        asked = [point for point in points() if kept(point)]
        before = errors(catalogue, shipped, asked, quantity)
        after = held_out(catalogue, kept, quantity)
        rows.append([name, str(len(after)), _median(before), _median(after)])
    heads = ["quantity", "points", "shipped calibration", "after, held out"]
    return _table(heads, rows, numbers_from=1)


def _served(point: ServingPoint) -> bool:
    return not is_static(point)


def _tall(row: dict[str, str]) -> bool:
    return int(row["m"]) >= 2048


def _read(row: dict[str, str]) -> bool:
    return row["m"] == "1" and int(row["n"]) * int(row["k"]) > 1e8


KERNELS: tuple[tuple[str, str, Callable[[dict[str, str]], bool], str, float | None], ...] = (
    ("weights read, BF16, m = 1, 200 MB or more", "gemm/bfloat16", _read, "membw", 0.86),
    ("products, BF16, m of 2,048 or more", "gemm/bfloat16", _tall, "flops", 0.70),
    ("products, FP8, m of 2,048 or more", "gemm/fp8", _tall, "flops", 0.55),
    ("products, INT8, m of 2,048 or more", "gemm/int8", _tall, "flops", None),
    ("experts, 4,096 tokens or more", "moe/bfloat16", lambda r: int(r["tokens"]) >= 4096, "flops", 0.42),
    ("experts, 64 tokens or fewer", "moe/bfloat16", lambda r: int(r["tokens"]) <= 64, "membw", 0.90),
    (
        "attention, prompts of 4,096 or more",
        "attention_prefill/bfloat16",
        lambda r: int(r["context"]) >= 4096,
        "flops",
        0.55,
    ),
    (
        "attention, one query, 1 GB of cache or more",
        "attention_decode/kv_bfloat16",
        lambda r: int(r["bytes"]) >= 1e9,
        "membw",
        0.85,
    ),
)
"""What, operator and dtype, which rows, which share, and what the time model takes before calibration."""


def kernels_table() -> str:
    """Return what PyTorch's own operators reach, beside what the time model takes."""
    with (ROOT / "measurements" / "kernels" / "own_h200.csv").open(encoding="utf-8") as file:
        known = list(csv.DictReader(file))
    rows = []
    for what, kind, chosen, share, taken in KERNELS:
        op, dtype = kind.split("/")
        values = [
            float(r[f"{share}_fraction"]) for r in known if (r["op"], r["dtype"]) == (op, dtype) and chosen(r)
        ]
        limit = "bandwidth" if share == "membw" else "peak"
        rows.append(
            [what, str(len(values)), limit, f"{median(values):.2f}", "" if taken is None else f"{taken:.2f}"]
        )
    floors = {r["kernel"]: float(r["latency_us"]) for r in known if r["op"] == "launch"}
    rows += [[f"smallest kernel: {name}", "1", "", f"{time:.2f} us", ""] for name, time in floors.items()]
    return _table(["operators", "rows", "share of", "median", "planner takes"], rows, numbers_from=3)


def _median(values: Sequence[float]) -> str:
    return f"{median(values):.1%}" if values else ""


def _table(heads: Sequence[str], rows: Iterable[Sequence[Any]], *, numbers_from: int) -> str:
    marks = ["---" if i < numbers_from else "---:" for i in range(len(heads))]
    lines = [heads, marks, *rows]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


def written(text: str) -> str:
    """Return the page with its generated parts made anew."""
    made = tables(load_catalogue())
    return MARKS.sub(lambda found: f"{found[1]}\n{made[found[2]]}\n{found[3]}", text)


if __name__ == "__main__":
    PAGE.write_text(written(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
