"""What ranks send one another in a forward pass, as it follows from how the weights are divided.

A matrix cut along its inputs leaves partial sums, which the ranks add (Megatron-LM, arXiv 1909.08053).
Experts on other ranks get the tokens that chose them, and send them back.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from planner.architecture.mixing import Mixing
from planner.architecture.model import Layer
from planner.architecture.tensors import Sharding, Split, Tensor

ACTIVATION_BYTES = 2
"""Activations travel in BF16; a stack that dispatches in FP8 halves one all-to-all of two."""


@dataclass(frozen=True, slots=True)
class Message:
    """One collective, or one transfer to the next pipeline stage.

    Parameters
    ----------
    kind : str
        ``all_reduce``, ``all_gather``, ``reduce_scatter``, ``all_to_all`` or ``send``.
    group : str
        Which ranks: ``tp``, ``ep`` (all that share the experts), ``dcp`` or ``pp``.
    size : int
        How many ranks.
    token_bytes : float
        Bytes for one token of an attention rank: of the whole buffer; for ``all_to_all`` and ``send`` what a
        rank sends.
    tokens : str
        Which tokens are sent: ``all``, ``decode`` or ``sampled`` (logits).
    """

    kind: str
    group: str
    size: int
    token_bytes: float
    tokens: str = "all"


def layer_messages(layer: Layer, sharding: Sharding) -> tuple[Message, ...]:
    """Return the messages of one layer, in order.

    Parameters
    ----------
    layer : Layer
        The layer.
    sharding : Sharding
        The parallel sizes.

    Returns
    -------
    tuple of Message
    """
    found: list[Message] = []
    for block in layer.blocks:
        for mixing in block.mixings():
            found += _shared_context(mixing, sharding)
        found += weight_messages(block.tensors(), sharding)
    return tuple(found)


def weight_messages(tensors: Iterable[Tensor], sharding: Sharding) -> tuple[Message, ...]:
    """Return the messages that the divided weights of one block need.

    Parameters
    ----------
    tensors : iterable of Tensor
        The block's weights.
    sharding : Sharding
        The parallel sizes. Without data-parallel attention every rank has every token, so that experts on
        other ranks only leave partial sums.

    Returns
    -------
    tuple of Message
    """
    parts = list(tensors)
    reduced = {t.rows: None for t in parts if t.split is Split.ROW and not t.expert}
    experts = [t for t in parts if t.expert and t.split is Split.ROW]
    found: list[Message] = []
    if sharding.dp > 1:
        for tensor in experts:
            found += _experts(tensor, sharding)
    else:
        reduced |= {t.rows: None for t in experts}
    if sharding.tp > 1:
        found += [_whole("all_reduce", "tp", sharding.tp, width) for width in reduced]
        found += _tables(parts, sharding.tp)
    return tuple(found)


def stage_message(width: int, sharding: Sharding) -> Message | None:
    """Return what a pipeline stage sends to the next one, or None where there is one stage.

    Parameters
    ----------
    width : int
        Width of the residual stream.
    sharding : Sharding
        The parallel sizes.

    Returns
    -------
    Message or None
    """
    return _whole("send", "pp", sharding.pp, width) if sharding.pp > 1 else None


def _whole(kind: str, group: str, size: int, width: float, tokens: str = "all") -> Message:
    return Message(kind, group, size, ACTIVATION_BYTES * width, tokens)


def _experts(last: Tensor, sharding: Sharding) -> Iterator[Message]:
    """Yield dispatch and combination around experts, whose last matrix has the width of their stream."""
    ranks = sharding.tp * sharding.dp
    if sharding.ep == 1:
        # Every rank has a slice of every expert and so needs the tokens of all.
        width = last.rows * sharding.dp
        yield _whole("all_gather", "ep", ranks, width)
        yield _whole("reduce_scatter", "ep", ranks, width)
        return
    # A token goes once to each rank that has one of its experts; the ranks of a TP group send a share each.
    copies = min(last.active or last.count, sharding.ep)
    for _ in ("dispatch", "combine"):
        yield _whole("all_to_all", "ep", ranks, last.rows * copies / sharding.tp)


def _tables(tensors: Iterable[Tensor], tp: int) -> Iterator[Message]:
    """Yield the sum of looked-up rows, of which each rank holds some, and the gathering of logits."""
    for tensor in tensors:
        if tensor.split is not Split.VOCAB:
            continue
        if tensor.active == 0 or not tensor.multiplied:
            yield _whole("all_reduce", "tp", tp, tensor.cols)
        else:
            yield _whole("all_gather", "tp", tp, tensor.rows, "sampled")


def _shared_context(mixing: Mixing, sharding: Sharding) -> Iterator[Message]:
    """Yield what ranks exchange that hold parts of a context: queries, and what each found for them."""
    entries, dcp = mixing.entries, sharding.dcp
    if dcp == 1 or entries is None or not entries.grows:
        return
    heads = mixing.heads if mixing.replicated else mixing.rank_heads(sharding.tp) * dcp
    if not mixing.replicated:
        yield _whole("all_gather", "dcp", dcp, heads * mixing.key_dim, "decode")
    if mixing.value_dim:
        yield _whole("reduce_scatter", "dcp", dcp, heads * mixing.value_dim, "decode")
