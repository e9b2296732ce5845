"""Hunyuan3D's autoencoder of shapes, whose decoder is asked for the surface point by point."""

from __future__ import annotations

import math
from dataclasses import dataclass

from planner.architecture.media.work import ELEMENT_BYTES, Job, Work, attention_flop, matrix

POINTS_AT_ONCE = 8000
"""Points that are asked for at once: the default of ComfyUI's node."""
MOVED, HELD, KERNELS = 40, 12, 30
"""Reads and writes of all tokens in a layer, copies of them it holds, and its kernels: of an eager layer."""


@dataclass(frozen=True, slots=True)
class ShapeAutoencoder:
    """The autoencoder of Hunyuan3D 2.1.

    Parameters
    ----------
    width, heads, encoder_layers, decoder_layers : int
        Its sizes.
    embed, latents : int
        Elements of a latent, and how many there are.
    frequencies, point_features : int
        Of the embedding of a point, and features beside its place.
    """

    width: int
    heads: int
    encoder_layers: int
    decoder_layers: int
    embed: int
    latents: int
    frequencies: int
    point_features: int

    @property
    def _point(self) -> int:
        """Return the width of the embedding of a point."""
        return 3 * (2 * self.frequencies + 1)

    def _mlp(self) -> int:
        return matrix(4 * self.width, self.width) + matrix(self.width, 4 * self.width)

    def _attend(self, norms: int) -> int:
        w = self.width
        products = 3 * matrix(w, w, bias=False) + matrix(w, w)
        return products + self._mlp() + norms * 2 * w + 2 * 2 * w // self.heads

    def parameters(self) -> int:
        """Return the parameters of both halves."""
        w = self.width
        layers = (self.encoder_layers + self.decoder_layers) * self._attend(2)
        cross = 2 * self._attend(3)
        latents = matrix(2 * self.embed, w) + matrix(w, self.embed)
        ends = matrix(w, self._point + self.point_features) + matrix(w, self._point) + matrix(1, w)
        return layers + cross + latents + ends + 2 * 2 * w

    def largest_layer(self) -> int:
        """Return the parameters of a layer."""
        return self._attend(3)

    def work(self, job: Job) -> Work:
        """Return the work of decoding the latents once and asking for every point, thousands at a time."""
        w, n = self.width, job.tokens
        layer = Work(
            linear_flop=2.0 * 12 * w * w * n,
            attention_flop=attention_flop(n, n, w),
            moved_bytes=float(MOVED * ELEMENT_BYTES * n * w),
            kernels=float(KERNELS),
        ).times(self.decoder_layers)
        rounds = math.ceil(job.points / POINTS_AT_ONCE)
        asked = Work(
            linear_flop=2.0 * ((10 * w * w + w * self._point) * job.points + rounds * 2 * w * w * n),
            attention_flop=attention_flop(job.points, n, w),
            moved_bytes=float(MOVED * ELEMENT_BYTES * w * (job.points + rounds * n)),
            kernels=float(rounds * KERNELS),
        )
        return layer + asked

    def activation_bytes(self, job: Job) -> float:
        """Return what a round of points holds, and the answers of all."""
        at_once = min(job.points, POINTS_AT_ONCE) + job.tokens
        return float(ELEMENT_BYTES * HELD * at_once * self.width + 2 * 4 * job.points)
