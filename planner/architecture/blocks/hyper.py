"""Hyper-connections: the residual stream carried as several streams that learnt matrices mix.

Before each sub-layer one projection of all streams gives the weights that read them, write them and mix them
(DeepSeek-V4 and GLM-5.3-Flash; Hugging Face's `DeepseekV4HyperConnection` and `DeepseekV4HyperHead`).
"""

from __future__ import annotations

from dataclasses import dataclass

from planner.architecture.caches import Cache
from planner.architecture.mixing import Mixing
from planner.architecture.tensors import Sharding, Tensor


@dataclass(frozen=True, slots=True)
class HyperConnection:
    """The mixing of streams around one sub-layer, or the weights that join them before the LM head.

    Parameters
    ----------
    hidden : int
        Width of one stream.
    streams : int
        Streams.
    head : bool
        Whether the streams are only joined, as before the LM head.
    stored_format : str or None
        Format of its weights where it is not the model's (FP32 in DeepSeek-V4).
    """

    hidden: int
    streams: int
    head: bool = False
    stored_format: str | None = None

    def tensors(self) -> tuple[Tensor, ...]:
        """Return the weights of the block."""
        # Reading takes one weight for each stream, writing too, mixing one for each pair.
        mixes = self.streams if self.head else (2 + self.streams) * self.streams
        shapes = (
            ("fn", mixes, self.streams * self.hidden),
            ("base", mixes, 1),
            ("scale", 1 if self.head else 3, 1),
        )
        return tuple(
            Tensor(name, "hyper_connection", rows, cols, fixed_format=self.stored_format, quantisable=False)
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
