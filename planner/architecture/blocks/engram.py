"""Engram: a memory of n-grams, looked up by hash and gated into the residual streams (DeepSeek-V4.1)."""

from __future__ import annotations

from dataclasses import dataclass

from planner.architecture.caches import Cache
from planner.architecture.mixing import Mixing
from planner.architecture.tensors import Sharding, Split, Tensor


@dataclass(frozen=True, slots=True)
class Engram:
    """The table of one layer and what brings its rows into the streams, as in vLLM's `Engram`.

    Parameters
    ----------
    hidden : int
        Width of one residual stream.
    streams : int
        Residual streams.
    rows, row_dim : int
        Rows of the table, shared by the ranks, and their width; stored in FP8 with a scale for each 32.
    lookups : int
        Rows that one token reads: heads times lengths of n-grams.
    """

    hidden: int
    streams: int
    rows: int
    row_dim: int
    lookups: int

    def tensors(self) -> tuple[Tensor, ...]:
        """Return the weights of the block."""
        return (
            Tensor(
                "engram.embed",
                "ngram_embed",
                self.rows,
                self.row_dim,
                active=0,
                split=Split.COLUMN,
                fixed_format="mxfp8",
            ),
            # A key for each stream, and one value.
            Tensor(
                "engram.proj", "ngram_proj", (self.streams + 1) * self.hidden, self.lookups * self.row_dim
            ),
            Tensor("engram.norms", "norm", self.streams, self.hidden, count=2, quantisable=False),
        )

    def caches(self) -> tuple[Cache, ...]:
        """Return nothing: the last tokens that a look-up needs are known to the engine."""
        return ()

    def mixings(self) -> tuple[Mixing, ...]:
        """Return nothing: what it looks up is gated by matrices alone."""
        return ()

    def refusal(self, sharding: Sharding) -> str | None:
        """Return None: the table's rows can be divided by any number."""
        return None
