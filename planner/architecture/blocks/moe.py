"""Mixture of experts: routed experts (also on a latent width), shared experts and the router.

A token passes `top_k` of `experts` experts (Shazeer et al., 2017, arXiv 1701.06538). With a latent width the
routed experts work on a narrower stream between two projections that every rank holds whole (Kimi K3,
Nemotron 3).
"""

from __future__ import annotations

from dataclasses import dataclass

from planner.architecture.blocks.legal import ImpossibleBlock, division_refusal, divisors
from planner.architecture.blocks.mlp import DenseMlp
from planner.architecture.caches import Cache
from planner.architecture.mixing import Mixing
from planner.architecture.tensors import Sharding, Split, Tensor


@dataclass(frozen=True, slots=True)
class MixtureOfExperts:
    """Routed experts with their router, and shared experts as one wider block.

    Parameters
    ----------
    hidden : int
        Width of the residual stream.
    experts, top_k : int
        Routed experts, and how many of them a token uses.
    intermediate : int
        Width of one routed expert.
    shared_intermediate : int
        Width of all shared experts together, 0 for none.
    shared_gate : bool
        Whether a gate vector weighs the shared experts (Qwen).
    latent : int
        Width of the stream that routed experts see, 0 for the hidden width.
    latent_norm : bool
        Whether the latent stream is normalised.
    latent_quantisable : bool
        Whether a quantisation may change the projections to and from the latent (not in Kimi K3).
    gated : bool
        Whether an expert has three matrices (SwiGLU) instead of two.
    router_bias : bool
        Whether the router has a correction bias, kept in FP32.
    expert_bias : bool
        Whether experts have biases (gpt-oss).
    router_linear_bias : bool
        Whether the router's projection has a bias of its own.
    extra_logits : int
        Scores of the router beside those of the routed experts (shared experts in Inkling).
    router_scales : int
        Parameters of the router's scale vectors (Gemma 4).
    fused : bool
        Whether the checkpoint stores gate and up of an expert in one matrix.
    shared_fused : bool
        The same for the shared experts.
    """

    hidden: int
    experts: int
    top_k: int
    intermediate: int
    shared_intermediate: int = 0
    shared_gate: bool = False
    latent: int = 0
    latent_norm: bool = False
    latent_quantisable: bool = True
    gated: bool = True
    router_bias: bool = False
    expert_bias: bool = False
    router_linear_bias: bool = False
    extra_logits: int = 0
    router_scales: int = 0
    fused: bool = False
    shared_fused: bool = False

    def __post_init__(self) -> None:
        """Refuse more experts for a token than there are."""
        if self.top_k > self.experts:
            raise ImpossibleBlock(f"a token uses {self.top_k} experts, but there are {self.experts}")

    def tensors(self) -> tuple[Tensor, ...]:
        """Return the weights of the block."""
        parts = [Tensor("router", "router", self.experts + self.extra_logits, self.hidden)]
        if self.router_linear_bias:
            parts.append(Tensor("router.bias", "router", self.experts))
        if self.router_scales:
            parts.append(Tensor("router.scales", "router", self.router_scales))
        if self.router_bias:
            parts.append(Tensor("router.correction", "router_bias", self.experts, fixed_format="f32"))
        parts += self._routed()
        if self.shared_intermediate:
            shared = DenseMlp(
                self.hidden,
                self.shared_intermediate,
                self.gated,
                group="shared_experts",
                fused=self.shared_fused,
            )
            parts += shared.tensors()
        if self.shared_gate:
            parts.append(Tensor("shared_gate", "shared_experts", 1, self.hidden))
        if self.latent:
            shapes = (("latent_down", self.latent, self.hidden), ("latent_up", self.hidden, self.latent))
            parts += [
                Tensor(name, "latent_proj", rows, cols, quantisable=self.latent_quantisable)
                for name, rows, cols in shapes
            ]
        if self.latent_norm:
            parts.append(Tensor("latent_norm", "norm", self.latent, quantisable=False))
        return tuple(parts)

    def _shared(self) -> DenseMlp:
        return DenseMlp(self.hidden, self.shared_intermediate, self.gated, group="shared_experts")

    def _routed(self) -> list[Tensor]:
        stream = self.latent or self.hidden
        width = self.intermediate
        inputs = ("gate_proj", "up_proj") if self.gated else ("up_proj",)
        if self.fused:
            parts = [self._expert("gate_up_proj", 2 * width, stream, Split.COLUMN, ((width, width),) * 2)]
        else:
            parts = [self._expert(name, width, stream, Split.COLUMN) for name in inputs]
        parts.append(self._expert("down_proj", stream, width, Split.ROW))
        if self.expert_bias:
            parts += [self._expert(f"{name}.bias", width, 1, Split.COLUMN) for name in inputs]
            parts.append(self._expert("down_proj.bias", stream, 1, Split.REPLICATED))
        return parts

    def _expert(
        self, name: str, rows: int, cols: int, split: Split, segments: tuple[tuple[int, int], ...] = ()
    ) -> Tensor:
        return Tensor(
            f"experts.{name}",
            "routed_experts",
            rows,
            cols,
            count=self.experts,
            active=self.top_k,
            split=split,
            segments=segments,
            expert=True,
        )

    def caches(self) -> tuple[Cache, ...]:
        """Return nothing: experts keep nothing for a request."""
        return ()

    def mixings(self) -> tuple[Mixing, ...]:
        """Return nothing: experts look at one token."""
        return ()

    def refusal(self, sharding: Sharding) -> str | None:
        """Return why this sharding is impossible for the block, or None when it is possible."""
        ranks = sharding.tp * sharding.dp
        if ranks % sharding.ep:
            legal = ", ".join(map(str, divisors(ranks)))
            return f"EP {sharding.ep} does not divide the {ranks} ranks (TP x DP) of experts; legal: {legal}"
        reason = division_refusal("routed experts", self.experts, sharding.ep, "EP")
        reason = reason or division_refusal(
            "columns of an expert", self.intermediate, sharding.expert_tp, "TP/EP"
        )
        return reason or self._shared().refusal(sharding)
