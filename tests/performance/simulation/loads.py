"""Small loads that the tests share."""

from __future__ import annotations

from typing import Any

from planner.performance.simulation import (
    Batching,
    ClosedLoop,
    FixedLength,
    IndependentLengths,
    KvPool,
    SimulationResult,
    UniformLength,
    simulate,
)
from tests.performance.simulation.models import Affine

SHORT = IndependentLengths(isl=UniformLength(tokens=200), osl=UniformLength(tokens=60, low_share=0.3))


def fixed(isl: int, osl: int) -> IndependentLengths:
    """Return lengths that are the same for every request."""
    return IndependentLengths(isl=FixedLength(tokens=isl), osl=FixedLength(tokens=osl))


def simulated(**changes: Any) -> SimulationResult:
    """Simulate a small load with some of its arguments changed."""
    how: dict[str, Any] = {
        "step_times": Affine(),
        "pool": KvPool(tokens=100_000, block_size=16),
        "batching": Batching(max_num_seqs=32, max_num_batched_tokens=1024),
        "arrivals": ClosedLoop(concurrency=16),
        "lengths": SHORT,
        "requests": 200,
    }
    return simulate(**{**how, **changes})
