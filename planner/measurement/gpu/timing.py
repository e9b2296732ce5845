"""Timing one operation on a device: warmed up, cache cold, by the device's clock, median of many."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

FLUSHED_BYTES = 256 << 20
"""Overwritten before each run, several times the largest cache, so that operands come from memory."""
REPEATS, WARM_UPS = 15, 3
LONGEST_S = 0.4
"""An operation is repeated for no longer than this, but three times at least [s]."""
LEAST = 3


@dataclass(frozen=True, slots=True)
class Timing:
    """How long one operation took.

    Parameters
    ----------
    median_s, low_s, high_s : float
        Median, shortest and longest run [s].
    runs : int
        How many.
    graph : bool
        Whether it was replayed from a graph, so that the host's time is not in it.
    """

    median_s: float
    low_s: float
    high_s: float
    runs: int
    graph: bool


class Timer:
    """Times operations on one device.

    Parameters
    ----------
    torch : module
        PyTorch.
    device : str
        ``cuda`` (NVIDIA and ROCm alike), ``cuda:1`` or ``cpu``.
    """

    def __init__(self, torch: Any, device: str) -> None:
        self._torch, self._device = torch, device
        self.on_gpu = device.startswith("cuda")
        size = FLUSHED_BYTES if self.on_gpu else 1 << 20
        self._flushed = torch.empty(size, dtype=torch.uint8, device=device)

    def synchronize(self) -> None:
        """Wait for the device."""
        if self.on_gpu:
            self._torch.cuda.synchronize()

    def time(self, call: Callable[[], object], *, graph: bool = True, flush: bool = True) -> Timing:
        """Time an operation.

        Parameters
        ----------
        call : callable
            Starts it.
        graph : bool
            Whether to try to replay it from a graph; what cannot be captured is started each time.
        flush : bool
            Whether to empty the cache before each run.

        Returns
        -------
        Timing
        """
        for _ in range(WARM_UPS):
            call()
        self.synchronize()
        captured = self._capture(call) if graph and self.on_gpu else None
        run = captured or call
        once = self._once(run, flush)
        repeats = max(LEAST, min(REPEATS, int(LONGEST_S / max(once, 1e-6))))
        times = [self._once(run, flush) for _ in range(repeats)]
        return Timing(statistics.median(times), min(times), max(times), len(times), captured is not None)

    def _once(self, run: Callable[[], object], flush: bool) -> float:
        if flush:
            self._flushed.zero_()
        if not self.on_gpu:
            start = time.perf_counter()
            run()
            return time.perf_counter() - start
        # The device is still busy emptying its cache while the host lines these up, so no gap is timed.
        start, end = (self._torch.cuda.Event(enable_timing=True) for _ in range(2))
        start.record()
        run()
        end.record()
        end.synchronize()
        return float(start.elapsed_time(end)) / 1e3

    def _capture(self, call: Callable[[], object]) -> Callable[[], object] | None:
        graph = self._torch.cuda.CUDAGraph()
        try:
            with self._torch.cuda.graph(graph):
                call()
        except RuntimeError:
            self.synchronize()
            return None
        replay: Callable[[], object] = graph.replay
        replay()
        self.synchronize()
        return replay
