"""An architecture: a model as a stack of blocks, and the totals that follow from them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from typing import Protocol, runtime_checkable

from planner.architecture.caches import Cache, TokenCache
from planner.architecture.mixing import Mixing
from planner.architecture.tensors import Sharding, Tensor


@runtime_checkable
class Block(Protocol):
    """A part of a layer that owns its weights, its cache and the sizes it can be divided into."""

    def tensors(self) -> tuple[Tensor, ...]:
        """Return the weights of the block."""
        ...

    def caches(self) -> tuple[Cache, ...]:
        """Return what the block keeps for a running request."""
        ...

    def mixings(self) -> tuple[Mixing, ...]:
        """Return how the block mixes tokens, beside its matrices."""
        ...

    def refusal(self, sharding: Sharding) -> str | None:
        """Return why this sharding is impossible for the block, or None when it is possible."""
        ...


@dataclass(frozen=True, slots=True)
class Weights:
    """A block of weights alone: norms, embeddings, towers.

    Parameters
    ----------
    parts : tuple of Tensor
        The tensors.
    """

    parts: tuple[Tensor, ...]

    def tensors(self) -> tuple[Tensor, ...]:
        """Return the weights of the block."""
        return self.parts

    def caches(self) -> tuple[Cache, ...]:
        """Return nothing: weights alone keep nothing for a request."""
        return ()

    def mixings(self) -> tuple[Mixing, ...]:
        """Return nothing: weights alone look at one token."""
        return ()

    def refusal(self, sharding: Sharding) -> str | None:
        """Return None: weights alone can be shared by any number of ranks."""
        return None


def norm(*widths: int, name: str = "norm", group: str = "norm") -> Weights:
    """Return a block of replicated norm vectors.

    Parameters
    ----------
    *widths : int
        The width of each vector.
    name, group : str
        Tensor name and weight group.

    Returns
    -------
    Weights
    """
    return Weights(tuple(Tensor(name, group, width, quantisable=False) for width in widths))


@dataclass(frozen=True, slots=True)
class Layer:
    """One layer: its blocks in order, norms included."""

    blocks: tuple[Block, ...]

    def tensors(self) -> Iterator[Tensor]:
        """Yield the weights of all blocks."""
        for block in self.blocks:
            yield from block.tensors()

    def caches(self) -> Iterator[Cache]:
        """Yield the caches of all blocks."""
        for block in self.blocks:
            yield from block.caches()

    def mixings(self) -> tuple[Mixing, ...]:
        """Return how the layer mixes tokens, where an indexer limits what its attention reads.

        Sparse kernels read a cache as it is, so latents are not expanded in prefill either.
        """
        parts = [mixing for block in self.blocks for mixing in block.mixings()]
        limit = min((part.selects for part in parts if part.selects is not None), default=None)
        if limit is None:
            return tuple(parts)
        return tuple(part if part.selects is not None else part.limited(limit) for part in parts)


@dataclass(frozen=True, slots=True)
class DraftBlock:
    """A block of a draft layer: the same weights, counted in groups of their own (``mtp_attention``).

    Parameters
    ----------
    block : Block
        The block as in a normal layer.
    """

    block: Block
    _tensors: list[Tensor] = field(default_factory=list, init=False, repr=False, compare=False)

    def tensors(self) -> tuple[Tensor, ...]:
        """Return the weights of the block."""
        if not self._tensors:
            self._tensors[:] = (
                replace(tensor, group=f"mtp_{tensor.group}") for tensor in self.block.tensors()
            )
        return tuple(self._tensors)

    def caches(self) -> tuple[Cache, ...]:
        """Return what the block keeps for a running request."""
        return self.block.caches()

    def mixings(self) -> tuple[Mixing, ...]:
        """Return how the block mixes tokens, beside its matrices."""
        return self.block.mixings()

    def refusal(self, sharding: Sharding) -> str | None:
        """Return why this sharding is impossible for the block, or None when it is possible."""
        return self.block.refusal(sharding)


def draft_layer(*blocks: Block) -> Layer:
    """Return a layer of a multi-token-prediction draft.

    Parameters
    ----------
    *blocks : Block
        Its blocks, as in a normal layer.

    Returns
    -------
    Layer
    """
    return Layer(tuple(DraftBlock(block) for block in blocks))


@dataclass(frozen=True, slots=True)
class Architecture:
    """A model as a stack of blocks.

    Parameters
    ----------
    family : str
        The name of the Hugging Face architecture it was built from.
    hidden_size, vocab_size : int
        Widths of the residual stream and of the vocabulary.
    embedding : tuple of Block
        Before the first layer: token embedding and other tables.
    layers : tuple of Layer
        In order. Equal layers are the same object, so totals count each kind once.
    head : tuple of Block
        After the last layer: final norm and LM head.
    draft : tuple of Layer
        Multi-token-prediction layers of the checkpoint, loaded only when speculating.
    towers : tuple of Block
        Vision and audio encoders with their projectors.
    tied_embeddings : bool
        Whether the LM head is the embedding table, stored once.
    max_context : int or None
        Tokens that the model was made for.
    state_dtype : str or None
        Dtype of recurrent states where the configuration names one.
    """

    family: str
    hidden_size: int
    vocab_size: int
    embedding: tuple[Block, ...]
    layers: tuple[Layer, ...]
    head: tuple[Block, ...]
    draft: tuple[Layer, ...] = ()
    towers: tuple[Block, ...] = ()
    tied_embeddings: bool = False
    max_context: int | None = None
    state_dtype: str | None = None
    _kinds: dict[Layer, int] = field(default_factory=dict, init=False, repr=False, compare=False)
    _counted: list[tuple[Tensor, int]] = field(default_factory=list, init=False, repr=False, compare=False)
    """Both worked out when first asked for: a search asks thousands of times."""

    def layer_kinds(self) -> dict[Layer, int]:
        """Return each distinct layer with how often it occurs, in order of appearance."""
        if not self._kinds:
            # A layer is a deep tree and slow to hash, so the same object is hashed once.
            times = Counter(map(id, self.layers))
            kinds: dict[Layer, int] = {}
            for layer in {id(layer): layer for layer in self.layers}.values():
                kinds[layer] = kinds.get(layer, 0) + times[id(layer)]
            self._kinds.update(kinds)
        return self._kinds

    def counted_tensors(self) -> Iterator[tuple[Tensor, int]]:
        """Yield every tensor of the checkpoint with how many layers hold it."""
        if not self._counted:
            self._counted[:] = self._count_tensors()
        return iter(self._counted)

    def _count_tensors(self) -> Iterator[tuple[Tensor, int]]:
        yield from ((tensor, 1) for tensor in _all(self.embedding))
        for layer, count in self.layer_kinds().items():
            yield from ((tensor, count) for tensor in layer.tensors())
        yield from ((tensor, 1) for tensor in _all(self.head))
        for layer, count in Counter(self.draft).items():
            yield from ((tensor, count) for tensor in layer.tensors())
        yield from ((tensor, 1) for tensor in _all(self.towers))

    def token_caches(self, draft: bool = False) -> Counter[TokenCache]:
        """Return the token caches of all layers with how many layers keep each.

        Parameters
        ----------
        draft : bool
            Whether the multi-token-prediction layers are loaded too.

        Returns
        -------
        Counter
        """
        layers = self.layers + (self.draft if draft else ())
        times = Counter(map(id, layers))
        found: Counter[TokenCache] = Counter()
        for layer in {id(layer): layer for layer in layers}.values():
            for cache in layer.caches():
                if isinstance(cache, TokenCache):
                    found[cache] += times[id(layer)]
        return found

    def refusals(self, sharding: Sharding) -> list[str]:
        """Return why a sharding is impossible, each reason once.

        Parameters
        ----------
        sharding : Sharding
            The parallel sizes.

        Returns
        -------
        list of str
            Empty when the sharding is legal.
        """
        parts = [*self.embedding, *self.head, *(b for layer in self.layer_kinds() for b in layer.blocks)]
        reasons = (part.refusal(sharding) for part in parts)
        return list(dict.fromkeys(reason for reason in reasons if reason))


def _all(blocks: Iterable[Block]) -> Iterator[Tensor]:
    for block in blocks:
        yield from block.tensors()
