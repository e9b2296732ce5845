"""What an engine needs beside weights and KV: activations, graphs, communication buffers.

The forms are physical and their few parameters stand in `data/stacks.yaml`, by engine version and vendor.
A profile step runs `max_num_batched_tokens` tokens and samples for `max_num_seqs` requests: its peak is the
wider of the two, over buffers that live throughout (residual streams, the experts' workspace).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from planner.architecture.caches import TokenCache
from planner.architecture.tensors import Sharding
from planner.memory.built import SameLayer, matrices
from planner.memory.page_rules import latent_workspace_bytes
from planner.memory.records import StageMemory
from planner.memory.setup import Setup
from planner.memory.weights import NOT_SERVED
from planner.units import format_bytes

LOGIT_BYTES = 4
"""Sampling works on logits in FP32."""

WIDE = "f32"
"""The dtype in which activations take four bytes instead of two."""


def batch_tokens(setup: Setup) -> int:
    """Return the tokens of the profile step.

    Without chunked prefill (vLLM's V0, up to some context) it is the longest request.
    """
    deployment = setup.deployment
    batch = int(setup.assume("max_num_batched_tokens", deployment.max_num_batched_tokens))
    if not setup.legacy or deployment.max_num_batched_tokens is not None:
        return batch
    chunked = setup.context > setup.number("legacy_chunked_above")
    return int(setup.number("legacy_chunk")) if chunked else max(batch, setup.context)


def activation_bytes(setup: Setup, stage: int) -> float:
    """Return the peak of the profile step on one rank of a stage [bytes].

    ``2 * tokens * (streams * hidden + experts) + max(sampler * sequences * vocabulary, 2 * tokens * inner,
    latents)``; only the last stage samples.

    Parameters
    ----------
    setup : Setup
        The deployment.
    stage : int
        Number of the pipeline stage.

    Returns
    -------
    float
    """
    deployment = setup.deployment
    tokens = batch_tokens(setup)
    widths = setup.step_widths()
    sequences = min(int(setup.assume("max_num_seqs", deployment.max_num_seqs)), tokens)
    samples = stage == len(setup.stages) - 1
    sampler = setup.number("sampler_bytes_per_logit") * sequences * widths.vocab if samples else 0.0
    streams = setup.number("residual_streams") + (
        setup.number("pipeline_streams") if deployment.pp > 1 else 0
    )
    # Older versions allocate the experts' buffers inside the step, newer ones keep them.
    kept = setup.number("expert_workspace")
    step = tokens * _value_bytes(setup)
    # Where tokens are gathered over the copies of DP attention, each rank's experts see those of all.
    gathered = deployment.dp if setup.setting("gathers_tokens").value else 1
    experts = step * widths.experts * gathered
    steady = step * streams * widths.hidden + max(kept * experts, index_workspace_bytes(setup, tokens))
    if setup.experts_in_fp4():
        steady += setup.number("fp4_expert_bytes")
    passing = max(step * widths.inner, (1 - kept) * experts, latent_workspace_bytes(setup))
    return steady + max(sampler, passing) + tower_activation_bytes(setup, stage)


def index_workspace_bytes(setup: Setup, tokens: int) -> float:
    """Return the buffers of a sparse indexer, which share memory with the experts' buffers [bytes].

    It gathers the keys of `index_gather_contexts` contexts for prefills; kernels that cannot do it in pieces
    also hold `index_logit_copies` FP32 logits for each pair of a token of the step and a key.
    """
    index = [cache for cache in setup.caches() if isinstance(cache, TokenCache) and cache.kind == "index"]
    keys = max((cache.entry_bytes(setup.kv_dtype) for cache in index if cache.stride == 1), default=0.0)
    entries = max((setup.context // cache.stride for cache in index), default=0)
    gathered = setup.number("index_gather_contexts") * setup.context * keys
    return gathered + setup.number("index_logit_copies") * 4.0 * tokens * entries


def tower_activation_bytes(setup: Setup, stage: int) -> float:
    """Return what profiling a vision or audio tower adds on the first stage [bytes]."""
    if stage or setup.deployment.text_only or not setup.architecture.towers:
        return 0.0
    widths = [
        tensor.rows
        for block in setup.architecture.towers
        for tensor in block.tensors()
        if tensor.is_matrix and tensor.rows > tensor.cols and tensor.group != NOT_SERVED
    ]
    return setup.number("tower_tokens") * _value_bytes(setup) * max(widths, default=0)


def _value_bytes(setup: Setup) -> int:
    return 4 if setup.scheme.default == WIDE else 2


def graph_bytes(setup: Setup, stage: int) -> float:
    """Return the memory of captured graphs on one rank of a stage [bytes]."""
    if setup.deployment.enforce_eager:
        return 0.0
    stages = setup.stages[stage]
    layers = setup.architecture.layers[stages.start : stages.stop]
    if stage == len(setup.stages) - 1:
        layers = layers + setup.draft_layers
    times = Counter(map(id, layers))
    distinct = {id(layer): layer for layer in layers}
    kernels = sum(times[key] * matrices(SameLayer(layer)) for key, layer in distinct.items())
    return setup.number("graph_bytes_per_matrix") * kernels


def non_torch_bytes(setup: Setup) -> float:
    """Return what a rank holds outside the framework's allocator: context and buffers [bytes]."""
    held = setup.number("context_bytes")
    sharding: Sharding = setup.deployment.sharding
    if sharding.tp * sharding.dp > 1:
        held += setup.number("communication_bytes")
    if sharding.dp > 1 and setup.has_experts():
        held += setup.number("expert_exchange_bytes")
    return held


def loader_residue_bytes(setup: Setup, stage: StageMemory) -> float:
    """Return what the allocator keeps of converting experts after loading, which no term of the rule counts.

    Freed buffers that were split for smaller ones stay reserved, so the pool is cut as if they were free.

    Parameters
    ----------
    setup : Setup
        The deployment.
    stage : StageMemory
        Memory of a stage.

    Returns
    -------
    float
        A share of the routed experts [bytes]; 0 for models without an entry in the engine's settings.
    """
    share = 0.0
    for item in setup.stack.settings.get("loader_residue", ()):
        model_type, _, text = str(item.value).partition(":")
        if model_type == setup.model.config.get("model_type") and item.applies(setup.version, setup.gpu):
            share = float(text)
    return share * stage.weights_by_group.get("routed_experts", 0)


def warm_up_bytes(setup: Setup, stage: StageMemory) -> float:
    """Return what a rank needs after the KV pool is cut and that was not set aside for it [bytes].

    vLLM cuts the pool first, then captures graphs and samples once for `max_num_seqs` requests.

    Parameters
    ----------
    setup : Setup
        The deployment.
    stage : StageMemory
        Memory of a stage.

    Returns
    -------
    float
        0 for other engines, and where the size of the pool was set by hand.
    """
    if "deduct_graphs" not in setup.stack.settings or setup.deployment.kv_cache_memory_bytes is not None:
        return 0.0
    asked = setup.deployment.deduct_graphs
    deducted = bool(setup.setting("deduct_graphs").value) if asked is None else asked
    sequences = min(int(setup.assume("max_num_seqs", setup.deployment.max_num_seqs)), batch_tokens(setup))
    samples = stage.stage == len(setup.stages) - 1
    logits = LOGIT_BYTES * sequences * setup.architecture.vocab_size if samples else 0
    residue = loader_residue_bytes(setup, stage)
    return logits + (0.0 if deducted else stage.graph_bytes) + residue


def outside_bytes(stage: StageMemory) -> float:
    """Return what the memory fraction leaves of a device [bytes]."""
    return max(stage.usable_bytes - stage.budget_bytes, 0.0)


def warm_up_warnings(setup: Setup, stages: Sequence[StageMemory]) -> list[str]:
    """Return what may fail after the pool is cut: graphs and the sampler's logits need memory outside it.

    What was not set aside for them must fit into the share of the device that the memory fraction leaves.

    Parameters
    ----------
    setup : Setup
        The deployment.
    stages : sequence of StageMemory
        Memory of each stage.

    Returns
    -------
    list of str
        Empty where the share is large enough, and for other engines.
    """
    for stage in stages:
        needed, left = warm_up_bytes(setup, stage), outside_bytes(stage)
        if needed > left:
            return [
                f"tight: after the KV pool is cut, graphs and sampling take {format_bytes(needed)}, and the "
                f"memory fraction leaves {format_bytes(left)}; lower it, or max_num_seqs"
            ]
    return []
