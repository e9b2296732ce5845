"""The dense feed-forward block."""

from __future__ import annotations

from dataclasses import dataclass

from planner.architecture.blocks.legal import division_refusal
from planner.architecture.caches import Cache
from planner.architecture.mixing import Mixing
from planner.architecture.tensors import Sharding, Split, Tensor


@dataclass(frozen=True, slots=True)
class DenseMlp:
    """A feed-forward block of two or three matrices.

    Parameters
    ----------
    hidden, intermediate : int
        Width of the residual stream and of the block.
    gated : bool
        Whether there is a gate matrix beside the up matrix (SwiGLU), so three matrices instead of two.
    bias : bool
        Whether the projections have a bias.
    group : str
        Weight group; shared experts and drafts use their own.
    fused : bool
        Whether the checkpoint stores gate and up in one matrix.
    """

    hidden: int
    intermediate: int
    gated: bool = True
    bias: bool = False
    group: str = "dense_mlp"
    fused: bool = False

    def tensors(self) -> tuple[Tensor, ...]:
        """Return the weights of the block."""
        inputs = ("gate_proj", "up_proj") if self.gated else ("up_proj",)
        if self.fused:
            both = ((self.intermediate, self.intermediate),) * 2
            parts = [self._column("gate_up_proj", 2 * self.intermediate, segments=both)]
        else:
            parts = [self._column(name, self.intermediate) for name in inputs]
        parts.append(Tensor("down_proj", self.group, self.hidden, self.intermediate, split=Split.ROW))
        if self.bias:
            parts += [
                Tensor(f"{name}.bias", "bias", self.intermediate, split=Split.COLUMN) for name in inputs
            ]
            parts.append(Tensor("down_proj.bias", "bias", self.hidden))
        return tuple(parts)

    def _column(self, name: str, rows: int, segments: tuple[tuple[int, int], ...] = ()) -> Tensor:
        return Tensor(name, self.group, rows, self.hidden, split=Split.COLUMN, segments=segments)

    def caches(self) -> tuple[Cache, ...]:
        """Return nothing: a feed-forward block keeps nothing for a request."""
        return ()

    def mixings(self) -> tuple[Mixing, ...]:
        """Return nothing: a feed-forward block looks at one token."""
        return ()

    def refusal(self, sharding: Sharding) -> str | None:
        """Return why this sharding is impossible for the block, or None when it is possible."""
        return division_refusal(f"columns of {self.group}", self.intermediate, sharding.tp, "TP")
