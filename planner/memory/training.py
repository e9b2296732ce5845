"""The memory of a training run on its fullest GPU: states, activations, logits, buffers.

States follow Rajbhandari et al., "ZeRO: memory optimizations toward training trillion parameter models" (SC
2020); activations Korthikanti et al., "Reducing activation recomputation in large transformer models" (2022),
whose ``s b h (34 + 5 a s / h)`` for a layer of GPT with dropout is what `activation_bytes_per_token` gives.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

from planner.architecture import Architecture
from planner.architecture.training import LayerWork, adapters, layer_work, outer_parameters
from planner.catalogue import Gpu
from planner.errors import DoesNotFit
from planner.scenario.training import TrainingRun, stage_layers

HALF = 2.0
"""Bytes of a 16-bit number."""
OPTIMISER_STATE_BYTES = 12.0
"""Adam: master weight, mean and variance in FP32 [bytes per parameter]."""
NF4_BYTES = (4 + 8 / 64 + 32 / (64 * 256)) / 8
"""A weight in NF4 with double quantisation, 4.127 bits (Dettmers et al., "QLoRA", 2023, section 3)."""
FP8_COPY_BYTES = 2.0
"""Casts of a matrix, and its transpose, which are kept between micro-batches [bytes per element]."""
LOGIT_BYTES = 8.0
"""Logits and their gradient in FP32 [bytes]. *Assumed*: Korthikanti et al. count the logits alone."""
NORM_BYTES, INPUT_BYTES, FP8_INPUT_BYTES, MASK_BYTES = 2.0, 2.0, 1.0, 1.0
"""Around one block: inputs of its norm and of its projections, these in FP8, and a mask of dropout."""
SCORE_BYTES, DROPPED_SCORE_BYTES = 2.0, 5.0
"""Scores where attention is not fused: softmax (2), and with dropout its mask (1) and output (2) [bytes]."""
PAGE_BYTES = 2.0**21
"""What a paged optimiser moves to the host at once."""
RESERVE_BYTES, RESERVE_SHARE = 1.5e9, 0.04
"""Context of the device and buffers of collectives; and what the allocator cannot use. *Assumed.*"""

PARTS = (
    "weights",
    "gradients",
    "optimiser",
    "fp8_copies",
    "gathered",
    "activations",
    "logits",
    "reserve",
)
"""Parts in the order in which they are shown."""


@dataclass(frozen=True, slots=True)
class TrainingMemory:
    """What the fullest GPU of a run holds.

    Parameters
    ----------
    parts_bytes : mapping of str to float
        By part [bytes].
    usable_bytes : float
        What a process can get [bytes].
    paged_bytes : float
        Optimiser states that stay on the host beside it [bytes].
    """

    parts_bytes: Mapping[str, float]
    usable_bytes: float
    paged_bytes: float = 0.0

    @property
    def total_bytes(self) -> float:
        """Return the sum of all parts [bytes]."""
        return sum(self.parts_bytes.values())

    @property
    def states_bytes(self) -> float:
        """Return weights, gradients and optimiser states [bytes]."""
        return sum(self.parts_bytes[name] for name in ("weights", "gradients", "optimiser"))

    @property
    def margin_bytes(self) -> float:
        """Return what is left, negative where it does not fit [bytes]."""
        return self.usable_bytes - self.total_bytes

    @property
    def fits(self) -> bool:
        """Return whether it fits."""
        return self.margin_bytes >= 0


def model_states_bytes(
    parameters: float, *, dp: int = 1, fsdp: int = 0, gradient_bytes: float = HALF
) -> tuple[float, float, float]:
    """Return weights, gradients and optimiser states of one rank in mixed-precision Adam [bytes].

    Parameters
    ----------
    parameters : float
        That the rank would hold alone.
    dp : int
        Copies that share them.
    fsdp : int
        What they share (ZeRO): 1 optimiser states, 2 gradients too, 3 weights too.
    gradient_bytes : float
        Of one gradient.

    Returns
    -------
    tuple of float
        ``2 + 2 + 12 = 16`` bytes a parameter where nothing is shared.
    """
    ways = [dp if fsdp >= stage else 1 for stage in (3, 2, 1)]
    sizes = (HALF, gradient_bytes, OPTIMISER_STATE_BYTES)
    weights, gradients, optimiser = (size * parameters / way for size, way in zip(sizes, ways, strict=True))
    return weights, gradients, optimiser


def activation_bytes_per_token(
    work: LayerWork, hidden: int, run: TrainingRun, *, recompute: str | None = None
) -> float:
    """Return what one layer keeps of one token for the backward pass on one rank [bytes].

    Parameters
    ----------
    work : LayerWork
        The layer on the rank.
    hidden : int
        Width of the stream.
    run : TrainingRun
        The run.
    recompute : str, optional
        Another recomputation than the run's.

    Returns
    -------
    float
        ``2 h`` where whole layers are recomputed; else 4 bytes an element of the stream for each block (5
        with dropout, 3 in FP8), 2 for what the ranks divide, and 2 for each score where attention is not
        fused and its core is kept (5 with dropout). FP8 keeps the input of the MLP's way back in one byte,
        and that of attention in one beside the two that attention itself keeps.
    """
    again = recompute or run.recompute
    shared = run.tp if run.sequence_parallel else 1
    if again == "full":
        return HALF * hidden / shared
    fp8 = run.dtype == "fp8"
    stream = NORM_BYTES + (FP8_INPUT_BYTES if fp8 else INPUT_BYTES)
    if run.dropout:
        stream += MASK_BYTES
    kept = stream * work.blocks * hidden / shared + HALF * work.split_width
    if fp8:
        kept += FP8_INPUT_BYTES * work.mixed_width - (HALF - FP8_INPUT_BYTES) * work.plain_width
    if run.attention == "unfused" and again == "none":
        heads = sum(mixing.rank_heads(run.tp) for mixing in work.mixings)
        kept += (DROPPED_SCORE_BYTES if run.dropout else SCORE_BYTES) * heads * run.seq_len
    return kept


def training_memory(architecture: Architecture, run: TrainingRun, gpu: Gpu) -> TrainingMemory:
    """Return the memory of the fullest GPU of a run.

    Parameters
    ----------
    architecture : Architecture
        A dense model.
    run : TrainingRun
        A legal run.
    gpu : Gpu
        The accelerator.

    Returns
    -------
    TrainingMemory
        Of the first stage, which keeps the activations of most micro-batches, or of the last one, which has
        the logits; either has the embedding or the head.
    """
    works = {layer: layer_work(layer, run.tp) for layer in architecture.layer_kinds()}
    weights, trained = stage_parameters(architecture, run)
    held, gradients, optimiser = model_states_bytes(
        trained, dp=run.dp, fsdp=run.fsdp, gradient_bytes=run.gradient_bytes
    )
    layer = max(work.parameters for work in works.values())
    in_stage = _matrices_in_stage(architecture, run)
    if run.frozen:
        held += frozen_bytes(architecture, run, weights) / (run.dp if run.fsdp == 3 else 1)
    copied = layer if run.fsdp == 3 else in_stage
    activations, logits = _activations(architecture, run, list(works.values()))
    parts = {
        "weights": held,
        "gradients": gradients,
        "optimiser": optimiser,
        "fp8_copies": FP8_COPY_BYTES * copied if run.dtype == "fp8" else 0.0,
        "gathered": _gathered(run, layer),
        "activations": activations,
        "logits": logits,
        "reserve": RESERVE_BYTES + RESERVE_SHARE * gpu.usable_bytes,
    }
    paged = 0.0
    if run.method == "qlora":
        paged = _paged(optimiser, sum(parts.values()) - gpu.usable_bytes)
        parts["optimiser"] -= paged
    return TrainingMemory(parts, gpu.usable_bytes, paged)


def _paged(optimiser: float, missing: float) -> float:
    """Return what QLoRA's paged optimiser leaves on the host: whole pages of what does not fit [bytes]."""
    return min(optimiser, max(0.0, math.ceil(missing / PAGE_BYTES) * PAGE_BYTES))


def check_one_layer(architecture: Architecture, run: TrainingRun, gpu: Gpu, name: str) -> None:
    """Refuse a card that does not hold one layer of a model, however the run is divided.

    Parameters
    ----------
    architecture : Architecture
        A dense model.
    run : TrainingRun
        A run whose tensor-parallel size, batch and method count.
    gpu : Gpu
        The accelerator.
    name : str
        What people call the model.

    Raises
    ------
    DoesNotFit
        With what one layer needs.
    """
    works = [layer_work(layer, run.tp) for layer in architecture.layer_kinds()]
    gathered = 2 * HALF * max(work.parameters for work in works)
    tokens = run.micro_batch * run.seq_len
    kept = max(
        activation_bytes_per_token(work, architecture.hidden_size, run, recompute="selective")
        for work in works
    )
    needed = gathered + kept * tokens + RESERVE_BYTES + RESERVE_SHARE * gpu.usable_bytes
    if needed > gpu.usable_bytes:
        raise DoesNotFit(
            f"{gpu.id} cannot hold one layer of {name}: with TP {run.tp}, micro-batch {run.micro_batch} and "
            f"{run.seq_len:,} tokens its weights, gradients and activations take {needed / 2**30:,.1f} GiB, "
            f"and {gpu.usable_bytes / 2**30:,.1f} GiB can be used, whatever else is shared"
        )


def stage_parameters(architecture: Architecture, run: TrainingRun) -> tuple[float, float]:
    """Return the parameters of the fullest stage on one rank: all of them, and those that are trained.

    Parameters
    ----------
    architecture : Architecture
        A dense model.
    run : TrainingRun
        The run.

    Returns
    -------
    tuple of float
        An end of the pipeline holds the embedding or the LM head beside its layers.
    """
    layers = len(architecture.layers)
    middle = _stage(architecture, run)
    at_end = middle - 1 if middle * run.pp > layers else middle
    kinds = architecture.layer_kinds().items()
    per_layer = sum(layer_work(layer, run.tp).parameters * count for layer, count in kinds) / layers
    ends = [outer_parameters(part, run.tp) for part in (architecture.embedding, architecture.head)]
    if run.pp > 1 and architecture.tied_embeddings:
        ends[1] = ends[0]
    outer = sum(ends) if run.pp == 1 else max(ends)
    weights = max(middle * per_layer, at_end * per_layer + outer)
    if not run.frozen:
        return weights, weights
    thin = sum(
        sum(one.elements for one in adapters(layer, run.tp, run.lora_rank, run.chosen)) * count
        for layer, count in kinds
    )
    return weights, middle * thin / layers


def _stage(architecture: Architecture, run: TrainingRun) -> int:
    return stage_layers(len(architecture.layers), run.pp, run.interleave)


def _gathered(run: TrainingRun, layer: float) -> float:
    """Return what is unpacked or gathered of two layers at a time [bytes]: one works while the next comes."""
    if run.fsdp == 3 and run.dp > 1:
        return 2 * HALF * layer + (0.0 if run.frozen else HALF * layer)
    return HALF * layer if run.method == "qlora" else 0.0


def frozen_bytes(architecture: Architecture, run: TrainingRun, weights: float) -> float:
    """Return the frozen weights of a stage as they are held and sent, matrices in NF4 for QLoRA [bytes].

    Parameters
    ----------
    architecture : Architecture
        A dense model.
    run : TrainingRun
        The run.
    weights : float
        Parameters of the stage on one rank.

    Returns
    -------
    float
    """
    packed = _matrices_in_stage(architecture, run) if run.method == "qlora" else 0.0
    return HALF * (weights - packed) + NF4_BYTES * packed


def _matrices_in_stage(architecture: Architecture, run: TrainingRun) -> float:
    """Return the parameters of the layers' matrices in a stage on one rank."""
    kinds = architecture.layer_kinds().items()
    matrices = sum(layer_work(kind, run.tp).matrix_parameters * count for kind, count in kinds)
    return matrices * _stage(architecture, run) / len(architecture.layers)


def _activations(architecture: Architecture, run: TrainingRun, works: list[LayerWork]) -> tuple[float, float]:
    """Return the activations, and the logits beside them, of the fuller end of the pipeline [bytes].

    One micro-batch in one layer, times the layers of a stage, times the micro-batches in flight.
    """
    hidden, tokens = architecture.hidden_size, run.micro_batch * run.seq_len
    kept = max(activation_bytes_per_token(work, hidden, run) for work in works)
    held = kept * tokens * _stage(architecture, run)
    again = 0.0
    if run.recompute == "full":
        again = tokens * max(
            activation_bytes_per_token(work, hidden, run, recompute="none") for work in works
        )
    logits = LOGIT_BYTES * tokens * architecture.vocab_size / run.tp
    first, last = micro_batches_in_flight(run)
    if run.pp > 1 and held * first >= held * last + logits:
        return held * first + again, 0.0
    return held * last + again, logits


def micro_batches_in_flight(run: TrainingRun) -> tuple[float, float]:
    """Return the micro-batches whose activations the first and the last stage hold at once.

    Parameters
    ----------
    run : TrainingRun
        The run.

    Returns
    -------
    tuple of float
        As many as there are stages, and one; with v parts on each of p stages ``p + (p - 1) / v`` and
        ``p - (p - 1) / v`` (the warm-up of Narayanan et al., SC 2021).
    """
    if run.interleave == 1:
        return min(run.pp, run.micro_batches), 1
    more = (run.pp - 1) / run.interleave
    return run.pp + more, run.pp - more
