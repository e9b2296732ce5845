"""What planner predicts for one start-up log, paired with what the log says."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field, replace

from planner.catalogue import Catalogue, Gpu
from planner.errors import PlannerError
from planner.measurement.comparison import Pair
from planner.measurement.setups import GIB, NotPredictable, Setup, nominal_gpu, setup_of
from planner.measurement.startup_logs import StartupLog
from planner.memory import MemoryFit, Pool, fit_memory, pool_from_available

MIB = 2.0**20
NOMINAL_POOL_BYTES = 40 * GIB
"""A pool of usual size, to see whether its tokens depend on the context."""
REFUSED = "refused by planner"
"""Reason of rows whose set-up planner holds to be impossible."""

_REFUSALS = re.compile(r"\boom\b|no_kv|too_small|too_low|over_blocks")

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


@dataclass(frozen=True, slots=True)
class Prediction:
    """What was predicted for one log.

    Parameters
    ----------
    log : StartupLog
        The log.
    setup : Setup
        How it was read.
    pairs : dict of str to Pair
        Measured and predicted value by quantity.
    verdict : tuple of bool or None
        Whether it came up, and whether that was predicted; None where the log or the set-up says too little.
    remarks : tuple of str
        Why something of this row is not compared.
    """

    log: StartupLog
    setup: Setup
    pairs: dict[str, Pair] = field(default_factory=dict)
    verdict: tuple[bool, bool] | None = None
    remarks: tuple[str, ...] = ()


def predict_log(log: StartupLog, catalogue: Catalogue) -> Prediction:
    """Predict one start-up from its set-up, and what follows from its logged pool.

    Parameters
    ----------
    log : StartupLog
        The log.
    catalogue : Catalogue
        Models and accelerators.

    Returns
    -------
    Prediction
        With at least one pair or a verdict.

    Raises
    ------
    NotPredictable
        When nothing of the log can be compared; it says why.
    """
    setup = setup_of(log, catalogue)
    printed = printed_pool(log, setup, catalogue)
    pairs: dict[str, Pair] = {}
    remarks: list[str] = []
    verdict = None
    failure: NotPredictable | None = None
    try:
        fit = _fit(log, setup, catalogue)
    except NotPredictable as error:
        if error.reason == REFUSED:
            raise
        failure = error
        remarks.append(_shown(error))
    else:
        verdict = _verdict(log, setup, fit, remarks)
        pairs.update(_from_setup(log, printed, setup, fit, remarks))
    available = logged_pool_bytes(log, setup.engine)
    obstacle = _whose_pool(log, setup)
    if available is not None and obstacle:
        remarks.append(f"nothing from the logged pool: {obstacle}")
    elif available is not None:
        try:
            pool = _pool(log, setup, catalogue, available)
        except PlannerError as error:
            failure = failure or NotPredictable(REFUSED, str(error))
            remarks.append(f"logged pool: {error}")
        else:
            pairs.update(_from_pool(log, printed, pool, setup.deployment.dp))
    if not pairs and verdict is None:
        raise failure or NotPredictable("nothing logged to compare with", "; ".join(remarks))
    return Prediction(log, setup, pairs, verdict, tuple(remarks))


def _shown(error: NotPredictable) -> str:
    return f"{error.reason}: {error.detail}" if error.detail else error.reason


def _fit(log: StartupLog, setup: Setup, catalogue: Catalogue) -> MemoryFit:
    # llama.cpp sizes its caches by the context alone, so an accelerator is not needed for them.
    gpu = setup.gpu or (nominal_gpu(log) if setup.engine == "llama.cpp" else None)
    if gpu is None:
        what = f"gpu {log.gpu!r} {log.gpu_mem} is no single one, and total_gpu_gib is empty"
        raise NotPredictable("accelerator not stated", what)
    if not setup.weights_known:
        what = f"model {log.model!r}, weight_quant {log.weight_quant!r}"
        raise NotPredictable("weight format not stated", what)
    try:
        fit = fit_memory(
            model=setup.model,
            gpu=gpu,
            deployment=setup.deployment,
            workload=setup.workload,
            catalogue=catalogue,
        )
    except PlannerError as error:
        raise NotPredictable(REFUSED, str(error)) from None
    rank = fit.per_rank
    too_large = setup.gpu is not None and rank.weights_bytes > rank.usable_bytes
    if too_large and not log.weight_quant and _was_loaded(log):
        what = f"{log.model!r} as published does not fit {log.gpu!r}, but the log shows that it was loaded"
        raise NotPredictable("weight format not stated", what)
    return fit


def _was_loaded(log: StartupLog) -> bool:
    """Return whether a log shows that the weights were on the device."""
    later = ("fits", "fits_barely", "kv_too_small", "max_num_seqs_over_blocks", "runtime_oom")
    return log.outcome in later or any(value is not None for value in (log.weights_gib, log.avail_kv_gib))


def _pool(log: StartupLog, setup: Setup, catalogue: Catalogue, available_bytes: float) -> Pool:
    gpu: Gpu = setup.gpu or nominal_gpu(log)
    return pool_from_available(
        model=setup.model,
        gpu=gpu,
        deployment=setup.deployment,
        workload=setup.workload,
        catalogue=catalogue,
        available_bytes=available_bytes,
    )


def came_up(outcome: str) -> bool | None:
    """Return whether a log says that the engine came up.

    Parameters
    ----------
    outcome : str
        As in the column `outcome`.

    Returns
    -------
    bool or None
        None for an out-of-memory under load (``runtime_oom``), where it came up and did not last, for
        ``weights only``, where something else than memory ended the start-up, and for anything unknown.
    """
    if outcome.startswith("fits"):
        return True
    return False if _REFUSALS.search(outcome) else None


def _verdict(log: StartupLog, setup: Setup, fit: MemoryFit, remarks: list[str]) -> tuple[bool, bool] | None:
    """Return whether the engine came up and whether that was predicted, where both can be said."""
    started = came_up(log.outcome)
    if started is None:
        remarks.append(f"outcome {log.outcome or 'not stated'!r} is neither a yes nor a no")
    if started is None or setup.gpu is None or not setup.kv_known:
        return None
    return started, predicted_start(log, fit)


def predicted_start(log: StartupLog, fit: MemoryFit) -> bool:
    """Return whether the engine should come up.

    Parameters
    ----------
    log : StartupLog
        The log.
    fit : MemoryFit
        What was predicted for it.

    Returns
    -------
    bool
        It fits, and no more sequences were asked for than a model with recurrent states has blocks.
    """
    most = fit.safe_max_num_seqs
    return fit.fits and (most is None or log.max_num_seqs is None or log.max_num_seqs <= most)


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


def _whose_pool(log: StartupLog, setup: Setup) -> str | None:
    """Return why nothing follows from the logged pool, or None when something does."""
    if not setup.kv_known:
        return "KV dtype not known"
    if setup.deployment.pp > 1:
        # Tokens are those of the tightest stage, and nothing says that the logged memory is of the same.
        return "it is of an unnamed pipeline stage"
    if log.mamba_gb is not None:
        return "how it was divided between tokens and states was chosen at the start"
    return None


def _from_setup(
    log: StartupLog, printed: Printed, setup: Setup, fit: MemoryFit, remarks: list[str]
) -> Iterator[tuple[str, Pair]]:
    """Yield what the set-up alone predicts."""
    rank = fit.per_rank
    if log.weights_gib is not None:
        yield from _pair("weights_gib", log.weights_gib, _weights_bytes(log, setup, fit) / GIB)
    elif log.consumed_gib is not None:
        yield from _pair("consumed_gib", log.consumed_gib, (rank.weights_bytes + rank.non_torch_bytes) / GIB)
    if not setup.kv_known:
        remarks.append(
            f"only weights: {setup.engine} has no KV dtype {log.kv_cache_dtype!r} that planner knows"
        )
        return
    if setup.engine == "llama.cpp":
        if log.kv_size_mib is not None:
            caches = log.kv_size_mib + (log.kv_swa_size_mib or 0.0) + (log.recurrent_mib or 0.0)
            yield from _pair("kv_pool_gib", caches * MIB / GIB, fit.pool.bytes / GIB)
        return
    if _fooled(log):
        remarks.append("no pool: a negative term says that the engine's profiler was fooled")
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


def _from_pool(log: StartupLog, printed: Printed, pool: Pool, copies: int) -> Iterator[tuple[str, Pair]]:
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


def _fooled(log: StartupLog) -> bool:
    return (log.activation_gib or 0) < 0 or (log.non_torch_gib or 0) < 0


def printed_pool(log: StartupLog, setup: Setup, catalogue: Catalogue) -> Printed:
    """Return the tokens and requests that a log prints for one rank, where they can be compared.

    Parameters
    ----------
    log : StartupLog
        The log.
    setup : Setup
        How it was read.
    catalogue : Catalogue
        Models and engines.

    Returns
    -------
    Printed
    """
    if re.search(r"\b(?:under|over)-?(?:reported|estimated)\b", log.notes):
        return Printed(None, None)
    if log.max_model_len is None:
        tokens = None if _tokens_depend_on_context(log, setup, catalogue) else log.kv_tokens
        return Printed(tokens, None)
    ranks = re.search(r"\bsum of ([1-9]\d{0,3}) ranks\b", log.notes)
    if log.max_concurrency is None or not ranks:
        return Printed(log.kv_tokens, log.max_concurrency)
    return Printed(log.kv_tokens, log.max_concurrency / int(ranks[1]))


def _tokens_depend_on_context(log: StartupLog, setup: Setup, catalogue: Catalogue) -> bool:
    """Return whether the same pool prints other tokens for other contexts, as windows and states make it."""
    tokens = []
    for context in (None, 2048):
        workload = setup.workload.model_copy(update={"context": context})
        try:
            tokens.append(_pool(log, replace(setup, workload=workload), catalogue, NOMINAL_POOL_BYTES).tokens)
        except PlannerError:
            return False  # nothing will be predicted then
    return abs(tokens[0] - tokens[1]) > 0.001 * max(tokens)
