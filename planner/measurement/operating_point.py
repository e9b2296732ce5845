"""Measured first: what was measured at the operating point of a prediction, and the model for the rest."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from planner.catalogue import Catalogue
from planner.measurement.own_points import own_points
from planner.measurement.serving_lookup import MeasuredMatch, measured_points
from planner.measurement.serving_points import ServingPoint
from planner.performance.intervals import Estimate
from planner.scenario import Deployment

AT, BETWEEN = "at the operating point", "between two loads"
"""How measured points answer: one run at the load itself, or two of one sweep on both sides of it."""

REPEATED_SPREAD = 0.12
"""Repeated public runs of one set-up differ by 3 to 12 %; so far a measured figure may be off for another."""

MEASURED_RATE, SIMULATED_RATE, AUTO_RATE = "measured", "simulated", "auto"
CHOICES = (AUTO_RATE, MEASURED_RATE, SIMULATED_RATE)
"""Where figures are to come from: `auto` takes what was measured where it was, and the model for the rest."""

QUANTITIES = (
    "output_tps_total",
    "output_tps_per_gpu",
    "total_tps_per_gpu",
    "tps_per_user",
    "ttft_ms",
    "tpot_ms",
)
"""The figures of an operating point."""


@dataclass(frozen=True, slots=True)
class Asked:
    """The operating point that is asked about.

    Parameters
    ----------
    model, gpu : str
        Catalogue ids.
    engine : str
        Id of the engine.
    deployment : Deployment
        How one copy runs; of the decoding pool where prefill has its own.
    gpus : int
        GPUs of all copies and pools.
    isl, osl, concurrency : float
        The load.
    prefix_hit : float
        Share of the input that a cache holds.
    disaggregated : bool
        Whether prefill has GPUs of its own.
    layout_given : bool
        Whether the user named the layout: a run in another one then does not answer.
    """

    model: str
    gpu: str
    engine: str
    deployment: Deployment
    gpus: int
    isl: float
    osl: float
    concurrency: float
    prefix_hit: float = 0.0
    disaggregated: bool = False
    layout_given: bool = False


@dataclass(frozen=True, slots=True)
class MeasuredPoint:
    """What was measured at an operating point.

    Parameters
    ----------
    match : str
        `AT` or `BETWEEN`.
    points : tuple of ServingPoint
        The run; or the nearest below and above.
    runs : int
        Runs that match.
    figures : dict of str to Estimate
        Of `QUANTITIES` those that the runs state, between two loads interpolated.
    """

    match: str
    points: tuple[ServingPoint, ...]
    runs: int
    figures: dict[str, Estimate]


def measured_at(asked: Asked, catalogue: Catalogue) -> MeasuredPoint | None:
    """Return what was measured at an operating point, or on both sides of it in one sweep.

    Parameters
    ----------
    asked : Asked
        The operating point.
    catalogue : Catalogue
        Where names are looked up.

    Returns
    -------
    MeasuredPoint or None
        Of the user's own points where they answer, or else of published ones. None where nobody measured this
        model on as many of these GPUs, with this engine and these lengths, and with prompts of which a cache
        holds a part: such runs do not say how much.
    """
    if asked.prefix_hit or asked.model not in catalogue.model_ids():
        return None
    own = own_points()
    return (_among(own, asked, catalogue) if own else None) or _among(None, asked, catalogue)


def _among(points: Sequence[ServingPoint] | None, asked: Asked, catalogue: Catalogue) -> MeasuredPoint | None:
    """Return what some points, or the published ones, say of an operating point."""
    found = _matches(points, asked, catalogue, asked.engine)
    if not found:
        # Runs that do not say which engine served them are better than none.
        anyhow = _matches(points, asked, catalogue, None)
        found = MeasuredMatch(
            tuple(point for point in anyhow.at if point.engine is None),
            tuple(pair for pair in anyhow.between if pair[0].engine is None),
        )
    at = [point for point in found.at if _same_layout(asked, point) and point.output_tps_total]
    if at:
        best = max(at, key=lambda point: (point.date or "", len(_stated(point, asked))))
        return MeasuredPoint(AT, (best,), len(at), figures_of(best, asked))
    pairs = [
        pair
        for pair in found.between
        if all(_same_layout(asked, point) and point.output_tps_total for point in pair)
    ]
    if not pairs:
        return None
    return MeasuredPoint(BETWEEN, pairs[0], len(pairs), _interpolated(pairs[0], asked))


def _matches(
    points: Sequence[ServingPoint] | None, asked: Asked, catalogue: Catalogue, engine: str | None
) -> MeasuredMatch:
    return measured_points(
        model=asked.model,
        gpu=asked.gpu,
        catalogue=catalogue,
        gpus=asked.gpus,
        weight_dtype=asked.deployment.weight_dtype or "native",
        isl=asked.isl,
        osl=asked.osl,
        concurrency=asked.concurrency,
        engine=engine,
        speculative=asked.deployment.speculative_tokens > 0,
        disaggregated=asked.disaggregated,
        points=points,
    )


def _same_layout(asked: Asked, point: ServingPoint) -> bool:
    """Return whether a run answers: a layout that was given must be its own, as far as it says."""
    if not asked.layout_given:
        return True
    sizes = ((getattr(point, name), getattr(asked.deployment, name)) for name in ("tp", "pp", "ep", "dp"))
    return all(stated in (None, given) for stated, given in sizes)


def _stated(point: ServingPoint, asked: Asked) -> dict[str, float]:
    """Return the figures that a run states, or that follow from what it states."""
    total = point.output_tps_total
    tpot = point.tpot_ms_median or point.tpot_ms_mean
    found = {
        "output_tps_total": total,
        "output_tps_per_gpu": total / asked.gpus if total else None,
        "total_tps_per_gpu": point.total_tps_per_gpu
        or (total / asked.gpus * (asked.isl + asked.osl) / asked.osl if total else None),
        "tps_per_user": point.tps_per_user or (1e3 / tpot if tpot else None),
        "ttft_ms": point.ttft_ms_median or point.ttft_ms_mean,
        "tpot_ms": tpot or (1e3 / point.tps_per_user if point.tps_per_user else None),
    }
    return {name: value for name, value in found.items() if value}


def figures_of(point: ServingPoint, asked: Asked) -> dict[str, Estimate]:
    """Return the figures of a run, each as far off as repeated runs are; `asked` says GPUs and lengths."""
    return {name: _spread(value, point.cited) for name, value in _stated(point, asked).items()}


def _spread(value: float, provenance: str) -> Estimate:
    return Estimate(value, value / (1 + REPEATED_SPREAD), value * (1 + REPEATED_SPREAD), provenance)


def _interpolated(pair: tuple[ServingPoint, ServingPoint], asked: Asked) -> dict[str, Estimate]:
    """Return figures between two loads of a sweep: their logarithm is linear in that of the concurrency."""
    below, above = pair
    loads = [point.concurrency or 1.0 for point in pair]
    share = math.log(asked.concurrency / loads[0]) / math.log(loads[1] / loads[0])
    low, high = _stated(below, asked), _stated(above, asked)
    said = f"{below.cited}, between {loads[0]:g} and {loads[1]:g} requests at once"
    return {
        name: _spread(low[name] ** (1 - share) * high[name] ** share, said) for name in low if name in high
    }


def nothing_measured(asked: Asked, catalogue: Catalogue) -> str:
    """Return that nothing was measured at an operating point, with what was measured nearest.

    Parameters
    ----------
    asked : Asked
        The operating point.
    catalogue : Catalogue
        Where names are looked up.

    Returns
    -------
    str
    """
    where = f"{asked.model} on {asked.gpus} x {asked.gpu} with {asked.engine}"
    if asked.model not in catalogue.model_ids():
        return f"nothing was measured of {asked.model}, which is not in the catalogue"
    points = [
        point
        for among in (own_points(), None)
        for point in measured_points(model=asked.model, gpu=asked.gpu, catalogue=catalogue, points=among).at
    ]
    if not points:
        return f"nothing was measured of {asked.model} on {asked.gpu}; --throughput simulated predicts it"
    near = _nearest(points, asked)
    return (
        f"nothing was measured of {where} at {asked.isl:,.0f}/{asked.osl:,.0f} tokens and "
        f"{asked.concurrency:,.0f} requests at once; nearest: {near}"
    )


def _nearest(points: Sequence[ServingPoint], asked: Asked) -> str:
    def far(point: ServingPoint) -> float:
        pairs = (
            (point.isl, asked.isl),
            (point.osl, asked.osl),
            (point.concurrency, asked.concurrency),
            (point.n_gpus, float(asked.gpus)),
        )
        return sum(abs(math.log(have / want)) if have and want else 3.0 for have, want in pairs)

    best = min(points, key=far)

    def said(value: float | None) -> str:
        return "?" if value is None else f"{value:,.0f}"

    return (
        f"{said(best.isl)}/{said(best.osl)} tokens and {said(best.concurrency)} requests at once on "
        f"{said(best.n_gpus)} GPUs with {best.engine or 'an engine that is not named'}"
    )


def chosen_figures(
    simulated: dict[str, Estimate], measured: MeasuredPoint | None, throughput: str
) -> dict[str, Estimate]:
    """Return the figures to answer with.

    Parameters
    ----------
    simulated : dict of str to Estimate
        All `QUANTITIES` as the time model has them.
    measured : MeasuredPoint or None
        What was measured.
    throughput : str
        One of `CHOICES`.

    Returns
    -------
    dict of str to Estimate
        With `measured` only what was measured.
    """
    if throughput == SIMULATED_RATE or measured is None:
        return dict(simulated)
    if throughput == MEASURED_RATE:
        return dict(measured.figures)
    return {**simulated, **measured.figures}
