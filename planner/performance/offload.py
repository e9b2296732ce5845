"""What a step waits for where layers or experts run on the CPU, or weights stream over the host's link.

A decode step adds the CPU's part to the GPU's, one after the other:

    t = dense bytes / B + hit x expert bytes / B + switches x s, or tokens x FLOPs / C where that is longer

with B what the CPU reads of its memory (peak x share), C what it multiplies, `hit` the share of experts
that the tokens of the step chose, and s what handing over costs. Weights that stream to the GPU (vLLM,
SGLang) take bytes / (link x share) in every pass. A prefill of `FEWEST_STREAMED` tokens or more has llama.cpp
copy the CPU's weights to the GPU once for each micro-batch.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from planner.architecture.model import Layer
from planner.memory.built import count_caches
from planner.memory.cells import cells
from planner.memory.off_gpu import EXPERTS, HostSide
from planner.memory.setup import Setup
from planner.performance.costs import peak_of
from planner.performance.parameters import CHUNK_TOKENS, MATRIX_SHARE
from planner.performance.profile import Profile

SWITCH_S = 40e-6
"""Handing the activations of a token over between GPU and CPU, once each way (assumed) [s]."""
FEWEST_STREAMED = 32.0
"""Tokens from which llama.cpp copies weights to the GPU instead of multiplying on the CPU
(GGML_CUDA_MIN_BATCH_OFFLOAD)."""

LINK_RANGE = (0.9, 1.3)
"""Times shorter and longer that copies over a link may take (assumed)."""


@dataclass(frozen=True, slots=True)
class Offload:
    """The host's part of a deployment, in words and at its limits.

    Parameters
    ----------
    side : HostSide
        The host and what it holds.
    bound : str
        What limits it.
    peak : float
        Share of the peak of its memory or link at which times are reckoned.
    low, high : float
        Times shorter and longer that its reading may take, by the range of its share.
    """

    side: HostSide
    bound: str
    peak: float
    low: float
    high: float


def with_host(profile: Profile, setup: Setup) -> tuple[Profile, Offload | None]:
    """Return a profile with the host's part, and what it is.

    Parameters
    ----------
    profile : Profile
        Of what the GPU runs.
    setup : Setup
        The deployment.

    Returns
    -------
    tuple of Profile and Offload or None
        The same profile, and None, where all is on the GPU.
    """
    side = setup.host_side
    if side is None:
        return profile, None
    read = side.read_weights
    experts = float(read[EXPERTS])
    dense = float(sum(read.values())) - experts
    return (
        _streaming(profile, setup, side, dense, experts)
        if side.plan.streamed_bytes
        else _computing(profile, setup, side, dense, experts)
    )


def link_bytes_per_s(setup: Setup, side: HostSide) -> float:
    """Return the rate of copies to one card: its slot's, or the host's where that is slower [bytes/s]."""
    machine, card = side.machine, setup.gpu.scale_up
    rate = machine.link.value
    if card is not None and card.link.startswith("PCIe") and card.per_gpu is not None:
        rate = min(rate, card.per_gpu.value)
    shared = machine.memory_bandwidth.value * machine.memory_share_range[1] / setup.deployment.gpus
    return min(rate * machine.link_share.value, shared)


def _streaming(
    profile: Profile, setup: Setup, side: HostSide, dense: float, experts: float
) -> tuple[Profile, Offload]:
    rate = link_bytes_per_s(setup, side)
    stage = setup.weights[0].total()
    kept = stage / (stage + sum(side.weights.values()))
    chunk = setup.deployment.max_num_batched_tokens or CHUNK_TOKENS
    found = replace(
        profile,
        dense_read_s=profile.dense_read_s * kept,
        head_read_s=profile.head_read_s * kept,
        expert_read_s=profile.expert_read_s * kept,
        host_read_s=np.array([dense / rate]),
        host_expert_s=np.array([experts / rate]),
        host_stream_s=np.array([(dense + experts) / rate]),
        host_chunk=np.array([float(chunk)]),
    )
    card = setup.gpu.scale_up
    bound = "PCIe" if card is not None and card.link.startswith("PCIe") else "link to the host"
    return found, Offload(side, bound, side.machine.link_share.value, *LINK_RANGE)


def _computing(
    profile: Profile, setup: Setup, side: HostSide, dense: float, experts: float
) -> tuple[Profile, Offload]:
    machine, plan = side.machine, side.plan
    rate = machine.read_bytes_per_s
    layers = setup.architecture.layers
    on_cpu = layers[: plan.cpu_layers]
    flops = float(sum(_flops(layer, experts_only=False) for layer in on_cpu))
    flops += sum(_flops(layers[index], experts_only=True) for index in plan.expert_layers)
    if not plan.output_on_gpu:
        flops += 2.0 * setup.architecture.vocab_size * setup.architecture.hidden_size
    kept = cells(setup, count_caches(on_cpu))
    switches = 2 * len(plan.expert_layers) + (1 if plan.cpu_layers else 0)
    with_experts = sum(_flops(layer, experts_only=True) > 0 for layer in layers[plan.cpu_layers :])
    gpu_share = 1 - len(plan.expert_layers) / with_experts if with_experts else 1.0
    output = float(plan.output_on_gpu)
    found = replace(
        profile,
        choice=np.array([_choice(setup)]),
        head_read_s=profile.head_read_s * output,
        head_token_s=profile.head_token_s * output,
        expert_read_s=profile.expert_read_s * gpu_share,
        expert_token_s=profile.expert_token_s * gpu_share,
        expert_light_s=profile.expert_light_s * gpu_share,
        host_read_s=np.array([dense / rate + switches * SWITCH_S]),
        host_expert_s=np.array([experts / rate]),
        host_token_s=np.array([flops / machine.compute.value]),
        host_entry_s=np.array([kept.growing_bytes / rate]),
        host_sequence_s=np.array([(kept.request_bytes(10**9) - kept.growing_bytes * 1e9) / rate]),
        host_stream_s=np.array([(dense + experts) / link_bytes_per_s(setup, side)]),
        host_stream_token_s=np.array([flops / (peak_of(setup.gpu, "bf16") * MATRIX_SHARE["bf16"])]),
        host_least=np.array([FEWEST_STREAMED]),
        host_chunk=np.array(
            [setup.assume("max_num_batched_tokens", setup.deployment.max_num_batched_tokens)]
        ),
    )
    share, (low, high) = machine.memory_share.value, machine.memory_share_range
    return found, Offload(side, "host memory bandwidth", share, share / high, share / low)


def _flops(layer: Layer, *, experts_only: bool) -> int:
    """Return the FLOPs of one token in the matrices of a layer, or in its routed experts alone."""
    return sum(
        tensor.token_flops
        for block in layer.blocks
        for tensor in block.tensors()
        if tensor.expert or not experts_only
    )


def _choice(setup: Setup) -> float:
    """Return the share of the experts that a token chooses, wherever they are; 0 without experts."""
    shares = (
        (tensor.active or tensor.count) / tensor.count
        for tensor, _ in setup.architecture.counted_tensors()
        if tensor.expert
    )
    return min(next(shares, 0.0), 0.999999)


def slower_host(profile: Profile, times: float) -> Profile:
    """Return the profile with a host that takes so many times as long to read."""
    names = ("host_read_s", "host_expert_s", "host_entry_s", "host_sequence_s", "host_stream_s")
    return replace(profile, **{name: getattr(profile, name) * times for name in names})
