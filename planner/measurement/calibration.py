"""Calibration: few named parameters, moved by engine, GPU, format and model, from measured serving points.

Each parameter's logarithm is a sum of shifts, one for each level of each of its factors. A shift has a normal
prior around zero whose width says how much the factor may matter (`PRIORS`), so that a level with little data
shrinks towards its family, and one without data is its family. The posterior mode is found by Gauss-Newton
steps. What was measured scatters with heavy tails (warm-ups, slow links, lengths that are not stated), as
Student's t with few degrees of freedom, so that a point far off pulls less the further it is; a user's own
points pull with constant force instead (Huber), since they are all about what is asked. Points of one sweep
share their weight, so that a long sweep does not outvote others. The method is that of hierarchical models
(Gelman and Hill, "Data Analysis Using Regression and Multilevel Models", 2007, chapters 12 and 18), the tails
that of Lange, Little and Taylor ("Robust statistical modeling using the t distribution", 1989).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, TypeAlias

import numpy as np

from planner.measurement.cases import Case, CaseSet
from planner.measurement.static_runs import OWN_RUNS
from planner.performance.levels import Calibration
from planner.performance.parameters import INDEX, PARAMETERS, Array, neutral

PRIORS: Mapping[str, Mapping[str, float]] = MappingProxyType(
    {
        "dense_read": {"all": 0.2, "architecture": 0.1},
        "dense_compute": {"all": 0.3, "architecture": 0.15, "format": 0.1},
        "expert_read": {"all": 0.2, "architecture": 0.1, "format": 0.25},
        "expert_compute": {"all": 0.3, "architecture": 0.15, "gpu": 0.1, "format": 0.3},
        "attention": {"all": 0.3, "architecture": 0.15, "family": 0.15, "engine": 0.3},
        "launch": {
            "all": 0.6,
            "vendor": 0.2,
            "engine": 0.2,
            "architecture": 0.1,
            "family": 0.25,
            "group": 0.09,
            "set-up": 0.05,
        },
        "collective_latency": {"all": 0.4, "vendor": 0.2, "runtime": 0.25},
        "collective_bytes": {
            "all": 0.4,
            "architecture": 0.2,
            "runtime": 0.2,
            "gpu": 0.15,
        },
        "host": {"all": 1.0, "engine": 0.7},
        "sampling": {"all": 0.8, "engine": 0.8},
        "prefill_matrices": {"all": 0.3, "architecture": 0.15, "format": 0.1},
        "prefill_attention": {"all": 0.4, "architecture": 0.2, "family": 0.4},
        "prefill_collectives": {"all": 0.5, "vendor": 0.2},
        "prefill_fixed": {"all": 1.0, "engine": 0.4, "runtime": 0.1},
        "sharing": {"all": 0.4, "engine": 0.2, "attention/runtime": 0.2, "runtime": 0.2},
        "wait": {"all": 1.0, "engine": 0.4, "attention/runtime": 1.0, "split/runtime": 0.5},
        "queue": {"all": 1.0, "engine": 0.4, "split/runtime": 0.3},
        "wave": {"all": 1.5, "engine": 0.4, "split/runtime": 0.4, "attention": 0.3},
        "first_token": {"all": 1.0, "engine": 0.5},
        "acceptance": {"all": 0.15, "drafts/engine": 0.05, "drafts/model": 0.05},
        "decode": {
            "all": 0.3,
            "engine": 0.15,
            "runtime": 0.05,
            "vendor": 0.1,
            "split": 0.2,
            "kind/runtime": 0.15,
            "model": 0.08,
            "family/vendor": 0.2,
            "format/engine/vendor": 0.25,
            "architecture/runtime": 0.08,
            "model/runtime": 0.06,
            "attention/runtime": 0.05,
            "experts/engine/vendor": 0.05,
            "gpu/runtime": 0.03,
            "period/engine/vendor": 0.2,
            "period/gpu/engine": 0.1,
            "group": 0.1,
            "set-up": 0.08,
        },
        "prefill": {
            "all": 0.3,
            "engine": 0.2,
            "runtime": 0.08,
            "vendor": 0.2,
            "kind/runtime": 0.2,
            "family": 0.12,
            "architecture/engine": 0.06,
            "period/engine/vendor": 0.08,
            "set-up": 0.18,
        },
        "output": {"all": 0.1, "kind/runtime": 0.2, "split": 0.15, "runtime": 0.12, "group": 0.04},
        "pool": {"all": 0.1, "engine": 0.1},
        "ttft": {
            "engine": 0.08,
            "runtime": 0.3,
            "shape": 0.3,
            "shape/engine": 0.08,
            "statistic/engine": 0.08,
            "split": 0.2,
            "kind/runtime": 0.4,
            "group": 0.14,
            "set-up": 0.08,
        },
    }
)
"""Standard deviation of the shifts of each factor of each parameter."""

OWN = "set-up"
"""The factor of a model in a format on a GPU under an engine: what a user's first few points move."""
OWN_PRIORS: Mapping[str, Mapping[str, float]] = MappingProxyType(
    {"decode": {OWN: 0.3}, "prefill": {OWN: 0.3}, "ttft": {OWN: 0.5}, "output": {OWN: 0.1}}
)
"""How far a user's points may move it: about as far as groups lie from what others said of them."""

NOISE = np.array([0.10, 0.10, 0.25])
"""Scatter of ln of output rate, TPOT and TTFT of most runs of what the model takes to be alike."""
FREEDOM = 1.0
"""Degrees of freedom of that scatter: residuals beyond one scatter pull less the larger they are."""
HUBER = 1.2
"""Residuals of a user's own points beyond so many scatters pull with constant force."""
SERIES_POWER = 0.5
"""The weight of a point is its series' number of points to minus this power."""
EXACT_WEIGHT = 4.0
"""Weight of own runs, whose prefills were timed by themselves, over points of services."""
FEWEST = 6
"""A level with fewer points has no shift of its own."""
STEPS = 6
DELTA = 0.03
LARGEST_STEP = 1.0
PRUNED = 5e-4
"""Shifts below this are left out of the result."""

Force: TypeAlias = Callable[[Array], tuple[Array, Array]]
"""From residuals to their losses and their weights."""


@dataclass(frozen=True, slots=True)
class Column:
    """One shift: of which parameter, for which level of which factor."""

    parameter: str
    factor: str
    level: str


class Design:
    """Which shifts apply to which cases.

    Parameters
    ----------
    cases : sequence of Case
        N cases.
    priors : mapping
        As `PRIORS`.
    fewest : int
        Points that a level needs.
    """

    def __init__(
        self,
        cases: Sequence[Case],
        priors: Mapping[str, Mapping[str, float]] = PRIORS,
        fewest: int = FEWEST,
    ) -> None:
        levels = [case.about.levels() for case in cases]
        self.columns: list[Column] = []
        self.widths: list[float] = []
        self.codes: list[tuple[int, np.ndarray]] = []
        """Parameter index, and for each case its column or -1."""
        for parameter, factors in priors.items():
            for factor, width in factors.items():
                found = [level[factor] for level in levels]
                often = [level for level, count in Counter(found).items() if count >= fewest]
                number = {level: len(self.columns) + i for i, level in enumerate(often)}
                self.columns += [Column(parameter, factor, level) for level in often]
                self.widths += [width] * len(often)
                self.codes.append((INDEX[parameter], np.array([number.get(level, -1) for level in found])))

    def parameters(self, shifts: Array, count: int) -> Array:
        """Return the parameters of all cases.

        Parameters
        ----------
        shifts : array
            One for each column.
        count : int
            Cases.

        Returns
        -------
        array, shape (N, parameters)
        """
        padded = np.append(shifts, 0.0)
        found = neutral(count)
        for parameter, codes in self.codes:
            found[:, parameter] += padded[codes]
        return found

    def jacobian(self, slopes: Array) -> Any:
        """Return the derivatives of one quantity by the shifts.

        Parameters
        ----------
        slopes : array, shape (N, parameters)
            Derivatives by the parameters.

        Returns
        -------
        sparse array, shape (N, columns)
        """
        from scipy import sparse

        rows, columns, values = [], [], []
        everyone = np.arange(len(slopes))
        for parameter, codes in self.codes:
            slope = slopes[:, parameter]
            kept = (codes >= 0) & (np.abs(slope) > 1e-5)
            rows.append(everyone[kept])
            columns.append(codes[kept])
            values.append(slope[kept])
        data = (np.concatenate(values), (np.concatenate(rows), np.concatenate(columns)))
        return sparse.csr_array(data, shape=(len(slopes), len(self.columns)))


def fit_levels(
    data: CaseSet,
    *,
    base: Calibration | None = None,
    priors: Mapping[str, Mapping[str, float]] = PRIORS,
    fewest: int = FEWEST,
    steps: int = STEPS,
) -> dict[str, dict[str, dict[str, float]]]:
    """Return the shifts that fit measured points best, given their priors.

    Parameters
    ----------
    data : CaseSet
        The points.
    base : Calibration, optional
        A calibration that the shifts come on top of.
    priors : mapping
        As `PRIORS`.
    fewest : int
        Points that a level needs to have a shift.
    steps : int
        Gauss-Newton steps.

    Returns
    -------
    dict
        Parameter to factor to level to shift.
    """
    design = Design(data.cases, priors, fewest)
    force = tailed if base is None else constant
    fixed = base.parameters([case.about for case in data.cases]) if base else neutral(len(data))
    used = sorted({parameter for parameter, _ in design.codes})
    precision = 1 / np.square(np.array(design.widths))
    weight = series_weights(data.cases)
    shifts = np.zeros(len(design.columns))
    predicted = data.predict(fixed)
    cost = _cost(data, predicted, weight, shifts, precision, force)
    for _ in range(steps):
        parameters = fixed + design.parameters(shifts, len(data))
        slopes = _slopes(data, parameters, predicted, used)
        step = _newton_step(data, design, slopes, predicted, weight, shifts, precision, force)
        step = np.clip(step, -LARGEST_STEP, LARGEST_STEP)
        for share in (1.0, 0.5, 0.2):
            tried = shifts + share * step
            outcome = data.predict(fixed + design.parameters(tried, len(data)))
            new_cost = _cost(data, outcome, weight, tried, precision, force)
            if new_cost < cost:
                break
        if not new_cost < cost:
            break
        gained = cost - new_cost
        shifts, predicted, cost = tried, outcome, new_cost
        if gained < 1e-4 * cost:
            break
    found: dict[str, dict[str, dict[str, float]]] = {}
    for column, shift in zip(design.columns, shifts, strict=True):
        if abs(shift) >= PRUNED:
            factors = found.setdefault(column.parameter, {})
            factors.setdefault(column.factor, {})[column.level] = round(float(shift), 4)
    return found


def series_weights(cases: Sequence[Case]) -> Array:
    """Return the weight of each case: points of one sweep over concurrency share theirs."""
    keys = [(case.about.group, case.key, case.isl, case.osl, case.drafted, case.about.kind) for case in cases]
    sizes = Counter(keys)
    exact = np.array([EXACT_WEIGHT if case.point.source == OWN_RUNS else 1.0 for case in cases])
    return np.asarray(exact * np.array([float(sizes[key]) for key in keys]) ** -SERIES_POWER)


def _slopes(data: CaseSet, parameters: Array, predicted: Array, used: Sequence[int]) -> list[Array]:
    """Return the derivatives of each quantity by the parameters."""
    slopes = [np.zeros((len(data), len(PARAMETERS))) for _ in range(3)]
    for parameter in used:
        moved = parameters.copy()
        moved[:, parameter] += DELTA
        change = (data.predict(moved) - predicted) / DELTA
        for quantity in range(3):
            slopes[quantity][:, parameter] = change[:, quantity]
    return slopes


def _residuals(data: CaseSet, predicted: Array) -> Array:
    return np.where(data.teaches, (data.measured - predicted) / NOISE, 0.0)


def tailed(residuals: Array) -> tuple[Array, Array]:
    """Return the loss of Student's t, and the weight of each residual in a Gauss-Newton step.

    Parameters
    ----------
    residuals : array
        In scatters.

    Returns
    -------
    tuple of array
        (n + 1) / 2 ln(1 + r^2 / n) and (n + 1) / (n + r^2), n degrees of freedom.
    """
    loss = 0.5 * (FREEDOM + 1) * np.log1p(residuals**2 / FREEDOM)
    return loss, (FREEDOM + 1) / (FREEDOM + residuals**2)


def constant(residuals: Array) -> tuple[Array, Array]:
    """Return the loss of Huber, and the weight of each residual in a Gauss-Newton step.

    Parameters
    ----------
    residuals : array
        In scatters.

    Returns
    -------
    tuple of array
        Square to `HUBER`, linear beyond; 1, and `HUBER` / r beyond.
    """
    size = np.abs(residuals)
    loss = np.where(size < HUBER, 0.5 * size**2, HUBER * (size - 0.5 * HUBER))
    return loss, np.where(size < HUBER, 1.0, HUBER / np.maximum(size, 1e-9))


def _cost(
    data: CaseSet, predicted: Array, weight: Array, shifts: Array, precision: Array, force: Force
) -> float:
    loss, _ = force(_residuals(data, predicted))
    return float((loss.sum(1) * weight).sum() + 0.5 * (precision * shifts**2).sum())


def _newton_step(
    data: CaseSet,
    design: Design,
    slopes: Sequence[Array],
    predicted: Array,
    weight: Array,
    shifts: Array,
    precision: Array,
    force: Force,
) -> Array:
    from scipy import sparse
    from scipy.linalg import cho_factor, cho_solve

    residuals = _residuals(data, predicted)
    trust = force(residuals)[1] * data.teaches * weight[:, None]
    hessian = np.diag(precision)
    gradient = precision * shifts
    for quantity in range(3):
        jacobian = design.jacobian(slopes[quantity]) / NOISE[quantity]
        weighted = jacobian.T @ sparse.diags_array(trust[:, quantity])
        hessian = hessian + (weighted @ jacobian).toarray()
        gradient = gradient - weighted @ residuals[:, quantity]
    return np.asarray(cho_solve(cho_factor(hessian, overwrite_a=True), -gradient))
