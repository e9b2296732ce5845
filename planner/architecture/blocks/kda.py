"""Kimi Delta Attention: linear attention with a gated delta rule and a decay for each channel.

A request keeps one matrix of ``head_dim x head_dim`` for each head, and the last inputs of three short
convolutions, whatever its length (Kimi Linear, arXiv 2510.26692; vLLM's `KimiK3DeltaAttention`).
"""

from __future__ import annotations

from dataclasses import dataclass

from planner.architecture.blocks.legal import division_refusal
from planner.architecture.caches import Cache, StateCache, StateTensor
from planner.architecture.mixing import Mixing, recurrence
from planner.architecture.tensors import Sharding, Split, Tensor


@dataclass(frozen=True, slots=True)
class DeltaAttention:
    """One layer of Kimi Delta Attention.

    Parameters
    ----------
    hidden : int
        Width of the residual stream.
    heads, head_dim : int
        Heads, and the width of their queries, keys and values.
    conv_kernel : int
        Tokens that a short convolution spans.
    decay_rank, gate_rank : int
        Inner width of the decay's and of the output gate's projection, 0 for one full matrix.
    small_format : str or None
        Format of convolutions, decay vectors and output norm where it is not the model's (FP32 in Kimi K3).
    norm_group : str
        Weight group that the output norm is counted in.
    """

    hidden: int
    heads: int
    head_dim: int
    conv_kernel: int
    decay_rank: int = 0
    gate_rank: int = 0
    small_format: str | None = None
    norm_group: str = "norm"

    def tensors(self) -> tuple[Tensor, ...]:
        """Return the weights of the block."""
        width = self.heads * self.head_dim
        parts = [self._by_head(name, width, self.hidden) for name in ("q_proj", "k_proj", "v_proj")]
        parts += [
            *self._projection("f", self.decay_rank),
            *self._projection("g", self.gate_rank),
            self._by_head("b_proj", self.heads, self.hidden),
            Tensor("o_proj", "linear_attention", self.hidden, width, split=Split.ROW, units=self.heads),
        ]
        parts += [self._small(f"{name}_conv1d", width, self.conv_kernel) for name in "qkv"]
        # Stored for a power of two of heads: Kimi K3's checkpoint has 128 entries for 96 heads.
        decays = 1 << (self.heads - 1).bit_length()
        parts += [self._small("A_log", decays, 1, units=0), self._small("dt_bias", width, 1)]
        parts.append(
            Tensor(
                "o_norm", self.norm_group, self.head_dim, fixed_format=self.small_format, quantisable=False
            )
        )
        return tuple(parts)

    def _projection(self, name: str, rank: int) -> list[Tensor]:
        width = self.heads * self.head_dim
        if not rank:
            return [self._by_head(f"{name}_proj", width, self.hidden)]
        return [
            Tensor(f"{name}_a_proj", "linear_attention", rank, self.hidden),
            self._by_head(f"{name}_b_proj", width, rank),
        ]

    def _by_head(self, name: str, rows: int, cols: int) -> Tensor:
        return Tensor(name, "linear_attention", rows, cols, split=Split.COLUMN, units=self.heads)

    def _small(self, name: str, rows: int, cols: int, units: int | None = None) -> Tensor:
        return Tensor(
            name,
            "linear_attention",
            rows,
            cols,
            split=Split.COLUMN,
            units=self.heads if units is None else units,
            fixed_format=self.small_format,
            quantisable=False,
        )

    def caches(self) -> tuple[Cache, ...]:
        """Return the recurrent matrices and the inputs that the convolutions still need."""
        return self._states()

    def _states(self) -> tuple[StateCache, ...]:
        width = self.heads * self.head_dim
        conv = StateTensor("conv", (self.conv_kernel - 1) * 3 * width, self.heads, "bf16")
        return (StateCache("kda", (conv, StateTensor("ssm", width * self.head_dim, self.heads, "f32"))),)

    def mixings(self) -> tuple[Mixing, ...]:
        """Return the delta rule of each head."""
        (state,) = self._states()
        return (recurrence("kda", self.heads, self.head_dim, self.head_dim, state, products=3),)

    def refusal(self, sharding: Sharding) -> str | None:
        """Return why this sharding is impossible for the block, or None when it is possible."""
        return division_refusal("linear-attention heads", self.heads, sharding.tp, "TP")
