"""How long prompts and outputs are: fixed, uniform, lognormal, or as in a trace."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from planner.errors import InvalidInput
from planner.scenario.records import Count, Scenario

Integers = npt.NDArray[np.int64]


class Lengths(Protocol):
    """Where the lengths of requests come from."""

    def draw(
        self, count: int, isl_rng: np.random.Generator, osl_rng: np.random.Generator
    ) -> tuple[Integers, Integers]:
        """Return input and output tokens of each request."""


class Length(Protocol):
    """A distribution of one length."""

    def sample(self, count: int, rng: np.random.Generator) -> Integers:
        """Return so many lengths [tokens]."""


class FixedLength(Scenario):
    """Every request has the same length."""

    tokens: Count

    def sample(self, count: int, rng: np.random.Generator) -> Integers:
        """Return the length `count` times."""
        return np.full(count, self.tokens, dtype=np.int64)


class UniformLength(Scenario):
    """Whole numbers from a share of the nominal length up to another, ends included.

    The defaults are those of InferenceX: 80 to 100 % of the nominal length.
    """

    tokens: Count
    """Nominal length."""
    low_share: float = 0.8
    high_share: float = 1.0

    def model_post_init(self, context: Any, /) -> None:
        """Refuse shares that leave no length."""
        if not 0 <= self.low_share <= self.high_share:
            nearest = min(max(self.low_share, 0.0), max(self.high_share, 0.0))
            raise InvalidInput(
                f"UniformLength low_share: {self.low_share:g} is not from 0 to high_share "
                f"({self.high_share:g}); the nearest is {nearest:g}"
            )

    def sample(self, count: int, rng: np.random.Generator) -> Integers:
        """Return lengths that are uniform between the two ends, at least 1."""
        low = max(1, int(self.low_share * self.tokens))
        high = max(low, int(self.high_share * self.tokens))
        return rng.integers(low, high, size=count, endpoint=True, dtype=np.int64)


class LognormalLength(Scenario):
    """Lengths with a long tail.

    Drawn values are rounded, and cut at 1 and at `longest`; the mean of what is drawn lies below `mean` where
    the cut takes much of the tail.
    """

    mean: float
    """Mean length [tokens]."""
    cv: float
    """Standard deviation over mean."""
    longest: Count
    """Longest request."""

    def model_post_init(self, context: Any, /) -> None:
        """Refuse a mean or a spread that no lengths have."""
        if not 1 <= self.mean <= self.longest:
            nearest = min(max(self.mean, 1.0), float(self.longest))
            raise InvalidInput(
                f"LognormalLength mean: {self.mean:g} is not from 1 to longest ({self.longest:,}); "
                f"the nearest is {nearest:g}"
            )
        if self.cv < 0:
            raise InvalidInput(f"LognormalLength cv: {self.cv:g} is below zero; the nearest is 0")

    def sample(self, count: int, rng: np.random.Generator) -> Integers:
        """Return lengths whose logarithm is normal: variance ``ln(1 + cv**2)``."""
        variance = math.log1p(self.cv**2)
        drawn = rng.lognormal(math.log(self.mean) - variance / 2, math.sqrt(variance), size=count)
        return np.clip(np.rint(drawn), 1, self.longest).astype(np.int64)


@dataclass(frozen=True, slots=True)
class IndependentLengths:
    """Input and output lengths that know nothing of one another.

    Parameters
    ----------
    isl, osl : Length
        Their distributions.
    """

    isl: Length
    osl: Length

    def draw(
        self, count: int, isl_rng: np.random.Generator, osl_rng: np.random.Generator
    ) -> tuple[Integers, Integers]:
        """Return input and output tokens of each request, each from its own stream."""
        return self.isl.sample(count, isl_rng), self.osl.sample(count, osl_rng)
