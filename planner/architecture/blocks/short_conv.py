"""Short convolutions: a causal depthwise convolution over the last few tokens, alone or as a gated mixer.

Layouts as in Hugging Face `Lfm2ShortConv` (gated, between two projections) and `InklingShortConvolution`
(bare, behind another block).
"""

from __future__ import annotations

from dataclasses import dataclass

from planner.architecture.blocks.legal import division_refusal
from planner.architecture.caches import Cache, StateCache, StateTensor
from planner.architecture.mixing import Mixing, recurrence
from planner.architecture.tensors import Sharding, Split, Tensor


@dataclass(frozen=True, slots=True)
class ShortConvolution:
    """A convolution over `channels` channels.

    Parameters
    ----------
    channels : int
        Channels, each with its own kernel.
    kernel : int
        Tokens that the kernel spans.
    kept : int
        Tokens that a request keeps.
    projections : bool
        Whether projections stand before it (into input and two gates) and behind it, so that it is a mixer.
    bias : bool
        Whether convolution and projections have a bias.
    heads : int
        KV heads that the channels belong to; 0 where they divide freely, 1 where every rank holds all.
    state_dtype : str
        Format of the kept tokens.
    """

    channels: int
    kernel: int
    kept: int
    projections: bool = False
    bias: bool = False
    heads: int = 0
    state_dtype: str = "bf16"

    def tensors(self) -> tuple[Tensor, ...]:
        """Return the weights of the block."""
        width = self.channels
        parts = [self._column("conv1d", width, self.kernel, quantisable=False)]
        if self.bias:
            parts.append(self._column("conv1d.bias", width))
        if self.projections:
            parts.append(self._column("in_proj", 3 * width, width))
            parts.append(Tensor("out_proj", "linear_attention", width, width, split=Split.ROW))
        if self.projections and self.bias:
            parts.append(self._column("in_proj.bias", 3 * width))
            parts.append(Tensor("out_proj.bias", "linear_attention", width))
        return tuple(parts)

    def _column(self, name: str, rows: int, cols: int = 1, quantisable: bool = True) -> Tensor:
        return Tensor(
            name,
            "linear_attention",
            rows,
            cols,
            split=Split.COLUMN,
            units=self.heads,
            quantisable=quantisable,
        )

    def caches(self) -> tuple[Cache, ...]:
        """Return the last tokens of each channel."""
        return self._states()

    def _states(self) -> tuple[StateCache, ...]:
        window = StateTensor("conv", self.kept * self.channels, self.heads, self.state_dtype)
        return (StateCache("conv", (window,)),)

    def mixings(self) -> tuple[Mixing, ...]:
        """Return the reading of the kept tokens; the products with the kernel count as weights."""
        (state,) = self._states()
        return (recurrence("conv", 1, 0, 0, state, products=0),)

    def refusal(self, sharding: Sharding) -> str | None:
        """Return why this sharding is impossible for the block, or None when it is possible."""
        if self.heads:
            return None
        return division_refusal("channels of a convolution", self.channels, sharding.tp, "TP")
