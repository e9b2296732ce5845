"""Totals of an architecture: parameters, checkpoint bytes, cache bytes per token and per request."""

from __future__ import annotations

from collections import Counter

from planner.architecture.caches import StateCache
from planner.architecture.mixing import Mixing
from planner.architecture.model import Architecture
from planner.architecture.quantisation import WeightScheme


def parameters_by_group(architecture: Architecture) -> Counter[str]:
    """Return the parameters of the checkpoint by weight group.

    Parameters
    ----------
    architecture : Architecture
        The model.

    Returns
    -------
    Counter
        Parameters by group.
    """
    groups: Counter[str] = Counter()
    for tensor, layers in architecture.counted_tensors():
        groups[tensor.group] += tensor.parameters * layers
    return groups


def parameters(architecture: Architecture) -> int:
    """Return the parameters of the checkpoint.

    Parameters
    ----------
    architecture : Architecture
        The model.

    Returns
    -------
    int
    """
    return parameters_by_group(architecture).total()


def active_parameters(architecture: Architecture) -> int:
    """Return the parameters that one token uses, without the embedding look-up but with the LM head.

    Draft layers and towers are left out. A tied LM head is counted, since its matrix is multiplied.

    Parameters
    ----------
    architecture : Architecture
        The model.

    Returns
    -------
    int
    """
    total = sum(t.active_parameters for block in architecture.embedding for t in block.tensors())
    for layer, count in architecture.layer_kinds().items():
        total += count * sum(t.active_parameters for t in layer.tensors())
    total += sum(t.active_parameters for block in architecture.head for t in block.tensors())
    if architecture.tied_embeddings:
        total += architecture.vocab_size * architecture.hidden_size
    return total


def weight_bytes_by_group(
    architecture: Architecture, scheme: WeightScheme, plain_layers: frozenset[int] = frozenset()
) -> Counter[str]:
    """Return the bytes of the checkpoint's tensors by weight group.

    Parameters
    ----------
    architecture : Architecture
        The model.
    scheme : WeightScheme
        The formats of its weights.
    plain_layers : frozenset of int
        Layers, counted from 0, that the scheme leaves in its default format.

    Returns
    -------
    Counter
        Bytes by group.
    """
    groups: Counter[str] = Counter()
    for tensor, layers in architecture.counted_tensors():
        groups[tensor.group] += tensor.checkpoint_bytes(scheme.format_of(tensor)) * layers
    plain = WeightScheme(scheme.name, scheme.default, {})
    for index in plain_layers:
        for tensor in architecture.layers[index].tensors():
            quantised, left = scheme.format_of(tensor), plain.format_of(tensor)
            groups[tensor.group] += tensor.checkpoint_bytes(left) - tensor.checkpoint_bytes(quantised)
    return groups


def weight_bytes(
    architecture: Architecture, scheme: WeightScheme, plain_layers: frozenset[int] = frozenset()
) -> int:
    """Return the bytes of the checkpoint's tensors.

    Parameters
    ----------
    architecture : Architecture
        The model.
    scheme : WeightScheme
        The formats of its weights.
    plain_layers : frozenset of int
        Layers, counted from 0, that the scheme leaves in its default format.

    Returns
    -------
    int
        Bytes, file headers excluded.
    """
    return weight_bytes_by_group(architecture, scheme, plain_layers).total()


def kv_bytes_per_token(architecture: Architecture, kv_dtype: str, tp: int = 1, draft: bool = False) -> float:
    """Return the bytes by which one more token makes the caches of one rank grow, in a long context.

    Parameters
    ----------
    architecture : Architecture
        The model.
    kv_dtype : str
        Dtype of the cache.
    tp : int
        Tensor-parallel size.
    draft : bool
        Whether the draft layers are loaded too.

    Returns
    -------
    float
        Bytes per token. Caches with a window have stopped growing; where every layer has a window, this is
        the growth before they fill.
    """
    caches = architecture.token_caches(draft)
    all_windowed = not any(cache.grows for cache in caches)
    return sum(
        n * c.entry_bytes(kv_dtype, tp) / c.stride for c, n in caches.items() if c.grows or all_windowed
    )


def kv_bytes(
    architecture: Architecture, tokens: int, kv_dtype: str, tp: int = 1, draft: bool = False
) -> float:
    """Return the bytes that the token caches of one request take on one rank, without any paging.

    Parameters
    ----------
    architecture : Architecture
        The model.
    tokens : int
        Tokens in context.
    kv_dtype : str
        Dtype of the cache.
    tp : int
        Tensor-parallel size.
    draft : bool
        Whether the draft layers are loaded too.

    Returns
    -------
    float
        Bytes.
    """
    caches = architecture.token_caches(draft)
    return sum(n * c.entries(tokens) * c.entry_bytes(kv_dtype, tp) for c, n in caches.items())


def state_bytes(architecture: Architecture, tp: int = 1) -> int:
    """Return the bytes of the constant state that one request keeps on one rank.

    Parameters
    ----------
    architecture : Architecture
        The model.
    tp : int
        Tensor-parallel size.

    Returns
    -------
    int
        Bytes; 0 for models without recurrent layers.
    """
    states = (c for layer in architecture.layers for c in layer.caches() if isinstance(c, StateCache))
    return sum(state.request_bytes(tp) for state in states)


def linear_flops_per_token(architecture: Architecture) -> int:
    """Return the FLOPs of one token in all matrices, the LM head once.

    A multiply-add counts as two. Look-ups, vectors, draft layers and towers are left out.

    Parameters
    ----------
    architecture : Architecture
        The model.

    Returns
    -------
    int
        FLOPs on all ranks together.
    """
    total = sum(
        t.token_flops for block in (*architecture.embedding, *architecture.head) for t in block.tensors()
    )
    for layer, count in architecture.layer_kinds().items():
        total += count * sum(t.token_flops for t in layer.tensors())
    if architecture.tied_embeddings:
        total += 2 * architecture.vocab_size * architecture.hidden_size
    return total


def mixings(architecture: Architecture) -> Counter[Mixing]:
    """Return how the layers mix tokens, with how many layers do so.

    Parameters
    ----------
    architecture : Architecture
        The model.

    Returns
    -------
    Counter
    """
    found: Counter[Mixing] = Counter()
    for layer, count in architecture.layer_kinds().items():
        for mixing in layer.mixings():
            found[mixing] += count
    return found
