"""Simulate a load, request by request."""

from __future__ import annotations

import math

import numpy as np

from planner.errors import InvalidInput, shorten
from planner.performance.simulation.arrivals import ClosedLoop, OpenArrivals
from planner.performance.simulation.lengths import Integers, Lengths
from planner.performance.simulation.machine import MOST_STEPS, Machine, Progress
from planner.performance.simulation.overload import flow
from planner.performance.simulation.records import Batching, KvPool
from planner.performance.simulation.requests import Requests
from planner.performance.simulation.result import SimulationResult
from planner.performance.simulation.slo import kept
from planner.performance.simulation.source import ClosedSource, OpenSource, Source
from planner.performance.simulation.summary import summarise
from planner.performance.simulation.times import StepTimes
from planner.performance.simulation.trace import Trace
from planner.performance.simulation.window import Measure, Window, warmup_requests
from planner.scenario.slo import LatencySlo

MOST_REQUESTS = 10_000_000
WARMUP_SHARE = 0.1
LONGEST_S = 1e10
"""Time from the first arrival to the last; beyond it a float loses the microseconds that steps take."""


def simulate(
    *,
    step_times: StepTimes,
    pool: KvPool,
    batching: Batching,
    arrivals: OpenArrivals | ClosedLoop,
    lengths: Lengths,
    requests: int | None = None,
    seed: int = 0,
    measure: Measure = "steady",
    warmup_share: float = WARMUP_SHARE,
    slo: LatencySlo | None = None,
    progress: Progress | None = None,
) -> SimulationResult:
    """Serve requests with a continuously batching engine and measure what a client would.

    Parameters
    ----------
    step_times : StepTimes
        How long one engine step takes.
    pool : KvPool
        Room for the cache.
    batching : Batching
        The scheduler and its limits.
    arrivals : OpenArrivals or ClosedLoop
        When requests come.
    lengths : Lengths
        How long they are.
    requests : int, optional
        How many; None is every request of a trace.
    seed : int
        Of the random streams: the same seed gives the same result, bit for bit. Arrivals, input lengths,
        output lengths and pauses have a stream each, so that a change to one leaves the others as they were.
    measure : str
        ``steady`` leaves out the warm-up and, after the last arrival, the drain; where nothing steady is
        left, and with ``all``, everything counts.
    warmup_share : float
        Share of the requests whose arrivals are warm-up.
    slo : LatencySlo, optional
        For goodput.
    progress : callable, optional
        Called with the number of finished requests and of all, a hundred times at most.

    Returns
    -------
    SimulationResult

    Raises
    ------
    InvalidInput
        For a load that cannot be: no request, one that is longer than the pool or the context.
    """
    count = _count(requests, arrivals, lengths)
    if not 0 <= warmup_share < 1:
        raise InvalidInput(
            f"warmup_share: {warmup_share:g} is no share from 0 to below 1; the default is {WARMUP_SHARE:g}"
        )
    if isinstance(seed, bool) or not isinstance(seed, int):
        raise InvalidInput(f"seed: {shorten(seed)} is no whole number")
    if seed < 0:
        raise InvalidInput(f"seed: {seed} is below zero; the nearest is 0")
    streams = [np.random.Generator(np.random.PCG64(child)) for child in np.random.SeedSequence(seed).spawn(4)]
    isl, osl = lengths.draw(count, streams[1], streams[2])
    check_requests(isl, osl, batching, pool)
    check_steps(isl, osl, batching, pool)
    source: Source
    if isinstance(arrivals, ClosedLoop):
        source, cv, times = ClosedSource(arrivals.concurrency, arrivals.pauses(count, streams[3])), None, None
        concurrency: int | None = arrivals.concurrency
    else:
        times, cv, concurrency = arrivals.times(count, streams[0]), arrivals.cv, None
        if not times[-1] <= LONGEST_S:
            raise InvalidInput(
                f"the last of {count:,} requests arrives after {times[-1]:.3g} s; at most {LONGEST_S:.0e} s "
                "can be simulated: fewer requests, a higher rate or a shorter trace"
            )
        source = OpenSource(times)
    warmup = warmup_requests(count, warmup_share, concurrency, times) if measure == "steady" else None
    machine = Machine(
        isl=isl.tolist(),
        osl=osl.tolist(),
        source=source,
        step_times=step_times,
        batching=batching,
        pool=pool,
        measured=(0, count) if warmup is None else (warmup, count - 1),
        progress=progress,
    )
    machine.run()
    window = _window(machine, warmup)
    if not window.length_s:
        # Users of a closed loop whose requests are alike come back together: between them nothing is steady.
        return simulate(
            step_times=step_times,
            pool=pool,
            batching=batching,
            arrivals=arrivals,
            lengths=lengths,
            requests=requests,
            seed=seed,
            measure="all",
            slo=slo,
            progress=progress,
        )
    return _result(machine, isl, osl, window, cv, slo, seed)


def check_requests(isl: Integers, osl: Integers, batching: Batching, pool: KvPool) -> None:
    """Refuse requests that the engine could never serve.

    Parameters
    ----------
    isl, osl : array of int
        Input and output tokens.
    batching : Batching
        The scheduler and its limits.
    pool : KvPool
        Room for the cache.

    Raises
    ------
    InvalidInput
        With the nearest length that is possible.
    """
    total = isl + osl
    longest = int(total.argmax())
    tokens = f"input {isl[longest]:,} and output {osl[longest]:,} tokens"
    if batching.max_context is not None and total[longest] > batching.max_context:
        raise InvalidInput(
            f"request {longest}: {tokens} are over the context of {batching.max_context:,}; the nearest is "
            f"{batching.max_context:,} together"
        )
    held = batching.longest_hold(int(isl[longest]), int(osl[longest]))
    if pool.request_blocks(held) > pool.blocks:
        possible = max(0, (pool.blocks - pool.state_blocks) * pool.block_size - (held - int(total[longest])))
        raise InvalidInput(
            f"request {longest}: {tokens} need {pool.request_blocks(held):,} blocks of {pool.block_size} of "
            f"the KV pool, which has {pool.blocks:,}; the nearest is {possible:,} tokens together"
        )
    if not batching.chunked_prefill and total[longest] > batching.max_num_batched_tokens:
        raise InvalidInput(
            f"request {longest}: {tokens} are over max_num_batched_tokens "
            f"({batching.max_num_batched_tokens:,}), and prompts are not chunked; set it to "
            f"{total[longest]:,}, or turn chunked prefill on"
        )


def check_steps(isl: Integers, osl: Integers, batching: Batching, pool: KvPool) -> None:
    """Refuse a load whose prompts or outputs take more steps than are simulated, however they arrive.

    Parameters
    ----------
    isl, osl : array of int
        Input and output tokens.
    batching : Batching
        The scheduler and its limits.
    pool : KvPool
        Room for the cache.

    Raises
    ------
    InvalidInput
        With the requests that are possible, and where prompts are the reason with the tokens of a step.
    """
    count, tokens = len(isl), batching.max_num_batched_tokens
    found = np.minimum((batching.prefix_hit * isl).astype(np.int64), isl - 1)
    prompts = int((isl - found // pool.block_size * pool.block_size).sum())
    at_once = min(count, batching.max_num_seqs, pool.slots or batching.max_num_seqs)
    outputs = math.ceil(float((osl - 1).sum()) / batching.accepted_tokens / at_once)
    steps = max(-(-prompts // tokens), outputs)
    if steps <= MOST_STEPS:
        return
    nearest = f"the nearest is {max(count * MOST_STEPS // steps, 1):,} requests"
    if steps > outputs:
        nearest += f", or max_num_batched_tokens of {-(-prompts // MOST_STEPS):,} instead of {tokens:,}"
    raise InvalidInput(
        f"requests: {count:,} take {steps:,} steps or more, and {MOST_STEPS:,} are simulated at most; "
        f"{nearest}"
    )


def _count(requests: int | None, arrivals: object, lengths: object) -> int:
    if requests is None:
        trace = next((part for part in (arrivals, lengths) if isinstance(part, Trace)), None)
        if trace is None:
            raise InvalidInput(
                "requests: say how many are to be simulated; only a trace has a number of its own"
            )
        return len(trace)
    check_number(requests)
    return requests


def check_number(requests: int) -> None:
    """Refuse a number of requests that cannot be simulated.

    Parameters
    ----------
    requests : int
        How many are asked for.

    Raises
    ------
    InvalidInput
        If it is no whole number from 1 to `MOST_REQUESTS`.
    """
    if isinstance(requests, bool) or not isinstance(requests, int):
        raise InvalidInput(f"requests: {shorten(requests)} is no whole number")
    if not 1 <= requests <= MOST_REQUESTS:
        nearest = 1 if requests < 1 else MOST_REQUESTS
        raise InvalidInput(
            f"requests: {requests:,} is not from 1 to {MOST_REQUESTS:,}; the nearest is {nearest:,}"
        )


def _window(machine: Machine, warmup: int | None) -> Window:
    """Return the span that counts, of no length where all after the warm-up come at once."""
    if warmup is None:
        return Window("all", 0, 0.0, max(machine.finish_s))
    arrival_s = np.array(machine.source.arrival_s)
    return Window("steady", warmup, float(np.partition(arrival_s, warmup)[warmup]), float(arrival_s.max()))


def _result(
    machine: Machine,
    isl: Integers,
    osl: Integers,
    window: Window,
    cv: float | None,
    slo: LatencySlo | None,
    seed: int,
) -> SimulationResult:
    arrival_s, finish_s = np.array(machine.source.arrival_s), np.array(machine.finish_s)
    requests = Requests(
        arrival_s=arrival_s,
        admitted_s=np.array(machine.admitted_s),
        first_token_s=np.array(machine.first_token_s),
        finish_s=finish_s,
        isl=isl,
        osl=osl,
        preemptions=np.array(machine.preemptions),
        measured=(arrival_s >= window.begin_s) & (arrival_s <= window.end_s),
    )
    rates = flow(requests, window, cv)
    chosen = requests.measured
    steady = not rates.overloaded
    span = (window.begin_s, window.end_s)
    output_tps = machine.timeline.output_tokens(*span) / window.length_s
    good = kept(slo, requests)[chosen] if slo is not None and steady else None
    arrived_per_s = int(chosen.sum()) / window.length_s
    return SimulationResult(
        requests=requests,
        window=window,
        flow=rates,
        ttft_s=summarise(requests.ttft_s[chosen]) if steady else None,
        tpot_s=summarise(requests.tpot_s[chosen & (osl > 1)]),
        itl_s=machine.gaps.summary(),
        e2e_s=summarise(requests.e2e_s[chosen]) if steady else None,
        queue_s=summarise(requests.queue_s[chosen]) if steady else None,
        output_tps=output_tps,
        total_tps=output_tps + machine.timeline.input_tokens(*span) / window.length_s,
        mean_batch=machine.timeline.mean_decoding(*span),
        kv_utilisation=machine.timeline.mean_held_tokens(*span) / machine.pool.tokens,
        kv_utilisation_peak=machine.timeline.peak_held_tokens() / machine.pool.tokens,
        preemptions=int(requests.preemptions.sum()),
        recomputed_tokens=machine.recomputed_tokens,
        slo=slo,
        goodput_per_s=None if good is None else float(good.mean()) * arrived_per_s,
        slo_share=None if good is None else float(good.mean()),
        seed=seed,
    )
