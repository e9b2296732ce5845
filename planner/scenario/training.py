"""How a model is trained: batch, sizes, sharding, recomputation, dtype, method; and what of it is legal."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from planner.architecture import Architecture, Sharding
from planner.architecture.tensors import Tensor
from planner.architecture.training import matrix_names, training_refusal
from planner.errors import IllegalDeployment, InvalidInput, Unsupported, unknown_name
from planner.scenario.records import Count, Name, Plain, Scenario, Size

MOST_STAGES = 256
LARGEST_GROUP = 1 << 20
"""No cluster has more copies of a model than this; a larger one is a slip of the keyboard."""

Copies = Annotated[int, Plain, Field(ge=1, le=LARGEST_GROUP)]
Stage = Annotated[int, Plain, Field(ge=0, le=3)]

RECOMPUTE = ("none", "selective", "full")
METHODS = ("full", "lora", "qlora")
DTYPES = ("bf16", "fp8")
ATTENTIONS = ("flash", "unfused")
TARGET_GROUPS = {"attention": ("attention",), "mlp": ("dense_mlp",), "all": ("attention", "dense_mlp")}
"""Names for the matrices of whole groups that get an adapter."""


class TrainingRun(Scenario):
    """One training run; every optimiser step works through `global_batch` sequences of `seq_len` tokens."""

    tp: Size = 1
    """Tensor-parallel size."""
    pp: Size = 1
    """Pipeline stages."""
    dp: Copies = 1
    """Copies of the model, each with its share of the batch."""
    fsdp: Stage = 1
    """What the copies share (ZeRO): 0 nothing, 1 optimiser states, 2 gradients too, 3 weights too."""
    micro_batch: Count = 1
    """Sequences that one copy works on at once."""
    global_batch: Count = 1
    """Sequences of one optimiser step."""
    seq_len: Count = 4096
    """Tokens of a sequence."""
    interleave: Size = 1
    """Parts of the model that each stage holds, so that bubbles are so many times shorter."""
    recompute: Literal["none", "selective", "full"] = "none"
    """What is computed again in the backward pass: nothing, the core of attention, or whole layers."""
    dtype: Literal["bf16", "fp8"] = "bf16"
    """Format of the layers' matrix products; FP8 leaves the LM head and attention in BF16."""
    method: Literal["full", "lora", "qlora"] = "full"
    """All weights, or low-rank adapters over frozen weights in 16 bits or in NF4."""
    lora_rank: Size = 16
    """Width of an adapter."""
    lora_targets: Name | None = None
    """Matrices that get one: ``attention``, ``mlp``, ``all``, or names with commas; None: attention for
    LoRA, all for QLoRA."""
    attention: Literal["flash", "unfused"] = "flash"
    """Whether attention keeps its scores to itself, as all frameworks have had it since 2022."""
    sequence_parallel: bool = True
    """Whether the ranks of a tensor-parallel group also share what lies between its matrices."""
    dropout: bool = False
    """Whether masks of dropout are kept, as for GPT-3; models since Llama have none."""
    gradient_bytes: Literal[2, 4] = 2
    """Bytes of a gradient: 2 (BF16), or 4 where micro-batches add up in FP32."""

    @property
    def gpus(self) -> int:
        """Return the GPUs of the run."""
        return self.tp * self.pp * self.dp

    @property
    def micro_batches(self) -> int:
        """Return the micro-batches that one copy works through in a step."""
        return self.global_batch // (self.dp * self.micro_batch)

    @property
    def tokens(self) -> int:
        """Return the tokens of one step."""
        return self.global_batch * self.seq_len

    @property
    def frozen(self) -> bool:
        """Return whether the model's own weights stay as they are."""
        return self.method != "full"

    @property
    def layout(self) -> str:
        """Return the parallel sizes above 1, such as "TP8 PP4 VP5 DP16 ZeRO-1"."""
        named = (("TP", self.tp), ("PP", self.pp), ("VP", self.interleave), ("DP", self.dp))
        sizes = [f"{name}{size}" for name, size in named if size > 1]
        shared = [f"ZeRO-{self.fsdp}"] if self.dp > 1 else []
        return " ".join([*(sizes or ["one GPU"]), *shared])

    def chosen(self, tensor: Tensor) -> bool:
        """Return whether a matrix gets an adapter."""
        named = self.lora_targets or ("all" if self.method == "qlora" else "attention")
        if named in TARGET_GROUPS:
            return tensor.group in TARGET_GROUPS[named]
        return tensor.name in [name.strip() for name in named.split(",")]


def check_trainable(architecture: Architecture, name: str) -> None:
    """Refuse a model whose training is not worked out.

    Parameters
    ----------
    architecture : Architecture
        The model.
    name : str
        What people call it.

    Raises
    ------
    Unsupported
        For experts, towers and other attention than over keys and values.
    """
    if reason := training_refusal(architecture):
        raise Unsupported(f"{name}: training is worked out for dense language models alone; {reason}")


def check_run(run: TrainingRun, architecture: Architecture) -> None:
    """Refuse sizes and a batch that cannot be divided, naming what would be legal.

    Parameters
    ----------
    run : TrainingRun
        The run.
    architecture : Architecture
        The model.

    Raises
    ------
    IllegalDeployment
        For heads or columns that TP does not divide, and layers that the stages do not share.
    InvalidInput
        For a batch that the copies do not share, a sequence over the model's maximum, or unknown adapters.
    """
    if reasons := architecture.refusals(Sharding(tp=run.tp)):
        raise IllegalDeployment(reasons[0])
    layers = len(architecture.layers)
    if not stage_layers(layers, run.pp, run.interleave):
        legal = [size for size in range(1, min(layers, MOST_STAGES) + 1) if stage_layers(layers, size, 1)]
        raise IllegalDeployment(
            f"{layers} layers do not divide over {run.pp} stages x {run.interleave} parts of each; "
            f"PP x interleave may be {', '.join(map(str, legal[:12]))}"
        )
    share = run.dp * run.micro_batch
    if run.global_batch % share:
        below = run.global_batch // share * share
        near = [str(size) for size in (below, below + share) if size]
        raise InvalidInput(
            f"a global batch of {run.global_batch:,} sequences is no multiple of dp {run.dp} x micro-batch "
            f"{run.micro_batch} = {share:,}; nearest: {' or '.join(near)}"
        )
    if run.interleave > 1 and run.micro_batches % run.pp:
        raise InvalidInput(
            f"interleaved stages take the micro-batches in groups of pp {run.pp}, which does not divide the "
            f"{run.micro_batches:,} of a step; take interleave 1 or a global batch of a multiple of "
            f"{share * run.pp:,}"
        )
    longest = architecture.max_context
    if longest is not None and run.seq_len > longest:
        raise InvalidInput(f"seq_len {run.seq_len:,} is over the model's maximum of {longest:,} tokens")
    _check_targets(run, architecture)


def _check_targets(run: TrainingRun, architecture: Architecture) -> None:
    if run.lora_targets is None or run.lora_targets in TARGET_GROUPS:
        return
    if not run.frozen:
        raise InvalidInput("lora_targets: adapters belong to the methods lora and qlora")
    known = matrix_names(architecture)
    for name in run.lora_targets.split(","):
        if name.strip() not in known:
            raise unknown_name("matrix for an adapter", name.strip(), [*TARGET_GROUPS, *known])


def stage_layers(layers: int, pp: int, interleave: int) -> int:
    """Return the layers of a stage in the middle of the pipeline, or 0 where they cannot be divided.

    Parameters
    ----------
    layers : int
        Of the model.
    pp, interleave : int
        Stages, and parts of the model on each.

    Returns
    -------
    int
        ``layers / pp``; where that does not divide, embedding and LM head may count as a layer each, as for
        the 126 layers of Llama-3.1-405B in 16 stages: ``(126 + 2) / 16 = 8``.
    """
    for extra in (0, 2):
        if (layers + extra) % (pp * interleave) == 0 and (pp > 1 or not extra):
            return (layers + extra) // pp
    return 0
