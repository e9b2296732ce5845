"""The index of block-sparse attention: it picks the blocks of keys that the grouped-query attention reads.

MiniMax-M3 keeps one index key for each token and scores a block by its best key; Qwen's sparse attention
averages the keys of a block into one (Hugging Face's `MiniMaxM3VLIndexer` and `Qwen4ExpTextQSAIndexer`).
"""

from __future__ import annotations

from dataclasses import dataclass

from planner.architecture.caches import Cache, TokenCache
from planner.architecture.mixing import Mixing, scoring
from planner.architecture.tensors import Sharding, Tensor


@dataclass(frozen=True, slots=True)
class BlockIndexer:
    """An index beside a grouped-query attention, whole on every rank.

    Parameters
    ----------
    hidden : int
        Width of the residual stream.
    heads, head_dim : int
        Index query heads, and width of an index key.
    top_k : int
        Tokens that the attention reads.
    pool : int
        Tokens that share one index key; pooled keys are kept in BF16.
    """

    hidden: int
    heads: int
    head_dim: int
    top_k: int
    pool: int = 1

    def tensors(self) -> tuple[Tensor, ...]:
        """Return the weights of the block."""
        return (
            Tensor("index_q_proj", "indexer", self.heads * self.head_dim, self.hidden),
            Tensor("index_k_proj", "indexer", self.head_dim, self.hidden),
            Tensor("index_norm", "indexer", self.head_dim, count=2, quantisable=False),
        )

    def caches(self) -> tuple[Cache, ...]:
        """Return the index keys."""
        return (self._cache(),)

    def _cache(self) -> TokenCache:
        if self.pool == 1:
            return TokenCache("index", heads=1, width=self.head_dim, replicated=True)
        key_bytes = 2 * self.head_dim
        return TokenCache("index", heads=1, width=0, replicated=True, stride=self.pool, extra_bytes=key_bytes)

    def mixings(self) -> tuple[Mixing, ...]:
        """Return the scoring of every key."""
        return (scoring(self.heads, self.head_dim, self._cache(), self.top_k),)

    def refusal(self, sharding: Sharding) -> str | None:
        """Return None: every rank holds the whole index."""
        return None
