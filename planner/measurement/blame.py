"""Which part of a decode step a prediction is most wrong about: each part gets a factor, shrunk to one."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from planner.measurement.case_builder import CaseBuilder
from planner.measurement.cases import Case, CaseSet
from planner.performance.levels import Calibration
from planner.performance.parameters import Array
from planner.performance.steady import steady_state
from planner.performance.times import decode_step

PARTS = {
    "dense": "dense matrices",
    "experts": "routed experts",
    "attention": "attention",
    "launch": "kernel floors",
    "collectives": "collectives",
    "host": "host",
    "sampling": "sampling",
    "drafting": "drafting",
}
"""Parts of a decode step by their name in `StepParts`, and what people call them."""
WAITING = "prefills of others"
SPREAD = 0.5
"""How far a factor is expected to be from one."""
NOISE = 0.03
"""Scatter of a measured step, as a share of it."""
LEAST_SHIFT = 0.02
"""A part that moves the step by less is not worth naming."""


@dataclass(frozen=True, slots=True)
class Blame:
    """Where the time between tokens of one set-up is most mispredicted.

    Parameters
    ----------
    group : str
        Model, GPU and runtime.
    rows : int
        How many measured TPOTs it is from.
    error : float
        Median of predicted / measured - 1.
    operator : str or None
        The part whose factor moves the step most; None where no part stands out.
    factor : float
        How many times longer that part takes than predicted.
    shift : float
        What that does to the whole step, as a share of it, on average.
    """

    group: str
    rows: int
    error: float
    operator: str | None
    factor: float
    shift: float

    @property
    def sentence(self) -> str:
        """Return it as one sentence."""
        about = f"{self.group}: TPOT predicted {self.error:+.0%} ({self.rows} rows)"
        if self.operator is None:
            return f"{about}; no part of the step stands out"
        return (
            f"{about}; most by {self.operator}, which seem to take {self.factor:.2f} times what was "
            f"predicted ({self.shift:+.0%} of the step)"
        )


def step_parts(data: CaseSet, parameters: Array) -> dict[str, Array]:
    """Return the parts of the time between tokens of every case.

    Parameters
    ----------
    data : CaseSet
        N cases.
    parameters : array, shape (N, parameters)
        Logarithms of factors.

    Returns
    -------
    dict of str to array
        By part [s], with what prefills of others add; together they are the predicted TPOT of one token.
    """
    found = steady_state(data.profile, parameters, data.points, data.filling)
    context = data.points.isl + data.points.osl / 2
    parts = decode_step(data.profile, parameters, found.batch, context, data.points.drafted, found.parts)
    named = {shown: np.asarray(getattr(parts, name)) / found.tokens_per_step for name, shown in PARTS.items()}
    step = np.sum(list(named.values()), axis=0)
    return {**named, WAITING: np.maximum(found.tpot_s - step, 0.0)}


def factors_of(parts: Array, measured: Array) -> Array:
    """Return the factor of each part that explains measured times best, and stays near one.

    Parameters
    ----------
    parts : array, shape (N, P)
        Predicted parts of each time [s].
    measured : array, shape (N,)
        Measured times [s].

    Returns
    -------
    array, shape (P,)
        Least squares of relative errors with a normal prior around one of width `SPREAD`; none is negative.
    """
    from scipy.optimize import lsq_linear

    relative = parts / measured[:, None]
    count = parts.shape[1]
    left = np.vstack([relative / NOISE, np.eye(count) / SPREAD])
    right = np.concatenate([(1 - relative.sum(1)) / NOISE, np.zeros(count)])
    return np.asarray(1 + lsq_linear(left, right, bounds=(-1.0, np.inf)).x)


def blames(builder: CaseBuilder, cases: Sequence[Case], calibration: Calibration) -> list[Blame]:
    """Name for each set-up the part of a step that is mispredicted most.

    Parameters
    ----------
    builder : CaseBuilder
        That made the cases.
    cases : sequence of Case
        Those without a TPOT are left out.
    calibration : Calibration
        The parameters.

    Returns
    -------
    list of Blame
        The largest disagreement first.
    """
    timed = [case for case in cases if np.isfinite(case.measured[1])]
    if not timed:
        return []
    data = builder.gather(timed).with_rates_met(calibration)
    parts = step_parts(data, calibration.parameters([case.about for case in timed]))
    measured = np.exp(data.measured[:, 1])
    groups: dict[str, list[int]] = {}
    for number, case in enumerate(timed):
        groups.setdefault(f"{case.about.group}/{case.about.quantisation}", []).append(number)
    found = [_blame(name, parts, measured, np.array(index)) for name, index in groups.items()]
    return sorted(found, key=lambda one: -abs(one.error))


def _blame(name: str, parts: Mapping[str, Array], measured: Array, index: np.ndarray) -> Blame:
    matrix = np.stack([times[index] for times in parts.values()], axis=1)
    times = measured[index]
    factors = factors_of(matrix, times)
    shifts = ((factors - 1) * matrix / matrix.sum(1)[:, None]).mean(0)
    worst = int(np.argmax(np.abs(shifts)))
    error = float(np.median(matrix.sum(1) / times - 1))
    stands_out = abs(shifts[worst]) >= LEAST_SHIFT
    operator = list(parts)[worst] if stands_out else None
    return Blame(name, len(index), error, operator, float(factors[worst]), float(shifts[worst]))


def named_largest(found: Iterable[Blame]) -> str | None:
    """Return the sentence of the largest disagreement, None where there is nothing to name."""
    return next((one.sentence for one in found if one.operator), None)
