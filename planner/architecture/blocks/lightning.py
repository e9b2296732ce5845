"""Lightning attention: linear attention with a fixed decay for each head, and no convolution.

Each head keeps one ``head_dim x head_dim`` state, whatever the length of the request (Qin et al., 2024, arXiv
2401.04658). Layout as in Hugging Face `MiniMaxLightningAttention` and vLLM's `SALALightningAttention`.
"""

from __future__ import annotations

from dataclasses import dataclass

from planner.architecture.blocks.legal import check_groups, heads_refusal
from planner.architecture.caches import Cache, StateCache, StateTensor
from planner.architecture.mixing import Mixing, recurrence
from planner.architecture.tensors import Sharding, Split, Tensor


@dataclass(frozen=True, slots=True)
class LightningAttention:
    """Linear attention of `heads` heads with an output gate and a norm of the output.

    Parameters
    ----------
    hidden : int
        Width of the residual stream.
    heads, kv_heads : int
        Query heads, and key and value heads.
    head_dim : int
        Width of a head.
    qk_norm : int
        Parameters of the norms on queries and keys together.
    gate, output_norm : bool
        Whether the output is gated, and normalised over all heads.
    fused : bool
        Whether the checkpoint stores queries, keys and values in one matrix (MiniMax).
    state_dtype : str
        Format of the recurrent state.
    """

    hidden: int
    heads: int
    kv_heads: int
    head_dim: int
    qk_norm: int = 0
    gate: bool = True
    output_norm: bool = True
    fused: bool = False
    state_dtype: str = "f32"

    def __post_init__(self) -> None:
        """Refuse heads that cannot share the keys and values."""
        check_groups(self.heads, self.kv_heads)

    def tensors(self) -> tuple[Tensor, ...]:
        """Return the weights of the block."""
        inner = self.heads * self.head_dim
        inputs = [("q_proj", self.heads), ("k_proj", self.kv_heads), ("v_proj", self.kv_heads)]
        if self.fused:
            parts = [self._column("qkv_proj", *(heads for _, heads in inputs))]
        else:
            parts = [self._column(name, heads) for name, heads in inputs]
        if self.gate:
            parts.append(self._column("output_gate", self.heads))
        parts.append(
            Tensor("out_proj", "linear_attention", self.hidden, inner, split=Split.ROW, units=self.heads)
        )
        if self.output_norm:
            parts.append(
                Tensor("gated_norm", "norm", inner, split=Split.COLUMN, units=self.heads, quantisable=False)
            )
        if self.qk_norm:
            parts.append(Tensor("qk_norm", "norm", self.qk_norm, quantisable=False))
        return tuple(parts)

    def _column(self, name: str, *heads: int) -> Tensor:
        segments = tuple((number * self.head_dim, number) for number in heads)
        rows = sum(size for size, _ in segments)
        return Tensor(name, "linear_attention", rows, self.hidden, split=Split.COLUMN, segments=segments)

    def caches(self) -> tuple[Cache, ...]:
        """Return the state of each head."""
        return self._states()

    def _states(self) -> tuple[StateCache, ...]:
        state = self.heads * self.head_dim**2
        return (StateCache("lightning", (StateTensor("ssm", state, self.heads, self.state_dtype),)),)

    def mixings(self) -> tuple[Mixing, ...]:
        """Return the recurrence of each head."""
        (state,) = self._states()
        return (recurrence("lightning", self.heads, self.head_dim, self.head_dim, state, products=2),)

    def refusal(self, sharding: Sharding) -> str | None:
        """Return why this sharding is impossible for the block, or None when it is possible."""
        names = ("heads of linear attention", "KV heads of linear attention")
        return heads_refusal(self.heads, self.kv_heads, sharding.tp, names)
