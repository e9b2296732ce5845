"""Requests that really came: their arrival times and lengths, replayed or drawn from."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from planner.errors import InvalidInput
from planner.performance.simulation.lengths import Integers


@dataclass(frozen=True, slots=True, eq=False)
class Trace:
    """Recorded requests; it serves as arrivals and as lengths, each in the recorded order.

    Parameters
    ----------
    name : str
        Where it comes from, for messages.
    arrival_s : array of float
        Arrival times, never falling [s].
    isl, osl : array of int
        Input and output tokens, at least 1.
    """

    name: str
    arrival_s: npt.NDArray[np.float64]
    isl: Integers
    osl: Integers

    def __post_init__(self) -> None:
        """Refuse what no log of requests is like."""
        if not len(self.arrival_s) == len(self.isl) == len(self.osl):
            raise InvalidInput(
                f"{self.name}: {len(self.arrival_s)} times, {len(self.isl)} input and {len(self.osl)} output "
                "lengths; each request needs all three"
            )
        if not len(self.arrival_s):
            raise InvalidInput(f"{self.name}: the trace has no request; at least one is needed")
        if not np.isfinite(self.arrival_s).all() or (np.diff(self.arrival_s) < 0).any():
            raise InvalidInput(f"{self.name}: arrival times must be finite and must not fall")
        if min(self.isl.min(), self.osl.min()) < 1:
            raise InvalidInput(
                f"{self.name}: a length is below 1; each request has at least one token in and out"
            )

    @classmethod
    def from_lists(
        cls, name: str, arrival_s: Sequence[float], isl: Sequence[int], osl: Sequence[int]
    ) -> Trace:
        """Return the trace of plain lists.

        Parameters
        ----------
        name : str
            Where they come from, for messages.
        arrival_s : sequence of float
            Arrival times [s].
        isl, osl : sequence of int
            Input and output tokens.

        Returns
        -------
        Trace
        """
        lengths = (np.array(values, dtype=np.int64) for values in (isl, osl))
        return cls(name, np.array(arrival_s, dtype=np.float64), *lengths)

    def __len__(self) -> int:
        """Return the number of requests."""
        return len(self.arrival_s)

    def times(self, count: int, rng: np.random.Generator) -> npt.NDArray[np.float64]:
        """Return the first `count` arrival times, counted from the first of them [s]."""
        self._check(count)
        times: npt.NDArray[np.float64] = self.arrival_s[:count] - self.arrival_s[0]
        return times

    @property
    def cv(self) -> float:
        """Return the spread of the gaps between arrivals: standard deviation over mean."""
        gaps = np.diff(self.arrival_s)
        mean = float(gaps.mean()) if len(gaps) else 0.0
        return float(gaps.std()) / mean if mean else 0.0

    def draw(
        self, count: int, isl_rng: np.random.Generator, osl_rng: np.random.Generator
    ) -> tuple[Integers, Integers]:
        """Return the lengths of the first `count` requests."""
        self._check(count)
        return self.isl[:count], self.osl[:count]

    def _check(self, count: int) -> None:
        if count > len(self):
            raise InvalidInput(
                f"{self.name}: {count:,} requests asked, but the trace has {len(self):,}; "
                f"the nearest is {len(self):,}"
            )


@dataclass(frozen=True, slots=True)
class EmpiricalLengths:
    """Lengths drawn from a trace with replacement; input and output of one request stay together.

    Parameters
    ----------
    trace : Trace
        Where the lengths come from.
    """

    trace: Trace

    def draw(
        self, count: int, isl_rng: np.random.Generator, osl_rng: np.random.Generator
    ) -> tuple[Integers, Integers]:
        """Return input and output tokens of `count` requests of the trace."""
        rows = isl_rng.integers(0, len(self.trace), size=count)
        return self.trace.isl[rows], self.trace.osl[rows]
