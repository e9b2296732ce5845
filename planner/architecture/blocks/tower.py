"""Encoders beside the language model (vision, audio) with their projectors.

A tower is made of ordinary blocks. Engines divide it over tensor-parallel ranks by its own heads; where these
do not divide, or where they run the tower data-parallel, every rank holds all of it.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from planner.architecture.caches import Cache
from planner.architecture.mixing import Mixing
from planner.architecture.model import Block
from planner.architecture.tensors import Sharding, Tensor


@dataclass(frozen=True, slots=True)
class Tower:
    """An encoder: blocks whose weights are counted together and which keep nothing for a request.

    Parameters
    ----------
    parts : tuple of (Block, int)
        Its blocks, each with how often it occurs.
    divides : int
        Tensor-parallel ranks share the tower only where their number divides this (its heads, mostly); 1
        means that every rank holds all of it. A tower inside it keeps its own.
    group : str
        Weight group of all its tensors.
    """

    parts: tuple[tuple[Block, int], ...]
    divides: int = 1
    group: str = "vision"

    def tensors(self) -> tuple[Tensor, ...]:
        """Return the weights of all its blocks."""
        return tuple(
            replace(
                tensor,
                group=self.group,
                count=tensor.count * times,
                shared_if_divides=tensor.shared_if_divides or self.divides,
            )
            for block, times in self.parts
            for tensor in block.tensors()
        )

    def caches(self) -> tuple[Cache, ...]:
        """Return nothing: an encoder sees its whole input at once."""
        return ()

    def mixings(self) -> tuple[Mixing, ...]:
        """Return nothing: an encoder works before the text, once for each input."""
        return ()

    def refusal(self, sharding: Sharding) -> str | None:
        """Return None: ranks that cannot share the tower each hold all of it."""
        return None
