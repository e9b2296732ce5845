"""Measured first: the shipped points at an operating point, or on both sides of it."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from planner.catalogue import Catalogue
from planner.measurement.serving import shipped_points
from planner.measurement.serving_flags import ServingFlag
from planner.measurement.serving_points import ServingPoint
from planner.measurement.serving_setup import SetupResolver, weight_bits
from planner.measurement.setups import NotPredictable

LENGTH_TOLERANCE = 0.1
"""Share by which a measured length may be off the one asked for."""
SAME_CONCURRENCY = 0.01
"""Share by which a concurrency may be off and still count as the same."""

_SERIES = (
    "source",
    "engine",
    "engine_version",
    "n_gpus",
    "n_nodes",
    "tp",
    "pp",
    "ep",
    "dp",
    "prefill_gpus",
    "decode_gpus",
    "weight_dtype",
    "kv_dtype",
    "isl",
    "osl",
    "spec_decode",
)
"""What the points of one sweep over concurrency share; the month of the date too."""


@dataclass(frozen=True, slots=True)
class MeasuredMatch:
    """Measured points that answer a question about an operating point.

    Parameters
    ----------
    at : tuple of ServingPoint
        Points at the concurrency asked for, the newest first; all that match when none was asked for.
    between : tuple of (ServingPoint, ServingPoint)
        From sweeps that have no such point: the nearest below and above, the closest pair first.
    """

    at: tuple[ServingPoint, ...]
    between: tuple[tuple[ServingPoint, ServingPoint], ...]

    def __bool__(self) -> bool:
        """Return whether anything was measured."""
        return bool(self.at or self.between)


def measured_points(
    *,
    model: str,
    gpu: str,
    catalogue: Catalogue,
    gpus: int | None = None,
    weight_dtype: str | None = None,
    isl: float | None = None,
    osl: float | None = None,
    concurrency: float | None = None,
    engine: str | None = None,
    speculative: bool | None = None,
    disaggregated: bool | None = None,
    length_tolerance: float = LENGTH_TOLERANCE,
    without: ServingFlag = ServingFlag.NOT_A_SERVICE,
    points: Sequence[ServingPoint] | None = None,
) -> MeasuredMatch:
    """Return measured points at an operating point, or on both sides of its concurrency.

    Parameters
    ----------
    model, gpu : str
        Catalogue ids or aliases.
    catalogue : Catalogue
        Where names are looked up.
    gpus : int, optional
        GPUs of the whole deployment.
    weight_dtype : str, optional
        Quantisation; points of the same class (4, 8 or 16 bits) match. "native" is the published checkpoint.
    isl, osl : float, optional
        Lengths as benchmarks name them [tokens].
    concurrency : float, optional
        Requests at once.
    engine : str, optional
        Such as ``vllm`` or ``tensorrt-llm``.
    speculative, disaggregated : bool, optional
        Whether drafts are used, and whether prefill has GPUs of its own.
    length_tolerance : float
        Share by which measured lengths may differ.
    without : ServingFlag
        Points with one of these flags are passed over.
    points : sequence of ServingPoint, optional
        Points to search instead of the shipped ones; those of other models and accelerators are passed over.

    Returns
    -------
    MeasuredMatch
        Each point with its source.

    Raises
    ------
    UnknownName
        When the catalogue has no such model or accelerator.
    """
    record, card = catalogue.model(model), catalogue.gpu(gpu)
    if points is None:
        points = shipped_points(
            model_names=[record.id, record.name, *catalogue.aliases("models", record.id)],
            gpu_names=[card.id, card.name, *catalogue.aliases("gpus", card.id)],
        )
    bits = None
    if weight_dtype is not None:
        bits = weight_bits(None if weight_dtype == "native" else weight_dtype, record)
    resolver = SetupResolver(catalogue)

    def matches(point: ServingPoint) -> bool:
        if point.flags & without or gpus not in (None, point.n_gpus):
            return False
        if not (_near(point.isl, isl, length_tolerance) and _near(point.osl, osl, length_tolerance)):
            return False
        if speculative not in (None, bool(point.flags & ServingFlag.SPECULATIVE)):
            return False
        if disaggregated not in (None, bool(point.flags & ServingFlag.DISAGGREGATED)):
            return False
        try:
            setup = resolver.setup(point)
        except NotPredictable:
            return False
        if setup.model.id != record.id or setup.gpu.id != card.id or engine not in (None, setup.engine):
            return False
        return bits is None or bits == weight_bits(setup.weight_dtype, setup.model)

    found = [point for point in points if matches(point)]
    if concurrency is None:
        return MeasuredMatch(_newest_first(found), ())
    at, between = _split(found, concurrency)
    return MeasuredMatch(_newest_first(at), between)


def _near(measured: float | None, asked: float | None, tolerance: float) -> bool:
    if asked is None:
        return True
    return measured is not None and abs(measured - asked) <= tolerance * asked


def _split(
    points: Iterable[ServingPoint], concurrency: float
) -> tuple[list[ServingPoint], tuple[tuple[ServingPoint, ServingPoint], ...]]:
    """Sort points by whether they are at a concurrency or beside it within their own sweep."""
    sweeps: dict[tuple[object, ...], list[ServingPoint]] = {}
    for point in points:
        if point.concurrency:
            key = (*(getattr(point, name) for name in _SERIES), (point.date or "")[:7])
            sweeps.setdefault(key, []).append(point)
    at: list[ServingPoint] = []
    pairs = []
    for sweep in sweeps.values():
        same = [point for point in sweep if _near(point.concurrency, concurrency, SAME_CONCURRENCY)]
        at += same
        below = [point for point in sweep if _load(point) < concurrency]
        above = [point for point in sweep if _load(point) > concurrency]
        if not same and below and above:
            pairs.append((max(below, key=_load), min(above, key=_load)))
    pairs.sort(key=lambda pair: math.log(_load(pair[1]) / _load(pair[0])))
    return at, tuple(pairs)


def _load(point: ServingPoint) -> float:
    return point.concurrency or 0.0


def _newest_first(points: Iterable[ServingPoint]) -> tuple[ServingPoint, ...]:
    return tuple(sorted(points, key=lambda point: point.date or "", reverse=True))
