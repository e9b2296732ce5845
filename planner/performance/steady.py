"""The steady state of a service: step time, batch, waiting and rates that agree with one another.

A closed loop holds C requests. Each spends TTFT before its first token and (OSL - 1) TPOT after it, so that
the loop yields C / (TTFT + (OSL - 1) TPOT) requests/s (Little's law). TPOT is the decode step, which grows
with the batch, stretched by the prefills of other requests that share the GPU; TTFT is the request's own
prefill and the wait for its turn. Both depend on the rate, which is found by iteration; a rate above what
prefill or the KV pool allows is cut to it, and the rest waits in a queue.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from planner.performance.parameters import CHUNK_TOKENS, FIRST_TOKEN_S, WAVE_SHARE, Array, factor
from planner.performance.pipeline import batch_share, copy_share, decode_parts, prompt_share
from planner.performance.profile import ENDLESS, Profile
from planner.performance.times import decode_step, prefill, together

SERVICE, STATIC, OFFLINE, DECODE = 0, 1, 2, 3
"""Kinds of operating points: a service under load; a batch that starts and ends together; all requests there
at once; decoding alone."""

ROUNDS = 7
"""Iterations of the steady state; the last changes rates by less than a thousandth."""

LIMIT = 6.0
"""Power that rounds the bend where a limit takes over."""
FULLY_BUSY = 2 ** (-1 / LIMIT)
"""Share of its time that a copy prefills where prefill is the limit: the bend leaves it idle for the rest."""

OFFLINE_OVERFILL, OFFLINE_MOST = 2.0, 4096.0
"""Offline, so many times what the pool holds is waiting, but no engine runs more than this at once."""

LEAST_BATCH = 0.2
"""A step of fewer requests takes as long: some engine step runs whenever there is a request."""

LEAST_LOAD = 1e-9


@dataclass(frozen=True, slots=True)
class Points:
    """Operating points; each field an array of N, or of 1.

    Parameters
    ----------
    isl, osl : array
        Mean input and output of a request [tokens].
    concurrency : array
        Requests in the system, over all copies.
    hit : array
        Share of the input that a prefix cache holds.
    copies : array
        Copies of the deployment (of the decoding pool where prefill has its own).
    gpus : array
        GPUs that rates are divided by.
    prefill_gpus : array
        GPUs of a pool that only prefills; 0 where decoding GPUs prefill too.
    transfer_s : array
        Time to move the cache of one request to the decoding pool [s].
    drafted : array
        Tokens drafted for each step.
    tokens_per_step : array
        Tokens that a step yields for each request: 1 without drafts.
    kind : array of int
        `SERVICE`, `STATIC`, `OFFLINE` or `DECODE`.
    """

    isl: Array
    osl: Array
    concurrency: Array
    hit: Array
    copies: Array
    gpus: Array
    prefill_gpus: Array
    transfer_s: Array
    drafted: Array
    tokens_per_step: Array
    kind: Array


@dataclass(frozen=True, slots=True)
class Steady:
    """What operating points yield.

    Parameters
    ----------
    output_tps : array
        Output tokens of all copies [tok/s].
    tpot_s, ttft_s, ttft_mean_s : array
        Time between tokens of a request; median and mean time to the first [s].
    batch : array
        Requests that decode at once in one copy.
    most : array
        Requests that the KV pool of one copy holds.
    step_s : array
        One decode step [s].
    alone_s : array
        Prefill of one request on its own [s].
    prefill_s : array
        What one request's prefill takes from a copy that is full of work [s].
    tokens_per_step : array
        Tokens that a step yields for each request.
    parts : array
        Parts of the requests that decode in turn in the stages of a pipeline.
    """

    output_tps: Array
    tpot_s: Array
    ttft_s: Array
    ttft_mean_s: Array
    batch: Array
    most: Array
    step_s: Array
    alone_s: Array
    prefill_s: Array
    tokens_per_step: Array
    parts: Array


def request_bytes(profile: Profile, tokens: Array) -> Array:
    """Return what one request keeps on a rank [bytes]."""
    kept = np.minimum(tokens[:, None], profile.kept) / profile.stride
    return np.asarray((profile.entry_bytes * kept).sum(1) + profile.state_bytes, dtype=float)


def mean_tokens(isl: Array, osl: Array) -> Array:
    """Return what a running request has in the cache on average [tokens]."""
    return isl + 0.6 * osl


def steady_state(
    profile: Profile, parameters: Array, points: Points, prefill_profile: Profile | None = None
) -> Steady:
    """Return what operating points yield.

    Parameters
    ----------
    profile : Profile
        Deployments (of the decoding pool).
    parameters : array, shape (N, parameters)
        Logarithms of factors.
    points : Points
        N operating points.
    prefill_profile : Profile, optional
        Deployments of the pool that only prefills; None is `profile`.

    Returns
    -------
    Steady
    """
    filling = prefill_profile or profile
    after = np.maximum(points.osl - 1, 1.0)
    new = np.maximum(np.maximum(points.isl, 1.0) * (1 - points.hit), 1.0)
    cached = np.maximum(points.isl - new, 0.0)
    context = points.isl + points.osl / 2
    speculates = points.tokens_per_step > 1
    yielded = np.where(
        speculates, np.maximum(points.tokens_per_step * factor(parameters, "acceptance"), 1.0), 1.0
    )
    # Slots are a number that the server is started with; how well a shared pool is used was calibrated.
    used = np.where(profile.slots < ENDLESS, 1.0, factor(parameters, "pool"))
    pool = profile.pool_bytes * profile.pp * used
    held = request_bytes(profile, mean_tokens(points.isl, points.osl))
    most = np.maximum(1.0, np.minimum(pool / np.maximum(held, 1.0), profile.slots)) * profile.dp
    apart = points.prefill_gpus > 0
    load = points.concurrency / points.copies
    load = np.where(
        points.kind == OFFLINE,
        np.where(np.isfinite(load), load, np.minimum(most * OFFLINE_OVERFILL, OFFLINE_MOST)),
        load,
    )
    load = np.maximum(load, LEAST_LOAD)
    # Requests beyond what the pool holds wait outside: they add to the queue, not to what runs.
    active = np.minimum(load, most)

    others = np.maximum(active - 1, 0.0)
    beside = np.where(apart, 0.0, others)
    # For a pool that only prefills, the requests of all decoding copies vie.
    rivals = np.where(apart, np.maximum(active - 1 / points.copies, 0.0), others)
    alone = prefill(filling, parameters, new, cached) * prompt_share(filling, new, beside) + points.transfer_s
    # Of a pool that only prefills, each decoding copy has so many copies' worth.
    feeders = np.where(apart, points.prefill_gpus / (filling.ranks * points.copies), 1.0)
    cost = _loaded_prefill(filling, parameters, new, cached, active / feeders)
    cost = cost * copy_share(filling, new, beside) / feeders
    shared = np.where(apart, 0.0, factor(parameters, "sharing"))
    wait, queue = factor(parameters, "wait"), factor(parameters, "queue")
    wave = WAVE_SHARE * factor(parameters, "wave")
    client = FIRST_TOKEN_S * factor(parameters, "first_token")
    batch = np.maximum(active, LEAST_BATCH)
    tpot = np.zeros_like(load)
    for number in range(ROUNDS):
        step = decode_step(profile, parameters, batch, context, points.drafted).total
        pace = step / yielded
        ready = alone + step * wait * others / (others + 1) + client
        asked = wave * active * cost
        waited = _behind_others(cost, rivals, ready + asked + after * (tpot if number else pace), queue)
        median = ready + waited
        first = median + asked
        # The decoding of one request is stretched by the prefills of those that arrive meanwhile:
        # tpot = pace + shared x cost x rate x tpot, with rate = (active - 1) / (first + after x tpot).
        linear = first - shared * others * cost - after * pace
        tpot = (-linear + np.sqrt(linear**2 + 4 * after * pace * first)) / (2 * after)
        spacing = together((first + after * tpot) / active, after * tpot / most, LIMIT)
        spacing = together(spacing, cost, LIMIT)
        turnaround = spacing * load
        batch = np.clip(after * tpot / spacing, LEAST_BATCH, most)
    # What waits outside a full pool is counted by Little's law, and nothing is to be scaled about it.
    queued = np.maximum(turnaround - after * tpot - first, 0.0)
    output = load / turnaround * points.copies * points.osl
    offset = factor(parameters, "ttft")
    # A closed loop yields what its requests take (Little's law): a start and an end can only cost some of it.
    served = np.where(
        points.kind == SERVICE, np.minimum(factor(parameters, "output"), 1.0), factor(parameters, "output")
    )
    found = Steady(
        output * served,
        tpot,
        median * offset + queued,
        first * offset + queued,
        batch,
        most,
        step,
        alone,
        cost,
        yielded,
        decode_parts(profile, batch),
    )
    return _other_kinds(found, profile, parameters, points, load, new, context, after)


def _behind_others(cost: Array, others: Array, alone: Array, queue: Array) -> Array:
    """Return how long a request waits behind the prefills of others [s].

    With r the share of its time that a copy prefills, the wait of a single server is r / (2 (1 - r)) prefills
    (M/D/1). In a closed loop r = others x cost / T, where T is the `alone` time of a request and its wait: a
    quadratic of which T is the larger root. T is never below what the prefills of all others take.

    Parameters
    ----------
    cost, alone, queue : array, shape (N,)
        One prefill, a whole request without waiting [s], and the factor of the wait.
    others : array, shape (N,)
        Requests that run beside it.

    Returns
    -------
    array, shape (N,)
    """
    work = others * cost
    whole = (work + alone + np.sqrt((work - alone) ** 2 + 2 * queue * cost * work)) / 2
    return np.asarray(whole - alone)


def _loaded_prefill(profile: Profile, parameters: Array, new: Array, cached: Array, load: Array) -> Array:
    """Return what one request's prefill takes in all layers: requests that wait together share a chunk."""
    together_ = np.clip(np.maximum(load / profile.dp * 0.1, 1.0), 1.0, np.maximum(CHUNK_TOKENS / new, 1.0))
    full = prefill(profile, parameters, new, cached, once=False, copies=together_)
    return np.asarray(full / together_ / profile.dp)


def _other_kinds(
    found: Steady,
    profile: Profile,
    parameters: Array,
    points: Points,
    load: Array,
    new: Array,
    context: Array,
    after: Array,
) -> Steady:
    """Put static batches and decoding alone in place of the service, where points are of that kind."""
    static, decoding = points.kind == STATIC, points.kind == DECODE
    if not (static.any() or decoding.any()):
        return found
    # What measures decoding alone shares one prompt among all requests.
    batch = np.where(decoding, load, np.minimum(load, found.most))
    each = np.maximum(batch / profile.dp, 1.0)
    parts = decode_parts(profile, batch, np.where(static, new * each / CHUNK_TOKENS, np.inf))
    step = decode_step(profile, parameters, batch, context, points.drafted, parts).total
    pace = step / found.tokens_per_step
    filling = prefill(profile, parameters, new, 0 * new, copies=each) * batch_share(profile, new, each)
    latency = (filling + after * step) * np.maximum(load / batch, 1.0)
    output = np.where(
        static, load * points.osl / latency * factor(parameters, "output") * points.copies, found.output_tps
    )
    # Decoding alone has neither ramps nor gaps: its rate is the pace of all that decode.
    output = np.where(decoding, batch / pace * points.copies, output)
    either = static | decoding
    ttft = np.where(static, filling, found.ttft_s)
    return replace(
        found,
        output_tps=output,
        tpot_s=np.where(either, np.where(static, step, pace), found.tpot_s),
        ttft_s=ttft,
        ttft_mean_s=np.where(static, filling, found.ttft_mean_s),
        batch=np.where(either, batch, found.batch),
        step_s=np.where(either, step, found.step_s),
        parts=np.where(either, parts, found.parts),
    )
