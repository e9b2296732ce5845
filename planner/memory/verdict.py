"""The verdict in words: what ends first, how sure that is, and what would lift it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from planner.architecture.caches import StateCache
from planner.architecture.tensors import Split
from planner.memory.records import Pool, StageMemory
from planner.memory.setup import Setup
from planner.scenario import Deployment
from planner.units import format_bytes

REPLICATED_BY_DP = ("attention", "linear_attention", "dense_mlp", "shared_experts", "embed", "lm_head")
"""Weight groups that tensor parallelism divides and DP attention keeps whole on each GPU."""


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
    remedies : tuple of str
        What would lift it.
    margin_bytes, uncertainty_bytes : float
        What is left over what was asked, and how far that may be off.
    """

    fits: bool
    verdict: str
    binding_limit: str
    remedies: tuple[str, ...]
    margin_bytes: float
    uncertainty_bytes: float


def judge(
    setup: Setup, stages: Sequence[StageMemory], pool: Pool, needed_bytes: float, tuned: Deployment | None
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
    tuned : Deployment or None
        The same with other options, with which it fits although as asked it does not.

    Returns
    -------
    Verdict
    """
    stage = min(stages, key=lambda each: each.available_bytes)
    margin = stage.available_bytes - needed_bytes
    uncertainty = _uncertainty(setup, stage)
    fits = pool.max_context >= setup.context and pool.max_concurrency >= setup.concurrency
    limit, remedies = _limit(setup, stage, pool)
    if fits and margin > uncertainty:
        return Verdict(True, "fits", limit, (), margin, uncertainty)
    if fits:
        spare, spread = format_bytes(max(margin, 0)), format_bytes(uncertainty)
        left = f"only {spare} are left, and overheads differ by {spread}"
        return Verdict(True, "tight", limit, (left, *remedies), margin, uncertainty)
    if tuned is not None:
        how = (
            f"it fits with a memory fraction of {tuned.memory_fraction:g} and a batch of "
            f"{tuned.max_num_batched_tokens:,} tokens"
        )
        return Verdict(False, "tight", limit, (how, *remedies), margin, uncertainty)
    close = stage.available_bytes > 0 and margin > -uncertainty
    return Verdict(False, "tight" if close else "does not fit", limit, remedies, margin, uncertainty)


def _uncertainty(setup: Setup, stage: StageMemory) -> float:
    """Return how far the overheads of like set-ups differ: a constant and a share of what is computed."""
    overheads = stage.activation_bytes + stage.graph_bytes + stage.non_torch_bytes
    return setup.number("uncertainty_bytes") + setup.number("uncertainty_share") * overheads


def _limit(setup: Setup, stage: StageMemory, pool: Pool) -> tuple[str, tuple[str, ...]]:
    """Return what ends first and what would lift it."""
    where = f" on stage {stage.stage}" if len(setup.stages) > 1 else ""
    overheads = stage.budget_bytes - stage.weights_bytes - stage.available_bytes
    if stage.weights_bytes > stage.budget_bytes:
        return (
            f"weights: {format_bytes(stage.weights_bytes)} a GPU{where}, the engine may use "
            f"{format_bytes(stage.budget_bytes)} of {format_bytes(stage.usable_bytes)}",
            _weight_remedies(setup, stage),
        )
    if stage.available_bytes <= 0:
        return (
            f"no memory for KV: weights of {format_bytes(stage.weights_bytes)} and {format_bytes(overheads)} "
            f"of activations, graphs and buffers{where} exceed {format_bytes(stage.budget_bytes)}",
            (*_overhead_remedies(setup), *_weight_remedies(setup, stage)),
        )
    if pool.max_context < setup.context:
        return (
            f"KV pool: one request of {setup.context:,} tokens needs {format_bytes(pool.request_bytes)}, "
            f"{format_bytes(stage.available_bytes)} are left{where}",
            (
                _context_remedy(pool),
                *_overhead_remedies(setup),
                *_kv_remedies(setup, stage),
                *_weight_remedies(setup, stage),
            ),
        )
    return (
        f"KV pool: it holds {pool.max_concurrency:.1f} requests of {setup.request_tokens:,} tokens",
        (
            f"at most {int(pool.max_concurrency)} requests at once",
            *_kv_remedies(setup, stage),
            *_overhead_remedies(setup),
            *_weight_remedies(setup, stage),
        ),
    )


def _context_remedy(pool: Pool) -> str:
    if pool.max_context < 1:
        return "free memory: no context fits"
    return f"lower the context to {pool.max_context:,} tokens or less"


def _overhead_remedies(setup: Setup) -> tuple[str, ...]:
    deployment = setup.deployment
    found = []
    if setup.stack.id == "llama.cpp":
        return ()
    fraction = next(
        (a.value for a in setup.assumptions if a.name == "memory_fraction"), deployment.memory_fraction
    )
    if isinstance(fraction, float) and fraction < 0.95:
        found.append(f"raise the memory fraction from {fraction:g} to 0.95, if nothing else uses the GPU")
    batch = deployment.max_num_batched_tokens
    assumed = next((a.value for a in setup.assumptions if a.name == "max_num_batched_tokens"), batch)
    if isinstance(assumed, int) and assumed > 1024:
        found.append(f"lower the batch from {assumed:,} tokens, to 1,024 say: activations follow it")
    if setup.architecture.towers and not deployment.text_only:
        found.append("leave the vision and audio towers out (text only)")
    return tuple(found)


def _replicated_by_dp(stage: StageMemory, tp: int) -> float:
    """Return how much more a GPU holds when attention and shared parts are whole on it [bytes]."""
    divided = sum(stage.weights_by_group.get(group, 0) for group in REPLICATED_BY_DP)
    return float(divided * (tp - 1))


def _kv_remedies(setup: Setup, stage: StageMemory) -> tuple[str, ...]:
    deployment = setup.deployment
    found = []
    if setup.kv_dtype in ("bf16", "f16", "f32") and setup.stack.id != "llama.cpp":
        found.append("keep the KV cache in FP8: half the bytes")
    elif setup.kv_dtype in ("bf16", "f16", "f32"):
        found.append("keep the KV cache in q8_0: about half the bytes")
    if setup.has_latents() and deployment.tp > 1:
        price = format_bytes(_replicated_by_dp(stage, deployment.tp))
        found.append(
            f"DP attention (tp=1, dp={deployment.tp}): every tensor-parallel rank holds the whole latent "
            f"cache, so {deployment.tp} copies of attention hold up to {deployment.tp} times as many tokens, "
            f"at the price of {price} more weights on each GPU"
        )
        if deployment.dcp < deployment.tp and not setup.has_windows():
            found.append(
                f"decode-context parallel (dcp={deployment.tp}): each rank keeps its share of the tokens"
            )
    elif not setup.has_latents() and setup.kv_heads() > deployment.tp:
        found.append(f"more tensor parallelism, up to {setup.kv_heads()}: it divides the KV heads")
    return tuple(found)


def _weight_remedies(setup: Setup, stage: StageMemory) -> tuple[str, ...]:
    deployment = setup.deployment
    found = ["more GPUs: a larger TP within the node, PP or EP across nodes"]
    widest = {
        fmt
        for fmt in (setup.scheme.default, *setup.scheme.by_group.values())
        if fmt in ("bf16", "f16", "f32")
    }
    smaller = [name for name in setup.model.quantisations if name != setup.scheme.name]
    if smaller and (widest or not setup.scheme.by_group):
        found.append(f"a quantised checkpoint: {', '.join(smaller[:4])}")
    if deployment.dp > 1:
        found.append("TP instead of DP attention: attention weights are then divided too")
    experts = stage.weights_by_group.get("routed_experts", 0)
    if deployment.pp > 1 and experts == 0 and deployment.pipeline_layers is None:
        found.append("fewer layers on this stage (pipeline_layers)")
    return tuple(found)


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
