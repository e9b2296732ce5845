"""What planner predicts for one start-up log, paired with what the log says."""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace

from planner.catalogue import Catalogue, Gpu
from planner.errors import PlannerError
from planner.measurement.comparison import Pair
from planner.measurement.quantities import (
    Printed,
    from_logged_pool,
    logged_pool_bytes,
    pool_from_setup,
    weights_from_setup,
)
from planner.measurement.setups import GIB, NotPredictable, Setup, nominal_gpu, setup_of
from planner.measurement.startup_logs import StartupLog
from planner.memory import MemoryFit, Pool, fit_memory, pool_from_available
from planner.scenario import Workload

NOMINAL_POOL_BYTES = 40 * GIB
"""A pool of usual size, to see whether its tokens depend on the context."""
SHORT_CONTEXT = 2048
"""A context that any model takes, to see what depends on one that is not stated."""
REFUSED = "refused by planner"
"""Reason of rows whose set-up planner holds to be impossible."""

_REFUSALS = re.compile(r"\boom\b|no_kv|too_small|over_blocks")


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
        verdict = _verdict(log, setup, fit, catalogue, remarks)
        pairs.update(weights_from_setup(log, setup, fit))
        if not _said(remarks, "no pool", _no_pool(log, setup, fit, catalogue)):
            pairs.update(pool_from_setup(log, printed, setup, fit))
    except NotPredictable as error:
        if error.reason == REFUSED:
            raise
        failure = error
        remarks.append(f"{error.reason}: {error.detail}")
    available = logged_pool_bytes(log, setup.engine)
    if available is not None and not _said(remarks, "nothing from the logged pool", _whose_pool(log, setup)):
        try:
            pool = _pool(log, setup, catalogue, available)
        except PlannerError as error:
            raise NotPredictable(REFUSED, str(error)) from None
        pairs.update(from_logged_pool(log, printed, pool, setup.deployment.dp))
    if not pairs and verdict is None:
        raise failure or NotPredictable("nothing logged to compare with", "; ".join(remarks))
    return Prediction(log, setup, pairs, verdict, tuple(remarks))


def _said(remarks: list[str], what: str, why: str | None) -> bool:
    """Return whether there is a reason to leave something out, and note it."""
    if why is not None:
        remarks.append(f"{what}: {why}")
    return why is not None


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
            advise=False,
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
        ``free_memory_too_low``, where the device was in use before anything was loaded, for ``weights only``,
        where something else than memory ended the start-up, and for anything unknown.
    """
    if outcome.startswith("fits"):
        return True
    return False if _REFUSALS.search(outcome) else None


def _verdict(
    log: StartupLog, setup: Setup, fit: MemoryFit, catalogue: Catalogue, remarks: list[str]
) -> tuple[bool, bool] | None:
    """Return whether the engine came up and whether that was predicted, where both can be said."""
    started, predicted = came_up(log.outcome), predicted_start(log, fit)
    why = None
    if started is None:
        why = f"outcome {log.outcome or 'not stated'!r} is neither a yes nor a no"
    elif not setup.kv_known:
        why = f"KV dtype {log.kv_cache_dtype!r} is not known"
    elif setup.gpu is None:
        why = "accelerator not stated"
    elif predicted_start(log, _short_fit(log, setup, fit, catalogue)) != predicted:
        why = "it depends on the context, which is not stated"
    if _said(remarks, "no verdict", why) or started is None:
        return None
    return started, predicted


def _short_fit(log: StartupLog, setup: Setup, fit: MemoryFit, catalogue: Catalogue) -> MemoryFit:
    """Return what a short context would give where a log states none, else the same again."""
    if log.max_model_len is not None or setup.engine == "llama.cpp":
        return fit
    return _fit(log, replace(setup, workload=Workload(context=SHORT_CONTEXT)), catalogue)


def _no_pool(log: StartupLog, setup: Setup, fit: MemoryFit, catalogue: Catalogue) -> str | None:
    """Return why nothing but the weights can be compared with the set-up's prediction, or None."""
    if not setup.kv_known:
        return f"KV dtype {log.kv_cache_dtype!r} is not known"
    if (log.activation_gib or 0) < 0 or (log.non_torch_gib or 0) < 0:
        return "a negative term says that the engine's profiler was fooled"
    short = _short_fit(log, setup, fit, catalogue).per_rank.kv_pool_bytes
    if abs(short - fit.per_rank.kv_pool_bytes) > 0.01 * max(short, fit.per_rank.kv_pool_bytes):
        return "it depends on the context, which is not stated"
    return None


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
        It fits, is not overdrawn while it starts, and no more sequences were asked for than a model with
        recurrent states has blocks.
    """
    most = fit.safe_max_num_seqs
    within = most is None or log.max_num_seqs is None or log.max_num_seqs <= most
    return fit.holds and not fit.overdrawn and within


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
    for context in (None, SHORT_CONTEXT):
        workload = setup.workload.model_copy(update={"context": context})
        try:
            tokens.append(_pool(log, replace(setup, workload=workload), catalogue, NOMINAL_POOL_BYTES).tokens)
        except PlannerError:
            return False  # nothing will be predicted then
    return abs(tokens[0] - tokens[1]) > 0.001 * max(tokens)
