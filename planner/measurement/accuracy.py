"""How far predictions of memory were from shipped start-up logs, by engine and kind of attention."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from planner.measurement.serving_sources import serving_directory

if TYPE_CHECKING:
    from planner.measurement.predictions import Prediction

FILE = "startup_accuracy.json"
"""Written by `benchmarks/score_memory.py --update`, so that an answer need not score the logs."""

QUANTITIES = ("kv_pool_gib", "weights_gib")


@dataclass(frozen=True, slots=True)
class Accuracy:
    """Errors of one quantity over logs of one engine and kind of attention.

    Parameters
    ----------
    logs : int
        Logs that state the quantity.
    median, worst : float
        Median and largest absolute relative error.
    """

    logs: int
    median: float
    worst: float


@dataclass(frozen=True, slots=True)
class MemoryAccuracy:
    """What start-up logs say of the predictions for one engine and kind of attention.

    Parameters
    ----------
    engine, attention : str
        Which logs.
    kv_pool, weights : Accuracy or None
        None where no log states the quantity.
    """

    engine: str
    attention: str
    kv_pool: Accuracy | None
    weights: Accuracy | None


def accuracy_path() -> Path:
    """Return the file of the figures: the installed package's, else the checkout's."""
    return serving_directory().parent / FILE


def memory_accuracy(engine: str, attention: str) -> MemoryAccuracy:
    """Return how far predictions were from the shipped logs of one engine and kind of attention.

    Parameters
    ----------
    engine : str
        Id of the engine, without version.
    attention : str
        As `planner.measurement.attention.attention_kind` names it.

    Returns
    -------
    MemoryAccuracy
        Without figures where there are no such logs.
    """
    found = _figures().get(engine, {}).get(attention, {})
    pool, weights = (Accuracy(**found[name]) if name in found else None for name in QUANTITIES)
    return MemoryAccuracy(engine, attention, pool, weights)


@cache
def _figures() -> Mapping[str, Mapping[str, Mapping[str, Mapping[str, Any]]]]:
    figures: Mapping[str, Any] = json.loads(accuracy_path().read_text(encoding="utf-8"))
    return figures


def accuracy_figures(predictions: Iterable[Prediction]) -> dict[str, dict[str, dict[str, dict[str, Any]]]]:
    """Return the content of the file from scored logs: engine, attention, quantity, figures.

    Parameters
    ----------
    predictions : iterable of Prediction
        What `planner.measurement.validate.validate_startup_logs` made of the shipped logs.

    Returns
    -------
    dict
    """
    from statistics import median

    from planner.measurement.attention import attention_kind

    errors: dict[tuple[str, str, str], list[float]] = {}
    for made in predictions:
        key = made.setup.engine, attention_kind(made.setup.model)
        for name in QUANTITIES:
            if name in made.pairs:
                errors.setdefault((*key, name), []).append(abs(made.pairs[name].relative_error))
    figures: dict[str, dict[str, dict[str, dict[str, Any]]]] = {}
    for (engine, attention, name), found in sorted(errors.items()):
        figures.setdefault(engine, {}).setdefault(attention, {})[name] = {
            "logs": len(found),
            "median": round(median(found), 4),
            "worst": round(max(found), 4),
        }
    return figures
