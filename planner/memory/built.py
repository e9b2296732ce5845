"""A model's blocks, built once for each record, and the caches that its layers keep."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from functools import lru_cache

from planner.architecture import Architecture, build_architecture
from planner.architecture.caches import Cache
from planner.architecture.model import Layer
from planner.catalogue import Model


class SameModel:
    """A key for a record that holds a mapping, and so has no hash: the very same record is equal."""

    def __init__(self, model: Model) -> None:
        self.model = model

    def __hash__(self) -> int:
        """Return the identity of the record."""
        return id(self.model)

    def __eq__(self, other: object) -> bool:
        """Return whether the other key is of the very same record."""
        return isinstance(other, SameModel) and other.model is self.model


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
    built = build_architecture(key.model.config, key.model.id)
    known: dict[Layer, Layer] = {}
    layers = tuple(known.setdefault(layer, layer) for layer in built.layers)
    return replace(built, layers=layers, draft=tuple(known.setdefault(layer, layer) for layer in built.draft))


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
