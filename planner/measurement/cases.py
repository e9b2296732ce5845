"""Measured serving points as questions to the time model: loads, and what was measured."""

from __future__ import annotations

import math
from dataclasses import dataclass, fields, replace

import numpy as np

from planner.measurement.serving_points import ServingPoint
from planner.measurement.usual_layouts import Pools
from planner.performance.levels import Calibration, Circumstances
from planner.performance.parameters import Array
from planner.performance.pipeline import most_parts
from planner.performance.profile import Profile, take
from planner.performance.steady import Points, Steady, steady_state
from planner.performance.times import reading_s

LIGHT_MARGIN = 1.02
"""A measured point may beat nameplate bandwidth by this much: rounding of what was published."""

MOST_AT_ONCE = 8192.0
"""Requests in a system at most, where only their rate is stated."""


@dataclass(frozen=True, slots=True)
class Case:
    """One point as a question.

    Parameters
    ----------
    point : ServingPoint
        What was measured.
    key, prefill_key : tuple
        Which deployments decode and prefill; the same where the decoding GPUs prefill too.
    pools : Pools
        How its GPUs are divided.
    about : Circumstances
        What the calibration tells apart.
    isl, osl, concurrency, hit, drafted, tokens_per_step : float
        The load; the concurrency is NaN where it is to be found.
    rate : float
        Arrivals [requests/s], NaN where none are stated.
    kind : int
        Kind of operating point.
    measured : tuple of float
        ln of output tok/s per GPU, of TPOT [s] and of TTFT [s]; NaN where not measured.
    teaches : tuple of bool
        Which of them a calibration may learn from.
    """

    point: ServingPoint
    key: tuple[object, ...]
    prefill_key: tuple[object, ...]
    pools: Pools
    about: Circumstances
    isl: float
    osl: float
    concurrency: float
    hit: float
    drafted: float
    tokens_per_step: float
    rate: float
    kind: int
    measured: tuple[float, float, float]
    teaches: tuple[bool, bool, bool]


@dataclass(frozen=True, slots=True)
class CaseSet:
    """N cases with their deployments as arrays.

    Parameters
    ----------
    cases : list of Case
        The cases.
    profile, filling : Profile
        What decodes and what prefills, one row for each.
    points : Points
        One operating point for each.
    measured : array, shape (N, 3)
        ln of output rate per GPU [tok/s], TPOT [s] and TTFT [s].
    teaches : array of bool, shape (N, 3)
        What a calibration may learn from.
    mean : array of bool
        Whether the TTFT is a mean.
    """

    cases: list[Case]
    profile: Profile
    filling: Profile
    points: Points
    measured: Array
    teaches: np.ndarray
    mean: np.ndarray

    def __len__(self) -> int:
        """Return how many there are."""
        return len(self.cases)

    def part(self, index: np.ndarray) -> CaseSet:
        """Return some of them."""
        chosen = np.arange(len(self))[index]
        return CaseSet(
            [self.cases[i] for i in chosen],
            take(self.profile, chosen),
            take(self.filling, chosen),
            Points(**{field.name: getattr(self.points, field.name)[chosen] for field in fields(Points)}),
            self.measured[chosen],
            self.teaches[chosen],
            self.mean[chosen],
        )

    def predict(self, parameters: Array) -> Array:
        """Return ln of output rate per GPU, TPOT and TTFT.

        Parameters
        ----------
        parameters : array, shape (N, parameters)
            Logarithms of factors.

        Returns
        -------
        array, shape (N, 3)
        """
        return logs_of(
            steady_state(self.profile, parameters, self.points, self.filling), self.points, self.mean
        )

    def faster_than_light(self) -> np.ndarray:
        """Return which points beat what reading weights and caches at nameplate bandwidth allows.

        Returns
        -------
        array of bool, shape (N,)
            By their output rate or their TPOT, beyond 2 %.
        """
        profile, points = self.profile, self.points
        load = np.maximum(points.concurrency / points.copies, 1.0)
        group = np.maximum(load / most_parts(profile), 1.0)
        each = np.maximum(group / profile.dp, 1.0)
        step = reading_s(profile, each, group, points.isl + points.osl / 2)
        most = np.log(load * points.copies * points.tokens_per_step / step / points.gpus)
        margin = np.log(LIGHT_MARGIN)
        quick = np.log(reading_s(profile, np.ones_like(each), np.ones_like(group), points.isl))
        quick = quick - np.log(points.tokens_per_step) - self.measured[:, 1] > margin
        return np.asarray((self.measured[:, 0] - most > margin) | quick)

    def with_rates_met(self, calibration: Calibration) -> CaseSet:
        """Return the set with a concurrency for each point that states a rate alone.

        Above capacity no queue is steady, and how long it grew is not stated: the pool is then taken as full.
        """
        wanted = np.array([case.rate for case in self.cases])
        open_ = np.array([not math.isfinite(case.concurrency) for case in self.cases]) & np.isfinite(wanted)
        if not open_.any():
            return self
        parameters = calibration.parameters([case.about for case in self.cases])
        low, high = np.full(len(self), 0.1), np.full(len(self), MOST_AT_ONCE)
        for _ in range(24):
            middle = np.sqrt(low * high)
            found = steady_state(
                self.profile, parameters, replace(self.points, concurrency=middle), self.filling
            )
            short = found.output_tps / self.points.osl < wanted
            low, high = np.where(short, middle, low), np.where(short, high, middle)
        full = np.minimum(found.most * self.points.copies, MOST_AT_ONCE)
        met = np.where(high < MOST_AT_ONCE, high, full)
        concurrency = np.where(open_, met, self.points.concurrency)
        return replace(self, points=replace(self.points, concurrency=concurrency))


def logs_of(found: Steady, points: Points, mean: np.ndarray) -> Array:
    """Return ln of output rate per GPU, TPOT and TTFT, the latter as mean or median."""
    ttft = np.where(mean, found.ttft_mean_s, found.ttft_s)
    return np.asarray(np.log(np.stack([found.output_tps / points.gpus, found.tpot_s, ttft], 1)))
