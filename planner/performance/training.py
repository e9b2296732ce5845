"""The time of a training step, part by part: products, attention, elementwise work, communication, bubbles.

A micro-batch of T tokens takes on one stage, forward,

    sum over products 2 T k n (1 + w/k + w/n) / rate + attention + elementwise + two all-reduces

and backward twice the products (once where the weights are frozen), 2.5 times the attention, twice the
elementwise work and two all-reduces more; recomputation adds the forward pass again. With m micro-batches
over p stages of v parts each, a step takes ``m + (p - 1) / v`` times that of a stage (Narayanan et al.,
"Efficient large-scale language model training on GPU clusters using Megatron-LM", SC 2021).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from planner.architecture import Architecture
from planner.architecture.mixing import Mixing
from planner.architecture.model import Layer
from planner.architecture.totals import linear_flops_per_token
from planner.architecture.training import LayerWork, Product, adapters, layer_work
from planner.catalogue import Gpu
from planner.catalogue.training import TrainingModel
from planner.memory.training import NF4_BYTES, frozen_bytes, stage_parameters, training_memory
from planner.performance.collectives import collective_s
from planner.performance.fabric import Fabric
from planner.scenario.training import TrainingRun

PARTS = (
    "gemm",
    "attention",
    "elementwise",
    "tensor_parallel",
    "pipeline",
    "data_parallel",
    "bubble",
    "optimiser",
)
"""Parts of a step, in the order in which they are shown."""

STREAM_PASSES = 5.0
"""Reads and writes of the stream around one block: norm (2) and sum (3)."""
WIDTH_PASSES = 1.5
"""Reads and writes of what the ranks divide: rotation of queries and keys, activation of the MLP."""
SCORE_PASSES = 5.0
"""Reads and writes of the scores where attention is not fused: scale and mask, softmax, dropout."""
FLASH_BACKWARD, UNFUSED_BACKWARD = 2.5, 2.0
"""Products of attention backward over those forward: five over two where it makes its scores anew."""
OPTIMISER_BYTES = 30.0
"""Adam: states and master weights read and written (24), gradient read (4), weight written (2) [bytes]."""
HALF = 2.0
"""Bytes of a 16-bit number."""


@dataclass(frozen=True, slots=True)
class TrainingStep:
    """How long an optimiser step takes.

    Parameters
    ----------
    parts_s : mapping of str to float
        Time by part on the mean stage [s]; what hides behind other work is left out.
    tokens : int
        Tokens of the step.
    gpus : int
        GPUs of the run.
    model_flops, hardware_flops : float
        FLOPs of the step that the model needs, attention counted over the whole matrix of scores as PaLM and
        Megatron count it; and with what is recomputed.
    """

    parts_s: Mapping[str, float]
    tokens: int
    gpus: int
    model_flops: float
    hardware_flops: float

    @property
    def step_s(self) -> float:
        """Return the time of the step [s]."""
        return sum(self.parts_s.values())

    @property
    def tokens_per_s_per_gpu(self) -> float:
        """Return tokens of one GPU [tok/s]."""
        return self.tokens / self.step_s / self.gpus

    @property
    def flop_per_s_per_gpu(self) -> float:
        """Return the model's FLOPs of one GPU [FLOP/s]; over the peak it is the MFU."""
        return self.model_flops / self.step_s / self.gpus

    @property
    def hardware_flop_per_s_per_gpu(self) -> float:
        """Return the same with what is recomputed; over the peak it is the HFU."""
        return self.hardware_flops / self.step_s / self.gpus


@dataclass(frozen=True, slots=True)
class Machine:
    """What a run is timed on.

    Parameters
    ----------
    gpu : Gpu
        The accelerator.
    fabric : Fabric
        Its links.
    model : TrainingModel
        Figures of the time model.
    rates : mapping of str to float
        What products reach alone, by dtype [FLOP/s]; ``bf16`` must be there.
    """

    gpu: Gpu
    fabric: Fabric
    model: TrainingModel
    rates: Mapping[str, float]
    _sent: dict[tuple[str, float, int, int], float] = field(default_factory=dict, repr=False, compare=False)

    def collective(self, kind: str, size_bytes: float, ranks: int, stride: int) -> float:
        """Return the time of one collective of the library [s], worked out once for each size."""
        key = (kind, size_bytes, ranks, stride)
        if key not in self._sent:
            self._sent[key] = float(
                collective_s(kind, size_bytes, ranks, self.fabric, engine="nccl", stride=stride)
            )
        return self._sent[key]

    @property
    def memory_bytes_per_s(self) -> float:
        """Return the bandwidth that elementwise kernels reach [bytes/s]."""
        return self.gpu.bandwidth_bytes_per_s * self.model.bandwidth_share

    @property
    def attention_flop_per_s(self) -> float:
        """Return what attention reaches [FLOP/s]."""
        shares = self.model.flash_share
        for key in (self.gpu.architecture.lower(), self.gpu.vendor.lower(), "default"):
            if key in shares:
                return shares[key] * self.gpu.peak_flop_per_s("bf16")
        raise KeyError("default")

    def product_s(self, product: Product, tokens: int, dtype: str) -> float:
        """Return the time of one product [s]."""
        fill = 1 + self.model.width * (1 / product.inputs + 1 / product.outputs)
        rate = self.rates[dtype] * self.model.sustained
        return 2.0 * tokens * product.elements * fill / rate + self.model.launch_s


@dataclass(frozen=True, slots=True)
class _Pass:
    """Times of one pass through something, by part [s]."""

    gemm: float = 0.0
    attention: float = 0.0
    elementwise: float = 0.0
    tensor: float = 0.0

    def plus(self, other: _Pass, times: float = 1.0) -> _Pass:
        """Return the sum with so many times another."""
        return _Pass(
            self.gemm + times * other.gemm,
            self.attention + times * other.attention,
            self.elementwise + times * other.elementwise,
            self.tensor + times * other.tensor,
        )

    @property
    def total(self) -> float:
        """Return the time of all parts [s]."""
        return self.gemm + self.attention + self.elementwise + self.tensor


def training_step(architecture: Architecture, run: TrainingRun, machine: Machine) -> TrainingStep:
    """Return the time of one optimiser step.

    Parameters
    ----------
    architecture : Architecture
        A dense model.
    run : TrainingRun
        A legal run (`planner.scenario.training.check_run`).
    machine : Machine
        What it runs on.

    Returns
    -------
    TrainingStep
    """
    layer = _mean_layer(architecture, run, machine)
    head = Product(-(-architecture.vocab_size // run.tp), architecture.hidden_size)
    once = _Pass(gemm=machine.product_s(head, run.micro_batch * run.seq_len, "bf16"))
    before, after = _mean_stage(architecture, run, layer, once)
    both = before.plus(after)
    count = run.micro_batches
    data = _data_parallel(architecture, run, machine, before.total, after.total)
    parts = {
        "gemm": count * both.gemm,
        "attention": count * both.attention,
        "elementwise": count * both.elementwise,
        "tensor_parallel": count * both.tensor,
        "pipeline": _pipeline(architecture, run, machine),
        "data_parallel": data,
        "bubble": (run.pp - 1) / run.interleave * both.total,
        "optimiser": _optimiser(architecture, run, machine),
    }
    model, hardware = training_flops_per_token(architecture, run)
    return TrainingStep(parts, run.tokens, run.gpus, model * run.tokens, hardware * run.tokens)


def _mean_stage(
    architecture: Architecture, run: TrainingRun, layer: tuple[_Pass, _Pass], head: _Pass
) -> tuple[_Pass, _Pass]:
    """Return forward and backward of a micro-batch on the mean stage, with its share of the LM head."""
    layers = len(architecture.layers) / run.pp
    times = 1.0 if run.frozen else 2.0
    none = _Pass()
    return (
        none.plus(layer[0], layers).plus(head, 1 / run.pp),
        none.plus(layer[1], layers).plus(head, times / run.pp),
    )


def _mean_layer(architecture: Architecture, run: TrainingRun, machine: Machine) -> tuple[_Pass, _Pass]:
    """Return forward and backward of a micro-batch in the mean layer; kinds count as often as they occur."""
    forward, backward = _Pass(), _Pass()
    kinds = architecture.layer_kinds()
    for layer, count in kinds.items():
        one = _layer(architecture, layer, run, machine)
        forward = forward.plus(one[0], count / len(architecture.layers))
        backward = backward.plus(one[1], count / len(architecture.layers))
    return forward, backward


def _layer(
    architecture: Architecture, layer: Layer, run: TrainingRun, machine: Machine
) -> tuple[_Pass, _Pass]:
    tokens, hidden = run.micro_batch * run.seq_len, architecture.hidden_size
    work = layer_work(layer, run.tp)
    gemm = sum(machine.product_s(one, tokens, run.dtype) for one in work.products)
    thin = adapters(layer, run.tp, run.lora_rank, run.chosen) if run.frozen else ()
    adapted = sum(machine.product_s(one, tokens, "bf16") for one in thin)
    scores_s = _scores_s(work, run, machine)
    attention = _attention_s(work, run, machine)
    light = _elementwise_s(work, hidden, run, machine)
    reduced = 2 * _all_reduce_s(hidden, run, machine)
    forward = _Pass(gemm + adapted, attention, light + scores_s, reduced)
    flash = run.attention == "flash"
    backward = _Pass(
        (1.0 if run.frozen else 2.0) * gemm + 2.0 * adapted,
        (FLASH_BACKWARD if flash else UNFUSED_BACKWARD) * attention,
        2.0 * (light + scores_s),
        reduced,
    )
    if run.recompute == "full":
        backward = backward.plus(forward)
    elif run.recompute == "selective" and not flash:
        backward = backward.plus(_Pass(attention=attention, elementwise=scores_s))
    return forward, backward


def _attention_s(work: LayerWork, run: TrainingRun, machine: Machine) -> float:
    """Return attention forward [s]; without fusion nobody skips the half that is masked."""
    flops = 0.0
    for mixing in work.mixings:
        pairs = mixing.pairs(0, run.seq_len) if run.attention == "flash" else run.seq_len**2
        flops += mixing.rank_heads(run.tp) * mixing.prefill_pair_flops * pairs * run.micro_batch
    return flops / machine.attention_flop_per_s + machine.model.launch_s


def _scores_s(work: LayerWork, run: TrainingRun, machine: Machine) -> float:
    """Return the traffic of scores that attention writes out where it is not fused [s]."""
    if run.attention == "flash":
        return 0.0
    heads = sum(mixing.rank_heads(run.tp) for mixing in work.mixings)
    return SCORE_PASSES * HALF * heads * run.seq_len**2 * run.micro_batch / machine.memory_bytes_per_s


def _elementwise_s(work: LayerWork, hidden: int, run: TrainingRun, machine: Machine) -> float:
    """Return norms, sums, activations, casts to FP8 and, for QLoRA, unpacking the weights [s]."""
    tokens = run.micro_batch * run.seq_len
    shared = run.tp if run.sequence_parallel else 1
    passes = STREAM_PASSES * work.blocks * hidden / shared + WIDTH_PASSES * work.split_width
    moved = HALF * passes * tokens * machine.model.elementwise
    if run.dtype == "fp8":
        moved += (2.0 * work.blocks * hidden + work.split_width) * tokens
    if run.method == "qlora":
        moved += (NF4_BYTES + 2 * HALF) * work.matrix_parameters
    return moved / machine.memory_bytes_per_s


def _all_reduce_s(hidden: int, run: TrainingRun, machine: Machine) -> float:
    """Return one sum over the tensor-parallel ranks [s]; with sequence parallelism it has two halves."""
    if run.tp == 1:
        return 0.0
    size = HALF * run.micro_batch * run.seq_len * hidden
    exposed = 1 - machine.model.tensor_hidden
    return exposed * machine.collective("all_reduce", size, run.tp, 1)


def _pipeline(architecture: Architecture, run: TrainingRun, machine: Machine) -> float:
    """Return what transfers between stages cost beside other work [s]."""
    if run.pp == 1:
        return 0.0
    shared = run.tp if run.sequence_parallel else 1
    size = HALF * run.micro_batch * run.seq_len * architecture.hidden_size / shared
    one = machine.collective("send", size, 2, run.tp * run.dp)
    return 2 * run.interleave * run.micro_batches * one * (1 - machine.model.pipeline_hidden)


def _data_parallel(
    architecture: Architecture, run: TrainingRun, machine: Machine, forward_s: float, backward_s: float
) -> float:
    """Return what gradients and weights cost between the copies, beside what hides [s].

    ZeRO-3 gathers the weights before each forward and each backward pass, and it and ZeRO-2 scatter the
    gradients of each micro-batch, as no rank keeps all of them; the others do so once for a step.
    """
    if run.dp == 1:
        return 0.0
    weights, trained = stage_parameters(architecture, run)
    held = frozen_bytes(architecture, run, weights) if run.frozen else HALF * weights
    gather = machine.collective("all_gather", held, run.dp, run.tp)
    updated = machine.collective("all_gather", HALF * trained, run.dp, run.tp)
    scatter = machine.collective("reduce_scatter", run.gradient_bytes * trained, run.dp, run.tp)
    if run.fsdp == 3:
        each = _exposed(gather, forward_s, machine) + _exposed(gather + scatter, backward_s, machine)
        return run.micro_batches * each
    times = run.micro_batches if run.fsdp == 2 else 1
    return _exposed(updated, forward_s, machine) + times * _exposed(scatter, backward_s, machine)


def _exposed(sent_s: float, beside_s: float, machine: Machine) -> float:
    return sent_s - min(machine.model.data_hidden * sent_s, beside_s)


def _optimiser(architecture: Architecture, run: TrainingRun, machine: Machine) -> float:
    """Return the traffic of the optimiser, states that it pages to the host and back among it [s]."""
    _, trained = stage_parameters(architecture, run)
    held = trained / (run.dp if run.fsdp else 1)
    here = OPTIMISER_BYTES * held / machine.memory_bytes_per_s
    if run.method != "qlora":
        return here
    paged = training_memory(architecture, run, machine.gpu).paged_bytes
    return here + 2 * paged / machine.model.host_bytes_per_s


def training_flops_per_token(architecture: Architecture, run: TrainingRun) -> tuple[float, float]:
    """Return the FLOPs of one token on all GPUs: what the model needs, and with what is recomputed.

    Parameters
    ----------
    architecture : Architecture
        A dense model.
    run : TrainingRun
        The run.

    Returns
    -------
    tuple of float
        Forward once and backward twice that (once where weights are frozen): 6 FLOPs for each parameter of a
        matrix, and 12 x heads x width x length for each layer (Chowdhery et al., "PaLM", 2022, appendix B).
    """
    head = 2 * architecture.vocab_size * architecture.hidden_size
    linear = linear_flops_per_token(architecture)
    scores = sum(
        count * sum(_whole_matrix(mixing, run.seq_len) for mixing in layer.mixings())
        for layer, count in architecture.layer_kinds().items()
    )
    thin = sum(
        2 * count * sum(one.elements for one in adapters(layer, 1, run.lora_rank, run.chosen))
        for layer, count in architecture.layer_kinds().items()
        if run.frozen
    )
    needed = (2.0 if run.frozen else 3.0) * linear + 3.0 * (scores + thin)
    again = linear - head + scores + thin if run.recompute == "full" else 0.0
    if run.recompute == "selective" and run.attention == "unfused":
        again = scores
    return needed, needed + again


def _whole_matrix(mixing: Mixing, tokens: int) -> float:
    """Return the FLOPs of one token's row of the matrix of scores, masked or not."""
    seen = tokens if mixing.most is None else min(tokens, mixing.most)
    return float(mixing.heads * mixing.prefill_pair_flops * seen)
