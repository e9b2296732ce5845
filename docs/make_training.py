"""Fit the figures of the time model of training, leave out each source, and write what changes with them.

    OPENBLAS_NUM_THREADS=1 python docs/make_training.py          # fit, and write all of it
    OPENBLAS_NUM_THREADS=1 python docs/make_training.py table    # write the tables of docs/training.md alone

It writes the fitted figures into data/training.yaml, those without each source into docs/training.json, and
the tables of docs/training.md. Half a minute on one core.
"""

from __future__ import annotations

import json
import math
import re
import sys
from collections import Counter, defaultdict
from pathlib import Path
from typing import Any

import numpy as np
from scipy.optimize import least_squares

from planner.catalogue import Catalogue, load_catalogue
from planner.catalogue.training import TrainingModel
from planner.measurement.training import TrainingPoint, checks_file, machine_of, training_points, with_model
from planner.performance.training import Machine, training_step
from planner.performance.training_rates import training_model
from planner.planning.training import spread_of
from planner.report.sentences import gpu_label

ROOT = Path(__file__).resolve().parents[1]
PAGE, LEFT_OUT, DATA = ROOT / "docs/training.md", ROOT / "docs/training.json", ROOT / "data/training.yaml"
FLASH = {"ampere": 0.55, "nvidia": 0.45, "amd": 0.25, "default": 0.35}
"""Attention over the BF16 peak before the fit: what published kernels reach forward and backward together."""
NAMES = ("sustained", "elementwise", "attention", "tensor_hidden", "data_hidden", "width")
PRIOR = np.array([0.9, 1.5, 1.0, 0.3, 0.5, 150.0])
SCALE = np.array([0.3, 1.0, 0.5, 0.5, 0.5, 200.0]) / 0.2
LOW, HIGH = (0.5, 0.5, 0.3, 0.0, 0.0, 0.0), (1.0, 4.0, 1.5, 0.8, 0.95, 600.0)
DIGITS = {"width": 0, "elementwise": 2}
RATIOS = (
    ("MI300X / H100, Llama 3 70B in 4 layers, FP8", ("Llama 3 70B, 4 layers", "fp8", "mi300x", "h100-sxm")),
    ("H200 / H100, GPT-2 XL, FP8, batch of 14", ("GPT-2 XL", "fp8", "h200-sxm", "h100-sxm")),
    ("MI300X / H200, Llama 3 8B, FP8", ("llama-3-8b", "fp8", "mi300x", "h200-sxm")),
)
"""Pairs of runs of one model that one source publishes of two accelerators."""

Timed = list[tuple[TrainingPoint, Machine]]


def main() -> None:
    """Fit, write, and print how far the runs are off."""
    catalogue = load_catalogue()
    timed = [(point, machine_of(point, catalogue)) for point in training_points(catalogue)]
    if sys.argv[1:] != ["table"]:
        write_fit(timed, training_model(catalogue))
        catalogue = load_catalogue()
    write_page(timed, catalogue)


def of_values(base: TrainingModel, values: np.ndarray) -> TrainingModel:
    """Return the time model with fitted values."""
    found = dict(zip(NAMES, map(float, values), strict=True))
    by = found.pop("attention")
    flash = {name: round(share * by, 3) for name, share in FLASH.items()}
    rounded = {name: round(value, DIGITS.get(name, 3)) for name, value in found.items()}
    return base.model_copy(update={**rounded, "flash_share": flash})


def errors(timed: Timed, model: TrainingModel) -> np.ndarray:
    """Return ln(predicted / measured) of each run."""
    return np.array(
        [
            math.log(
                training_step(point.architecture, point.run, with_model(machine, model)).tokens_per_s_per_gpu
                / point.tokens_per_s_per_gpu
            )
            for point, machine in timed
        ]
    )


def fit(timed: Timed, base: TrainingModel) -> TrainingModel:
    """Return the model that fits the runs best; each source weighs as the root of its runs."""
    runs = Counter(point.source for point, _ in timed)
    weights = np.array([2 / math.sqrt(runs[point.source]) for point, _ in timed])

    def residuals(values: np.ndarray) -> np.ndarray:
        return np.concatenate([errors(timed, of_values(base, values)) * weights, (values - PRIOR) / SCALE])

    found = least_squares(residuals, PRIOR, bounds=(LOW, HIGH), diff_step=0.02)
    return of_values(base, found.x)


def write_fit(timed: Timed, base: TrainingModel) -> None:
    """Fit with and without each source, and write figures and intervals."""
    whole = fit(timed, base)
    left_out: dict[str, Any] = {}
    missed: list[float] = []
    for source in dict.fromkeys(point.source for point, _ in timed):
        model = fit([one for one in timed if one[0].source != source], base)
        missed += [-error for error in errors([one for one in timed if one[0].source == source], model)]
        left_out[source] = figures(model)
        print(source, left_out[source])
    low, high = (round(float(value), 3) for value in np.quantile(missed, (0.1, 0.9)))
    LEFT_OUT.write_text(json.dumps({"figures": figures(whole), "without": left_out}, indent=1) + "\n")
    text = DATA.read_text()
    for name, value in figures(whole).items():
        shown = (
            f"{{{', '.join(f'{k}: {v}' for k, v in value.items())}}}" if isinstance(value, dict) else value
        )
        text = re.sub(rf"^(    {name}:) .*$", rf"\1 {shown}", text, flags=re.MULTILINE)
    DATA.write_text(re.sub(r"^(    interval:) .*$", rf"\1 [{low}, {high}]", text, flags=re.MULTILINE))
    print("whole", figures(whole), "interval", low, high)


def figures(model: TrainingModel) -> dict[str, Any]:
    """Return the fitted figures of a model."""
    names = ("sustained", "elementwise", "flash_share", "tensor_hidden", "data_hidden", "width")
    return {name: getattr(model, name) for name in names}


def left_out_errors(timed: Timed, catalogue: Catalogue) -> np.ndarray:
    """Return ln(predicted / measured) of each run by figures that saw no run of its source."""
    held = json.loads(LEFT_OUT.read_text())["without"]
    base = training_model(catalogue)
    return np.array([errors([one], base.model_copy(update=held[one[0].source]))[0] for one in timed])


def write_page(timed: Timed, catalogue: Catalogue) -> None:
    """Write the tables between the marks of the page."""
    missed = left_out_errors(timed, catalogue)
    fitted = errors(timed, training_model(catalogue))
    page = PAGE.read_text()
    for mark, table in (
        ("summary", summary(timed, missed)),
        ("runs", runs_table(timed, missed, fitted)),
        ("ratios", ratios_table(timed, missed)),
        ("lengths", lengths_table(catalogue)),
    ):
        begin, end = f"<!-- {mark}: begin -->\n", f"<!-- {mark}: end -->"
        before, rest = page.split(begin)
        page = f"{before}{begin}{table}\n{end}{rest.split(end)[1]}"
    PAGE.write_text(page)


def summary(timed: Timed, missed: np.ndarray) -> str:
    """Return the errors by source."""
    by: dict[str, list[float]] = defaultdict(list)
    for (point, _), error in zip(timed, missed, strict=True):
        by[point.source].append(math.expm1(error))
    lines = ["| source | runs | bias | median error | within 25 % |", "|---|--:|--:|--:|--:|"]
    for source, found in [*by.items(), ("**all**", [math.expm1(error) for error in missed])]:
        within = sum(abs(error) <= 0.25 for error in found)
        median = np.median(np.abs(found))
        lines.append(
            f"| {source} | {len(found)} | {np.mean(found):+.0%} | {median:.0%} | {within} of {len(found)} |"
        )
    return "\n".join(lines)


def runs_table(timed: Timed, missed: np.ndarray, fitted: np.ndarray) -> str:
    """Return every run, predicted beside measured."""
    lines = [
        "| model | GPU | layout | micro-batch | dtype | measured tok/s a GPU | predicted | error | fitted |",
        "|---|---|---|--:|---|--:|--:|--:|--:|",
    ]
    held = ""
    for (point, _), out, inside in zip(timed, missed, fitted, strict=True):
        if point.source != held:
            held = point.source
            lines.append(f"| **{held}** | | | | | | | | |")
        run, rate = point.run, point.tokens_per_s_per_gpu
        how = run.dtype + ("" if run.method == "full" else f", {run.method}")
        again = "" if run.recompute == "none" else f", {run.recompute} recomputation"
        lines.append(
            f"| {point.name}{'*' if point.assumed else ''} | {run.gpus:,} {gpu_label(point.gpu)} "
            f"| {run.layout}{again} | {run.micro_batch} | {how} | {rate:,.0f} | {rate * math.exp(out):,.0f} "
            f"| {math.expm1(out):+.0%} | {math.expm1(inside):+.0%} |"
        )
    return "\n".join(lines)


def lengths_table(catalogue: Catalogue) -> str:
    """Return the errors of runs that nothing is fitted to, by length of their sequences."""
    checks = [(one, machine_of(one, catalogue)) for one in training_points(catalogue, checks_file())]
    found: dict[tuple[int, str], list[float]] = defaultdict(list)
    inside: Counter[tuple[int, str]] = Counter()
    held, base = json.loads(LEFT_OUT.read_text())["without"], training_model(catalogue)
    for point, machine in checks:
        model = base.model_copy(update=held[point.source])
        step = training_step(point.architecture, point.run, with_model(machine, model))
        missed = math.log(step.tokens_per_s_per_gpu / point.tokens_per_s_per_gpu)
        key = (point.run.seq_len, point.gpu)
        low, high = spread_of(model, step)
        found[key].append(math.expm1(missed))
        inside[key] += low <= -missed <= high
    gpus = sorted({gpu for _, gpu in found})
    named = " | ".join(f"{gpu_label(gpu)}: runs | bias | worst | in the interval" for gpu in gpus)
    lines = [f"| tokens of a sequence | {named} |", f"|--:|{'--:|' * 4 * len(gpus)}"]
    for length in sorted({length for length, _ in found}):
        cells = [f"{length:,}"]
        for key in [(length, gpu) for gpu in gpus]:
            errors_of = found.get(key)
            if errors_of is None:
                cells += [""] * 4
                continue
            worst = max(errors_of, key=abs)
            cells += [
                str(len(errors_of)),
                f"{np.mean(errors_of):+.0%}",
                f"{worst:+.0%}",
                str(inside[key]),
            ]
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)


def ratios_table(timed: Timed, missed: np.ndarray) -> str:
    """Return published ratios between accelerators."""
    lines = ["| ratio | published | predicted | error |", "|---|--:|--:|--:|"]
    for name, (model, dtype, one, other) in RATIOS:
        found = {}
        for (point, _), error in zip(timed, missed, strict=True):
            if point.name == model and point.run.dtype == dtype and point.gpu not in found:
                rate = point.tokens_per_s_per_gpu
                found[point.gpu] = (rate, rate * math.exp(error))
        measured, predicted = (found[one][i] / found[other][i] for i in (0, 1))
        lines.append(f"| {name} | {measured:.2f} | {predicted:.2f} | {predicted / measured - 1:+.0%} |")
    return "\n".join(lines)


if __name__ == "__main__":
    main()
