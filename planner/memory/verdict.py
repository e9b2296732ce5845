"""The verdict in words: what ends first, how sure that is, and what is held more than once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from planner.architecture.caches import StateCache
from planner.architecture.tensors import Split
from planner.memory.off_gpu import host_shortage
from planner.memory.records import Pool, StageMemory
from planner.memory.setup import Setup
from planner.memory.starting import obstacle
from planner.units import format_bytes


@dataclass(frozen=True, slots=True)
class Verdict:
    """Whether it fits, and why.

    Parameters
    ----------
    fits : bool
        Whether it starts and holds what was asked.
    verdict : str
        ``fits``, ``tight`` or ``does not fit``.
    binding_limit : str
        What ends first.
    margin_bytes, uncertainty_bytes : float
        What is left over what was asked, and how far that may be off.
    """

    fits: bool
    verdict: str
    binding_limit: str
    margin_bytes: float
    uncertainty_bytes: float


def judge(
    setup: Setup, stages: Sequence[StageMemory], pool: Pool, needed_bytes: float, tunable: bool
) -> Verdict:
    """Return the verdict on one deployment.

    It is tight where the margin is within the uncertainty of the overheads, and where it only fits with the
    engine's options turned.

    Parameters
    ----------
    setup : Setup
        The deployment.
    stages : sequence of StageMemory
        Memory of each stage.
    pool : Pool
        The KV pool.
    needed_bytes : float
        What the pool must hold: one request of the longest context, or the requests asked for.
    tunable : bool
        Whether it fits with other options, although as asked it does not.

    Returns
    -------
    Verdict
    """
    stage = min(stages, key=lambda each: each.available_bytes)
    margin = stage.available_bytes - needed_bytes
    uncertainty = _uncertainty(setup, stage)
    fits = pool.max_context >= setup.context and pool.max_concurrency >= setup.concurrency
    if fits:
        verdict = "fits" if margin > uncertainty else "tight"
    else:
        close = stage.available_bytes > 0 and margin > -uncertainty
        verdict = "tight" if tunable or close else "does not fit"
    stopped = obstacle(setup, stages, pool) if fits else None
    if stopped:
        # Another value of one option is enough, as for what is tight and does not fit as set up.
        return Verdict(False, "tight", stopped, margin, uncertainty)
    return Verdict(fits, verdict, _limit(setup, stage, pool), margin, uncertainty)


def _uncertainty(setup: Setup, stage: StageMemory) -> float:
    """Return how far the overheads of like set-ups differ: a constant and a share of what is computed."""
    overheads = stage.activation_bytes + stage.graph_bytes + stage.non_torch_bytes
    return setup.number("uncertainty_bytes") + setup.number("uncertainty_share") * overheads


def _limit(setup: Setup, stage: StageMemory, pool: Pool) -> str:
    """Return what ends first."""
    short = host_shortage(setup)
    if short is not None:
        return short
    where = f" on stage {stage.stage}" if len(setup.stages) > 1 else ""
    overheads = stage.budget_bytes - stage.weights_bytes - stage.available_bytes
    if stage.weights_bytes > stage.budget_bytes:
        return (
            f"weights: {format_bytes(stage.weights_bytes)} a GPU{where}, the engine may use "
            f"{format_bytes(stage.budget_bytes)} of {format_bytes(stage.usable_bytes)}"
        )
    if stage.available_bytes <= 0:
        return (
            f"no memory for KV: weights of {format_bytes(stage.weights_bytes)} and {format_bytes(overheads)} "
            f"of activations, graphs and buffers{where} exceed {format_bytes(stage.budget_bytes)}"
        )
    if pool.max_context < setup.context:
        return (
            f"KV pool: one request of {setup.context:,} tokens needs {format_bytes(pool.request_bytes)}, "
            f"{format_bytes(stage.available_bytes)} are left{where}"
        )
    if pool.slot_limit is not None:
        return f"slots: {pool.most_slots:,}, as {pool.slot_limit}"
    held = f"{pool.max_concurrency:,.{1 if pool.max_concurrency < 100 else 0}f}"
    what = "request" if held == "1.0" else "requests"
    return f"KV pool: it holds {held} {what} of {setup.request_tokens:,} tokens"


def tightness_warning(verdict: Verdict) -> list[str]:
    """Return how little is left, where it fits tightly."""
    if not (verdict.fits and verdict.verdict == "tight"):
        return []
    spare, spread = format_bytes(max(verdict.margin_bytes, 0)), format_bytes(verdict.uncertainty_bytes)
    return [f"tight: {spare} are left over what was asked, and overheads of like set-ups differ by {spread}"]


def replication_warnings(setup: Setup) -> list[str]:
    """Return what this deployment holds more than once because it cannot be divided.

    Parameters
    ----------
    setup : Setup
        The deployment.

    Returns
    -------
    list of str
    """
    found = []
    tp, heads = setup.deployment.tp, setup.kv_heads()
    if setup.has_latents() and tp > 1 and setup.deployment.dcp < tp:
        found.append(
            f"the latent KV cache is whole on each of the {tp} tensor-parallel ranks: more TP adds no KV "
            "tokens; DP attention or DCP does"
        )
    elif heads and heads < tp:
        found.append(
            f"{heads} KV heads over TP {tp}: each is held by {tp // heads} GPUs, so KV falls no further"
        )
    states = [cache for cache in setup.caches() if isinstance(cache, StateCache)]
    if any(part.units and part.units < tp for cache in states for part in cache.tensors):
        found.append(f"some recurrent states have fewer heads than TP {tp} and are held by several GPUs")
    padded = _padded_experts(setup)
    if padded:
        found.append(padded)
    return found


def _padded_experts(setup: Setup) -> str | None:
    """Return how far kernels pad the experts of a rank, where they do."""
    sharding = setup.deployment.sharding
    for tensor, _ in setup.architecture.counted_tensors():
        if not (tensor.expert and tensor.is_matrix and tensor.split is Split.COLUMN):
            continue
        fmt = setup.scheme.format_of(tensor).name
        width, stream = tensor.rank_shape(sharding)[1], tensor.cols
        wide = tensor.rank_shape(sharding, setup.tiles.width.get(fmt, 1))[1]
        deep = -(-stream // setup.tiles.stream.get(fmt, 1)) * setup.tiles.stream.get(fmt, 1)
        if (wide, deep) != (width, stream):
            share = wide * deep / (width * stream) - 1
            return (
                f"kernels pad each expert of a rank from {width:,} x {stream:,} to {wide:,} x {deep:,}: "
                f"{share:.0%} more memory for experts"
            )
    return None
