"""Records of training: what matrix products reach by stack and date, and the figures of the time model."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import BeforeValidator, Field, model_validator

from planner.catalogue.effects import Sourced
from planner.catalogue.figures import read_quantity
from planner.units import Dimension

Channel = Literal["stable", "nightly", "development"]
"""A release; a public nightly build; or a build that its makers handed out before they released it."""

FlopRate = Annotated[
    float, BeforeValidator(lambda value: read_quantity(value, Dimension.FLOP_PER_S)), Field(gt=0)
]
Share = Annotated[float, Field(gt=0, le=1)]
Hidden = Annotated[float, Field(ge=0, lt=1)]


class TrainingRate(Sourced):
    """What matrix products of a training step reach on one accelerator under one stack."""

    id: str
    gpu: str
    dtype: Literal["bf16", "fp8"]
    channel: Channel
    stack: str
    """Libraries and their versions, in words."""
    value: FlopRate
    """Median over the shapes [FLOP/s]."""
    shapes: dict[str, FlopRate] = Field(default_factory=dict)
    """The single results where they were published: ``tokens x outputs x inputs`` to FLOP/s."""
    stat: str
    """What was run, and which statistic this is."""


class TrainingModel(Sourced):
    """The figures of the time model of a training step: fitted ones first, then assumed ones."""

    id: str
    sustained: Share
    """Rate of products in a running step over that of a benchmark of products alone."""
    elementwise: Annotated[float, Field(gt=0)]
    """Memory traffic of norms, sums and activations over the least that they need."""
    flash_share: dict[str, Share]
    """Attention over the BF16 peak, by architecture or vendor in lower case; ``default`` for others."""
    tensor_hidden: Hidden
    """Share of tensor-parallel communication that hides behind products."""
    data_hidden: Hidden
    """Share of data-parallel communication that hides behind the rest of a step."""
    width: Annotated[float, Field(ge=0)]
    """Columns by which a product is wider than it must be, by tiles that it fills in part."""
    pipeline_hidden: Hidden = 0.8
    """Share of transfers between stages that hides. *Assumed.*"""
    bandwidth_share: Share = 0.8
    """Memory bandwidth that elementwise kernels reach. *Assumed.*"""
    host_bytes_per_s: Annotated[float, Field(gt=0)] = 25e9
    """What copies between host and card reach, as PCIe 4.0 x16 does [bytes/s]. *Assumed.*"""
    launch_s: Annotated[float, Field(gt=0)] = 6e-6
    """Floor of one kernel [s]. *Assumed.*"""
    peak_share: dict[str, Share]
    """Products over the dense peak where nobody measured the accelerator, by dtype. *Assumed.*"""
    interval: Annotated[tuple[float, float], Field(strict=False)]
    """10 and 90 % quantile of ln(measured / predicted) over runs of sources that the fit had not seen."""
    unmeasured: Annotated[float, Field(ge=0)]
    """What an assumed rate adds to either side of the interval [logarithm]. *Assumed.*"""
    attention_slower: Annotated[float, Field(ge=1)]
    """Times that attention may take longer than the fit has it, as kernels of other years did."""

    @model_validator(mode="after")
    def _consistent(self) -> TrainingModel:
        if not self.interval[0] < 0 < self.interval[1]:
            raise ValueError(f"interval {self.interval} does not hold 0")
        if "default" not in self.flash_share:
            raise ValueError("flash_share needs a `default`")
        return self
