"""Wan's transformer: attention of a video's tokens to one another and to the text, by modulated blocks."""

from __future__ import annotations

from dataclasses import dataclass

from planner.architecture.media.work import ELEMENT_BYTES, Job, Work, attention_flop, matrix

MOVED = 125
"""Times that a block reads or writes all tokens beside its products: measured on an H200, eager."""
HELD = 11
"""Copies of all tokens that a block holds at once: measured on an H200."""
KERNELS = 90
"""Kernels of a block, eager."""


@dataclass(frozen=True, slots=True)
class WanTransformer:
    """One expert of Wan's denoiser.

    Parameters
    ----------
    hidden, ffn, layers, heads : int
        Width, width of the feed-forward part, blocks, and attention heads.
    channels : int
        Elements of a latent token: channels of the latent times the patch.
    text_width, time_channels : int
        Widths of the text encoder and of the embedding of time.
    """

    hidden: int
    ffn: int
    layers: int
    heads: int
    channels: int
    text_width: int
    time_channels: int = 256

    def largest_layer(self) -> int:
        """Return the parameters of a block."""
        d = self.hidden
        attention = 4 * matrix(d, d) + 2 * d
        return 2 * attention + 2 * d + matrix(self.ffn, d) + matrix(d, self.ffn) + 6 * d

    def parameters(self) -> int:
        """Return the parameters."""
        d = self.hidden
        text = matrix(d, self.text_width) + matrix(d, d)
        times = matrix(d, self.time_channels) + matrix(d, d) + matrix(6 * d, d)
        ends = matrix(d, self.channels) + matrix(self.channels, d) + 2 * d
        return text + times + ends + self.layers * self.largest_layer()

    def work(self, job: Job) -> Work:
        """Return the work of one pass; keys and values of the text are few beside the video's."""
        d, n, m = self.hidden, job.tokens, job.text_tokens
        of_video, of_text = 6 * d * d + 2 * d * self.ffn, 2 * d * d
        return Work(
            linear_flop=2.0 * self.layers * (of_video * n + of_text * m),
            attention_flop=self.layers * (attention_flop(n, n, d) + attention_flop(n, m, d)),
            moved_bytes=float(self.layers * MOVED * ELEMENT_BYTES * n * d),
            kernels=float(self.layers * KERNELS),
        ).times(job.sequences)

    def activation_bytes(self, job: Job) -> float:
        """Return what the block that holds most holds."""
        return float(HELD * ELEMENT_BYTES * job.sequences * job.tokens * self.hidden)
