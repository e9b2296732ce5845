"""What the simulation writes down while it runs: gaps between tokens, and the state over time."""

from __future__ import annotations

import math
from array import array
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from planner.performance.simulation.summary import Summary

BIN_WIDTH = 1e-3
"""Gaps that differ by less than this share are counted together."""
SHORTEST_S = 1e-9
LONGEST_S = 1e9
FLUSH = 1 << 15


class GapLog:
    """Gaps between successive outputs of a request, counted in bins of 0.1 % width.

    Each bin keeps the sum of its gaps, so that the mean is exact and a percentile is the mean of its bin.
    """

    def __init__(self) -> None:
        bins = int(math.log(LONGEST_S / SHORTEST_S) / BIN_WIDTH) + 1
        self._counts = np.zeros(bins)
        self._sums = np.zeros(bins)
        self._gaps: list[float] = []
        self._weights: list[int] = []

    def add(self, gap_s: float, count: int = 1) -> None:
        """Count one gap, so many times."""
        if count:
            self._gaps.append(gap_s)
            self._weights.append(count)

    def add_steps(self, gaps_s: Sequence[float], count: int) -> None:
        """Count the gaps of a run of steps, each so many times."""
        self._gaps.extend(gaps_s)
        self._weights.extend([count] * len(gaps_s))
        if len(self._gaps) > FLUSH:
            self._flush()

    def _flush(self) -> None:
        gaps = np.array(self._gaps)
        weights = np.array(self._weights, dtype=np.float64)
        bins = (np.log(np.clip(gaps, SHORTEST_S, LONGEST_S) / SHORTEST_S) / BIN_WIDTH).astype(np.int64)
        self._counts += np.bincount(bins, weights, len(self._counts))
        self._sums += np.bincount(bins, weights * gaps, len(self._counts))
        self._gaps.clear()
        self._weights.clear()

    def summary(self) -> Summary | None:
        """Return mean and percentiles [s]; None where no request had a second output."""
        self._flush()
        used = np.flatnonzero(self._counts)
        if not len(used):
            return None
        upto = np.cumsum(self._counts[used])
        values = self._sums[used] / self._counts[used]

        def percentile(share: float) -> float:
            return float(values[np.searchsorted(upto, share * upto[-1])])

        return Summary(
            mean=float(self._sums.sum() / upto[-1]),
            p50=percentile(0.5),
            p90=percentile(0.9),
            p95=percentile(0.95),
            p99=percentile(0.99),
        )


class Timeline:
    """State of the engine over time, one row for each run of equal steps."""

    def __init__(self) -> None:
        self._end_s = array("d", [0.0])
        self._decoding = array("d", [0.0])
        self._held = array("d", [0.0])
        self._output = array("d", [0.0])
        self._input = array("d", [0.0])

    def add(
        self, end_s: float, decoding: int, held_tokens: float, output_tokens: float, input_tokens: int
    ) -> None:
        """Write a row: what held until `end_s`, and tokens out and in since the beginning."""
        self._end_s.append(end_s)
        self._decoding.append(decoding)
        self._held.append(held_tokens)
        self._output.append(output_tokens)
        self._input.append(input_tokens)

    def mean_decoding(self, begin_s: float, end_s: float) -> float:
        """Return the requests that decoded, on average over a time span."""
        return self._mean(self._decoding, begin_s, end_s)

    def mean_held_tokens(self, begin_s: float, end_s: float) -> float:
        """Return the tokens' worth of pool that was taken, on average over a time span."""
        return self._mean(self._held, begin_s, end_s)

    def peak_held_tokens(self) -> float:
        """Return the most tokens' worth of pool that was taken."""
        return max(self._held)

    def output_tokens(self, begin_s: float, end_s: float) -> float:
        """Return the tokens generated in a time span."""
        return self._gained(self._output, begin_s, end_s)

    def input_tokens(self, begin_s: float, end_s: float) -> float:
        """Return the prompt tokens of requests whose prompts were ready in a time span."""
        return self._gained(self._input, begin_s, end_s)

    def _gained(self, column: array[float], begin_s: float, end_s: float) -> float:
        at_begin, at_end = np.interp([begin_s, end_s], _numbers(self._end_s), _numbers(column))
        return float(at_end - at_begin)

    def _mean(self, column: array[float], begin_s: float, end_s: float) -> float:
        ends = np.clip(_numbers(self._end_s), begin_s, end_s)
        return float((np.diff(ends) * _numbers(column)[1:]).sum() / (end_s - begin_s))


def _numbers(column: array[float]) -> npt.NDArray[np.float64]:
    return np.frombuffer(column, dtype=np.float64)
