"""Whether the figures of a run agree with one another; a run whose figures do not is kept and marked."""

from __future__ import annotations

import math
from collections.abc import Iterator

from planner.measurement.importers.runs import Latency, Run
from planner.measurement.serving_flags import CONCURRENCY_RATIO

RATES_AGREE = 0.02
"""Relative difference by which rate x duration may miss the tokens: rounding of what is printed."""
LATENCY_RATIO = (0.5, 2.0)
"""Bounds of (TTFT + TPOT x (OSL - 1)) / E2E of means: varying lengths move it little, a wrong unit much."""


def doubts(
    run: Run, *, output_tps: float | None, tps_per_user: float | None, one_phase: bool
) -> Iterator[str]:
    """Yield what does not agree in a run.

    Parameters
    ----------
    run : Run
        The run.
    output_tps : float or None
        Output rate of the whole deployment [tok/s].
    tps_per_user : float or None
        1 / TPOT [tok/s].
    one_phase : bool
        Prefill or decode alone, of which less holds.

    Yields
    ------
    str
        In the words that stand behind `check:` in the notes.
    """
    if off := _off(run.output_tps, run.duration_s, run.output_tokens):
        yield f"output rate x duration = {off:.4g} of the output tokens"
    both = None if None in (run.input_tokens, run.output_tokens) else run.input_tokens + run.output_tokens  # type: ignore[operator]
    if off := _off(run.total_tps, run.duration_s, both):
        yield f"total rate x duration = {off:.4g} of all tokens"
    if run.total_tps and run.output_tps and run.output_tps > run.total_tps * (1 + RATES_AGREE):
        yield "the output rate is above the total rate"
    ttft, tpot, e2e = run.ttft.mean, run.tpot.mean, run.e2e.mean
    if ttft is not None and tpot is not None and e2e and run.osl:
        whole = (ttft + tpot * max(run.osl - 1, 0)) / e2e
        if not LATENCY_RATIO[0] <= whole <= LATENCY_RATIO[1]:
            yield f"(TTFT + TPOT x (OSL - 1)) / E2E = {whole:.3g}"
    for name, latency in (("TTFT", run.ttft), ("TPOT", run.tpot), ("E2E", run.e2e)):
        if _disordered(latency):
            yield f"the 99th percentile of {name} is below its median"
    users = run.concurrency
    if output_tps and tps_per_user and users and math.isfinite(users) and not one_phase:
        share = output_tps / (users * tps_per_user)
        if not CONCURRENCY_RATIO[0] <= share <= CONCURRENCY_RATIO[1]:
            yield f"output/(concurrency x tok/s/user) = {share:.2g}"


def _off(rate: float | None, duration: float | None, tokens: float | None) -> float | None:
    """Return rate x duration / tokens where it is not 1."""
    if rate is None or not duration or not tokens:
        return None
    share = rate * duration / tokens
    return share if abs(share - 1) > RATES_AGREE else None


def _disordered(latency: Latency) -> bool:
    return latency.median is not None and latency.p99 is not None and latency.p99 < latency.median * 0.999
