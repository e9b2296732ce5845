"""What an engine needs beside weights and KV: activations, graphs, communication buffers.

The forms are physical and their few parameters stand in `data/stacks.yaml`, by engine version and vendor. A
profile step runs `max_num_batched_tokens` tokens and samples for `max_num_seqs` requests: its peak is the wider of
the two, over buffers that live throughout (residual streams, the experts' workspace).
"""

from __future__ import annotations

from planner.architecture.tensors import Sharding
from planner.memory.setup import Setup
from planner.memory.widths import step_widths

VALUE_BYTES = 2
"""Activations are BF16 or FP16."""


def batch_tokens(setup: Setup) -> int:
    """Return the tokens of the profile step.

    Without chunked prefill (vLLM's V0 up to its threshold) it is the longest request.
    """
    deployment = setup.deployment
    batch = int(setup.assume("max_num_batched_tokens", deployment.max_num_batched_tokens))
    if setup.legacy and deployment.max_num_batched_tokens is None:
        return max(batch, setup.context)
    return batch


def activation_bytes(setup: Setup, stage: int) -> float:
    """Return the peak of the profile step on one rank of a stage [bytes].

    ``2 * tokens * (streams * hidden + experts) + max(sampler * sequences * vocabulary, 2 * tokens * inner)``; only
    the last stage samples.

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
    widths = step_widths(setup.architecture, deployment.sharding)
    sequences = min(int(setup.assume("max_num_seqs", deployment.max_num_seqs)), tokens)
    samples = stage == len(setup.stages) - 1
    sampler = setup.number("sampler_bytes_per_logit") * sequences * widths.vocab if samples else 0.0
    streams = setup.number("residual_streams") + (
        setup.number("pipeline_streams") if deployment.pp > 1 else 0
    )
    # Older versions allocate the experts' buffers inside the step, newer ones keep them.
    kept = setup.number("expert_workspace")
    steady = tokens * VALUE_BYTES * (streams * widths.hidden + kept * widths.experts)
    passing = tokens * VALUE_BYTES * max(widths.inner, (1 - kept) * widths.experts)
    return steady + max(sampler, passing) + tower_activation_bytes(setup, stage)


def tower_activation_bytes(setup: Setup, stage: int) -> float:
    """Return what profiling a vision or audio tower adds on the first stage [bytes]."""
    if stage or setup.deployment.text_only or not setup.architecture.towers:
        return 0.0
    widths = [
        tensor.rows
        for block in setup.architecture.towers
        for tensor in block.tensors()
        if tensor.is_matrix and tensor.rows > tensor.cols
    ]
    return setup.number("tower_tokens") * VALUE_BYTES * max(widths, default=0)


def graph_bytes(setup: Setup, stage: int) -> float:
    """Return the memory of captured graphs on one rank of a stage [bytes]."""
    if setup.deployment.enforce_eager:
        return 0.0
    layers = len(setup.stages[stage])
    return setup.number("graph_bytes_per_layer") * layers


def non_torch_bytes(setup: Setup) -> float:
    """Return what a rank holds outside the framework's allocator: context and communication buffers [bytes]."""
    held = setup.number("context_bytes")
    sharding: Sharding = setup.deployment.sharding
    if sharding.tp * sharding.dp > 1:
        held += setup.number("communication_bytes")
    return held
