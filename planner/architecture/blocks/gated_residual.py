"""Gated residual streams of Qwen4-Exp: low-rank weights mix several streams before each sub-layer.

Layout as in Hugging Face `Qwen4ExpTextGatedResidual`; it takes the place of the layer's norms.
"""

from __future__ import annotations

from dataclasses import dataclass

from planner.architecture.caches import Cache
from planner.architecture.mixing import Mixing
from planner.architecture.tensors import Sharding, Tensor


@dataclass(frozen=True, slots=True)
class GatedResidual:
    """The mixing of streams around one sub-layer, or before the LM head.

    Parameters
    ----------
    hidden : int
        Width of one stream.
    streams : int
        Streams.
    rank : int
        Rank of the mixing weights.
    inject : bool
        Whether the sub-layer's output is written back to the streams (not before the LM head).
    """

    hidden: int
    streams: int
    rank: int
    inject: bool = True

    def tensors(self) -> tuple[Tensor, ...]:
        """Return the weights of the block."""
        wide = self.streams * self.hidden
        shapes = [("hc_norm", wide, 1), ("mix_down", self.rank, wide), ("mix_up", wide, self.rank)]
        if self.inject:
            shapes.append(("inject", self.streams, wide))
        return tuple(
            Tensor(name, "hyper_connection", rows, cols, quantisable=name != "hc_norm")
            for name, rows, cols in shapes
        )

    def caches(self) -> tuple[Cache, ...]:
        """Return nothing: streams live for one step only."""
        return ()

    def mixings(self) -> tuple[Mixing, ...]:
        """Return nothing: streams of one token are mixed, not tokens."""
        return ()

    def refusal(self, sharding: Sharding) -> str | None:
        """Return None: every rank holds the whole mixing."""
        return None
