"""Autoencoders of pictures and videos: convolutions, counted while walking through the layers once.

The encoder's parameters are in the files and count; only the decoder runs, as a text is what is started from.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from planner.architecture.media.work import ELEMENT_BYTES, Job, Work, attention_flop

MOVED = 8
"""Times that a residual layer reads or writes its input: two norms, two activations, the sum (eager)."""
KERNELS = 5
"""Kernels of a convolution with its norm and activation."""
HELD, HELD_VIDEO = 9, 7
"""Copies of the widest picture held at once in 16 bits: measured on an H200, of pictures and of videos."""


@dataclass
class _Tally:
    """What a walk adds up; `size` is the pixels of a frame and `frames` the frames where it stands."""

    size: float = 1.0
    frames: float = 1.0
    parameters: int = 0
    flop: float = 0.0
    attention: float = 0.0
    moved: float = 0.0
    kernels: int = 0
    widest: float = field(default=0.0)

    def conv(self, into: int, out: int, taps: int) -> None:
        """Count one convolution of so many taps, with bias."""
        self.parameters += into * out * taps + out
        self.flop += 2.0 * into * out * taps * self.size * self.frames
        self.kernels += KERNELS
        self.widest = max(self.widest, self.size * self.frames * max(into, out))

    def norm(self, channels: int, vectors: int) -> None:
        """Count a norm of one vector (gain) or two (gain and shift)."""
        self.parameters += channels * vectors

    def residual(self, into: int, out: int, taps: int, vectors: int) -> None:
        """Count a residual layer: two norms, two convolutions, and a shortcut where widths differ."""
        self.norm(into, vectors)
        self.conv(into, out, taps)
        self.norm(out, vectors)
        self.conv(out, out, taps)
        if into != out:
            self.conv(into, out, 1)
        self.moved += MOVED * ELEMENT_BYTES * self.size * self.frames * max(into, out)

    def attend(self, channels: int, vectors: int, fused: bool) -> None:
        """Count attention of all pixels of a frame to one another, in one head."""
        self.norm(channels, vectors)
        if fused:
            self.conv(channels, 3 * channels, 1)
        else:
            for _ in range(3):
                self.conv(channels, channels, 1)
        self.conv(channels, channels, 1)
        pixels = round(self.size)
        self.attention += self.frames * attention_flop(pixels, pixels, channels)

    def work(self) -> Work:
        """Return what was added up."""
        return Work(0.0, self.attention, self.flop, self.moved, float(self.kernels))


@dataclass(frozen=True, slots=True)
class PictureAutoencoder:
    """The autoencoder of Stable Diffusion and FLUX.

    Parameters
    ----------
    width : int
        Channels at the full size; the levels below have 2, 4 and 4 times as many.
    latent_channels, stride, layers : int
        Channels of the latent, pixels to a side of one of its elements, and residual layers of a level.
    """

    width: int
    latent_channels: int
    stride: int
    layers: int

    @property
    def _widths(self) -> tuple[int, ...]:
        return (self.width, 2 * self.width, 4 * self.width, 4 * self.width)

    def _encode(self) -> _Tally:
        tally, widths = _Tally(), self._widths
        tally.conv(3, widths[0], 9)
        into = widths[0]
        for level, out in enumerate(widths):
            for _ in range(self.layers):
                tally.residual(into, out, 9, 2)
                into = out
            if level < len(widths) - 1:
                tally.conv(out, out, 9)
        self._middle(tally, into)
        tally.norm(into, 2)
        tally.conv(into, 2 * self.latent_channels, 9)
        return tally

    @staticmethod
    def _middle(tally: _Tally, channels: int) -> None:
        tally.residual(channels, channels, 9, 2)
        tally.attend(channels, 2, fused=False)
        tally.residual(channels, channels, 9, 2)

    def _decode(self, width: int, height: int) -> _Tally:
        widths = self._widths[::-1]
        tally = _Tally(size=width * height / self.stride**2)
        tally.conv(self.latent_channels, widths[0], 9)
        self._middle(tally, widths[0])
        into = widths[0]
        for level, out in enumerate(widths):
            for _ in range(self.layers + 1):
                tally.residual(into, out, 9, 2)
                into = out
            if level < len(widths) - 1:
                tally.size *= 4
                tally.conv(out, out, 9)
        tally.norm(into, 2)
        tally.conv(into, 3, 9)
        return tally

    def parameters(self) -> int:
        """Return the parameters of both halves."""
        return self._encode().parameters + self._decode(1, 1).parameters

    def largest_layer(self) -> int:
        """Return the parameters of the decoder, which is small and stays whole."""
        return self._decode(1, 1).parameters

    def work(self, job: Job) -> Work:
        """Return the work of decoding a picture."""
        return self._decode(job.width, job.height).work()

    def activation_bytes(self, job: Job) -> float:
        """Return what the last level holds."""
        return float(HELD * ELEMENT_BYTES * job.width * job.height * self.width)


@dataclass(frozen=True, slots=True)
class VideoAutoencoder:
    """Wan 2.1's causal autoencoder, which decodes one latent frame after the other.

    Parameters
    ----------
    width : int
        Channels at the full size; the levels below have 2, 4 and 4 times as many.
    latent_channels, stride, layers : int
        Channels of the latent, pixels to a side of one of its elements, and residual layers of a level.
    frame_doublings : int
        Levels that double the frames, from the smallest on.
    """

    width: int
    latent_channels: int
    stride: int
    layers: int
    frame_doublings: int

    @property
    def _widths(self) -> tuple[int, ...]:
        return (self.width, 2 * self.width, 4 * self.width, 4 * self.width)

    @staticmethod
    def _middle(tally: _Tally, channels: int) -> None:
        tally.residual(channels, channels, 27, 1)
        tally.attend(channels, 1, fused=True)
        tally.residual(channels, channels, 27, 1)

    def _encode(self) -> _Tally:
        tally, widths, latent = _Tally(), self._widths, 2 * self.latent_channels
        tally.conv(3, widths[0], 27)
        into = widths[0]
        for level, out in enumerate(widths):
            for _ in range(self.layers):
                tally.residual(into, out, 27, 1)
                into = out
            if level < len(widths) - 1:
                tally.conv(out, out, 9)
                if level >= len(widths) - 1 - self.frame_doublings:
                    tally.conv(out, out, 3)
        self._middle(tally, into)
        tally.norm(into, 1)
        tally.conv(into, latent, 27)
        tally.conv(latent, latent, 1)
        return tally

    def _decode(self, width: int, height: int, frames: int) -> _Tally:
        widths = self._widths[::-1]
        tally = _Tally(size=width * height / self.stride**2, frames=frames)
        tally.conv(self.latent_channels, self.latent_channels, 1)
        tally.conv(self.latent_channels, widths[0], 27)
        self._middle(tally, widths[0])
        into = widths[0]
        for level, out in enumerate(widths):
            for _ in range(self.layers + 1):
                tally.residual(into, out, 27, 1)
                into = out
            if level < len(widths) - 1:
                if level < self.frame_doublings:
                    tally.conv(out, 2 * out, 3)
                    tally.frames = 2 * tally.frames - 1
                tally.size *= 4
                tally.conv(out, out // 2, 9)
                into = out // 2
        tally.norm(into, 1)
        tally.conv(into, 3, 27)
        return tally

    def parameters(self) -> int:
        """Return the parameters of both halves."""
        return self._encode().parameters + self._decode(1, 1, 1).parameters

    def largest_layer(self) -> int:
        """Return the parameters of the decoder, which is small and stays whole."""
        return self._decode(1, 1, 1).parameters

    def work(self, job: Job) -> Work:
        """Return the work of decoding a video."""
        work = self._decode(job.width, job.height, job.latent_frames).work()
        return Work(
            work.linear_flop,
            work.attention_flop,
            work.convolution_flop,
            work.moved_bytes,
            work.kernels * job.latent_frames,
        )

    def activation_bytes(self, job: Job) -> float:
        """Return what the frames of one latent frame hold, and all that were decoded, in 32 bits."""
        together = 2**self.frame_doublings
        frames = together * (job.latent_frames - 1) + 1
        pixels = job.width * job.height
        return float(pixels * (HELD_VIDEO * ELEMENT_BYTES * together * self.width + 2 * 4 * 3 * frames))
