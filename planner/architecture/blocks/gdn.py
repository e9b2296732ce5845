"""Gated DeltaNet: linear attention with a short convolution and a matrix-valued state for each value head.

Queries, keys and values pass one causal convolution; each value head keeps a ``key_dim x value_dim`` state
that a gated delta rule updates, so a request costs the same whatever its length (Yang et al., 2024, arXiv
2412.06464). Layout as in Hugging Face `Qwen3NextGatedDeltaNet` and `Qwen3_5GatedDeltaNet`.
"""

from __future__ import annotations

from dataclasses import dataclass

from planner.architecture.blocks.legal import check_groups, division_refusal
from planner.architecture.caches import Cache, StateCache, StateTensor
from planner.architecture.mixing import Mixing, recurrence
from planner.architecture.tensors import Sharding, Split, Tensor


@dataclass(frozen=True, slots=True)
class GatedDeltaNet:
    """Linear attention with `key_heads` query and key heads, each shared by several value heads.

    Parameters
    ----------
    hidden : int
        Width of the residual stream.
    key_heads, value_heads : int
        Query and key heads, and value heads (a multiple of them).
    key_dim, value_dim : int
        Width of a key and of a value head.
    kernel : int
        Tokens that the convolution spans.
    state_dtype : str
        Format of the recurrent state.
    fused_inputs : bool
        Whether the checkpoint stores two input matrices (q, k, v, z and b, a; Qwen3-Next) instead of four.
    """

    hidden: int
    key_heads: int
    value_heads: int
    key_dim: int
    value_dim: int
    kernel: int
    state_dtype: str = "f32"
    fused_inputs: bool = False

    def __post_init__(self) -> None:
        """Refuse value heads that cannot share the key heads."""
        check_groups(self.value_heads, self.key_heads, ("value heads", "key heads of linear attention"))

    @property
    def _values(self) -> int:
        return self.value_heads * self.value_dim

    @property
    def _convolved(self) -> int:
        return 2 * self.key_heads * self.key_dim + self._values

    def tensors(self) -> tuple[Tensor, ...]:
        """Return the weights of the block."""
        wide, narrow = (
            [("in_proj_qkv", self._convolved), ("in_proj_z", self._values)],
            ("in_proj_b", "in_proj_a"),
        )
        inputs = [*wide, *((name, self.value_heads) for name in narrow)]
        if self.fused_inputs:
            inputs = [
                ("in_proj_qkvz", self._convolved + self._values),
                ("in_proj_ba", 2 * self.value_heads),
            ]
        return (
            *(self._column(name, rows, self.hidden) for name, rows in inputs),
            self._column("conv1d", self._convolved, self.kernel, quantisable=False),
            self._column("A_log", self.value_heads),
            self._column("dt_bias", self.value_heads),
            Tensor("gated_norm", "norm", self.value_dim, quantisable=False),
            Tensor(
                "out_proj",
                "linear_attention",
                self.hidden,
                self._values,
                split=Split.ROW,
                units=self.key_heads,
            ),
        )

    def _column(self, name: str, rows: int, cols: int = 1, quantisable: bool = True) -> Tensor:
        return Tensor(
            name,
            "linear_attention",
            rows,
            cols,
            split=Split.COLUMN,
            units=self.key_heads,
            quantisable=quantisable,
        )

    def caches(self) -> tuple[Cache, ...]:
        """Return the convolution's window and the state of each value head."""
        return self._states()

    def _states(self) -> tuple[StateCache, ...]:
        window = (self.kernel - 1) * self._convolved
        state = self._values * self.key_dim
        return (
            StateCache(
                "gdn",
                (
                    StateTensor("conv", window, self.key_heads, "bf16"),
                    StateTensor("ssm", state, self.value_heads, self.state_dtype),
                ),
            ),
        )

    def mixings(self) -> tuple[Mixing, ...]:
        """Return the gated delta rule of each value head."""
        (state,) = self._states()
        return (recurrence("gdn", self.value_heads, self.key_dim, self.value_dim, state, products=3),)

    def refusal(self, sharding: Sharding) -> str | None:
        """Return why this sharding is impossible for the block, or None when it is possible."""
        return division_refusal("key heads of linear attention", self.key_heads, sharding.tp, "TP")
