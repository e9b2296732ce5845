"""Grouped-query attention (multi-head and multi-query attention are its ends), with or without a window.

A layer projects the hidden state to `q_heads` queries and `kv_heads` keys and values, and keeps the keys and
values of every token: ``kv_heads * (key_dim + value_dim)`` elements (Ainslie et al., 2023, arXiv 2305.13245).
"""

from __future__ import annotations

from dataclasses import dataclass

from planner.architecture.blocks.legal import check_groups, heads_refusal
from planner.architecture.caches import Cache, TokenCache
from planner.architecture.mixing import Mixing
from planner.architecture.tensors import Sharding, Split, Tensor


@dataclass(frozen=True, slots=True)
class GroupedQueryAttention:
    """Attention with `q_heads` query heads that share `kv_heads` key and value heads.

    Parameters
    ----------
    hidden : int
        Width of the residual stream.
    q_heads, kv_heads : int
        Query heads, and key-value heads.
    key_dim, value_dim : int
        Width of a key and of a value head.
    window : int or None
        Tokens that a query sees, for sliding and chunked layers.
    qkv_bias, out_bias : bool
        Whether the input and the output projections have a bias.
    qk_norm : int
        Parameters of the norms on queries and keys together.
    gate : int
        Width of an output gate's projection (rows), 0 for none.
    fused_gate : bool
        Whether the gate's rows are part of q_proj (Qwen3-Next) instead of a projection of its own.
    q_lora : int
        Width of a compressed query that every rank holds whole (Step-3), 0 for none.
    value_projection : bool
        False where keys serve as values (Gemma 4's global layers): no v_proj, yet two cached vectors.
    sinks : bool
        Whether each query head has a learnt sink logit.
    stores_cache : bool
        False where the layer reads another layer's keys and values and has no projections for them.
    cross : bool
        Whether keys and values come from an image's features, so that text tokens add none.
    fused : bool
        Whether the checkpoint stores queries, keys and values in one matrix.
    chunked : bool
        Whether the window starts anew after each `window` tokens instead of sliding (Llama 4).
    """

    hidden: int
    q_heads: int
    kv_heads: int
    key_dim: int
    value_dim: int
    window: int | None = None
    qkv_bias: bool = False
    out_bias: bool = False
    qk_norm: int = 0
    gate: int = 0
    fused_gate: bool = False
    q_lora: int = 0
    value_projection: bool = True
    sinks: bool = False
    stores_cache: bool = True
    cross: bool = False
    fused: bool = False
    chunked: bool = False

    def __post_init__(self) -> None:
        """Refuse heads that cannot share the keys and values."""
        check_groups(self.q_heads, self.kv_heads)

    def tensors(self) -> tuple[Tensor, ...]:
        """Return the weights of the block."""
        queries, keys, values = (
            self.q_heads * self.key_dim,
            self.kv_heads * self.key_dim,
            self.kv_heads * self.value_dim,
        )
        column = [("q_proj", queries + (self.gate if self.fused_gate else 0), self.q_heads)]
        if self.stores_cache:
            column.append(("k_proj", keys, self.kv_heads))
            if self.value_projection:
                column.append(("v_proj", values, self.kv_heads))
        if self.fused:
            rows = sum(rows for _, rows, _ in column)
            segments = tuple((rows, heads) for _, rows, heads in column)
            parts = [
                Tensor("qkv_proj", "attention", rows, self.hidden, split=Split.COLUMN, segments=segments)
            ]
        else:
            parts = [
                Tensor(
                    name,
                    "attention",
                    rows,
                    self.q_lora if self.q_lora and name == "q_proj" else self.hidden,
                    split=Split.COLUMN,
                    units=heads,
                )
                for name, rows, heads in column
            ]
        if self.q_lora:
            parts.append(Tensor("q_a_proj", "attention", self.q_lora, self.hidden))
            parts.append(Tensor("q_a_norm", "norm", self.q_lora, quantisable=False))
        context = self.q_heads * self.value_dim
        parts.append(Tensor("o_proj", "attention", self.hidden, context, split=Split.ROW, units=self.q_heads))
        if self.gate and not self.fused_gate:
            parts.append(
                Tensor("g_proj", "attention", self.gate, self.hidden, split=Split.COLUMN, units=self.q_heads)
            )
        if self.qkv_bias:
            parts += [
                Tensor(f"{name}.bias", "bias", rows, split=Split.COLUMN, units=heads)
                for name, rows, heads in column
            ]
        if self.out_bias:
            parts.append(Tensor("o_proj.bias", "bias", self.hidden))
        if self.sinks:
            parts.append(Tensor("sinks", "attention", self.q_heads, split=Split.COLUMN))
        if self.qk_norm:
            parts.append(Tensor("qk_norm", "norm", self.qk_norm, quantisable=False))
        return tuple(parts)

    def caches(self) -> tuple[Cache, ...]:
        """Return the keys and values that the block keeps."""
        if self.cross or not self.stores_cache:
            return ()
        return (self._cache(),)

    def _cache(self) -> TokenCache:
        kind = "full" if self.window is None else "window"
        return TokenCache(kind, heads=self.kv_heads, width=self.key_dim + self.value_dim, window=self.window)

    def mixings(self) -> tuple[Mixing, ...]:
        """Return the attention over the keys and values; those of an image do not depend on the text."""
        pair = 2 * (self.key_dim + self.value_dim)
        return (
            Mixing(
                "cross" if self.cross else "gqa",
                self.q_heads,
                self.kv_heads,
                self.key_dim,
                self.value_dim,
                cache=None if self.cross else self._cache(),
                prefill_pair_flops=pair,
                decode_pair_flops=pair,
                chunk=self.window if self.chunked else None,
                shared=not self.stores_cache,
            ),
        )

    def refusal(self, sharding: Sharding) -> str | None:
        """Return why this sharding is impossible for the block, or None when it is possible."""
        return heads_refusal(self.q_heads, self.kv_heads, sharding.tp)
