"""A user's own calibration: from which points it is, and why others teach nothing."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from planner.catalogue import Catalogue
from planner.measurement.calibrate import Calibrated, adapt, cases_of, digest_of
from planner.measurement.case_builder import CaseBuilder
from planner.measurement.cases import CaseSet
from planner.measurement.serving_flags import ServingFlag
from planner.measurement.serving_points import ServingPoint
from planner.measurement.setups import NotPredictable
from planner.measurement.validate_serving import QUANTITIES
from planner.performance.levels import Calibration, calibration_of
from planner.performance.parameters import Array


@dataclass(frozen=True, slots=True)
class Unused:
    """A point that a calibration does not learn from.

    Parameters
    ----------
    where : str
        File and line.
    reason : str
        Why.
    """

    where: str
    reason: str


@dataclass(frozen=True, slots=True)
class InSample:
    """How far predictions are from the very points that a calibration learned from.

    Parameters
    ----------
    quantity : str
        One of `planner.measurement.validate_serving.QUANTITIES`.
    points : int
        Points that state it.
    before, after : float
        Median absolute relative error before and after.
    """

    quantity: str
    points: int
    before: float
    after: float


def unused_points(points: Iterable[ServingPoint], catalogue: Catalogue) -> list[Unused]:
    """Return the points that a calibration cannot learn from, each with the reason.

    Parameters
    ----------
    points : iterable of ServingPoint
        The user's points.
    catalogue : Catalogue
        Models, GPUs and stacks.

    Returns
    -------
    list of Unused
    """
    builder = CaseBuilder(catalogue)
    found: list[Unused] = []
    for point in points:
        if point.flags & ServingFlag.REPEATED:
            found.append(Unused(point.where, "the same run stands in another row that says more"))
            continue
        try:
            case = builder.case(point)
        except NotPredictable as why:
            found.append(Unused(point.where, f"{why.reason}: {why.detail}" if why.detail else why.reason))
            continue
        if not any(case.teaches):
            found.append(Unused(point.where, "nothing in it says for sure what a step or a prefill takes"))
        elif bool(np.asarray(builder.gather([case]).faster_than_light())[0]):
            found.append(Unused(point.where, "faster than reading its weights and caches allows"))
    return found


def adapted(points: list[ServingPoint], catalogue: Catalogue) -> Calibrated:
    """Return what is known already, moved to a user's points.

    Parameters
    ----------
    points : list of ServingPoint
        The user's points.
    catalogue : Catalogue
        With the calibration that is moved.

    Returns
    -------
    Calibrated

    Raises
    ------
    InvalidInput
        When none of the points can be used.
    """
    data, skipped = cases_of(points, catalogue)
    calibration = adapt(calibration_of(catalogue), points, catalogue)
    return Calibrated(calibration, data, {}, skipped, digest_of(data.cases))


def in_sample_errors(data: CaseSet, before: Calibration, after: Calibration) -> list[InSample]:
    """Return how far predictions were from the points of a calibration, and are now.

    Parameters
    ----------
    data : CaseSet
        The points.
    before, after : Calibration
        Without the points, and with them.

    Returns
    -------
    list of InSample
        Of each quantity that one of the points states. The error on points that were not learned from is
        larger than the one after.
    """
    used = data.part(np.asarray(data.teaches.any(axis=1)))
    was, now = _errors(used, before), _errors(used, after)
    return [
        InSample(name, int(stated.sum()), float(np.median(was[stated, i])), float(np.median(now[stated, i])))
        for i, name in enumerate(QUANTITIES)
        if (stated := np.isfinite(was[:, i]) & np.isfinite(now[:, i])).any()
    ]


def _errors(data: CaseSet, calibration: Calibration) -> Array:
    """Return absolute relative errors, NaN where nothing was measured; shape (N, 3)."""
    met = data.with_rates_met(calibration)
    logs = met.predict(calibration.parameters([case.about for case in met.cases]))
    return np.asarray(np.abs(np.expm1(logs - met.measured)))
