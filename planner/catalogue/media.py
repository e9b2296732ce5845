"""Records of generative media in `data/media.yaml`: models, stacks that run them, published runs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Literal

from pydantic import Field, model_validator

from planner.catalogue.effects import Seconds, Sourced
from planner.catalogue.figures import Record, Tuple
from planner.errors import Unsupported

if TYPE_CHECKING:
    from planner.catalogue.loader import Catalogue

Makes = Literal["image", "video", "mesh"]
Role = Literal["denoiser", "text", "picture", "decoder"]
Share = Annotated[float, Field(gt=0, le=1)]
Whole = Annotated[int, Field(gt=0)]


class Latent(Record):
    """How pixels and frames become tokens of the denoiser."""

    stride: int = Field(default=1, gt=0)
    """Pixels to a side of one element of the latent."""
    frame_stride: int = Field(default=1, gt=0)
    """Frames of the video to one of the latent, after the first."""
    patch: int = Field(default=1, gt=0)
    """Elements to a side of one token."""


class MediaComponent(Record):
    """One network of a pipeline."""

    name: str
    role: Role
    kind: str
    """Kind of block, one of `planner.architecture.media.build.KINDS`."""
    sizes: dict[str, int]
    copies: int = Field(default=1, gt=0)
    """Experts of which one is used at a time."""
    format: str = "bf16"
    """Format in which its weights stand in the files that are usual."""
    parameters: int | None = Field(default=None, gt=0)
    """Parameters of one copy, counted independently of planner's blocks, which must equal it."""
    parameters_source: str | None = None


class MediaDefaults(Sourced):
    """What is made where nothing else is asked: the parameters of a published workflow."""

    width: int | None = Field(default=None, gt=0)
    height: int | None = Field(default=None, gt=0)
    frames: int | None = Field(default=None, gt=0)
    latents: int | None = Field(default=None, gt=0)
    octree: int | None = Field(default=None, gt=0)
    steps: Whole
    guidance: float = Field(ge=0)
    text_tokens: Whole


class MediaModel(Record):
    """A model that makes pictures, videos or meshes by diffusion."""

    id: str
    name: str
    makes: Makes
    hf_repo: str | None = None
    aliases: tuple[str, ...] = Tuple
    released: str | None = None
    latent: Latent = Latent()
    components: Annotated[tuple[MediaComponent, ...], Field(strict=False, min_length=1)]
    guidance_embedded: bool = False
    """Whether the strength of guidance is an input, so that guidance takes no second pass."""
    boundary: float | None = Field(default=None, gt=0, lt=1)
    """Noise level, as a share of all, above which the first of two experts is used."""
    shift: float = Field(default=1.0, gt=0)
    """How far steps are shifted towards high noise levels."""
    mesh_cells: float | None = Field(default=None, gt=0)
    """Cells that the surface of a mesh passes through, over the square of its resolution."""
    defaults: MediaDefaults
    published: dict[str, str] = Field(default_factory=dict)
    sources: tuple[str, ...] = Tuple
    notes: tuple[str, ...] = Tuple

    @model_validator(mode="after")
    def _whole(self) -> MediaModel:
        roles = [one.role for one in self.components]
        if roles.count("denoiser") != 1 or roles.count("decoder") != 1:
            raise ValueError("one component is the denoiser, and one the decoder")
        return self

    @property
    def denoiser(self) -> MediaComponent:
        """Return the network that every step runs."""
        return next(one for one in self.components if one.role == "denoiser")

    @property
    def decoder(self) -> MediaComponent:
        """Return the network that turns latents into pixels, or into a field in space."""
        return next(one for one in self.components if one.role == "decoder")


class MediaRate(Sourced):
    """What a stack reaches on one instruction set, as shares of dense BF16 peak and of bandwidth."""

    linear: Share
    attention: Share
    convolution: Share
    memory: Share
    attention_kernel: str
    """What runs for attention, in words."""
    spread: float = Field(gt=1)
    """Factor within which four of five times are expected to lie, either way."""
    calibrated_on: tuple[str, ...] = Tuple
    """Runs from which the share of attention was worked out; empty where none of them was looked at."""


class MediaEffect(Sourced):
    """Something that a stack does, and what it was measured to be worth."""

    what: str
    gain: float | None = Field(default=None, gt=0)
    """How many times faster, where the source says."""


class MediaStack(Sourced):
    """Software that runs such models on one vendor's accelerators."""

    id: str
    name: str
    vendor: str
    version: str
    kernel: Seconds
    """What the host takes to launch one kernel; small pictures wait for it."""
    reserve_gib: float = Field(gt=0)
    """Memory that the process keeps free of weights and latents [GiB]."""
    rates: Annotated[dict[str, MediaRate], Field(min_length=1)]
    """By instruction set; ``other`` is what is assumed of the rest."""
    effects: tuple[MediaEffect, ...] = Tuple


class MediaHost(Sourced):
    """What the host does one thread at a time while the accelerator waits."""

    id: str
    picture_megapixel: Seconds
    """Writing one megapixel of a PNG."""
    video_megapixel: Seconds
    """Encoding one megapixel of a video."""
    mesh_cell: Seconds
    """Drawing the surface through one cell of a mesh."""
    spread: float = Field(gt=1)


class MediaRun(Sourced):
    """One published time, and the workflow behind it as far as it is known."""

    id: str
    model: str
    gpu: str
    stack: str
    seconds: Seconds
    width: int | None = Field(default=None, gt=0)
    height: int | None = Field(default=None, gt=0)
    frames: int | None = Field(default=None, gt=0)
    latents: int | None = Field(default=None, gt=0)
    octree: int | None = Field(default=None, gt=0)
    steps: Whole
    guidance: float = Field(ge=0)
    host: str
    """The processor of the host."""
    host_speed: float = Field(gt=0)
    """How fast one of its threads is, over the host of `media_hosts`."""
    found: tuple[str, ...] = Tuple
    """What the source, or a file that it names, says."""
    assumed: tuple[str, ...] = Tuple
    """What it does not say."""


def media_model(catalogue: Catalogue, name: str) -> MediaModel:
    """Return the media model of this id or alias; `UnknownName` with the nearest names otherwise."""
    found = catalogue.load_entry("media_models", catalogue.resolve("media_models", name))
    assert isinstance(found, MediaModel)
    return found


def media_models(catalogue: Catalogue) -> list[MediaModel]:
    """Return all media models in the order of the files."""
    return [media_model(catalogue, key) for key in catalogue.ids("media_models")]


def media_stack(catalogue: Catalogue, vendor: str) -> MediaStack:
    """Return the stack that runs media models on a vendor's accelerators.

    Parameters
    ----------
    catalogue : Catalogue
        Where stacks stand.
    vendor : str
        Such as "AMD".

    Returns
    -------
    MediaStack

    Raises
    ------
    Unsupported
        Where there is none.
    """
    stacks = [catalogue.load_entry("media_stacks", key) for key in catalogue.ids("media_stacks")]
    for stack in stacks:
        assert isinstance(stack, MediaStack)
        if stack.vendor.casefold() == vendor.casefold():
            return stack
    known = ", ".join(dict.fromkeys(stack.vendor for stack in stacks if isinstance(stack, MediaStack)))
    raise Unsupported(f"no stack for media models on accelerators of {vendor} is known; there is {known}")


def media_host(catalogue: Catalogue) -> MediaHost:
    """Return the times of a host, as the last entry states them; `Unsupported` where there is none."""
    known = catalogue.ids("media_hosts")
    if not known:
        raise Unsupported("media_hosts: the catalogue has no times of a host, which media models need")
    found = catalogue.load_entry("media_hosts", known[-1])
    assert isinstance(found, MediaHost)
    return found


def media_runs(catalogue: Catalogue) -> list[MediaRun]:
    """Return all published runs in the order of the files."""
    found = [catalogue.load_entry("media_runs", key) for key in catalogue.ids("media_runs")]
    return [run for run in found if isinstance(run, MediaRun)]
