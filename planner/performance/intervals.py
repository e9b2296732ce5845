"""How sure a prediction is: the errors of cross-validation, by how far the question is from the data.

Intervals are conformal: quantiles of ln(measured / predicted), near 10 and 90 %, over points whose group was
left out of the fit, apart by distance and kind of load. Four of five such points lie inside by construction;
that they still do for others is what `docs/accuracy.md` checks.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from planner.performance.levels import Calibration, Circumstances

QUANTITIES = ("output", "tpot", "ttft")
UNCALIBRATED = {"output": (-0.4, 0.4), "tpot": (-0.4, 0.4), "ttft": (-0.8, 0.8)}
"""ln(measured / predicted) without a calibration: errors of the bare physics."""


@dataclass(frozen=True, slots=True)
class Estimate:
    """A figure with its 80 % interval.

    Parameters
    ----------
    value, low, high : float
        Prediction, and what four of five measurements lie between.
    provenance : str
        ``calibrated``, ``measured`` or ``assumed``, and from what.
    """

    value: float
    low: float
    high: float
    provenance: str

    def scaled(self, by: float) -> Estimate:
        """Return the same in another unit or for another part."""
        return Estimate(self.value * by, self.low * by, self.high * by, self.provenance)

    def inverse(self) -> Estimate:
        """Return one over it."""
        return Estimate(1 / self.value, 1 / self.high, 1 / self.low, self.provenance)


def load_kind(case: Circumstances) -> str:
    """Return the kind of load whose errors are alike."""
    if case.disaggregated:
        return "disaggregated"
    if case.kind != "service":
        return case.kind
    return "speculative" if case.speculative else "service"


def cells_of(case: Circumstances, distance: str) -> tuple[str, ...]:
    """Return the cells of a question, the narrowest first."""
    return (f"{distance}/{load_kind(case)}/{case.vendor}", f"{distance}/{load_kind(case)}", distance, "all")


def width(calibration: Calibration, quantity: str, case: Circumstances) -> tuple[float, float]:
    """Return the quantiles of ln(measured / predicted) for a question.

    Parameters
    ----------
    calibration : Calibration
        With widths.
    quantity : str
        ``output``, ``tpot`` or ``ttft``.
    case : Circumstances
        The question.

    Returns
    -------
    tuple of float
        Of the narrowest cell that had enough points.
    """
    cells = calibration.widths.get(quantity, {})
    for cell in cells_of(case, calibration.distance(case)):
        if cell in cells:
            return cells[cell]
    return UNCALIBRATED[quantity]


def estimate(calibration: Calibration, quantity: str, case: Circumstances, value: float) -> Estimate:
    """Return a value with its interval.

    Parameters
    ----------
    calibration : Calibration
        With widths.
    quantity : str
        ``output``, ``tpot`` or ``ttft``.
    case : Circumstances
        The question.
    value : float
        The prediction.

    Returns
    -------
    Estimate
    """
    low, high = width(calibration, quantity, case)
    # The prediction itself always lies inside.
    return Estimate(
        value,
        value * math.exp(min(low, 0.0)),
        value * math.exp(max(high, 0.0)),
        f"{calibration.source}; nearest data: {calibration.distance(case)}",
    )
