"""How wide a step is: the values per token that the widest layer of a rank holds at once."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

from planner.architecture import Architecture, Sharding
from planner.architecture.model import Block
from planner.architecture.tensors import Split, Tensor
from planner.memory.built import SameArchitecture

EXPANSION = "kv_b_proj"
"""The matrix that turns a latent into the keys and values of all heads."""


@dataclass(frozen=True, slots=True)
class Widths:
    """Values of one token on the fullest rank.

    Parameters
    ----------
    hidden, vocab : int
        Width of the residual stream and of the vocabulary.
    inner : int
        Outputs of the widest block's projections together, and the inputs of its last ones.
    experts : int
        The same of routed experts, over the experts that one token uses.
    latent : int
        Keys and values that one cached latent expands to; 0 without latent attention.
    """

    hidden: int
    vocab: int
    inner: int
    experts: int
    latent: int = 0


def step_widths(architecture: Architecture, sharding: Sharding) -> Widths:
    """Return the widths of a model's step.

    Parameters
    ----------
    architecture : Architecture
        The model.
    sharding : Sharding
        The parallel sizes.

    Returns
    -------
    Widths
    """
    layers = {id(layer): layer for layer in architecture.layers}.values()
    blocks = {id(block): block for layer in layers for block in layer.blocks}.values()
    return Widths(
        hidden=architecture.hidden_size,
        vocab=architecture.vocab_size,
        inner=max((_inner(block, sharding) for block in blocks), default=0),
        experts=max((_experts(block, sharding) for block in blocks), default=0),
        latent=max((_latent(block, sharding) for block in blocks), default=0),
    )


@lru_cache(maxsize=512)
def known_widths(key: SameArchitecture, sharding: Sharding) -> Widths:
    """Return the widths of a step, which formats, drafts and stages of the same sizes share."""
    return step_widths(key.record, sharding)


def _inner(block: Block, sharding: Sharding) -> int:
    """Return what the projections of a block write and its last ones read, experts left out."""
    total = 0
    for tensor in block.tensors():
        table = tensor.active == 0
        if tensor.is_matrix and not tensor.expert and not table:
            _, rows, cols = tensor.rank_shape(sharding)
            total += cols if tensor.split is Split.ROW else rows
    return total


def _experts(block: Block, sharding: Sharding) -> int:
    """Return the buffers of a fused experts' kernel: for what either product writes, and between them."""
    experts = [tensor for tensor in block.tensors() if tensor.expert and tensor.is_matrix]
    if not experts:
        return 0
    first = sum(_rows(tensor, sharding) for tensor in experts if tensor.split is Split.COLUMN)
    last = [tensor for tensor in experts if tensor.split is Split.ROW]
    inner = sum(tensor.rank_shape(sharding)[2] for tensor in last)
    stream = sum(tensor.rows for tensor in last)
    used = max(tensor.active or 1 for tensor in experts)
    return used * (max(first, stream) + inner)


def _latent(block: Block, sharding: Sharding) -> int:
    """Return what latent attention expands one entry of its cache to."""
    return sum(_rows(tensor, sharding) for tensor in block.tensors() if tensor.name == EXPANSION)


def _rows(tensor: Tensor, sharding: Sharding) -> int:
    return tensor.rank_shape(sharding)[1]
