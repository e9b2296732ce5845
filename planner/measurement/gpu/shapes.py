"""The sizes that are timed: matrices of real models' layers, contexts and batches of services."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from planner.architecture import Sharding
from planner.catalogue import Catalogue
from planner.memory.built import SameModel, architecture_of
from planner.performance.operators import gather_operators
from planner.scenario import weight_scheme

Suite = Literal["tiny", "quick", "full"]
"""``tiny`` is for trying the commands out."""

GEMM_MODELS: dict[str, tuple[tuple[str, int], ...]] = {
    "tiny": (("qwen3-0.6b", 8),),
    "quick": (("llama-3.1-8b", 1), ("llama-3.3-70b", 8)),
    "full": (("llama-3.1-8b", 1), ("qwen3-32b", 1), ("llama-3.3-70b", 1), ("llama-3.3-70b", 8)),
}
"""Whose matrices are multiplied: models with the tensor-parallel size that divides them."""
GEMM_ROWS: dict[str, tuple[int, ...]] = {
    "tiny": (1, 32),
    "quick": (1, 16, 64, 256, 2048, 8192),
    "full": (1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024, 2048, 4096, 8192, 16384),
}
COPIED_BYTES: dict[str, tuple[int, ...]] = {
    "tiny": (1 << 20,),
    "quick": (1 << 26, 1 << 30),
    "full": tuple(1 << power for power in range(20, 33, 2)),
}


@dataclass(frozen=True, slots=True)
class AttentionShape:
    """Heads of one GPU, and what it attends to."""

    heads: int
    kv_heads: int
    head_dim: int
    batch: int
    context: int


@dataclass(frozen=True, slots=True)
class MoeShape:
    """The routed experts of one layer, and the tokens that reach them."""

    hidden: int
    inter: int
    topk: int
    experts: int
    tokens: int


HEADS = {
    "tiny": ((4, 2, 64),),
    "quick": ((32, 8, 128),),
    "full": ((32, 8, 128), (64, 8, 128), (8, 1, 128), (64, 8, 64)),
}
PREFILLS = {
    "tiny": ((1, 128),),
    "quick": ((1, 1024), (1, 8192)),
    "full": (
        (1, 512),
        (1, 1024),
        (1, 2048),
        (1, 4096),
        (1, 8192),
        (1, 16384),
        (1, 32768),
        (8, 1024),
        (4, 4096),
    ),
}
DECODES = {
    "tiny": ((2, 128),),
    "quick": ((1, 1024), (1, 8192), (32, 1024), (32, 8192), (128, 1024)),
    "full": tuple(
        (batch, context) for batch in (1, 8, 32, 64, 128, 256) for context in (512, 1024, 4096, 16384)
    ),
}
"""Batch and context."""
EXPERTS = {
    "tiny": ((256, 128, 2, 8),),
    "quick": ((2048, 768, 8, 128),),
    "full": ((2048, 768, 8, 128), (4096, 1536, 8, 128), (2880, 2880, 4, 128), (7168, 2048, 8, 32)),
}
"""Hidden and expert width, experts that a token chooses, and experts: Qwen3-30B, Qwen3-235B, gpt-oss-120b,
and an eighth of the experts of DeepSeek-V3."""
MOE_TOKENS = {"tiny": (4,), "quick": (1, 32, 256, 4096), "full": (1, 4, 16, 64, 256, 1024, 4096, 16384)}
MESSAGE_BYTES = {
    "tiny": (1 << 10, 1 << 16),
    "quick": tuple(1 << power for power in range(10, 31, 4)),
    "full": tuple(1 << power for power in range(10, 31)),
}
LARGEST_BYTES = 6 << 30
"""Operands of one operation together; larger ones are left out."""


def layer_matrices(catalogue: Catalogue, suite: Suite) -> list[tuple[int, int]]:
    """Return outputs and inputs of the dense matrices of real models, each once.

    Parameters
    ----------
    catalogue : Catalogue
        Where the models stand.
    suite : str
        "quick" or "full".

    Returns
    -------
    list of tuple of int
        (n, k), the smaller ones first.
    """
    found: dict[tuple[int, int], None] = {}
    for name, tp in GEMM_MODELS[suite]:
        model = catalogue.model(name)
        architecture = architecture_of(SameModel(model))
        scheme = weight_scheme(model, architecture, None)
        operators = gather_operators(architecture, scheme, Sharding(tp=tp)).operators
        found |= {(row.n, row.k): None for row in operators if row.kind in ("gemm", "lm_head")}
    return sorted(found, key=lambda size: size[0] * size[1])


def attention_shapes(suite: Suite, phase: Literal["prefill", "decode"]) -> list[AttentionShape]:
    """Return the attention shapes of a phase."""
    loads = PREFILLS[suite] if phase == "prefill" else DECODES[suite]
    return [
        AttentionShape(heads, kv_heads, head_dim, batch, context)
        for heads, kv_heads, head_dim in HEADS[suite]
        for batch, context in loads
        if 4 * batch * context * kv_heads * head_dim <= LARGEST_BYTES
    ]


def moe_shapes(suite: Suite) -> list[MoeShape]:
    """Return the expert layers and their tokens."""
    return [MoeShape(*layer, tokens) for layer in EXPERTS[suite] for tokens in MOE_TOKENS[suite]]
