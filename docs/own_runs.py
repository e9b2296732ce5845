"""What the pages on our own runs have in common: errors before and after calibration, and tables."""

from __future__ import annotations

import csv
import json
import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
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
QUANTITIES = {
    "tpot_ms": "tpot_ms_median",
    "ttft_ms": "ttft_ms_median",
    "output_tps_per_gpu": "output_tps_per_gpu",
}
MARKS = re.compile(r"(<!-- (\w+): begin -->\n).*?(<!-- \2: end -->)", re.DOTALL)

Key = tuple[str, int, int, int, int, bool]
Kept = Callable[[ServingPoint], bool]


def is_static(point: ServingPoint) -> bool:
    """Return whether it is a batch that started together."""
    return "static" in (point.notes or "")


def is_served(point: ServingPoint) -> bool:
    """Return whether it is a closed loop of requests."""
    return not is_static(point)


def key_of(point: ServingPoint) -> Key:
    """Return what a point and its prediction have in common."""
    sizes = (int(point.tp or 1), int(point.pp or 1), int(point.isl or 0), int(point.concurrency or 0))
    return (point.model, *sizes, is_static(point))


def label_of(point: ServingPoint) -> str:
    """Return the model, with its layout where it takes several GPUs."""
    tp, pp = int(point.tp or 1), int(point.pp or 1)
    parts = [f"TP{tp}"] * (tp > 1) + [f"PP{pp}"] * (pp > 1)
    return " ".join([point.model, *parts])


@dataclass(frozen=True, slots=True)
class Runs:
    """Runs of one kind, as they lie under `measurements`.

    Parameters
    ----------
    directory : Path
        With `static.csv`, `startup_logs.csv` and `environment.json`.
    loads : tuple of Path
        The served loads of the same runs.
    before : tuple of str
        Files in the directory with what was predicted before anything was measured; later ones hold.
    """

    directory: Path
    loads: tuple[Path, ...]
    before: tuple[str, ...] = ("predicted_before.csv",)

    def points(self) -> list[ServingPoint]:
        """Return what was measured: static batches, then loads."""
        found = load_serving(self.directory / "static.csv")
        return [*found, *(point for path in self.loads for point in load_serving(path))]

    def environment(self) -> str:
        """Return on what was measured, as one paragraph."""
        told = json.loads((self.directory / "environment.json").read_text(encoding="utf-8"))
        return (
            f"{told['device']} ({told['memory_total']}, {told['power_limit']}), driver "
            f"{told['driver_version']}, {told['engine']},\ntorch {told['torch']} ({told['runtime']}), "
            f"Python {told['python']}; {told['date']}.\n"
        )

    def predicted_before(self) -> dict[Key, dict[str, float]]:
        """Return what was predicted before anything was measured, by point."""
        found = {}
        for name in self.before:
            for row in read_rows(self.directory / name):
                sizes = (int(row.get("tp") or 1), int(row.get("pp") or 1), int(row["isl"]))
                key = (row["model"], *sizes, int(row["concurrency"]), "static" in row["notes"])
                found[key] = {name: float(row[f"predicted_{name}"]) for name in QUANTITIES}
        return found

    def errors_before(self, quantity: str, chosen: Iterable[ServingPoint]) -> list[float]:
        """Return |predicted / measured - 1| of what was predicted before the runs."""
        known = self.predicted_before()
        found = []
        for point in chosen:
            measured = getattr(point, QUANTITIES[quantity])
            if measured:
                found.append(abs(known[key_of(point)][quantity] / measured - 1))
        return found

    def held_out(self, catalogue: Catalogue, kept: Kept, quantity: int) -> list[float]:
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
        for point in self.points():
            groups[label_of(point), is_static(point)].append(point)
        found: list[float] = []
        for half in (0, 1):
            learnt = [point for group in groups.values() for point in group[half::2]]
            asked = [point for group in groups.values() for point in group[1 - half :: 2] if kept(point)]
            moved = adapt(calibration_of(catalogue), learnt, catalogue)
            found += errors(catalogue, moved, asked, quantity)
        return found

    def named(self, catalogue: Catalogue) -> list[tuple[str, Blame]]:
        """Return the part of a step that is mispredicted most in the static batches of each label."""
        builder, calibration = CaseBuilder(catalogue), calibration_of(catalogue)
        groups: dict[str, list[ServingPoint]] = defaultdict(list)
        for point in self.points():
            if is_static(point):
                groups[label_of(point)].append(point)
        found = [
            (label, one)
            for label, points in groups.items()
            for one in blames(builder, [builder.case(point) for point in points], calibration)
        ]
        return sorted(found, key=lambda pair: -abs(pair[1].error))

    def memory_table(self, catalogue: Catalogue) -> str:
        """Return weights, KV pool and requests of each start-up."""
        rows = []
        for made in validate_startup_logs(self.directory / "startup_logs.csv", catalogue).predictions:
            log = made.log
            layout = [f"TP{log.tp}"] * ((log.tp or 1) > 1) + [f"PP{log.pp}"] * ((log.pp or 1) > 1)
            fraction = f"{log.mem_fraction:.2f}" if log.mem_fraction else ""
            cells = [" ".join([log.model, *layout]), fraction, log.outcome]
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
        return table(heads, rows, numbers_from=3)

    def before_table(self) -> str:
        """Return median errors by label, before any calibration on these runs."""
        rows = []
        points = self.points()
        for label in (*dict.fromkeys(label_of(point) for point in points), None):
            chosen = [point for point in points if label in (None, label_of(point))]
            static = [point for point in chosen if is_static(point)]
            served = [point for point in chosen if is_served(point)]
            cells = [label or "**all**"]
            for quantity, part in (
                ("tpot_ms", static), ("ttft_ms", static),
                ("output_tps_per_gpu", served), ("tpot_ms", served), ("ttft_ms", served),
            ):  # fmt: skip
                cells.append(middle(self.errors_before(quantity, part)))
            rows.append(cells)
        heads = ["model", "step", "prefill", "output rate, load", "TPOT, load", "TTFT, load"]
        return table(heads, rows, numbers_from=1)

    def steps_table(self) -> str:
        """Return every decode step, measured and predicted before."""
        known = self.predicted_before()
        rows = []
        for point in self.points():
            if is_static(point) and point.tpot_ms_median:
                said = known[key_of(point)]["tpot_ms"]
                sizes = [f"{point.isl:,.0f}", f"{point.concurrency:,.0f}"]
                error = f"{said / point.tpot_ms_median - 1:+.0%}"
                rows.append([label_of(point), *sizes, f"{point.tpot_ms_median:.2f}", f"{said:.2f}", error])
        heads = ["model", "context", "batch", "step [ms]", "predicted", "error"]
        return table(heads, rows, numbers_from=1)

    def operators_table(self, catalogue: Catalogue) -> str:
        """Return the part of a step that explains the disagreement of each label best."""
        rows = [
            [label, f"{one.error:+.0%}", one.operator or "none", f"{one.factor:.2f}", f"{one.shift:+.0%}"]
            for label, one in self.named(catalogue)
        ]
        heads = ["model", "step, predicted / measured - 1", "part", "takes, times predicted", "of the step"]
        return table(heads, rows, numbers_from=1)

    def after_table(self, catalogue: Catalogue) -> str:
        """Return median errors on halves left out, before and after calibrating on the other half."""
        shipped = calibration_of(catalogue)
        rows = []
        for name, kept, quantity in (
            ("step", is_static, 1),
            ("prefill", is_static, 2),
            ("TPOT under load", is_served, 1),
            ("output rate under load", is_served, 0),
            ("TTFT under load", is_served, 2),
        ):
            asked = [point for point in self.points() if kept(point)]
            before = errors(catalogue, shipped, asked, quantity)
            after = self.held_out(catalogue, kept, quantity)
            rows.append([name, str(len(after)), middle(before), middle(after)])
        heads = ["quantity", "points", "shipped calibration", "after, held out"]
        return table(heads, rows, numbers_from=1)


def errors(
    catalogue: Catalogue, calibration: Calibration, asked: Sequence[ServingPoint], quantity: int
) -> list[float]:
    """Return |predicted / measured - 1| of one quantity under a calibration."""
    builder = CaseBuilder(catalogue)
    cases = [builder.case(point) for point in asked]
    data = builder.gather(cases)
    logs = data.predict(calibration.parameters([case.about for case in cases])) - data.measured
    return [float(abs(np.expm1(value))) for value in logs[:, quantity] if np.isfinite(value)]


def read_rows(path: Path) -> list[dict[str, str]]:
    """Return the rows of a CSV file."""
    with path.open(encoding="utf-8") as file:
        return list(csv.DictReader(file))


def middle(values: Sequence[float]) -> str:
    """Return the median of errors, as text."""
    return f"{median(values):.1%}" if values else ""


def table(heads: Sequence[str], rows: Iterable[Sequence[Any]], *, numbers_from: int) -> str:
    """Return a table in Markdown; columns from a number on are set to the right."""
    marks = ["---" if i < numbers_from else "---:" for i in range(len(heads))]
    lines = [heads, marks, *rows]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


def write_page(page: Path, tables: Callable[[Catalogue], dict[str, str]]) -> None:
    """Write a page with its generated parts made anew."""
    made = tables(load_catalogue())
    text = page.read_text(encoding="utf-8")
    anew = MARKS.sub(lambda found: f"{found[1]}\n{made[found[2]]}\n{found[3]}", text)
    page.write_text(anew, encoding="utf-8")
