"""One quantity, measured and predicted: the errors of many such pairs as a few figures."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from statistics import fmean, median


@dataclass(frozen=True, slots=True)
class Pair:
    """A measured value and what was predicted for it, in the unit of its quantity.

    Parameters
    ----------
    measured, predicted : float
        The two values.
    low, high : float or None
        Ends of the 80 % interval of the prediction, where it has one.
    """

    measured: float
    predicted: float
    low: float | None = None
    high: float | None = None

    @property
    def inside(self) -> bool | None:
        """Return whether the measured value lies in the interval, None without one."""
        if self.low is None or self.high is None:
            return None
        return self.low <= self.measured <= self.high

    @property
    def relative_error(self) -> float:
        """Return (predicted - measured) / measured."""
        return (self.predicted - self.measured) / self.measured


@dataclass(frozen=True, slots=True)
class ErrorScore:
    """How far predictions of one quantity are from what was measured.

    Parameters
    ----------
    n : int
        Pairs.
    median_ape, mean_ape : float
        Median and mean of the absolute relative error.
    within_1pct, within_2pct, within_5pct, within_8pct, within_20pct : float
        Share of pairs whose absolute relative error is at most so much.
    bias : float
        Median of the signed relative error: above 0 where predictions are too high.
    median_abs_error : float
        Median absolute error, in the unit of the quantity.
    coverage_80 : float or None
        Share of pairs inside their 80 % interval; None for predictions without one.
    """

    n: int
    median_ape: float
    mean_ape: float
    within_1pct: float
    within_2pct: float
    within_5pct: float
    within_8pct: float
    within_20pct: float
    bias: float
    median_abs_error: float
    coverage_80: float | None = None

    def to_dict(self) -> dict[str, float | None]:
        """Return the figures by name; `coverage_80` is None for predictions without an interval."""
        names = ("n", "median_ape", "mean_ape", *_WITHIN, "bias", "median_abs_error", "coverage_80")
        return {name: getattr(self, name) for name in names}


_WITHIN = {f"within_{percent}pct": percent / 100 for percent in (1, 2, 5, 8, 20)}


def error_score(pairs: Sequence[Pair]) -> ErrorScore:
    """Score one quantity.

    Parameters
    ----------
    pairs : sequence of Pair
        At least one, each with a measured value above 0.

    Returns
    -------
    ErrorScore
    """
    errors = [pair.relative_error for pair in pairs]
    sizes = [abs(error) for error in errors]
    inside = [pair.inside for pair in pairs if pair.inside is not None]
    within = {name: fmean(size <= limit * (1 + 1e-9) for size in sizes) for name, limit in _WITHIN.items()}
    return ErrorScore(
        n=len(pairs),
        median_ape=median(sizes),
        mean_ape=fmean(sizes),
        bias=median(errors),
        median_abs_error=median(abs(pair.predicted - pair.measured) for pair in pairs),
        coverage_80=fmean(inside) if inside else None,
        **within,
    )


@dataclass(frozen=True, slots=True)
class VerdictScore:
    """How often a yes or no was right.

    Parameters
    ----------
    fits_and_predicted, fails_and_predicted : int
        Right answers.
    fits_but_refused : int
        It started, and was predicted not to.
    fails_but_accepted : int
        It did not start, and was predicted to.
    """

    fits_and_predicted: int
    fails_and_predicted: int
    fits_but_refused: int
    fails_but_accepted: int

    @property
    def n(self) -> int:
        """Return how many verdicts were compared."""
        right = self.fits_and_predicted + self.fails_and_predicted
        return right + self.fits_but_refused + self.fails_but_accepted

    @property
    def accuracy(self) -> float:
        """Return the share of right verdicts."""
        return (self.fits_and_predicted + self.fails_and_predicted) / self.n

    def to_dict(self) -> dict[str, float]:
        """Return counts and accuracy by name."""
        return {
            "n": self.n,
            "accuracy": self.accuracy,
            "fits_and_predicted": self.fits_and_predicted,
            "fails_and_predicted": self.fails_and_predicted,
            "fits_but_refused": self.fits_but_refused,
            "fails_but_accepted": self.fails_but_accepted,
        }


def verdict_score(verdicts: Iterable[tuple[bool, bool]]) -> VerdictScore:
    """Score verdicts.

    Parameters
    ----------
    verdicts : iterable of (bool, bool)
        Whether it started, and whether that was predicted; at least one.

    Returns
    -------
    VerdictScore
    """
    found = list(verdicts)
    return VerdictScore(
        fits_and_predicted=found.count((True, True)),
        fails_and_predicted=found.count((False, False)),
        fits_but_refused=found.count((True, False)),
        fails_but_accepted=found.count((False, True)),
    )
