"""Calibrate, leave out groups, and write data/calibration.yaml and docs/accuracy.{md,json,svg}.

    OPENBLAS_NUM_THREADS=1 python docs/make_accuracy.py

About ten minutes on one core.
"""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from planner.catalogue import load_catalogue
from planner.measurement.calibrate import Calibrated, calibrate, write_calibration
from planner.measurement.cases import Case
from planner.measurement.cross_validation import LeftOut, cross_conformal
from planner.measurement.validate_serving import GROUPS
from planner.performance.intervals import QUANTITIES

ROOT = Path(__file__).resolve().parents[1]
NAMES = {"output": "output tok/s per GPU", "tpot": "TPOT", "ttft": "TTFT"}
GATE_FOLD = 0
"""The fold that the gate in the tests leaves out."""
FEWEST = 20
"""Points that a slice needs to be shown."""
SHOWN = ("vendor", "gpu", "engine", "load", "year", "model")
HOW = (
    "Each point is predicted by a calibration that saw no point of its group: whole groups go to five folds, "
    "the largest first into the emptiest after a seeded shuffle. That is done three times, since it moves an "
    "error with whom a group is left out, and figures are over all three. Runs that occur twice count once; "
    "points faster than nameplate bandwidth allows, and those that do not say what they seem to say, are "
    "left out. Intervals of a fold come from the errors of the other folds. The widths of the priors were "
    "chosen on other folds of the same points, and the form of the model with all of them in sight: figures "
    "on points that nobody ever saw are worse. Of 56 groups by which no width was chosen, output is 15.6 % "
    "off, TPOT 18.2 %, TTFT 38.7 % (2026-12-01)."
)
EXPLAINED = {
    "disaggregated": "where requests queued, and how many a worker would take, is often not stated",
    "cached": "replays of agents state a mean hit rate at best; what was cached decides the prefill",
    "offline": "the batch that an engine reached is not stated",
    "multi-node": "few groups, one of them a model that hardly fits, so that its pool held a few requests",
    "static": "engines of 2024, of which versions are not stated",
}
"""Why a kind of load is hard."""


def main() -> None:
    """Write everything that a calibration changes."""
    made = calibrate(catalogue=load_catalogue(), told=print)
    write_calibration(made, ROOT / "data/calibration.yaml")
    write_report(made)


def write_report(made: Calibrated) -> None:
    """Write the page, the figures that the gate compares with, and the picture."""
    rows = Scored(made, made.left_out["group"])
    figures = {
        "digest": made.digest,
        "overall": rows.scores(lambda case: True),
        "gate": gate_scores(made, made.left_out["group"][0]),
        "slices": {
            f"{group}={name}": rows.scores(lambda case, group=group, name=name: GROUPS[group](case) == name)
            for group in ("vendor", "load")
            for name in rows.names(group)
        },
    }
    (ROOT / "docs/accuracy.json").write_text(json.dumps(figures, indent=1) + "\n", encoding="utf-8")
    (ROOT / "docs/accuracy.svg").write_text(scatter(rows), encoding="utf-8")
    (ROOT / "docs/accuracy.md").write_text("\n".join(page(made, rows)) + "\n", encoding="utf-8")


def gate_scores(made: Calibrated, part: LeftOut) -> dict[str, dict[str, dict[str, float]]]:
    """Return the scores of one fold, overall and in slices, which a test computes anew."""
    alone = np.where((part.fold == GATE_FOLD)[:, None], part.predicted, np.nan)
    rows = Scored(made, (replace(part, predicted=alone),), intervals=False)
    slices = {
        "overall": lambda case: True,
        "AMD": lambda case: case.about.vendor == "AMD",
        "NVIDIA": lambda case: case.about.vendor == "NVIDIA",
        "service": lambda case: case.about.kind == "service",
    }
    return {name: rows.scores(chosen) for name, chosen in slices.items()}


class Scored:
    """Errors of points that were left out, once for each shuffle of the folds, with fair intervals."""

    def __init__(self, made: Calibrated, parts: Sequence[LeftOut], intervals: bool = True) -> None:
        again = len(parts)
        self.points = len(made.data)
        self.cases = made.data.cases * again
        self.measured = np.tile(made.data.measured, (again, 1))
        self.predicted = np.concatenate([part.predicted for part in parts])
        self.counted = np.tile(made.data.teaches, (again, 1)) & np.isfinite(self.predicted)
        self.error = np.where(self.counted, self.predicted - self.measured, np.nan)
        self.inside = np.full(self.error.shape, np.nan)
        if intervals:
            fair = [widths for part in parts for widths in cross_conformal(made.data, part)]
            for i, widths in enumerate(fair):
                for number, quantity in enumerate(QUANTITIES):
                    low, high = widths[quantity]
                    self.inside[i, number] = low <= -self.error[i, number] <= high

    def names(self, group: str) -> list[str]:
        """Return the values of a group that have enough points."""
        known = np.flatnonzero(self.counted[: self.points].any(1))
        counts = Counter(GROUPS[group](self.cases[i]) for i in known)
        return sorted(name for name, count in counts.items() if count >= FEWEST)

    def scores(self, chosen: Callable[[Case], bool]) -> dict[str, dict[str, float]]:
        """Return the scores of some cases by quantity."""
        some = np.array([chosen(case) for case in self.cases])
        found = {}
        for number, quantity in enumerate(QUANTITIES):
            index = some & self.counted[:, number]
            if index[: self.points].sum() < FEWEST:
                continue
            ratio = np.expm1(self.error[index, number])
            inside = self.inside[index, number]
            found[quantity] = {
                "n": int(index[: self.points].sum()),
                "median_ape": round(float(np.median(np.abs(ratio))), 4),
                "mean_ape": round(float(np.mean(np.abs(ratio))), 4),
                "within_20pct": round(float(np.mean(np.abs(ratio) <= 0.2)), 4),
                "bias": round(float(np.median(ratio)), 4),
                "coverage_80": round(float(np.nanmean(inside)), 4) if np.isfinite(inside).any() else None,
            }
        return found


def page(made: Calibrated, rows: Scored) -> Iterable[str]:
    """Yield the lines of the page."""
    yield "# How wrong predictions are"
    yield ""
    yield (
        "How far off predictions of output, TPOT and TTFT are on points that they never saw (written by "
        "`docs/make_accuracy.py`; do not edit)."
    )
    yield ""
    groups = len({case.about.group for case in made.data.cases})
    yield (
        f"{len(made.data)} serving points of {groups} groups of model, GPU and engine "
        f"(digest `{made.digest}`). {HOW}"
    )
    yield ""
    yield (
        "Runs of our own that no calibration learns from, predicted before they were measured: "
        "[one H200](accuracy-h200.md) and [two](accuracy-h200-x2.md)."
    )
    yield ""
    yield "![Predicted against measured output rate of groups that were left out](accuracy.svg)"
    yield ""
    yield from table("what was left out", {"a group": rows.scores(lambda case: True)})
    yield ""
    yield "The same, leaving out more, and less:"
    yield ""
    others = {
        {"model": "a model", "gpu": "a GPU", "series": "a sweep, its group known"}[kind]: Scored(
            made, part, intervals=False
        ).scores(lambda case: True)
        for kind, part in made.left_out.items()
        if kind != "group"
    }
    yield from table("what was left out", others)
    yield ""
    right, pairs = order(rows)
    yield (
        "Which of two GPUs is faster, at the same model, load, and number of GPUs, where they differ by 20 % "
        f"or more: right in {right:.0%} of {pairs // len(made.left_out['group'])} pairs."
    )
    for group in SHOWN:
        found = {
            name: rows.scores(lambda case, group=group, name=name: GROUPS[group](case) == name)
            for name in rows.names(group)
        }
        yield ""
        yield f"## By {group}, the worst first"
        yield ""
        yield from table(group, dict(sorted(found.items(), key=lambda item: -worst(item[1]))))
        if group == "load":
            yield ""
            yield from (f"- {name}: {why}." for name, why in EXPLAINED.items())
    single = rows.scores(
        lambda case: (
            case.about.vendor == "NVIDIA"
            and case.about.kind == "service"
            and not case.about.disaggregated
            and case.pools.gpus <= 8
        )
    )
    yield ""
    yield "## Single NVIDIA nodes"
    yield ""
    yield "What other public predictors cover: aggregated services on up to eight NVIDIA GPUs."
    yield ""
    yield from table("", {"single node, NVIDIA": single})


def worst(scores: dict[str, dict[str, float]]) -> float:
    """Return the larger median error of output rate and TPOT."""
    return max((score["median_ape"] for name, score in scores.items() if name != "ttft"), default=0.0)


def table(head: str, found: dict[str, dict[str, dict[str, float]]]) -> Iterable[str]:
    """Yield a table with a row for each slice and quantity."""
    yield f"| {head} | quantity | points | median error | within 20 % | bias | in 80 % interval |"
    yield "|---|---|---:|---:|---:|---:|---:|"
    for name, scores in found.items():
        for quantity, score in scores.items():
            covered = "" if score["coverage_80"] is None else f"{score['coverage_80']:.0%}"
            yield (
                f"| {name} | {NAMES[quantity]} | {score['n']} | {score['median_ape']:.1%} | "
                f"{score['within_20pct']:.0%} | {score['bias']:+.1%} | {covered} |"
            )


def order(rows: Scored) -> tuple[float, int]:
    """Return in which share of pairs the faster GPU was named, and how many pairs there are."""
    same: defaultdict[tuple[object, ...], list[int]] = defaultdict(list)
    for i, case in enumerate(rows.cases):
        if rows.counted[i, 0] and case.about.kind == "service":
            about = case.about
            key = (about.model, about.engine, about.speculative, about.disaggregated, case.isl, case.osl)
            same[(*key, case.concurrency, case.pools.gpus, i // rows.points)].append(i)
    right = pairs = 0
    for members in same.values():
        for at, i in enumerate(members):
            for j in members[at + 1 :]:
                gap = rows.measured[i, 0] - rows.measured[j, 0]
                if rows.cases[i].about.gpu != rows.cases[j].about.gpu and abs(gap) > np.log(1.2):
                    pairs += 1
                    right += (rows.predicted[i, 0] - rows.predicted[j, 0]) * gap > 0
    return right / max(pairs, 1), pairs


def scatter(rows: Scored, size: int = 420, cells: int = 60) -> str:
    """Return a density of predicted against measured output rates, in logarithms, as SVG."""
    kept = rows.counted[:, 0]
    x, y = (values[kept, 0] / np.log(10) for values in (rows.measured, rows.predicted))
    low, high = 0.0, 5.0
    counts, _, _ = np.histogram2d(x, y, bins=cells, range=[[low, high], [low, high]])
    step, edge = size / cells, 50
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{size + 70}" height="{size + 70}" '
        'font-family="sans-serif" font-size="12">',
        f'<rect x="{edge}" y="10" width="{size}" height="{size}" fill="white" stroke="#888"/>',
    ]
    for i, j in zip(*np.nonzero(counts), strict=True):
        shade = min(1.0, 0.2 + np.log1p(counts[i, j]) / 5)
        parts.append(
            f'<rect x="{edge + i * step:.1f}" y="{10 + size - (j + 1) * step:.1f}" width="{step:.1f}" '
            f'height="{step:.1f}" fill="#1f5fa8" fill-opacity="{shade:.2f}"/>'
        )
    parts.append(
        f'<line x1="{edge}" y1="{10 + size}" x2="{edge + size}" y2="10" stroke="#c33" '
        'stroke-dasharray="4 3"/>'
    )
    for power in range(int(low), int(high) + 1):
        at = size * (power - low) / (high - low)
        label = f"{10**power:,}"
        parts.append(f'<text x="{edge + at:.0f}" y="{size + 28}" text-anchor="middle">{label}</text>')
        parts.append(f'<text x="{edge - 6}" y="{14 + size - at:.0f}" text-anchor="end">{label}</text>')
    parts.append(
        f'<text x="{edge + size / 2}" y="{size + 50}" text-anchor="middle">measured tok/s per GPU</text>'
    )
    middle = 10 + size / 2
    parts.append(
        f'<text x="12" y="{middle}" text-anchor="middle" transform="rotate(-90 12 {middle})">predicted</text>'
    )
    return "\n".join([*parts, "</svg>"]) + "\n"


if __name__ == "__main__":
    main()
