"""The quantities that a start-up log and a prediction have in common, paired."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from planner.measurement.comparison import Pair
from planner.measurement.setups import GIB, Setup
from planner.measurement.startup_logs import StartupLog
from planner.memory import MemoryFit, Pool

MIB = 2.0**20

QUANTITIES = {
    "weights_gib": "weights of a rank",
    "consumed_gib": "weights and non-torch memory of a rank, where the log gives only their sum",
    "kv_pool_gib": "KV pool of a rank, from the set-up alone",
    "kv_tokens": "tokens of the pool, from the set-up alone",
    "kv_blocks": "blocks of the pool, from the set-up alone",
    "max_concurrency": "requests of the full context, from the set-up alone",
    "kv_tokens_given_pool": "tokens of the logged pool",
    "kv_blocks_given_pool": "blocks of the logged pool",
    "max_concurrency_given_pool": "requests of the full context in the logged pool",
    "request_kv_gib": "pool that one request of the full context takes",
    "max_context_given_pool": "longest request that the logged pool holds",
    "activation_gib": "peak activation of a rank",
    "non_torch_gib": "communication buffers and context of a rank",
    "graph_gib": "captured graphs of a rank",
}
"""Every quantity that is compared, with what it is."""


@dataclass(frozen=True, slots=True)
class Printed:
    """What a log prints about the pool of one rank.

    Parameters
    ----------
    tokens : int or None
        None where it is not printed, known to be wrong, or depends on a context that is not stated.
    concurrency : float or None
        Requests of the full context; None as for tokens.
    """

    tokens: int | None
    concurrency: float | None


def logged_pool_bytes(log: StartupLog, engine: str) -> float | None:
    """Return the memory for the KV pool of one rank that a log states [bytes].

    Parameters
    ----------
    log : StartupLog
        The log.
    engine : str
        Its engine's family.

    Returns
    -------
    float or None
        None where it is not stated, is not above 0, or follows from the context alone (llama.cpp). SGLang's
        pool is its KV and its states; beside a pool of windows, K and V sizes are of one of the two.
    """
    if engine == "llama.cpp":
        return None
    stated = log.avail_kv_gib
    if engine == "sglang" and stated is None:
        stated = log.kv_size_gb
        if stated is None and None not in (log.k_size_gb, log.v_size_gb) and log.kv_swa_tokens is None:
            stated = (log.k_size_gb or 0.0) + (log.v_size_gb or 0.0)
        stated = None if stated is None else stated + (log.mamba_gb or 0.0)
    return stated * GIB if stated is not None and stated > 0 else None


def weights_from_setup(log: StartupLog, setup: Setup, fit: MemoryFit) -> Iterator[tuple[str, Pair]]:
    """Yield what the set-up predicts of the weights."""
    rank = fit.per_rank
    if log.weights_gib is not None:
        yield from _pair("weights_gib", log.weights_gib, _weights_bytes(log, setup, fit) / GIB)
    elif log.consumed_gib is not None:
        yield from _pair("consumed_gib", log.consumed_gib, (rank.weights_bytes + rank.non_torch_bytes) / GIB)


def pool_from_setup(
    log: StartupLog, printed: Printed, setup: Setup, fit: MemoryFit
) -> Iterator[tuple[str, Pair]]:
    """Yield what the set-up alone predicts of everything but the weights."""
    rank = fit.per_rank
    if setup.engine == "llama.cpp":
        if log.kv_size_mib is not None:
            caches = log.kv_size_mib + (log.kv_swa_size_mib or 0.0) + (log.recurrent_mib or 0.0)
            yield from _pair("kv_pool_gib", caches * MIB / GIB, fit.pool.bytes / GIB)
        return
    pool_bytes = logged_pool_bytes(log, setup.engine)
    if pool_bytes is not None:
        yield from _pair("kv_pool_gib", pool_bytes / GIB, fit.per_rank.kv_pool_bytes / GIB)
    copies = setup.deployment.dp
    yield from _pair("kv_tokens", printed.tokens, fit.pool.tokens / copies)
    yield from _pair("max_concurrency", printed.concurrency, fit.pool.max_concurrency / copies)
    yield from _pair("kv_blocks", log.kv_blocks, fit.pool.blocks)
    yield from _pair("activation_gib", log.activation_gib, rank.activation_bytes / GIB)
    yield from _pair("non_torch_gib", log.non_torch_gib, rank.non_torch_bytes / GIB)
    yield from _pair("graph_gib", log.cudagraph_gib, rank.graph_bytes / GIB)


def from_logged_pool(
    log: StartupLog, printed: Printed, pool: Pool, copies: int
) -> Iterator[tuple[str, Pair]]:
    """Yield what follows from the logged pool of one of `copies` data-parallel ranks."""
    yield from _pair("kv_tokens_given_pool", printed.tokens, pool.tokens / copies)
    yield from _pair("max_concurrency_given_pool", printed.concurrency, pool.max_concurrency / copies)
    yield from _pair("kv_blocks_given_pool", log.kv_blocks, pool.blocks)
    yield from _pair("request_kv_gib", log.needed_kv_gib, pool.request_bytes / GIB)
    yield from _pair("max_context_given_pool", log.est_max_len, pool.max_context)


def _pair(name: str, measured: float | None, predicted: float | None) -> Iterator[tuple[str, Pair]]:
    """Yield a pair where both are known and the measured one is an amount: above 0."""
    if measured is not None and measured > 0 and predicted is not None:
        yield name, Pair(float(measured), float(predicted))


def _weights_bytes(log: StartupLog, setup: Setup, fit: MemoryFit) -> float:
    """Return the weights to compare: of the stage nearest to the log, which does not say whose rank it is.

    For llama.cpp it is the whole model, since its logs give totals.
    """
    weights = [stage.weights_bytes for stage in fit.stages]
    if setup.engine == "llama.cpp":
        return sum(weights)
    return min(weights, key=lambda value: abs(value - (log.weights_gib or 0.0) * GIB))
