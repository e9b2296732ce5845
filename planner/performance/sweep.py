"""A million operating points a second: the steady state laid out on a grid, and read between its nodes.

Rates and latencies are smooth in the logarithms of concurrency, input and output. A grid with two nodes to a
doubling of each is solved once for a deployment; between nodes the logarithms of the results are linear.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from planner.errors import InvalidInput
from planner.performance.parameters import Array
from planner.performance.service import Service

PER_DOUBLING = 2
"""Nodes to a doubling."""
BLOCK = 1 << 15
"""Points that are read together, so that they stay in the cache of the core."""


@dataclass(frozen=True, slots=True)
class Swept:
    """Results of a sweep; arrays of the points' common shape.

    Parameters
    ----------
    output_tps : array
        Output tokens of all GPUs [tok/s].
    tpot_s, ttft_s : array
        Time between tokens, and median time to the first [s].
    """

    output_tps: Array
    tpot_s: Array
    ttft_s: Array


@dataclass(frozen=True, slots=True)
class _Axis:
    """Nodes at even ratios from `first`."""

    first: float
    count: int

    def nodes(self) -> Array:
        return np.asarray(self.first * 2.0 ** (np.arange(self.count) / PER_DOUBLING))

    def place(self, values: Array) -> tuple[np.ndarray, Array]:
        """Return the node below each value and the share of the way to the next."""
        at = np.log2(values)
        at -= np.log2(self.first)
        at *= PER_DOUBLING
        below = np.minimum(at.astype(np.int32), self.count - 2)
        at -= below
        return below, at


class SweepTable:
    """The steady state of one service on a grid.

    Parameters
    ----------
    service : Service
        The deployment.
    concurrency, isl, osl : tuple of float
        Smallest and largest value of each.
    hit : float
        Share of the input that is cached.

    Raises
    ------
    InvalidInput
        For values that are not above 0.
    """

    def __init__(
        self,
        service: Service,
        concurrency: tuple[float, float],
        isl: tuple[float, float],
        osl: tuple[float, float],
        hit: float = 0.0,
    ) -> None:
        for name, ends in (("concurrency", concurrency), ("isl", isl), ("osl", osl)):
            if not 0 < ends[0] <= ends[1] < np.inf:
                raise InvalidInput(f"{name}: {ends[0]:g} to {ends[1]:g} is no range of numbers above 0")
        self._axes = tuple(_axis(*ends) for ends in (concurrency, isl, osl))
        mesh = np.meshgrid(*(axis.nodes() for axis in self._axes), indexing="ij")
        loads, inputs, outputs = (part.ravel() for part in mesh)
        found = service.at(inputs, outputs, loads, hit)
        self._table = np.log(np.stack([found.output_tps, found.tpot_s, found.ttft_s], 1))
        # Differences along the output axis save half of the look-ups.
        rest = self._table.reshape(*mesh[0].shape, 3)
        ahead = np.diff(rest, axis=2, append=rest[:, :, -1:])
        self._both = np.ascontiguousarray(np.concatenate([rest, ahead], 3).reshape(-1, 6))

    def at(self, concurrency: ArrayLike, isl: ArrayLike, osl: ArrayLike) -> Swept:
        """Return the results at operating points inside the ranges.

        Parameters
        ----------
        concurrency, isl, osl : array_like
            Operating points; they broadcast.

        Returns
        -------
        Swept
        """
        arrays = np.broadcast_arrays(*(np.asarray(a, dtype=float) for a in (concurrency, isl, osl)))
        flat = [array.ravel() for array in arrays]
        out = np.empty((flat[0].size, 3))
        for start in range(0, flat[0].size, BLOCK):
            self._block([a[start : start + BLOCK] for a in flat], out[start : start + BLOCK])
        shaped = [out[:, i].reshape(arrays[0].shape) for i in range(3)]
        return Swept(*shaped)

    def _block(self, points: list[Array], out: Array) -> None:
        (load, load_share), (isl, isl_share), (osl, osl_share) = (
            axis.place(values) for axis, values in zip(self._axes, points, strict=True)
        )
        inputs, outputs = self._axes[1].count, self._axes[2].count
        base = (load * inputs + isl) * outputs + osl
        further = osl_share[:, None]
        corners = []
        for step in (0, outputs, inputs * outputs, (inputs + 1) * outputs):
            rows = self._both.take(base + step, axis=0)
            corners.append(rows[:, :3] + further * rows[:, 3:])
        share = isl_share[:, None]
        near = corners[0] + share * (corners[1] - corners[0])
        far = corners[2] + share * (corners[3] - corners[2])
        np.exp(near + load_share[:, None] * (far - near), out=out)


def sweep(
    service: Service, *, concurrency: ArrayLike, isl: ArrayLike, osl: ArrayLike, hit: float = 0.0
) -> Swept:
    """Return what many operating points of one deployment yield.

    Parameters
    ----------
    service : Service
        The deployment, of `planner.performance.predict.make_service`.
    concurrency, isl, osl : array_like
        Requests at once, and lengths [tokens]; they broadcast.
    hit : float
        Share of the input that is cached.

    Returns
    -------
    Swept
        Within about 1 % of `Service.at`.
    """
    ends = [(float(np.min(a)), float(np.max(a))) for a in (concurrency, isl, osl)]
    return SweepTable(service, ends[0], ends[1], ends[2], hit).at(concurrency, isl, osl)


def _axis(low: float, high: float) -> _Axis:
    return _Axis(low, max(2, int(np.ceil(PER_DOUBLING * np.log2(high / low) - 1e-9)) + 1))
