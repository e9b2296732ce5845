"""Mamba-2: a selective state-space layer with a short convolution and a state for each head.

Each head keeps a ``head_dim x state`` matrix; groups of heads share the input and output vectors of the
recurrence (Dao and Gu, 2024, arXiv 2405.21060). Layout as in Hugging Face `Mamba2Mixer`,
`NemotronHMamba2Mixer` and `GraniteMoeHybridMambaLayer`.
"""

from __future__ import annotations

from dataclasses import dataclass

from planner.architecture.blocks.legal import check_groups, heads_refusal
from planner.architecture.caches import Cache, StateCache, StateTensor
from planner.architecture.mixing import Mixing, recurrence
from planner.architecture.tensors import Sharding, Split, Tensor


@dataclass(frozen=True, slots=True)
class Mamba2:
    """A Mamba-2 mixer of `heads` heads in `groups` groups.

    Parameters
    ----------
    hidden : int
        Width of the residual stream.
    heads, head_dim : int
        Heads and their width.
    groups : int
        Groups of heads that share B and C.
    state : int
        Width of a head's state.
    kernel : int
        Tokens that the convolution spans.
    conv_bias, proj_bias : bool
        Whether the convolution, and the input and output projections, have a bias.
    state_dtype : str
        Format of the recurrent state.
    """

    hidden: int
    heads: int
    head_dim: int
    groups: int
    state: int
    kernel: int
    conv_bias: bool = True
    proj_bias: bool = False
    state_dtype: str = "f32"

    def __post_init__(self) -> None:
        """Refuse heads that cannot share the groups."""
        check_groups(self.heads, self.groups, ("Mamba heads", "Mamba groups"))

    @property
    def _inner(self) -> int:
        return self.heads * self.head_dim

    @property
    def _shared(self) -> int:
        return 2 * self.groups * self.state

    def tensors(self) -> tuple[Tensor, ...]:
        """Return the weights of the block."""
        projected, convolved = 2 * self._inner + self.heads, self._inner
        parts = [
            self._column("in_proj", projected, self._shared, self.hidden),
            self._column("conv1d", convolved, self._shared, self.kernel),
            *(self._column(name, self.heads) for name in ("A_log", "D", "dt_bias")),
            Tensor(
                "gated_norm",
                "norm",
                self._inner,
                split=Split.COLUMN,
                units=self.heads,
                quantisable=False,
            ),
            Tensor("out_proj", "mamba", self.hidden, self._inner, split=Split.ROW, units=self.heads),
        ]
        if self.conv_bias:
            parts.append(self._column("conv1d.bias", convolved, self._shared))
        if self.proj_bias:
            parts.append(self._column("in_proj.bias", projected, self._shared))
            parts.append(Tensor("out_proj.bias", "mamba", self.hidden))
        return tuple(parts)

    def _column(self, name: str, by_heads: int, by_groups: int = 0, cols: int = 1) -> Tensor:
        return Tensor(
            name,
            "mamba",
            by_heads + by_groups,
            cols,
            split=Split.COLUMN,
            segments=((by_heads, self.heads), (by_groups, self.groups)),
            quantisable=name == "in_proj",
        )

    def caches(self) -> tuple[Cache, ...]:
        """Return the convolution's window (of heads and of groups) and the state of each head."""
        return self._states()

    def _states(self) -> tuple[StateCache, ...]:
        window = self.kernel - 1
        return (
            StateCache(
                "mamba2",
                (
                    StateTensor("conv", window * self._inner, self.heads, "bf16"),
                    StateTensor("conv", window * self._shared, self.groups, "bf16"),
                    StateTensor("ssm", self._inner * self.state, self.heads, self.state_dtype),
                ),
            ),
        )

    def mixings(self) -> tuple[Mixing, ...]:
        """Return the recurrence of each head."""
        (state,) = self._states()
        return (recurrence("mamba2", self.heads, self.state, self.head_dim, state, products=2),)

    def refusal(self, sharding: Sharding) -> str | None:
        """Return why this sharding is impossible for the block, or None when it is possible."""
        return heads_refusal(self.heads, self.groups, sharding.tp, ("Mamba heads", "Mamba groups"))
