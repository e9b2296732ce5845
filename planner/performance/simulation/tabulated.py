"""A step-time model laid out in a table, so that a simulation asks it some hundred times, not each step."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from planner.errors import InvalidInput
from planner.performance.simulation.records import Batching
from planner.performance.simulation.times import StepTimes

Floats = npt.NDArray[np.float64]

NODES_PER_DOUBLING = 2


class TabulatedStepTimes:
    """The times of another model, interpolated between the nodes of a table.

    Steps that only decode have a row of their own for each number of requests, computed when it is first
    needed, so they are exact in the number of requests and linear between nodes in the context. Steps with
    prompts lie on a grid of decoding requests, their mean context, prompt tokens and cached tokens, linear
    between nodes in each. Nodes are two to a doubling, so that a time that is piecewise linear or a power is
    met within about 2 %; a number outside the table takes the line of the outermost nodes.

    Parameters
    ----------
    step_times : StepTimes
        The model to tabulate.
    batching : Batching
        Its limits are those of the table.
    max_context : int
        Longest request [tokens].

    Raises
    ------
    InvalidInput
        When the context is not above zero.
    """

    def __init__(self, step_times: StepTimes, batching: Batching, max_context: int) -> None:
        if max_context < 1:
            raise InvalidInput(f"max_context: {max_context} is not above zero; the nearest is 1")
        self._model = step_times
        self._contexts = nodes(max_context + batching.step_tokens)
        self._rows: dict[int, Floats] = {}
        self._requests = nodes(batching.max_num_seqs)
        self._prompts = nodes(batching.max_num_batched_tokens)
        # A step may hold the last chunks of several long prompts; beyond these nodes the line goes on.
        self._cached = [0.0, *nodes(4 * max_context, first=64)]
        self._alone, self._mixed = self._grids()

    def step_s(
        self,
        decode_requests: Any,
        decode_context_tokens: Any,
        prefill_tokens: Any,
        prefill_context_tokens: Any,
    ) -> Any:
        """Return the time of one step [s]; only a decode context without prompts may be an array."""
        if not prefill_tokens:
            row = self._row(int(decode_requests))
            contexts = decode_context_tokens / decode_requests
            if isinstance(contexts, np.ndarray):
                return np.interp(contexts, self._contexts, row)
            return _on_line(self._contexts, row, contexts)
        if not decode_requests:
            return _cell(self._alone, (self._prompts, self._cached), (prefill_tokens, prefill_context_tokens))
        context = decode_context_tokens / decode_requests
        axes = (self._requests, self._contexts, self._prompts, self._cached)
        return _cell(self._mixed, axes, (decode_requests, context, prefill_tokens, prefill_context_tokens))

    def _row(self, requests: int) -> Floats:
        row = self._rows.get(requests)
        if row is None:
            contexts = requests * np.array(self._contexts)
            row = np.broadcast_to(self._model.step_s(requests, contexts, 0, 0), contexts.shape).astype(float)
            self._rows[requests] = row
        return row

    def _grids(self) -> tuple[list[Any], list[Any]]:
        """Return the times of prompts alone, and of prompts beside decoding requests, as nested lists."""
        prompts, cached = np.meshgrid(self._prompts, self._cached, indexing="ij")
        alone = self._model.step_s(np.zeros_like(prompts), np.zeros_like(prompts), prompts, cached)
        axes = (self._requests, self._contexts, self._prompts, self._cached)
        requests, contexts, prompts, cached = np.meshgrid(*axes, indexing="ij")
        mixed = self._model.step_s(requests, requests * contexts, prompts, cached)
        return (
            np.broadcast_to(alone, (len(self._prompts), len(self._cached))).tolist(),
            np.broadcast_to(mixed, requests.shape).tolist(),
        )


def nodes(last: float, first: float = 1.0) -> list[float]:
    """Return whole numbers from the first to the last, two to a doubling.

    Parameters
    ----------
    last, first : float
        The ends, both included.

    Returns
    -------
    list of float
    """
    count = max(0, int(np.ceil(NODES_PER_DOUBLING * np.log2(max(last, first) / first))))
    found = {float(round(first * 2 ** (i / NODES_PER_DOUBLING))) for i in range(count)}
    return sorted({x for x in found if x < last} | {float(max(last, first))})


def _place(axis: Sequence[float], value: float) -> tuple[int, float]:
    """Return the node below a value, and how far the value is on the way to the next one."""
    below = min(max(bisect_right(axis, value) - 1, 0), len(axis) - 2)
    if below < 0:
        return 0, 0.0
    return below, (value - axis[below]) / (axis[below + 1] - axis[below])


def _on_line(axis: Sequence[float], row: Floats, value: float) -> float:
    below, share = _place(axis, value)
    if not share:
        return float(row[below])
    return float(row[below] + share * (row[below + 1] - row[below]))


def _cell(grid: list[Any], axes: tuple[Sequence[float], ...], values: tuple[float, ...]) -> float:
    """Return the value in a nested list, linear between the nodes of each axis."""
    below, share = _place(axes[0], values[0])
    if len(axes) == 1:
        low = grid[below]
        return float(low + share * (grid[below + 1] - low)) if share else float(low)
    low = _cell(grid[below], axes[1:], values[1:])
    if not share:
        return low
    return low + share * (_cell(grid[below + 1], axes[1:], values[1:]) - low)
