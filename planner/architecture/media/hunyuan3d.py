"""Hunyuan3D's transformer: a U of blocks over a shape's latents, the last of them with routed experts."""

from __future__ import annotations

from dataclasses import dataclass

from planner.architecture.media.work import ELEMENT_BYTES, Job, Work, attention_flop, matrix

MOVED = 110
"""Times that a block reads or writes all tokens beside its products: measured on an H200, eager."""
HELD = 13
"""Copies of all tokens that a block holds at once: measured on an H200."""
KERNELS, EXPERT_KERNELS = 60, 130
"""Kernels of a block, eager, and those that its experts add, which are asked one after the other."""


@dataclass(frozen=True, slots=True)
class HunyuanShapeTransformer:
    """The denoiser of Hunyuan3D 2.1.

    Parameters
    ----------
    hidden, layers, heads : int
        Width, blocks, and attention heads; the blocks above the middle take what one below it left.
    channels, context_width : int
        Elements of a latent, and width of what conditions it.
    moe_layers, experts, top_k : int
        Last blocks with routed experts, how many there are beside the shared one, and how many a token uses.
    mlp_ratio : int
        Width of the feed-forward part over `hidden`.
    """

    hidden: int
    layers: int
    heads: int
    channels: int
    context_width: int
    moe_layers: int
    experts: int
    top_k: int
    mlp_ratio: int = 4

    @property
    def skips(self) -> int:
        """Return the blocks that take what an earlier one left."""
        return self.layers - self.layers // 2 - 1

    def _mlp(self) -> int:
        return matrix(self.mlp_ratio * self.hidden, self.hidden) + matrix(
            self.hidden, self.mlp_ratio * self.hidden
        )

    def _attention(self) -> int:
        """Return the parameters of both attentions of a block, with their norms."""
        d, c = self.hidden, self.context_width
        own = matrix(d, d, bias=False) * 3 + matrix(d, d)
        cross = matrix(d, d, bias=False) + 2 * matrix(d, c, bias=False) + matrix(d, d)
        return own + cross + 4 * d // self.heads + 3 * 2 * d

    def _skip(self) -> int:
        return matrix(self.hidden, 2 * self.hidden) + 2 * self.hidden

    def largest_layer(self) -> int:
        """Return the parameters of a block with experts."""
        return self._attention() + self._skip() + self._experts()

    def _experts(self) -> int:
        return (self.experts + 1) * self._mlp() + self.experts * self.hidden

    def parameters(self) -> int:
        """Return the parameters."""
        d = self.hidden
        times = matrix(4 * d, d) + matrix(d, 4 * d)
        ends = matrix(d, self.channels) + 2 * d + matrix(self.channels, d)
        plain = (self.layers - self.moe_layers) * self._mlp()
        blocks = self.layers * self._attention() + self.skips * self._skip()
        return times + ends + blocks + plain + self.moe_layers * self._experts()

    def work(self, job: Job) -> Work:
        """Return the work of one pass; the moment of denoising is one token more."""
        d, c, n, m = self.hidden, self.context_width, job.tokens + 1, job.text_tokens
        mlp = 2 * self.mlp_ratio * d * d
        used = (self.layers - self.moe_layers) * mlp + self.moe_layers * (self.top_k + 1) * mlp
        of_latents = self.layers * 6 * d * d + self.skips * 2 * d * d + used
        of_context = self.layers * 2 * d * c
        return Work(
            linear_flop=2.0 * (of_latents * n + of_context * m),
            attention_flop=self.layers * (attention_flop(n, n, d) + attention_flop(n, m, d)),
            moved_bytes=float(self.layers * MOVED * ELEMENT_BYTES * n * d),
            kernels=(self.layers * KERNELS + self.moe_layers * EXPERT_KERNELS) / job.sequences,
        ).times(job.sequences)

    def activation_bytes(self, job: Job) -> float:
        """Return what the block that holds most holds."""
        return float(HELD * ELEMENT_BYTES * job.sequences * job.tokens * self.hidden)
