"""How long a unit of media takes: the work of every component at the shares of peak that a stack reaches.

A pass takes F_l / (P s_l) + F_a / (P s_a) + F_c / (P s_c) + B / (W s_m): FLOPs of matrix products, attention
and convolutions over shares of the dense BF16 peak P, and bytes over a share of the bandwidth W; no less than
its kernels take to launch, and no less than the weights that come over from the host for it.
"""

from __future__ import annotations

from dataclasses import dataclass

from planner.architecture.media import Work, build_component
from planner.catalogue import Gpu
from planner.catalogue.media import MediaHost, MediaModel, MediaRate, MediaStack
from planner.errors import DoesNotFit, Unsupported
from planner.memory.media import NONE, OFFLOADED, SWAPPED, MediaMemory, MediaPart, tiled_again
from planner.performance.costs import peak_of
from planner.scenario.media import MediaWorkload, host_megapixels, job_of, mesh_cells, passes_of

HOST_LINK_SHARE = 0.8
"""Share of its link to the host that a copy of weights reaches: assumed."""
HOST_LINK_BYTES_PER_S = 32e9
"""Link to the host where a part is no card with a stated one: PCIe 4.0 x16, assumed."""
SIXTEEN_BITS = ("bf16", "fp16")
BROUGHT_BACK_BYTES = 3
"""Bytes that bringing an 8-bit weight back to 16 bits reads and writes, for every pass."""


@dataclass(frozen=True, slots=True)
class PartTime:
    """One component's time of a unit.

    Parameters
    ----------
    name : str
        The component, or what the host does.
    passes : float
        How often it runs.
    linear_s, attention_s, convolution_s, moved_s, waiting_s : float
        Of all passes: products with weights, attention, convolutions, everything that only moves bytes, and
        waiting for launches or for weights from the host [s].
    flop : float
        Of all passes.
    """

    name: str
    passes: float
    linear_s: float
    attention_s: float
    convolution_s: float
    moved_s: float
    waiting_s: float
    flop: float

    @property
    def seconds(self) -> float:
        """Return the whole time [s]."""
        return self.linear_s + self.attention_s + self.convolution_s + self.moved_s + self.waiting_s

    @property
    def bound_by(self) -> str:
        """Return what takes most of it."""
        parts = {
            "matrix products": self.linear_s,
            "attention": self.attention_s,
            "convolutions": self.convolution_s,
            "memory": self.moved_s,
            "launches and the host": self.waiting_s,
        }
        return max(parts, key=lambda name: parts[name])


@dataclass(frozen=True, slots=True)
class MediaTime:
    """The time of a unit with its 80 % interval.

    Parameters
    ----------
    parts : tuple of PartTime
        Components in the order in which they run, then the host.
    low_s, high_s : float
        What four of five measurements are expected to lie between [s].
    rate : MediaRate
        The shares that were taken.
    """

    parts: tuple[PartTime, ...]
    low_s: float
    high_s: float
    rate: MediaRate

    @property
    def seconds(self) -> float:
        """Return the time [s]."""
        return sum(part.seconds for part in self.parts)

    @property
    def flop(self) -> float:
        """Return all FLOPs of a unit."""
        return sum(part.flop for part in self.parts)

    @property
    def bound_by(self) -> str:
        """Return what takes most of the longest part."""
        return max(self.parts, key=lambda part: part.seconds).bound_by


def rate_of(stack: MediaStack, gpu: Gpu) -> MediaRate:
    """Return the shares of a stack on an accelerator: of its id, its instruction set, or those of others."""
    rates = stack.rates
    found = rates.get(gpu.id) or rates.get(gpu.isa or "") or rates.get("other")
    if found is None:
        raise Unsupported(f"{stack.id}: no rates for {gpu.id} ({gpu.isa}); there are {', '.join(rates)}")
    return found


def media_time(
    model: MediaModel,
    workload: MediaWorkload,
    gpu: Gpu,
    stack: MediaStack,
    memory: MediaMemory,
    host: MediaHost,
    *,
    host_speed: float = 1.0,
    rate: MediaRate | None = None,
) -> MediaTime:
    """Return how long a unit takes on one accelerator.

    Parameters
    ----------
    model : MediaModel
        The pipeline.
    workload : MediaWorkload
        What it makes.
    gpu : Gpu
        The accelerator.
    stack : MediaStack
        The software on it.
    memory : MediaMemory
        How it fits.
    host : MediaHost
        What its host takes for what it does alone.
    host_speed : float
        How fast one of its threads is, over that of `host`.
    rate : MediaRate, optional
        Other shares than the stack's, as a calibration tries them.

    Returns
    -------
    MediaTime

    Raises
    ------
    DoesNotFit
        Where it does not fit as it was asked.
    """
    if not memory.fits:
        raise DoesNotFit(not_fitting(model, gpu, memory))
    shares = rate or rate_of(stack, gpu)
    timer = _Timer(gpu, stack, shares, memory)
    parts = [
        timer.part(
            model,
            workload,
            part,
            passes_of(model, workload) if part.role == "denoiser" else 1,
        )
        for part in memory.parts
    ]
    if memory.mode in (SWAPPED, OFFLOADED):
        parts.append(_only_waiting("weights from the host", memory.weight_bytes / timer.link))
    on_gpu = sum(part.seconds for part in parts)
    written = _host_s(model, workload, host) / host_speed
    parts.append(_only_waiting(_written(model), written))
    low = on_gpu / shares.spread + written / host.spread
    high = on_gpu * shares.spread + written * host.spread
    return MediaTime(tuple(parts), low, high, shares)


def not_fitting(model: MediaModel, gpu: Gpu, memory: MediaMemory) -> str:
    """Return one line on what does not fit, and what would."""
    if memory.mode == OFFLOADED:
        remedy = f"--offload leaves {memory.streamed_bytes / 2**30:.1f} GiB of it with the host"
        if memory.largest.format in SIXTEEN_BITS and memory.largest.role == "denoiser":
            remedy += ", and --weight-dtype fp8 halves the weights"
    elif memory.mode == NONE:
        remedy = "a smaller size, or an accelerator with more memory"
    else:
        remedy = ""
    return f"{model.id} does not fit on {gpu.id}: {memory.binding}; {remedy}"


class _Timer:
    """Turns work into seconds on one accelerator."""

    def __init__(self, gpu: Gpu, stack: MediaStack, rate: MediaRate, memory: MediaMemory) -> None:
        self.peak = peak_of(gpu, "bf16")
        self.bandwidth = gpu.bandwidth_bytes_per_s * rate.memory
        self.kernel_s = stack.kernel
        self.rate, self.memory = rate, memory
        link = gpu.scale_up_bytes_per_s if gpu.is_card else HOST_LINK_BYTES_PER_S
        self.link = link * HOST_LINK_SHARE

    def part(self, model: MediaModel, workload: MediaWorkload, part: MediaPart, sequences: int) -> PartTime:
        component = next(one for one in model.components if one.name == part.name)
        block = build_component(component.kind, component.sizes)
        denoises = part.role == "denoiser"
        work = block.work(job_of(model, workload, sequences))
        if part.role == "decoder" and self.memory.tiled:
            work = work.times(tiled_again())
        streamed = self.memory.streamed_bytes if part is self.memory.largest else 0.0
        return self._time(part, work, workload.steps if denoises else 1, streamed)

    def _time(self, part: MediaPart, work: Work, passes: int, streamed: float) -> PartTime:
        rate = self.rate
        read = part.weight_bytes / self.bandwidth
        linear = max(work.linear_flop / (self.peak * rate.linear), read if work.linear_flop else 0.0)
        attention = work.attention_flop / (self.peak * rate.attention)
        convolution = work.convolution_flop / (self.peak * rate.convolution)
        brought_back = 0 if part.format in SIXTEEN_BITS else BROUGHT_BACK_BYTES * part.parameters
        moved = (work.moved_bytes + brought_back) / self.bandwidth
        busy = linear + attention + convolution + moved
        waiting = max(work.kernels * self.kernel_s, streamed / self.link, busy) - busy
        return PartTime(
            part.name,
            float(passes),
            passes * linear,
            passes * attention,
            passes * convolution,
            passes * moved,
            passes * waiting,
            passes * work.flop,
        )


def _only_waiting(name: str, seconds: float) -> PartTime:
    return PartTime(name, 1.0, 0.0, 0.0, 0.0, 0.0, seconds, 0.0)


def _written(model: MediaModel) -> str:
    return {"image": "writing the PNG", "video": "encoding the video", "mesh": "drawing the surface"}[
        model.makes
    ]


def _host_s(model: MediaModel, workload: MediaWorkload, host: MediaHost) -> float:
    """Return what the host does alone, at the speed of the host that was timed [s]."""
    if model.makes == "mesh":
        return mesh_cells(model, workload) * host.mesh_cell
    each = host.picture_megapixel if model.makes == "image" else host.video_megapixel
    return host_megapixels(workload) * each
