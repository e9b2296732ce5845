"""Encoders of prompts and pictures: T5 and UMT5, CLIP's text tower, DINOv2."""

from __future__ import annotations

from dataclasses import dataclass

from planner.architecture.media.work import ELEMENT_BYTES, Job, Work, attention_flop, matrix

MOVED, HELD, KERNELS = 30, 12, 25
"""Reads and writes of all tokens in a layer, copies of them it holds, and its kernels: of an eager layer."""


@dataclass(frozen=True, slots=True)
class T5Encoder:
    """The encoder of T5 v1.1 or UMT5.

    Parameters
    ----------
    vocab, hidden, inner, ffn, layers, heads : int
        Its sizes; `inner` is the width of all heads.
    buckets : int
        Relative positions that are told apart.
    biased_layers : int
        Layers with a table of positions of their own: one in T5, all in UMT5.
    prompts : int
        Prompts of a unit: 2 where guidance needs what to avoid.
    """

    vocab: int
    hidden: int
    inner: int
    ffn: int
    layers: int
    heads: int
    buckets: int
    biased_layers: int
    prompts: int

    def _products(self) -> int:
        return 4 * self.hidden * self.inner + 3 * self.hidden * self.ffn

    def largest_layer(self) -> int:
        """Return the parameters of the table of words, which is more than a layer."""
        return max(self.vocab * self.hidden, self._products())

    def parameters(self) -> int:
        """Return the parameters."""
        positions = self.biased_layers * self.buckets * self.heads
        layer = self._products() + 2 * self.hidden
        return self.vocab * self.hidden + self.layers * layer + positions + self.hidden

    def work(self, job: Job) -> Work:
        """Return the work of encoding all prompts of a unit."""
        return _encode(self.layers, self._products(), job.text_tokens, self.inner, self.hidden).times(
            self.prompts
        )

    def activation_bytes(self, job: Job) -> float:
        """Return what a layer holds, with the scores of all pairs, which carry positions."""
        pairs = self.heads * job.text_tokens**2
        return float(ELEMENT_BYTES * (HELD * job.text_tokens * self.ffn + 2 * pairs))


@dataclass(frozen=True, slots=True)
class ClipText:
    """CLIP's text tower; it reads 77 tokens whatever the prompt.

    Parameters
    ----------
    vocab, hidden, layers, heads, positions : int
        Its sizes.
    """

    vocab: int
    hidden: int
    layers: int
    heads: int
    positions: int

    def _layer(self) -> int:
        return _vision_layer(self.hidden)

    def largest_layer(self) -> int:
        """Return the parameters of the table of words."""
        return self.vocab * self.hidden

    def parameters(self) -> int:
        """Return the parameters."""
        d = self.hidden
        return (self.vocab + self.positions) * d + self.layers * self._layer() + 2 * d

    def work(self, job: Job) -> Work:
        """Return the work of encoding a prompt."""
        d = self.hidden
        return _encode(self.layers, 12 * d * d, self.positions, d, d)

    def activation_bytes(self, job: Job) -> float:
        """Return what a layer holds."""
        return float(ELEMENT_BYTES * HELD * self.positions * self.hidden)


@dataclass(frozen=True, slots=True)
class DinoV2:
    """DINOv2, which encodes the picture that a mesh is made from.

    Parameters
    ----------
    hidden, layers, heads, patch, image : int
        Its sizes; `image` is the side of the picture it reads [pixels].
    """

    hidden: int
    layers: int
    heads: int
    patch: int
    image: int

    @property
    def tokens(self) -> int:
        """Return the patches of a picture and the token that stands for all of it."""
        return (self.image // self.patch) ** 2 + 1

    def largest_layer(self) -> int:
        """Return the parameters of a layer."""
        return _vision_layer(self.hidden) + 2 * self.hidden

    def parameters(self) -> int:
        """Return the parameters, with the token that hides patches in training."""
        d = self.hidden
        patches = matrix(d, 3 * self.patch**2)
        return patches + (self.tokens + 2) * d + self.layers * self.largest_layer() + 2 * d

    def work(self, job: Job) -> Work:
        """Return the work of encoding a picture."""
        d = self.hidden
        return _encode(self.layers, 12 * d * d, self.tokens, d, d)

    def activation_bytes(self, job: Job) -> float:
        """Return what a layer holds."""
        return float(ELEMENT_BYTES * HELD * self.tokens * self.hidden)


def _vision_layer(hidden: int) -> int:
    """Return the parameters of a layer with biases, two norms, and an inner width of four times its own."""
    mlp = matrix(4 * hidden, hidden) + matrix(hidden, 4 * hidden)
    return 4 * matrix(hidden, hidden) + mlp + 4 * hidden


def _encode(layers: int, products: int, tokens: int, inner: int, hidden: int) -> Work:
    return Work(
        linear_flop=2.0 * layers * products * tokens,
        attention_flop=layers * attention_flop(tokens, tokens, inner),
        moved_bytes=float(layers * MOVED * ELEMENT_BYTES * tokens * hidden),
        kernels=float(layers * KERNELS),
    )
