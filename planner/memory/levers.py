"""What would make a deployment fit: each lever is pulled alone, measured, and named only if it helps."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from planner.memory.page_rules import latent_workspace_bytes
from planner.memory.records import Pool, StageMemory
from planner.memory.setup import Setup
from planner.memory.starting import lower_fraction, residue_excess_bytes, unheld_sequences
from planner.scenario import Workload
from planner.scenario.support import has_units
from planner.units import format_bytes

TUNED_FRACTION = 0.95
"""The largest memory fraction that public start-ups use on a GPU of their own."""

TUNED_BATCH = 1024
"""A batch at which activations are small; prefills slow down below it."""

MOST_STAGES = 4
"""Pipeline stages that are tried beyond the wish; the smallest deployment is looked for elsewhere."""

REPLICATED_BY_DP = ("attention", "linear_attention", "dense_mlp", "shared_experts", "embed", "lm_head")
"""Weight groups that tensor parallelism divides and DP attention keeps whole on each GPU."""


@dataclass(frozen=True, slots=True)
class Lever:
    """One change of a deployment or of what is asked of it.

    Parameters
    ----------
    kind : str
        Levers of one kind are alternatives, the mildest first.
    text : str
        What to do.
    options : dict
        Fields of the deployment that change.
    workload : Workload or None
        What is asked instead; None where it stays.
    """

    kind: str
    text: str
    options: dict[str, Any] = field(default_factory=dict)
    workload: Workload | None = None


@dataclass(frozen=True, slots=True)
class Pulled:
    """What one lever does.

    Parameters
    ----------
    lever : Lever
        The lever.
    enough : bool
        Whether it lifts the limit by itself.
    gain_bytes : float
        By how much it raises the margin of the rank that decides.
    beside : str or None
        What the host is short of where the GPU has room.
    """

    lever: Lever
    enough: bool
    gain_bytes: float
    beside: str | None = None


def levers(setup: Setup, stage: StageMemory, pool: Pool, workload: Workload) -> Iterator[Lever]:
    """Yield the levers there are for a deployment, whether they help or not.

    Parameters
    ----------
    setup : Setup
        The deployment.
    stage : StageMemory
        The stage that decides.
    pool : Pool
        Its pool.
    workload : Workload
        What was asked.

    Yields
    ------
    Lever
    """
    yield from _less_load(setup, stage, pool, workload)
    yield from _fewer_sequences(setup)
    yield from _start(setup, stage, pool)
    yield from _options(setup)
    yield from _caches(setup, stage)
    yield from _weights(setup)
    yield from _more_gpus(setup)


def _less_load(setup: Setup, stage: StageMemory, pool: Pool, workload: Workload) -> Iterator[Lever]:
    if stage.available_bytes <= 0:
        return
    if pool.max_context < setup.context:
        if pool.max_context:
            text = f"lower the context to {pool.max_context:,} tokens or less"
            yield Lever("context", text, workload=Workload(context=pool.max_context))
    elif 1 <= pool.max_concurrency < setup.concurrency:
        most = int(pool.max_concurrency)
        fewer = workload.model_copy(update={"concurrency": most})
        yield Lever(
            "concurrency",
            f"at most {most:,} {'request' if most == 1 else 'requests'} at once",
            workload=fewer,
        )


def _start(setup: Setup, stage: StageMemory, pool: Pool) -> Iterator[Lever]:
    """Yield what lets an engine start whose pool holds enough."""
    if unheld_sequences(setup, pool):
        text = f"set max_num_seqs to {pool.slots:,}: a block of the pool for each request"
        yield Lever("max_num_seqs", text, {"max_num_seqs": pool.slots})
    over = stage.taken_bytes > stage.usable_bytes or residue_excess_bytes(setup, stage) > 0
    if stage.available_bytes > 0 and over and setup.deployment.kv_cache_memory_bytes is None:
        fraction = lower_fraction(setup, stage)
        text = f"lower the memory fraction to {fraction:g}, which leaves room for what comes after the pool"
        yield Lever("memory fraction", text, {"memory_fraction": fraction})


def _fewer_sequences(setup: Setup) -> Iterator[Lever]:
    """Yield halves of `max_num_seqs` for as long as they make what a profile step sets aside smaller."""
    before = latent_workspace_bytes(setup)
    sequences = int(_assumed(setup, "max_num_seqs", setup.deployment.max_num_seqs)) if before else 1
    while sequences > 1:
        sequences //= 2
        aside = latent_workspace_bytes(setup, sequences)
        if aside >= before:
            return
        before = aside
        text = (
            f"lower max_num_seqs to {sequences:,}: a profile step then sets {format_bytes(aside)} of keys "
            "and values aside"
        )
        yield Lever("max_num_seqs", text, {"max_num_seqs": sequences})


def _options(setup: Setup) -> Iterator[Lever]:
    deployment = setup.deployment
    if setup.stack.id != "llama.cpp" and deployment.kv_cache_memory_bytes is None:
        fraction = _assumed(setup, "memory_fraction", deployment.memory_fraction)
        if fraction < TUNED_FRACTION:
            yield Lever(
                "memory fraction",
                f"raise the memory fraction from {fraction:g} to {TUNED_FRACTION:g}, "
                "if nothing else uses the GPU",
                {"memory_fraction": TUNED_FRACTION},
            )
        batch = int(_assumed(setup, "max_num_batched_tokens", deployment.max_num_batched_tokens))
        if batch > TUNED_BATCH:
            yield Lever(
                "batch",
                f"lower the batch from {batch:,} tokens to {TUNED_BATCH:,}: activations follow it",
                {"max_num_batched_tokens": TUNED_BATCH},
            )
    if setup.architecture.towers and not deployment.text_only:
        yield Lever("towers", "leave the vision and audio towers out (text only)", {"text_only": True})


def _assumed(setup: Setup, name: str, given: float | None) -> float:
    value = next((item.value for item in setup.assumptions if item.name == name), given)
    return float(value) if isinstance(value, int | float) else 0.0


def _caches(setup: Setup, stage: StageMemory) -> Iterator[Lever]:
    deployment, tp = setup.deployment, setup.deployment.tp
    if setup.kv_dtype in ("bf16", "f16", "f32"):
        if setup.stack.id == "llama.cpp":
            yield Lever("cache", "keep the KV cache in q8_0: about half the bytes", {"kv_dtype": "q8_0"})
        elif has_units(setup.gpu, "fp8"):
            yield Lever("cache", "keep the KV cache in FP8: half the bytes", {"kv_dtype": "fp8"})
    if not setup.has_latents() or tp == 1:
        return
    ep = deployment.ep if deployment.ep > 1 else 1
    price = sum(stage.weights_by_group.get(group, 0) for group in REPLICATED_BY_DP) * (tp - 1)
    yield Lever(
        "copies",
        f"DP attention (tp=1, dp={tp}): {tp} copies of attention hold up to {tp} times as many tokens, at "
        f"the price of {format_bytes(price)} more weights on each GPU",
        {"tp": 1, "dp": tp * deployment.dp, "ep": ep, "dcp": 1},
    )
    if deployment.dcp < tp and not setup.has_windows():
        text = f"decode-context parallel (dcp={tp}): each rank keeps its share of the tokens"
        yield Lever("tokens", text, {"dcp": tp})


def _weights(setup: Setup) -> Iterator[Lever]:
    deployment = setup.deployment
    # Those that the GPU computes in come first.
    for name in sorted(setup.model.quantisations, key=lambda each: not _is_native(setup, each)):
        if name != setup.scheme.name:
            yield Lever("checkpoint", f"a smaller checkpoint, {name}", {"weight_dtype": name})
    if deployment.dp > 1:
        yield Lever(
            "division",
            f"TP instead of DP attention (tp={deployment.tp * deployment.dp}, dp=1), which divides attention",
            {"tp": deployment.tp * deployment.dp, "dp": 1},
        )


def _is_native(setup: Setup, quantisation: str) -> bool:
    formats = setup.model.quantisations[quantisation].formats.values()
    return all(has_units(setup.gpu, fmt) for fmt in formats)


def _more_gpus(setup: Setup) -> Iterator[Lever]:
    """Yield twice the TP again and again within a node, then whole nodes as pipeline stages."""
    deployment = setup.deployment
    tp = deployment.tp
    while 2 * tp * deployment.dp <= setup.gpu.node_gpus:
        tp *= 2
        yield _sized(setup, tp, deployment.pp)
    for pp in range(deployment.pp + 1, deployment.pp + MOST_STAGES):
        yield _sized(setup, tp, pp)


def _sized(setup: Setup, tp: int, pp: int) -> Lever:
    deployment = setup.deployment
    gpus = tp * pp * deployment.dp
    how = ", ".join(
        f"{name}={size}" for name, size in (("tp", tp), ("pp", pp), ("dp", deployment.dp)) if size > 1
    )
    return Lever("GPUs", f"more GPUs: {gpus} ({how})", {"tp": tp, "pp": pp, "pipeline_layers": None})


def remedies(pulled: list[Pulled], lacking_bytes: float) -> tuple[str, ...]:
    """Return the levers that help in words: those that are enough first, then the best of each other kind.

    Parameters
    ----------
    pulled : list of Pulled
        Every lever with what it does, in the order in which they were offered.
    lacking_bytes : float
        What is lacking on the rank that decides.

    Returns
    -------
    tuple of str
        Of alternatives the first that is enough. One that is not enough is named where it gives a twentieth
        of what is lacking or more; nothing is lacking where only an option keeps the engine from starting.
    """
    enough, partly = [], []
    for kind in dict.fromkeys(one.lever.kind for one in pulled):
        of_kind = [one for one in pulled if one.lever.kind == kind and (one.enough or one.gain_bytes > 0)]
        first = next((one for one in of_kind if one.enough), None)
        if first is not None:
            enough.append(f"{first.lever.text} (enough by itself)")
            continue
        best = max(of_kind, key=lambda one: one.gain_bytes, default=None)
        if best is not None and 0 < 0.05 * lacking_bytes <= best.gain_bytes:
            gain, lack = format_bytes(best.gain_bytes), format_bytes(lacking_bytes)
            given = f"gives {gain} of the {lack} that are lacking"
            if best.beside and best.gain_bytes >= lacking_bytes:
                given = f"enough for the GPU, but {best.beside}"
            partly.append(f"{best.lever.text} ({given})")
    return (*enough, *partly)
