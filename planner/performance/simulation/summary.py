"""Mean and percentiles of one quantity."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

PERCENTILES = (50, 90, 95, 99)


@dataclass(frozen=True, slots=True)
class Summary:
    """Mean and percentiles, in the unit of what is summed up.

    Parameters
    ----------
    mean, p50, p90, p95, p99 : float
        The mean, and the values that this percentage does not exceed.
    """

    mean: float
    p50: float
    p90: float
    p95: float
    p99: float

    def to_dict(self, scale: float = 1.0) -> dict[str, float]:
        """Return the values times a factor."""
        names = ("mean", *(f"p{q}" for q in PERCENTILES))
        return {name: scale * getattr(self, name) for name in names}


def summarise(values: npt.NDArray[np.float64]) -> Summary | None:
    """Return mean and percentiles; None of nothing.

    Parameters
    ----------
    values : array
        Any numbers; percentiles between two of them are interpolated.

    Returns
    -------
    Summary or None
    """
    if not len(values):
        return None
    p50, p90, p95, p99 = np.percentile(values, PERCENTILES)
    return Summary(float(values.mean()), float(p50), float(p90), float(p95), float(p99))
