"""FLUX's transformer: blocks with a stream for text and one for pictures, then blocks with one for both."""

from __future__ import annotations

from dataclasses import dataclass

from planner.architecture.media.work import ELEMENT_BYTES, Job, Work, attention_flop, matrix

MOVED = 190
"""Times that a block reads or writes all tokens beside its products: measured on an H200, eager."""
HELD = 19
"""Copies of all tokens that a block holds at once: measured on an H200."""
KERNELS = 100
"""Kernels of a block, eager: measured on an H200."""
TIME_CHANNELS = 256
MODULATIONS = (6, 3, 2)
"""Vectors by which a double block's stream, a single block and the last norm are modulated."""


@dataclass(frozen=True, slots=True)
class FluxTransformer:
    """The denoiser of FLUX.1.

    Parameters
    ----------
    hidden, heads : int
        Width of the streams, and attention heads.
    double_layers, single_layers : int
        Blocks of either kind.
    channels : int
        Elements of a latent token: channels of the latent times the patch.
    text_width, pooled_width : int
        Widths of the two text encoders.
    mlp_ratio : int
        Width of the feed-forward part over `hidden`.
    guidance_embedded : int
        1 where the strength of guidance is an input, so that one pass does for two.
    """

    hidden: int
    heads: int
    double_layers: int
    single_layers: int
    channels: int
    text_width: int
    pooled_width: int
    mlp_ratio: int = 4
    guidance_embedded: int = 1

    def _stream(self) -> int:
        """Return the parameters of one stream of a double block."""
        d = self.hidden
        mlp = matrix(self.mlp_ratio * d, d) + matrix(d, self.mlp_ratio * d)
        return matrix(MODULATIONS[0] * d, d) + 4 * matrix(d, d) + mlp + 2 * d // self.heads

    def _single(self) -> int:
        d = self.hidden
        into = 3 * matrix(d, d) + matrix(self.mlp_ratio * d, d)
        out = matrix(d, (1 + self.mlp_ratio) * d)
        return matrix(MODULATIONS[1] * d, d) + into + out + 2 * d // self.heads

    def parameters(self) -> int:
        """Return the parameters."""
        d = self.hidden
        times = (1 + self.guidance_embedded) * (matrix(d, TIME_CHANNELS) + matrix(d, d))
        pooled = matrix(d, self.pooled_width) + matrix(d, d)
        ends = matrix(d, self.text_width) + matrix(d, self.channels) + matrix(self.channels, d)
        last = matrix(MODULATIONS[2] * d, d)
        blocks = self.double_layers * 2 * self._stream() + self.single_layers * self._single()
        return times + pooled + ends + last + blocks

    def largest_layer(self) -> int:
        """Return the parameters of a double block."""
        return 2 * self._stream()

    def work(self, job: Job) -> Work:
        """Return the work of one pass: text and picture attend to one another in every block."""
        d, tokens = self.hidden, job.tokens + job.text_tokens
        layers = self.double_layers + self.single_layers
        weights = (4 + 2 * self.mlp_ratio) * d * d
        return Work(
            linear_flop=2.0 * layers * weights * tokens,
            attention_flop=layers * attention_flop(tokens, tokens, d),
            moved_bytes=float(layers * MOVED * ELEMENT_BYTES * tokens * d),
            kernels=float(layers * KERNELS),
        ).times(job.sequences)

    def activation_bytes(self, job: Job) -> float:
        """Return what the block that holds most holds."""
        tokens = job.sequences * (job.tokens + job.text_tokens)
        return float(HELD * ELEMENT_BYTES * tokens * self.hidden)
