"""How far the answer moves with each input alone, and which of them flip it."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Swing:
    """What one input does to the ratio of two costs while all others stay.

    Parameters
    ----------
    name : str
        The input.
    low, high : str
        Both of its values, with units.
    low_ratio, high_ratio : float
        Cost of the first option over that of the second at each.
    why : str
        Where the two values come from.
    """

    name: str
    low: str
    high: str
    low_ratio: float
    high_ratio: float
    why: str

    @property
    def swing(self) -> float:
        """Return how far apart the ratios are, as a factor of 1 or more."""
        return math.exp(abs(math.log(self.high_ratio / self.low_ratio)))

    def flips(self, ratio: float) -> bool:
        """Return whether either value makes the other option cheaper than at a ratio."""
        return any((each > 1) != (ratio > 1) for each in (self.low_ratio, self.high_ratio))


def by_swing(swings: Iterable[Swing]) -> tuple[Swing, ...]:
    """Return inputs by how far they move the ratio, the furthest first: the bars of a tornado."""
    return tuple(sorted(swings, key=lambda each: (-each.swing, each.name)))
