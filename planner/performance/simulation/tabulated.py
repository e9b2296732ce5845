"""A step-time model laid out in a table, so that a simulation asks it some hundred times, not each step."""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from planner.errors import InvalidInput
from planner.performance.simulation.records import Batching
from planner.performance.simulation.times import StepTimes

Floats = npt.NDArray[np.float64]

ROW_NODES = 8
"""Nodes to a doubling of the context, in steps that only decode."""
REQUEST_NODES, CONTEXT_NODES, PROMPT_NODES, CACHED_NODES = 2, 2, 4, 1
"""Nodes to a doubling on each axis of the grid of steps with prompts."""
FIRST_CACHED = 64


@dataclass(frozen=True, slots=True)
class _Grid:
    """Times at the nodes of some axes, in one row; a stride is how far apart neighbours on an axis are."""

    axes: tuple[Sequence[float], ...]
    strides: tuple[int, ...]
    times: list[float]


class TabulatedStepTimes:
    """The times of another model, linear between the nodes of a table.

    Steps that only decode have a row of their own for each number of requests, made when it is first needed:
    they are exact in the requests, and have eight nodes to a doubling of the mean context. Steps with prompts
    lie on a grid of decoding requests, their mean context, prompt tokens (four nodes to a doubling) and
    cached tokens. A square is met within 0.8 % at four nodes to a doubling; a sharp bend (from reading to
    multiplying) is rounded off by 4 % at most. Outside the table the model itself is asked.

    Parameters
    ----------
    step_times : StepTimes
        The model to tabulate; it must take arrays in all four arguments.
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
        longest = max_context + batching.step_tokens
        self._row_nodes = np.array(nodes(longest, ROW_NODES))
        self._rows: dict[int, Floats] = {}
        requests, contexts = nodes(batching.max_num_seqs, REQUEST_NODES), nodes(longest, CONTEXT_NODES)
        prompts = nodes(batching.max_num_batched_tokens, PROMPT_NODES)
        # A step may hold the last chunks of several long prompts.
        cached = [0.0, *nodes(4 * max_context, CACHED_NODES, first=FIRST_CACHED)]
        self._alone = self._grid(prompts, cached)
        self._mixed = self._grid(requests, contexts, prompts, cached)

    def step_s(
        self,
        decode_requests: Any,
        decode_context_tokens: Any,
        prefill_tokens: Any,
        prefill_context_tokens: Any,
    ) -> Any:
        """Return the time of steps [s]; only the decode context and cached tokens may be arrays."""
        asked = (decode_requests, decode_context_tokens, prefill_tokens, prefill_context_tokens)
        if not prefill_tokens:
            contexts = decode_context_tokens / decode_requests
            if np.max(contexts) > self._row_nodes[-1]:
                return self._model.step_s(*asked)
            return np.interp(contexts, self._row_nodes, self._row(int(decode_requests)))
        if isinstance(prefill_context_tokens, np.ndarray):
            return self._steps_s(*asked)
        if decode_requests:
            context = decode_context_tokens / decode_requests
            values = (decode_requests, context, prefill_tokens, prefill_context_tokens)
            found = _inside(self._mixed, values)
        else:
            found = _inside(self._alone, (prefill_tokens, prefill_context_tokens))
        return self._model.step_s(*asked) if found is None else found

    def _steps_s(self, requests: int, contexts: Any, prompt: int, cached: Floats) -> Floats:
        """Return the times of steps with equal parts of a prompt, as one by one."""
        grid, values = self._alone, [prompt, cached]
        if requests:
            grid, values = self._mixed, [requests, contexts / requests, prompt, cached]
        points = np.broadcast_arrays(*(np.asarray(value, dtype=float) for value in values))
        times = _inside_many(grid, points)
        if (outside := np.isnan(times)).any():
            asked = (np.broadcast_to(value, times.shape)[outside] for value in (contexts, cached))
            over, held = asked
            times[outside] = self._model.step_s(requests, over, prompt, held)
        return times

    def _row(self, requests: int) -> Floats:
        row = self._rows.get(requests)
        if row is None:
            contexts = requests * self._row_nodes
            row = np.broadcast_to(self._model.step_s(requests, contexts, 0, 0), contexts.shape).astype(float)
            self._rows[requests] = row
        return row

    def _grid(self, *axes: Sequence[float]) -> _Grid:
        """Return the times at all nodes; two axes are prompts alone."""
        mesh = np.meshgrid(*axes, indexing="ij", sparse=True)
        requests, contexts = mesh[:-2] if len(axes) == 4 else (np.zeros(1), np.zeros(1))
        times = self._model.step_s(requests, requests * contexts, *mesh[-2:])
        shape = tuple(len(axis) for axis in axes)
        strides = tuple(math.prod(shape[number + 1 :]) for number in range(len(shape)))
        return _Grid(axes, strides, np.broadcast_to(times, shape).ravel().tolist())


def nodes(last: float, per_doubling: int, first: float = 1.0) -> list[float]:
    """Return whole numbers from the first to the last, at even ratios as far as they can be.

    Parameters
    ----------
    last, first : float
        The ends, both included.
    per_doubling : int
        How many to a doubling.

    Returns
    -------
    list of float
    """
    last = max(last, first)
    count = int(np.ceil(per_doubling * np.log2(last / first)))
    found = {float(round(first * 2 ** (i / per_doubling))) for i in range(count)}
    return sorted({node for node in found if node < last} | {float(last)})


def _inside(grid: _Grid, values: Sequence[float]) -> float | None:
    """Return the value in a grid, linear between the nodes of each axis; None outside of it."""
    places, shares = [0], []
    for axis, stride, value in zip(grid.axes, grid.strides, values, strict=True):
        if value > axis[-1]:
            return None
        below = max(bisect_right(axis, value) - 1, 0)
        places = [place + stride * below for place in places]
        if value > axis[below] and below + 1 < len(axis):
            shares.append((value - axis[below]) / (axis[below + 1] - axis[below]))
            places += [place + stride for place in places]
    corners = [grid.times[place] for place in places]
    # The second half of the corners lies one node further on the axis that came last.
    while shares:
        share, half = shares.pop(), len(corners) // 2
        corners = [
            near + share * (far - near) for near, far in zip(corners[:half], corners[half:], strict=True)
        ]
    return corners[0]


def _inside_many(grid: _Grid, values: Sequence[Floats]) -> Floats:
    """Return what `_inside` does for many points; NaN outside of the grid."""
    times = np.array(grid.times)
    places: list[Any] = [np.zeros(values[0].shape, dtype=np.int64)]
    shares, outside = [], np.zeros(values[0].shape, dtype=bool)
    for axis, stride, value in zip(grid.axes, grid.strides, values, strict=True):
        ends = np.asarray(axis)
        outside |= value > ends[-1]
        below = np.clip(np.searchsorted(ends, value, side="right") - 1, 0, len(ends) - 1)
        above = np.minimum(below + 1, len(ends) - 1)
        width = np.maximum(ends[above] - ends[below], 1.0)
        shares.append(np.clip((value - ends[below]) / width, 0.0, 1.0))
        places = [place + stride * at for at in (below, above) for place in places]
    corners = [times[place] for place in places]
    while shares:
        share, half = shares.pop(), len(corners) // 2
        corners = [
            near + share * (far - near) for near, far in zip(corners[:half], corners[half:], strict=True)
        ]
    return np.where(outside, np.nan, corners[0])
