"""Measured runs beside a frontier: those of the same model, accelerator and lengths."""

from __future__ import annotations

from dataclasses import dataclass, replace

from planner.catalogue import Catalogue, Gpu, Model
from planner.measurement.serving_lookup import measured_points
from planner.measurement.serving_points import ServingPoint
from planner.planning.search.pareto import undominated


@dataclass(frozen=True, slots=True)
class MeasuredMarker:
    """A measured run that states both quantities of a frontier.

    Parameters
    ----------
    point : ServingPoint
        The run.
    output_tps_per_gpu, tps_per_user : float
        Generated tokens of each GPU, and of each request [tok/s].
    alike : bool
        Whether the same engine ran weights of as many bits.
    best : bool
        Whether no other measured run beats it in both.
    """

    point: ServingPoint
    output_tps_per_gpu: float
    tps_per_user: float
    alike: bool = False
    best: bool = False


def measured_markers(
    *,
    model: Model,
    gpu: Gpu,
    catalogue: Catalogue,
    isl: float,
    osl: float,
    engine: str | None = None,
    weight_dtype: str | None = None,
) -> tuple[MeasuredMarker, ...]:
    """Return the measured runs of a model on an accelerator with requests of about these lengths.

    Parameters
    ----------
    model, gpu, catalogue
        As for `planner.measurement.serving_lookup.measured_points`.
    isl, osl : float
        Lengths [tokens].
    engine, weight_dtype : str, optional
        What is searched: the id of the engine, and the quantisation.

    Returns
    -------
    tuple of MeasuredMarker
        With every engine and number of GPUs, the most interactive first. Runs that state no rate of a request
        are not among them.
    """
    if model.id not in catalogue.model_ids():
        return ()
    runs = measured_points(model=model.id, gpu=gpu.id, catalogue=catalogue, isl=isl, osl=osl).at
    alike = measured_points(
        model=model.id,
        gpu=gpu.id,
        catalogue=catalogue,
        engine=engine,
        weight_dtype=weight_dtype or "native",
        points=runs,
    ).at
    same = {point.where for point in alike}
    found = [marker for point in runs if (marker := _marker(point, point.where in same)) is not None]
    if not found:
        return ()
    import numpy as np

    users = np.array([one.tps_per_user for one in found])
    best = set(undominated(users, np.array([one.output_tps_per_gpu for one in found])).tolist())
    marked = [replace(one, best=place in best) for place, one in enumerate(found)]
    return tuple(sorted(marked, key=lambda one: -one.tps_per_user))


def _marker(point: ServingPoint, alike: bool) -> MeasuredMarker | None:
    tpot = point.tpot_ms_median or point.tpot_ms_mean
    user = point.tps_per_user or (1e3 / tpot if tpot else None)
    if not user or not point.output_tps_total or not point.n_gpus:
        return None
    return MeasuredMarker(point, point.output_tps_total / point.n_gpus, user, alike)
