"""A user's own calibration: from which points it is, and why others teach nothing."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from planner.catalogue import Catalogue
from planner.measurement.calibrate import Calibrated, adapt, cases_of, digest_of
from planner.measurement.case_builder import CaseBuilder
from planner.measurement.serving_flags import ServingFlag
from planner.measurement.serving_points import ServingPoint
from planner.measurement.setups import NotPredictable
from planner.performance.levels import calibration_of


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
