"""What a pass of one component costs, and what it is asked to make.

A component counts itself: its parameters, the work of one forward pass, and what that pass holds. Elements
are counted in 16 bits, as everything between the layers of these models is kept.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

ELEMENT_BYTES = 2
"""Bytes of an element between layers: BF16 or FP16."""


@dataclass(frozen=True, slots=True)
class Job:
    """One unit to be made, in the sizes that components count in.

    Parameters
    ----------
    tokens : int
        Latent tokens that the denoiser works on.
    text_tokens : int
        Tokens of the prompt, or of the picture that conditions a mesh.
    width, height : int
        Of the picture or the video [pixels]; 0 for a mesh.
    latent_frames : int
        Frames of the latent; 1 for a picture.
    points : int
        Points of space at which a mesh is looked for; 0 otherwise.
    sequences : int
        Latents that share one pass: 2 where guidance needs a second one.
    """

    tokens: int
    text_tokens: int
    width: int = 0
    height: int = 0
    latent_frames: int = 1
    points: int = 0
    sequences: int = 1


@dataclass(frozen=True, slots=True)
class Work:
    """The work of a pass, by what limits it.

    Parameters
    ----------
    linear_flop, attention_flop, convolution_flop : float
        Of matrix products with weights, of attention between tokens, and of convolutions [FLOP].
    moved_bytes : float
        What norms, activations, rotary embeddings and residuals read and write [bytes].
    kernels : float
        Kernels that are launched.
    """

    linear_flop: float = 0.0
    attention_flop: float = 0.0
    convolution_flop: float = 0.0
    moved_bytes: float = 0.0
    kernels: float = 0.0

    @property
    def flop(self) -> float:
        """Return all FLOPs."""
        return self.linear_flop + self.attention_flop + self.convolution_flop

    def __add__(self, other: Work) -> Work:
        """Return both together."""
        return Work(
            self.linear_flop + other.linear_flop,
            self.attention_flop + other.attention_flop,
            self.convolution_flop + other.convolution_flop,
            self.moved_bytes + other.moved_bytes,
            self.kernels + other.kernels,
        )

    def times(self, count: float) -> Work:
        """Return the same work, so many times."""
        return Work(
            count * self.linear_flop,
            count * self.attention_flop,
            count * self.convolution_flop,
            count * self.moved_bytes,
            count * self.kernels,
        )


class Component(Protocol):
    """One network of a pipeline."""

    def parameters(self) -> int:
        """Return the parameters of one copy."""
        ...

    def largest_layer(self) -> int:
        """Return the parameters of the layer that is the least of it a GPU must hold at once."""
        ...

    def work(self, job: Job) -> Work:
        """Return the work of one pass over all sequences of a job."""
        ...

    def activation_bytes(self, job: Job) -> float:
        """Return what a pass holds beside the weights, at most [bytes]."""
        ...


def matrix(rows: int, cols: int, bias: bool = True) -> int:
    """Return the parameters of a linear layer."""
    return rows * cols + (rows if bias else 0)


def attention_flop(queries: int, keys: int, width: int) -> float:
    """Return the FLOPs of softmax(QK^T)V over all heads: 2 for each multiply-add of either product.

    Parameters
    ----------
    queries, keys : int
        Tokens that ask and that are looked at.
    width : int
        Heads times the width of one.

    Returns
    -------
    float
        4 x queries x keys x width [FLOP].
    """
    return 4.0 * queries * keys * width
