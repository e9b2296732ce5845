"""The lightning indexer of sparse attention: it picks the `top_k` tokens that the attention beside it reads.

It scores every cached token with small keys of its own, kept in FP8 with an FP32 scale: 132 bytes for 128
values (DeepSeek-V3.2). The attention's cache stays as it was; only what is read shrinks.
"""

from __future__ import annotations

from dataclasses import dataclass

from planner.architecture.caches import Cache, TokenCache
from planner.architecture.mixing import Mixing, scoring
from planner.architecture.tensors import Sharding, Tensor

SCALE_BYTES = 4


@dataclass(frozen=True, slots=True)
class SparseIndexer:
    """An indexer beside a latent attention, as in Hugging Face's `DeepseekV32Indexer`.

    Every rank holds all of it, since each must pick the same tokens.

    Parameters
    ----------
    hidden : int
        Width of the residual stream.
    q_lora : int
        Width of the compressed query that the index queries come from.
    heads, head_dim : int
        Index heads, and width of an index key.
    top_k : int
        Tokens that the attention reads.
    pool : int
        Tokens that share one index key (GLM-5.3-Flash); pooled keys are kept in BF16.
    shared : bool
        Whether the layer reuses the choice of an earlier layer, and so has neither weights nor keys.
    """

    hidden: int
    q_lora: int
    heads: int
    head_dim: int
    top_k: int
    pool: int = 1
    shared: bool = False

    def tensors(self) -> tuple[Tensor, ...]:
        """Return the weights of the block."""
        if self.shared:
            return ()
        parts = [
            Tensor("wq_b", "indexer", self.heads * self.head_dim, self.q_lora),
            Tensor("wk", "indexer", self.head_dim, self.hidden),
            Tensor("weights_proj", "indexer", self.heads, self.hidden, quantisable=False),
            Tensor("k_norm", "indexer", self.head_dim, count=2, quantisable=False),
        ]
        if self.pool > 1:
            parts += [
                Tensor(
                    "pool_position", "indexer", self.pool, self.head_dim, quantisable=False, multiplied=False
                ),
                Tensor("pool_gate", "indexer", self.head_dim, self.hidden, quantisable=False),
            ]
        return tuple(parts)

    def caches(self) -> tuple[Cache, ...]:
        """Return the index keys."""
        if self.shared:
            return ()
        return (self._cache(),)

    def _cache(self) -> TokenCache:
        key_bytes = self.head_dim * 2 if self.pool > 1 else self.head_dim + SCALE_BYTES
        return TokenCache("index", heads=1, width=0, replicated=True, stride=self.pool, extra_bytes=key_bytes)

    def mixings(self) -> tuple[Mixing, ...]:
        """Return the scoring of every key; a layer that reuses a choice only reads fewer tokens."""
        return (scoring(0 if self.shared else self.heads, self.head_dim, self._cache(), self.top_k),)

    def refusal(self, sharding: Sharding) -> str | None:
        """Return None: every rank holds the whole indexer."""
        return None
