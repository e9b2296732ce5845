"""What is asked of a media model: size, frames, steps and guidance, and what a pass then works on."""

from __future__ import annotations

import math
from typing import Annotated, Any

from pydantic import Field

from planner.architecture.media import Job
from planner.catalogue.media import MediaModel
from planner.errors import InvalidInput, shorten
from planner.scenario.media_options import SIZES
from planner.scenario.records import Name, Plain, Scenario

LARGEST_SIDE, MOST_FRAMES, MOST_STEPS = 16_384, 10_000, 1_000
LARGEST_OCTREE, MOST_LATENTS = 2_048, 1 << 17
UNGUIDED = 1.0
"""Guidance up to which no second pass, without the prompt, is made."""

Side = Annotated[int, Plain, Field(ge=1, le=LARGEST_SIDE)]

APPLIES = {
    "image": ("size",),
    "video": ("size", "frames"),
    "mesh": ("latents", "octree"),
}
"""Sizes that a question may state, by what a model makes."""


class MediaWorkload(Scenario):
    """One unit, made of one prompt or one picture."""

    width: Side | None = None
    height: Side | None = None
    frames: Annotated[int, Plain, Field(ge=1, le=MOST_FRAMES)] | None = None
    latents: Annotated[int, Plain, Field(ge=1, le=MOST_LATENTS)] | None = None
    octree: Annotated[int, Plain, Field(ge=8, le=LARGEST_OCTREE)] | None = None
    steps: Annotated[int, Plain, Field(ge=1, le=MOST_STEPS)]
    guidance: Annotated[float, Plain, Field(ge=0, le=100)]
    text_tokens: Annotated[int, Plain, Field(ge=1)]
    weight_dtype: Name | None = None
    """Format of the denoiser's weights; None is the usual file's."""
    offload: bool = False
    """Whether weights that do not fit may stay with the host and come over for every pass."""

    @property
    def text(self) -> str:
        """Return the unit in words: its size and steps."""
        parts = []
        if self.width is not None:
            parts.append(f"{self.width}x{self.height}")
        if self.frames is not None:
            parts.append(f"{self.frames} frames")
        if self.latents is not None:
            parts.append(f"{self.latents:,} latents, octree {self.octree}")
        return ", ".join([*parts, f"{self.steps} steps"])


def media_workload(model: MediaModel, given: dict[str, Any]) -> MediaWorkload:
    """Return what is asked, and the defaults of the usual workflow for the rest.

    Parameters
    ----------
    model : MediaModel
        What makes it.
    given : dict
        `size` ("1024x1024" or two numbers), `frames`, `latents`, `octree`, `steps`, `guidance`,
        `weight_dtype` and `offload`, as far as they were given.

    Returns
    -------
    MediaWorkload

    Raises
    ------
    InvalidInput
        For a size that another kind of model takes, and one that the latent cannot be cut into.
    """
    for name in SIZES:
        if given.get(name) is not None and name not in APPLIES[model.makes]:
            takes = " and ".join(APPLIES[model.makes])
            raise InvalidInput(f"{name}: {model.id} makes {plural(model.makes)}, whose size is {takes}")
    usual = model.defaults
    width, height = (usual.width, usual.height) if given.get("size") is None else read_size(given["size"])
    fields = {
        name: given[name] if given.get(name) is not None else getattr(usual, name)
        for name in ("frames", "latents", "octree", "steps", "guidance")
    }
    workload = MediaWorkload(
        width=width,
        height=height,
        text_tokens=usual.text_tokens,
        weight_dtype=given.get("weight_dtype"),
        offload=bool(given.get("offload")),
        **fields,
    )
    _check(model, workload)
    return workload


def plural(makes: str) -> str:
    """Return what several units are called."""
    return f"{makes}es" if makes.endswith("sh") else f"{makes}s"


def read_size(size: object) -> tuple[int, int]:
    """Return width and height of a size, "1280x720" or two numbers [pixels]."""
    parts = size.lower().split("x") if isinstance(size, str) else size
    if not isinstance(parts, list | tuple) or len(parts) != 2:
        raise InvalidInput(_no_size(size))
    try:
        width, height = int(parts[0]), int(parts[1])
    except (TypeError, ValueError):
        raise InvalidInput(_no_size(size)) from None
    return width, height


def _no_size(given: object) -> str:
    return f"size: {shorten(given)} is no size; write width x height in pixels, like 1280x720"


def _check(model: MediaModel, workload: MediaWorkload) -> None:
    """Refuse sizes that do not make whole tokens."""
    unit = model.latent.stride * model.latent.patch
    for name in ("width", "height"):
        side = getattr(workload, name)
        if side is not None and side % unit:
            near = max(unit, round(side / unit) * unit)
            raise InvalidInput(
                f"size: {name} {side} is no multiple of {unit} (autoencoder {model.latent.stride} x patch "
                f"{model.latent.patch}), as {model.id} needs; {near} is"
            )
    stride = model.latent.frame_stride
    if workload.frames is not None and (workload.frames - 1) % stride:
        near = round((workload.frames - 1) / stride) * stride + 1
        raise InvalidInput(f"frames: {workload.frames} is not {stride}n + 1, as {model.id} needs; {near} is")


def passes_of(model: MediaModel, workload: MediaWorkload) -> int:
    """Return how often a step asks the denoiser: twice with guidance, unless its strength is an input."""
    return 1 if model.guidance_embedded or workload.guidance <= UNGUIDED else 2


def job_of(model: MediaModel, workload: MediaWorkload, sequences: int = 1) -> Job:
    """Return the sizes that a pass works on.

    Parameters
    ----------
    model : MediaModel
        With the strides of its latent.
    workload : MediaWorkload
        What is asked.
    sequences : int
        Latents of one pass.

    Returns
    -------
    Job
        Tokens = latent frames x (width / stride / patch) x (height / stride / patch), or the latents.
    """
    unit = model.latent.stride * model.latent.patch
    frames = 1 if workload.frames is None else (workload.frames - 1) // model.latent.frame_stride + 1
    width, height = workload.width or 0, workload.height or 0
    tokens = workload.latents or frames * (width // unit) * (height // unit)
    points = (workload.octree + 1) ** 3 if workload.octree else 0
    return Job(tokens, workload.text_tokens, width, height, frames, points, sequences)


def expert_steps(model: MediaModel, workload: MediaWorkload) -> tuple[int, ...]:
    """Return how many of the steps each expert has, the one for high noise first.

    Parameters
    ----------
    model : MediaModel
        With the noise level at which experts change, and how far steps are shifted.
    workload : MediaWorkload
        With the steps.

    Returns
    -------
    tuple of int
        One number for each copy of the denoiser.

    Notes
    -----
    Step i of n starts at noise t = 1 - i / n, shifted to s t / (1 + (s - 1) t). That is at or above a
    boundary b where t >= b / (s - (s - 1) b).
    """
    if model.denoiser.copies == 1 or model.boundary is None:
        return (workload.steps,)
    level = model.boundary / (model.shift - (model.shift - 1) * model.boundary)
    high = sum(1 - i / workload.steps >= level for i in range(workload.steps))
    return high, workload.steps - high


def host_megapixels(workload: MediaWorkload) -> float:
    """Return the megapixels that are written out."""
    frames = workload.frames or 1
    return frames * (workload.width or 0) * (workload.height or 0) / 1e6


def mesh_cells(model: MediaModel, workload: MediaWorkload) -> float:
    """Return the cells that the surface passes through; a surface grows with the square of the resolution."""
    if workload.octree is None or model.mesh_cells is None:
        return 0.0
    return model.mesh_cells * math.pow(workload.octree + 1, 2)
