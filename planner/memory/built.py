"""A model's blocks, built once for each record, and the caches that its layers keep."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from functools import lru_cache
from typing import Generic, TypeVar

from planner.architecture import Architecture, build_architecture
from planner.architecture.caches import Cache
from planner.architecture.model import Layer
from planner.catalogue import Model

R = TypeVar("R")


class Same(Generic[R]):
    """A key for a record that has no hash, or a slow one: the very same record is equal."""

    def __init__(self, record: R) -> None:
        self.record = record

    def __hash__(self) -> int:
        """Return the identity of the record."""
        return id(self.record)

    def __eq__(self, other: object) -> bool:
        """Return whether the other key is of the very same record."""
        return isinstance(other, Same) and other.record is self.record


class SameModel(Same[Model]):
    """A key for a model, whose configuration is a mapping."""


class SameArchitecture(Same[Architecture]):
    """A key for the blocks that `architecture_of` built, whose hash would walk through all of them."""


class SameLayer(Same[Layer]):
    """A key for a layer of `architecture_of`, where equal layers are one object."""


@lru_cache(maxsize=256)
def architecture_of(key: SameModel) -> Architecture:
    """Return the blocks of a model, built once.

    Parameters
    ----------
    key : SameModel
        The model.

    Returns
    -------
    Architecture
        Equal layers are one object, so that each kind is counted once.
    """
    built = build_architecture(key.record.config, key.record.id)
    known: dict[Layer, Layer] = {}
    layers = tuple(known.setdefault(layer, layer) for layer in built.layers)
    return replace(built, layers=layers, draft=tuple(known.setdefault(layer, layer) for layer in built.draft))


@lru_cache(maxsize=1024)
def matrices(key: SameLayer) -> int:
    """Return the weight matrices of a layer, which its number of kernels follows."""
    return sum(tensor.rows > 1 and tensor.cols > 1 for tensor in key.record.tensors())


def count_caches(layers: tuple[Layer, ...]) -> Counter[Cache]:
    """Return the caches of layers with how many keep each.

    Parameters
    ----------
    layers : tuple of Layer
        Layers, told apart by identity, which is quick.

    Returns
    -------
    Counter
    """
    times = Counter(map(id, layers))
    found: Counter[Cache] = Counter()
    for layer in {id(layer): layer for layer in layers}.values():
        for cache in layer.caches():
            found[cache] += times[id(layer)]
    return found
