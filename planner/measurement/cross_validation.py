"""Honest errors: each point is predicted by a calibration that never saw its group, model or GPU.

Folds hold whole groups, largest first into the emptiest fold after a seeded shuffle. The errors give
intervals (`widths_from`): quantiles of ln(measured / predicted) by distance from the data and by kind of
load, from cells with enough groups; a cell that has too few takes those of the next wider one.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from planner.measurement.calibration import PRIORS, fit_levels, series_weights
from planner.measurement.cases import Case, CaseSet
from planner.performance.intervals import QUANTITIES, cells_of
from planner.performance.levels import Calibration
from planner.performance.parameters import Array

FOLDS = 5
SEED = 20261130
LOW, HIGH = 0.08, 0.92
"""Quantiles of intervals: a little outside 10 and 90 %, since errors of one group are alike."""
FEWEST_GROUPS = 6
"""Groups that a cell needs for widths of its own."""
FEWEST_POINTS = 30

KEYS: Mapping[str, Callable[[Case], str]] = {
    "group": lambda case: case.about.group,
    "model": lambda case: case.about.model,
    "gpu": lambda case: case.about.gpu,
    "series": lambda case: f"{case.about.group} {case.key} {case.isl} {case.osl} {case.drafted}",
}
"""What is left out as a whole: groups of model, GPU and engine; models; GPUs; sweeps over concurrency."""


@dataclass(frozen=True, slots=True)
class LeftOut:
    """Predictions of points that were left out.

    Parameters
    ----------
    kind : str
        What was left out, one of `KEYS`.
    fold : array of int
        The fold of each point.
    predicted : array, shape (N, 3)
        ln of output rate per GPU, TPOT and TTFT.
    distance : list of str
        How far each point was from what its calibration had seen.
    """

    kind: str
    fold: np.ndarray
    predicted: Array
    distance: list[str]


def folds_of(cases: Sequence[Case], kind: str = "group", folds: int = FOLDS, seed: int = SEED) -> np.ndarray:
    """Return a fold for each case, whole groups together.

    Parameters
    ----------
    cases : sequence of Case
        The cases.
    kind : str
        What stays together, one of `KEYS`.
    folds : int
        How many.
    seed : int
        Of the shuffle.

    Returns
    -------
    array of int
    """
    names = [KEYS[kind](case) for case in cases]
    sizes = Counter(names)
    dice = np.random.default_rng(seed)
    order = sorted(sizes, key=lambda name: -sizes[name] * dice.uniform(0.5, 1.5))
    filled = np.zeros(folds)
    home = {}
    for name in order:
        home[name] = int(np.argmin(filled))
        filled[home[name]] += sizes[name]
    return np.array([home[name] for name in names])


def seen_by(cases: Iterable[Case]) -> dict[str, frozenset[str]]:
    """Return the models, GPUs and groups of cases."""
    about = [case.about for case in cases]
    return {
        "models": frozenset(case.model for case in about),
        "gpus": frozenset(case.gpu for case in about),
        "groups": frozenset(case.group for case in about),
    }


def leave_out(
    data: CaseSet,
    kind: str = "group",
    *,
    folds: int = FOLDS,
    seed: int = SEED,
    only: Sequence[int] | None = None,
    priors: Mapping[str, Mapping[str, float]] = PRIORS,
    told: Callable[[str], None] = lambda text: None,
) -> LeftOut:
    """Predict every point by a calibration that did not see its group (model, GPU, sweep).

    Parameters
    ----------
    data : CaseSet
        The points.
    kind : str
        What is left out as a whole, one of `KEYS`.
    folds : int
        Into how many parts.
    seed : int
        Of the folds.
    only : sequence of int, optional
        Only these folds are predicted.
    priors : mapping
        Of the fit.
    told : callable
        Is told of each fold that is done.

    Returns
    -------
    LeftOut
    """
    fold = folds_of(data.cases, kind, folds, seed)
    usable = data.teaches.any(1)
    predicted = np.full((len(data), 3), np.nan)
    distance = [""] * len(data)
    for number in range(folds) if only is None else only:
        learnt = data.part(usable & (fold != number))
        calibration = Calibration(fit_levels(learnt, priors=priors), seen=seen_by(learnt.cases))
        index = np.flatnonzero(fold == number)
        asked = data.part(index)
        about = [case.about for case in asked.cases]
        predicted[index] = asked.predict(calibration.parameters(about))
        for at, case in zip(index, about, strict=True):
            distance[at] = calibration.distance(case)
        told(f"left out {kind} {number + 1} of {folds}: {len(index)} points")
    return LeftOut(kind, fold, predicted, distance)


def widths_from(data: CaseSet, left_out: Sequence[LeftOut]) -> dict[str, dict[str, tuple[float, float]]]:
    """Return the widths of intervals from errors of points that were left out.

    Parameters
    ----------
    data : CaseSet
        The points.
    left_out : sequence of LeftOut
        Their predictions, by what was left out.

    Returns
    -------
    dict
        Quantity to cell to the 10 % and 90 % quantile of ln(measured / predicted).
    """
    weights = series_weights(data.cases)
    found: dict[str, dict[str, tuple[float, float]]] = {}
    for number, quantity in enumerate(QUANTITIES):
        members: defaultdict[str, list[tuple[float, float, str]]] = defaultdict(list)
        points: defaultdict[str, set[int]] = defaultdict(set)
        for part in left_out:
            for i, cell in _cells(data, part, number):
                error = float(data.measured[i, number] - part.predicted[i, number])
                members[cell].append((error, float(weights[i]), data.cases[i].about.group))
                points[cell].add(i)
        found[quantity] = {
            cell: _quantiles(errors)
            for cell, errors in sorted(members.items())
            if len(points[cell]) >= FEWEST_POINTS
            and (cell.startswith("group") or len({group for _, _, group in errors}) >= FEWEST_GROUPS)
        }
    return found


def _cells(data: CaseSet, part: LeftOut, number: int) -> Iterator[tuple[int, str]]:
    for i in np.flatnonzero(data.teaches[:, number] & np.isfinite(part.predicted[:, number])):
        for cell in cells_of(data.cases[i].about, part.distance[i]):
            # Only groups left out are a fair mixture for the widest cell.
            if cell != "all" or part.kind == "group":
                yield int(i), cell


def _quantiles(errors: Sequence[tuple[float, float, str]]) -> tuple[float, float]:
    """Return weighted quantiles, between which four of five errors lie."""
    values = np.array([error for error, _, _ in errors])
    weights = np.sqrt(np.array([weight for _, weight, _ in errors]))
    order = np.argsort(values)
    share = (np.cumsum(weights[order]) - weights[order] / 2) / weights.sum()
    low, high = np.interp([LOW, HIGH], share, values[order])
    return round(float(low), 4), round(float(max(high, low + 1e-3)), 4)


def cross_conformal(data: CaseSet, part: LeftOut) -> list[dict[str, tuple[float, float]]]:
    """Return the widths for each point from errors of other folds only, to test coverage fairly.

    Parameters
    ----------
    data : CaseSet
        The points.
    part : LeftOut
        Predictions of groups that were left out.

    Returns
    -------
    list of dict
        Quantity to quantiles for each point.
    """
    found: list[dict[str, tuple[float, float]]] = [{} for _ in range(len(data))]
    for number in sorted(set(part.fold.tolist())):
        others = replace(part, predicted=np.where((part.fold == number)[:, None], np.nan, part.predicted))
        widths = widths_from(data, [others])
        for i in np.flatnonzero(part.fold == number):
            cells = cells_of(data.cases[i].about, part.distance[i])
            for quantity in QUANTITIES:
                known = widths[quantity]
                found[i][quantity] = next((known[cell] for cell in cells if cell in known), (-0.5, 0.5))
    return found
