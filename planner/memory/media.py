"""What of a media model is on the accelerator at once: weights, activations, tiles; the host has the rest.

A pipeline runs one component after the other, so that a component can wait with the host while another runs.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from planner.architecture.formats import weight_format
from planner.architecture.media import Component, Job, build_component
from planner.catalogue import Gpu
from planner.catalogue.media import MediaComponent, MediaModel, MediaStack
from planner.scenario.media import MediaWorkload, job_of, passes_of

GIB = 2.0**30
TILE, TILE_OVERLAP = 512, 64
"""Side of a tile and what tiles share [pixels]: ComfyUI's tiled decoding."""

FULL_NAMES = {"fp8": "fp8-tensor", "fp16": "f16", "fp32": "f32"}
"""Formats as files of media models name them, one scale for a matrix; others are named as in `formats`."""

RESIDENT, SWAPPED, OFFLOADED, NONE = "resident", "swapped", "offloaded", "none"


@dataclass(frozen=True, slots=True)
class MediaPart:
    """One component on the accelerator.

    Parameters
    ----------
    name, role, format : str
        What it is, and the format of its weights.
    copies : int
        Experts of which one is used at a time.
    parameters : int
        Of one copy.
    weight_bytes : float
        Of one copy.
    layer_bytes : float
        Of its largest layer: the least that must be there at once.
    activation_bytes : float
        What a pass holds beside the weights.
    """

    name: str
    role: str
    format: str
    copies: int
    parameters: int
    weight_bytes: float
    layer_bytes: float
    activation_bytes: float

    @property
    def need_bytes(self) -> float:
        """Return one copy with its activations."""
        return self.weight_bytes + self.activation_bytes


@dataclass(frozen=True, slots=True)
class MediaMemory:
    """Whether a media model fits on one accelerator, and how.

    Parameters
    ----------
    parts : tuple of MediaPart
        In the order in which they run; the decoder as it is run.
    usable_bytes, reserve_bytes : float
        What a process gets, and what is kept free of it.
    mode : str
        ``resident`` (all weights stay), ``swapped`` (one component at a time), ``offloaded`` (weights of the
        largest come over for every pass) or ``none``.
    tiled : bool
        Whether the decoder works in tiles.
    untiled_bytes : float
        What the decoder would hold without tiles.
    streamed_bytes : float
        Weights that come over for every pass of the denoiser.
    allowed : bool
        Whether offloading was asked for.
    """

    parts: tuple[MediaPart, ...]
    usable_bytes: float
    reserve_bytes: float
    mode: str
    tiled: bool
    untiled_bytes: float
    streamed_bytes: float
    allowed: bool

    @property
    def fits(self) -> bool:
        """Return whether it runs as it was asked."""
        return self.mode in (RESIDENT, SWAPPED) or (self.mode == OFFLOADED and self.allowed)

    @property
    def largest(self) -> MediaPart:
        """Return the component that needs most at once."""
        return max(self.parts, key=lambda part: part.need_bytes)

    @property
    def weight_bytes(self) -> float:
        """Return all weights, with every copy."""
        return sum(part.copies * part.weight_bytes for part in self.parts)

    @property
    def peak_bytes(self) -> float:
        """Return what is in use at most, the reserve included."""
        activations = max(part.activation_bytes for part in self.parts)
        if self.mode == RESIDENT:
            return self.weight_bytes + activations + self.reserve_bytes
        if self.mode == SWAPPED:
            return self.largest.need_bytes + self.reserve_bytes
        return self.largest.need_bytes - self.streamed_bytes + self.reserve_bytes

    @property
    def binding(self) -> str:
        """Return what decides, in words with numbers."""
        part = self.largest
        what = (
            f"{part.name}: weights {part.weight_bytes / GIB:.1f} GiB ({part.format}) and activations "
            f"{part.activation_bytes / GIB:.1f} GiB, with {self.reserve_bytes / GIB:.1f} GiB kept free"
        )
        return f"{what}, of {self.usable_bytes / GIB:.1f} GiB"


def media_parts(model: MediaModel, workload: MediaWorkload) -> tuple[MediaPart, ...]:
    """Return the components of a pipeline with their bytes, the decoder without tiles.

    Parameters
    ----------
    model : MediaModel
        The pipeline.
    workload : MediaWorkload
        What it makes; its `weight_dtype` is that of the denoiser.

    Returns
    -------
    tuple of MediaPart
    """
    found = []
    for component in model.components:
        block = build_component(component.kind, component.sizes)
        sequences = passes_of(model, workload) if component.role == "denoiser" else 1
        found.append(_part(component, block, workload, job_of(model, workload, sequences)))
    order = {"text": 0, "picture": 0, "denoiser": 1, "decoder": 2}
    return tuple(sorted(found, key=lambda part: order[part.role]))


def _part(component: MediaComponent, block: Component, workload: MediaWorkload, job: Job) -> MediaPart:
    asked = workload.weight_dtype if component.role == "denoiser" else None
    form = asked or component.format
    weight = weight_format(FULL_NAMES.get(form, form)).bits_per_weight / 8
    return MediaPart(
        name=component.name,
        role=component.role,
        format=form,
        copies=component.copies,
        parameters=block.parameters(),
        weight_bytes=block.parameters() * weight,
        layer_bytes=block.largest_layer() * weight,
        activation_bytes=block.activation_bytes(job),
    )


def media_memory(model: MediaModel, workload: MediaWorkload, gpu: Gpu, stack: MediaStack) -> MediaMemory:
    """Return whether and how a media model fits on one accelerator.

    Parameters
    ----------
    model : MediaModel
        The pipeline.
    workload : MediaWorkload
        What it makes.
    gpu : Gpu
        The accelerator.
    stack : MediaStack
        With what it keeps free.

    Returns
    -------
    MediaMemory
        Tiles are taken where the decoder does not fit without; weights stay with the host where no component
        fits beside another, and come over for every pass where the largest does not fit alone.
    """
    reserve, usable = stack.reserve_gib * GIB, gpu.usable_bytes
    room = usable - reserve
    parts = media_parts(model, workload)
    untiled = next(part for part in parts if part.role == "decoder")
    tiled = untiled.need_bytes > room and workload.width is not None
    if tiled:
        parts = (*parts[:-1], replace(untiled, activation_bytes=_tiled_bytes(model, workload)))
    largest = max(parts, key=lambda part: part.need_bytes)
    activations = max(part.activation_bytes for part in parts)
    streamed = 0.0
    if sum(part.copies * part.weight_bytes for part in parts) + activations <= room:
        mode = RESIDENT
    elif largest.need_bytes <= room:
        mode = SWAPPED
    elif all(part.layer_bytes + part.activation_bytes <= room for part in parts):
        mode, streamed = OFFLOADED, largest.need_bytes - room
    else:
        mode = NONE
    return MediaMemory(
        parts=parts,
        usable_bytes=usable,
        reserve_bytes=reserve,
        mode=mode,
        tiled=tiled,
        untiled_bytes=untiled.activation_bytes,
        streamed_bytes=streamed,
        allowed=workload.offload,
    )


def _tiled_bytes(model: MediaModel, workload: MediaWorkload) -> float:
    """Return what a tile holds, and the whole result in 32 bits."""
    whole = job_of(model, workload)
    tile = replace(whole, width=min(TILE, whole.width), height=min(TILE, whole.height))
    decoder = build_component(model.decoder.kind, model.decoder.sizes)
    result = 2 * 4 * 3.0 * whole.width * whole.height * (workload.frames or 1)
    return decoder.activation_bytes(tile) + result


def tiled_again() -> float:
    """Return how much more a decoder in tiles works, as tiles overlap."""
    return (TILE / (TILE - TILE_OVERLAP)) ** 2
