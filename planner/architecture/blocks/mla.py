"""Multi-head latent attention: keys and values of all heads come from one narrow vector for each token.

The vector (`kv_lora` values, and `rope_dim` more for the position) is all that is cached, and every
tensor-parallel rank keeps the whole of it, since it has no heads to divide (DeepSeek-V2, arXiv 2405.04434).
"""

from __future__ import annotations

from dataclasses import dataclass

from planner.architecture.blocks.legal import division_refusal
from planner.architecture.caches import Cache, TokenCache
from planner.architecture.mixing import Mixing
from planner.architecture.tensors import Sharding, Split, Tensor

# The kernels behind vLLM's `fp8_ds_mla` cache exist for this latent and position width only: FP8 values, one
# FP32 scale for each 128 of them, and the position part in BF16.
PACKED_LATENT, PACKED_ROPE = 512, 64
PACKED_BYTES = PACKED_LATENT + PACKED_LATENT // 128 * 4 + PACKED_ROPE * 2


@dataclass(frozen=True, slots=True)
class LatentAttention:
    """Attention over a shared latent, as in Hugging Face's `DeepseekV3Attention`.

    Parameters
    ----------
    hidden : int
        Width of the residual stream.
    heads : int
        Query heads; keys and values are expanded to as many.
    kv_lora : int
        Width of the latent.
    nope_dim, rope_dim : int
        Width of a query's parts without and with position; models without rotation still cache `rope_dim`.
    value_dim : int
        Width of a value head.
    q_lora : int
        Width of the compressed query, 0 for a direct projection.
    gate : int
        Rows of an output gate's projection (heads, or heads x value_dim), 0 for none.
    bias : bool
        Whether the down projections and the output projection have a bias.
    """

    hidden: int
    heads: int
    kv_lora: int
    nope_dim: int
    rope_dim: int
    value_dim: int
    q_lora: int = 0
    gate: int = 0
    bias: bool = False

    def tensors(self) -> tuple[Tensor, ...]:
        """Return the weights of the block."""
        parts = [*self._queries(), *self._keys_and_values()]
        context = self.heads * self.value_dim
        parts.append(Tensor("o_proj", "attention", self.hidden, context, split=Split.ROW, units=self.heads))
        if self.bias:
            parts.append(Tensor("o_proj.bias", "bias", self.hidden))
        if self.gate:
            parts.append(self._by_head("g_proj", self.gate, self.hidden))
        return tuple(parts)

    def _queries(self) -> list[Tensor]:
        rows = self.heads * (self.nope_dim + self.rope_dim)
        if not self.q_lora:
            return [self._by_head("q_proj", rows, self.hidden)]
        return [
            *self._down("q_a_proj", self.q_lora, self.q_lora),
            self._by_head("q_b_proj", rows, self.q_lora),
        ]

    def _keys_and_values(self) -> list[Tensor]:
        rows = self.heads * (self.nope_dim + self.value_dim)
        return [
            *self._down("kv_a_proj_with_mqa", self.kv_lora + self.rope_dim, self.kv_lora),
            self._by_head("kv_b_proj", rows, self.kv_lora),
        ]

    def _down(self, name: str, rows: int, normed: int) -> list[Tensor]:
        parts = [
            Tensor(name, "attention", rows, self.hidden),
            Tensor(f"{name}.norm", "norm", normed, quantisable=False),
        ]
        if self.bias:
            parts.append(Tensor(f"{name}.bias", "bias", rows))
        return parts

    def _by_head(self, name: str, rows: int, cols: int) -> Tensor:
        return Tensor(name, "attention", rows, cols, split=Split.COLUMN, units=self.heads)

    def caches(self) -> tuple[Cache, ...]:
        """Return the latent of each token."""
        return (self._cache(),)

    def _cache(self) -> TokenCache:
        fits = self.kv_lora == PACKED_LATENT and self.rope_dim == PACKED_ROPE
        packed = (("fp8_ds_mla", PACKED_BYTES),) if fits else ()
        width = self.kv_lora + self.rope_dim
        return TokenCache("latent", heads=1, width=width, replicated=True, packed_bytes=packed)

    def mixings(self) -> tuple[Mixing, ...]:
        """Return the attention: over expanded keys and values in prefill, over the latents in decode."""
        return (
            Mixing(
                "mla",
                self.heads,
                1,
                self.kv_lora + self.rope_dim,
                self.kv_lora,
                cache=self._cache(),
                prefill_pair_flops=2 * (self.nope_dim + self.rope_dim + self.value_dim),
                decode_pair_flops=2 * (2 * self.kv_lora + self.rope_dim),
                expand_flops=2 * self.kv_lora * (self.nope_dim + self.value_dim),
            ),
        )

    def refusal(self, sharding: Sharding) -> str | None:
        """Return why this sharding is impossible for the block, or None when it is possible."""
        return division_refusal("attention heads", self.heads, sharding.tp, "TP")
