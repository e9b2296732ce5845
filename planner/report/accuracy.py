"""How wrong predictions were on what they never saw, as written down with the calibration that is shipped."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import Any

from planner.catalogue.documents import data_directory
from planner.errors import Unsupported
from planner.measurement.accuracy import accuracy_path
from planner.report.table import Column, Table

NAMES = {"output": "output tok/s per GPU", "tpot": "TPOT", "ttft": "TTFT"}
SAID = {"output": "output of a GPU", "tpot": "time for each token", "ttft": "time to the first token"}
FILE = "accuracy.json"


def _share(value: float) -> str:
    return f"{100 * value:.1f} %" if abs(value) < 0.0995 else f"{100 * value:.0f} %"


SERVING_COLUMNS = (
    Column("slice", "points"),
    Column("quantity", "quantity"),
    Column("n", "number", right=True, show="{:,}".format),
    Column("median_ape", "median\nerror", right=True, show=_share),
    Column("within_20pct", "within\n20 %", right=True, show=_share),
    Column("bias", "bias", right=True, show=_share),
    Column("coverage_80", "in 80 %\ninterval", right=True, show=_share),
)
MEMORY_COLUMNS = (
    Column("engine", "engine"),
    Column("attention", "attention"),
    Column("quantity", "quantity"),
    Column("logs", "logs", right=True),
    Column("median", "median\nerror", right=True, show=_share),
    Column("worst", "worst\nerror", right=True, show=_share),
)
QUANTITIES = {"kv_pool_gib": "KV pool", "weights_gib": "weights"}


@cache
def left_out_scores() -> dict[str, Any]:
    """Return the scores of groups that were left out: overall, and by slice.

    Raises
    ------
    Unsupported
        Where this installation does not hold them.
    """
    packaged, checkout = data_directory() / FILE, Path(__file__).parents[2] / "docs" / FILE
    path = next((path for path in (packaged, checkout) if path.is_file()), None)
    if path is None:
        raise Unsupported("this installation holds no figures of how wrong predictions were")
    scores: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return scores


def serving_accuracy() -> Table:
    """Return how wrong throughput and latency were, all points first and then slices, the worst first.

    Returns
    -------
    Table
        Relative errors of points whose model, GPU and engine the calibration did not see; bias is the median
        of the signed error, above 0 where predictions are too high.
    """
    scores = left_out_scores()
    slices = sorted(scores["slices"].items(), key=lambda item: -_worst(item[1]))
    rows = tuple(
        {"slice": name.replace("=", " "), "quantity": NAMES[quantity], **score}
        for name, by_quantity in (("all", scores["overall"]), *slices)
        for quantity, score in by_quantity.items()
    )
    title = "Throughput and latency, each point predicted without any of its model, GPU and engine"
    return Table(SERVING_COLUMNS, rows, title)


def accuracy_sentence() -> str:
    """Return in words how wrong throughput and latency were over all points."""
    overall = left_out_scores()["overall"]
    said = [
        f"{named} by {_share(overall[name]['median_ape'])} ({overall[name]['n']:,} points, of which "
        f"{_share(overall[name]['coverage_80'])} lie in the 80 % interval)"
        for name, named in SAID.items()
        if name in overall
    ]
    return f"Half of the predictions were off by less than this: {'; '.join(said)}."


def _worst(scores: dict[str, Any]) -> float:
    return max((score["median_ape"] for name, score in scores.items() if name != "ttft"), default=0.0)


def memory_accuracy_table() -> Table:
    """Return how wrong memory was on published start-up logs, by engine and kind of attention."""
    scores = json.loads(accuracy_path().read_text(encoding="utf-8"))
    rows = tuple(
        {"engine": engine, "attention": attention, "quantity": QUANTITIES[quantity], **score}
        for engine, kinds in scores.items()
        for attention, by_quantity in kinds.items()
        for quantity, score in by_quantity.items()
    )
    return Table(MEMORY_COLUMNS, rows, "Memory on published start-up logs")
