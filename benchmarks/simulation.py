"""How long the request-level simulation takes on one core.

Run it with the interpreter that planner is installed in, with one thread:

    OPENBLAS_NUM_THREADS=1 python benchmarks/simulation.py [--requests 100000]

Inputs of 1,024 tokens, outputs of 256 to 1,024, 256 users or a Poisson rate that keeps about as many running.
"""

from __future__ import annotations

import argparse
import time
from typing import Any

import numpy as np

from planner.performance.simulation import (
    Batching,
    ClosedLoop,
    FixedLength,
    IndependentLengths,
    KvPool,
    OpenArrivals,
    PoissonArrivals,
    TabulatedStepTimes,
    UniformLength,
    simulate,
)

LENGTHS = IndependentLengths(isl=FixedLength(tokens=1024), osl=UniformLength(tokens=1024, low_share=0.25))
ROOMY = KvPool(tokens=2_000_000, block_size=16)
TIGHT = KvPool(tokens=320_000, block_size=16)


class Roofline:
    """A step as the larger of reading weights and caches, and multiplying: 8B on one H200, roughly."""

    def step_s(
        self,
        decode_requests: Any,
        decode_context_tokens: Any,
        prefill_tokens: Any,
        prefill_context_tokens: Any,
    ) -> Any:
        tokens = decode_requests + prefill_tokens
        reading = (16e9 + 131_072 * (decode_context_tokens + prefill_context_tokens)) / 3.6e12
        return 1e-3 + np.maximum(reading, 16e9 * tokens / 6e14)


def main() -> None:
    """Simulate each case once and print how long it took."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--requests", type=int, default=100_000, help="requests (default 100,000)")
    requests = max(1, parser.parse_args().requests)
    batching, prefill_first = Batching(), Batching(policy="prefill-first")
    users = ClosedLoop(concurrency=256)
    times = Roofline()
    cases: list[tuple[str, Any, KvPool, Batching, OpenArrivals | ClosedLoop]] = [
        ("closed loop", times, ROOMY, batching, users),
        ("closed loop, tabulated", TabulatedStepTimes(times, batching, 2048), ROOMY, batching, users),
        ("closed loop, prefill first", times, ROOMY, prefill_first, users),
        ("closed loop, pool too small", times, TIGHT, batching, users),
        ("Poisson, 15 requests/s", times, ROOMY, batching, PoissonArrivals(rate_per_s=15)),
    ]
    for name, step_times, pool, how, arrivals in cases:
        begin = time.process_time()
        result = simulate(
            step_times=step_times,
            pool=pool,
            batching=how,
            arrivals=arrivals,
            lengths=LENGTHS,
            requests=requests,
        )
        seconds = time.process_time() - begin
        print(
            f"{seconds:6.2f} s  {requests:,} requests, {name}: {result.output_tps:,.0f} tok/s, "
            f"batch {result.mean_batch:.0f}, {result.preemptions:,} preemptions, {result.verdict}"
        )


if __name__ == "__main__":
    main()
