"""When requests arrive: at random, evenly, from a trace, or whenever a user has got an answer."""

from __future__ import annotations

from typing import Any, Literal, Protocol

import numpy as np
import numpy.typing as npt

from planner.errors import InvalidInput
from planner.scenario.records import Count, Scenario

Times = npt.NDArray[np.float64]

EVEN = 1e-6
"""Spread of gaps below which they are as good as even; the shape of a distribution would grow without end."""


class OpenArrivals(Protocol):
    """Arrivals that do not wait for answers."""

    def times(self, count: int, rng: np.random.Generator) -> Times:
        """Return the arrival times of so many requests, the first at 0, never falling [s]."""

    @property
    def cv(self) -> float:
        """Return the standard deviation of the gaps over their mean."""


def _check_rate(record: str, rate_per_s: float) -> None:
    if rate_per_s <= 0:
        raise InvalidInput(
            f"{record} rate_per_s: {rate_per_s:g} requests/s is not above zero; the nearest useful is 0.001"
        )


class PoissonArrivals(Scenario):
    """Independent users: the gaps are exponential."""

    rate_per_s: float
    """Mean rate [requests/s]."""

    def model_post_init(self, context: Any, /) -> None:
        """Refuse a rate that brings no request."""
        _check_rate("PoissonArrivals", self.rate_per_s)

    @property
    def cv(self) -> float:
        """Return 1."""
        return 1.0

    def times(self, count: int, rng: np.random.Generator) -> Times:
        """Return arrival times, the first at 0 [s]."""
        return _from_gaps(rng.exponential(1 / self.rate_per_s, size=count - 1))


class GammaArrivals(Scenario):
    """Arrivals that cluster (cv above 1) or keep their distance (below 1): the gaps are gamma distributed.

    Benchmark tools state a burstiness, the shape of the distribution: ``cv = burstiness ** -0.5``.
    """

    rate_per_s: float
    """Mean rate [requests/s]."""
    cv: float
    """Standard deviation of the gaps over their mean."""

    def model_post_init(self, context: Any, /) -> None:
        """Refuse a rate that brings no request, and a negative spread."""
        _check_rate("GammaArrivals", self.rate_per_s)
        if self.cv < 0:
            raise InvalidInput(
                f"GammaArrivals cv: {self.cv:g} is below zero; the nearest is 0, an even interval"
            )

    def times(self, count: int, rng: np.random.Generator) -> Times:
        """Return arrival times, the first at 0 [s]."""
        if self.cv < EVEN:
            return np.arange(count, dtype=np.float64) / self.rate_per_s
        shape = self.cv**-2
        return _from_gaps(rng.gamma(shape, 1 / (shape * self.rate_per_s), size=count - 1))


class FixedArrivals(Scenario):
    """One request every so many seconds; with 0 all come at once."""

    interval_s: float

    def model_post_init(self, context: Any, /) -> None:
        """Refuse a time that runs backwards."""
        if self.interval_s < 0:
            raise InvalidInput(
                f"FixedArrivals interval_s: {self.interval_s:g} is below zero; the nearest is 0, all at once"
            )

    @property
    def cv(self) -> float:
        """Return 0."""
        return 0.0

    def times(self, count: int, rng: np.random.Generator) -> Times:
        """Return arrival times, the first at 0 [s]."""
        return np.arange(count, dtype=np.float64) * self.interval_s


class ClosedLoop(Scenario):
    """So many users, each of whom asks again when answered; all begin at once."""

    concurrency: Count
    """Users."""
    think_s: float = 0.0
    """Mean pause between an answer and the next request [s]."""
    think: Literal["fixed", "exponential"] = "fixed"
    """Whether every pause is the same, or drawn."""

    def model_post_init(self, context: Any, /) -> None:
        """Refuse a pause that runs backwards."""
        if self.think_s < 0:
            raise InvalidInput(f"ClosedLoop think_s: {self.think_s:g} is below zero; the nearest is 0")

    def pauses(self, count: int, rng: np.random.Generator) -> Times:
        """Return the pause before each request; the first of each user has none [s]."""
        drawn = (
            np.full(count, self.think_s)
            if self.think == "fixed"
            else rng.exponential(self.think_s, size=count)
        )
        drawn[: self.concurrency] = 0.0
        return drawn


def _from_gaps(gaps: Times) -> Times:
    return np.concatenate([np.zeros(1), np.cumsum(gaps)])
