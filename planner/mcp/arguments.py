"""What a tool may be asked: typed, bounded, and never the path of a file."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Literal

from pydantic import Field, field_validator

from planner.measurement.breaking_even import OVERS
from planner.measurement.operating_point import CHOICES
from planner.scenario.records import Scenario

MOST_GPUS = 8
MOST_PRICES = 20
LONGEST_NAME = 120

Name = Annotated[str, Field(min_length=1, max_length=LONGEST_NAME)]
Word = Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9_.+=-]*$", max_length=60)]
Size = Annotated[int, Field(ge=1, le=4096)]
Tokens = Annotated[int, Field(ge=1, le=10_000_000)]
Requests = Annotated[int, Field(ge=1, le=100_000)]
Rate = Annotated[float, Field(gt=0, le=100_000)]
Seconds = Annotated[float, Field(gt=0, le=86_400)]
Usd = Annotated[float, Field(ge=0.01, le=1000)]
Part = Annotated[float, Field(ge=0, lt=1)]
Share = Annotated[float, Field(gt=0, le=1)]
Gpus = Annotated[list[Name], Field(min_length=1, max_length=MOST_GPUS)]
Prices = Usd | Annotated[dict[Name, Usd], Field(min_length=1, max_length=MOST_PRICES)]

MODEL = "Id or alias of a model of the catalogue; the tool models searches."
GPU = "Ids or aliases of accelerators; the tool gpus searches."


def split_names(given: object) -> object:
    """Take a text with commas for a list."""
    if isinstance(given, str):
        return [part.strip() for part in given.split(",")] if len(given) <= 2000 else given
    return list(given) if isinstance(given, Sequence) else given


class Deployed(Scenario):
    """How a model runs on an accelerator."""

    model: Name = Field(description=MODEL)
    gpus: Size | None = Field(None, description="GPUs of a deployment; the fewest that fit by default.")
    tp: Size | None = Field(None, description="Tensor-parallel size.")
    pp: Size | None = Field(None, description="Pipeline stages.")
    ep: Size | None = Field(None, description="Expert-parallel size.")
    dp: Size | None = Field(None, description="Data-parallel copies of attention.")
    dcp: Size | None = Field(None, description="Decode-context parallel size.")
    engine: Word = Field("vllm", description="vllm, sglang, ...; with a version: vllm==0.20.2.")
    weight_dtype: Word | None = Field(None, description="Quantisation; the checkpoint's own by default.")
    kv_dtype: Word = Field("auto", description="Dtype of the KV cache: auto, bf16, fp8, ...")
    speculative_tokens: Annotated[int, Field(ge=0, le=64)] = Field(0, description="Tokens drafted each step.")
    context: Tokens | None = Field(None, description="Longest request, input and output [tokens].")


class Asked(Deployed):
    """What every question names: a model and accelerators, and how the model runs on them."""

    gpu: Gpus = Field(description=GPU)
    price: Prices | None = Field(
        None, description="USD per GPU-hour, one for all or by accelerator: {'b200': 4.25}."
    )
    price_kind: Word | None = Field(
        None, description="Published prices of a kind: on-demand, spot, reserved, 3y-rental, ..."
    )

    _split = field_validator("gpu", mode="before")(split_names)


class FitAsked(Asked):
    """Whether a model fits."""

    isl: Tokens | None = Field(None, description="Input tokens of a request.")
    osl: Tokens | None = Field(None, description="Output tokens of a request.")
    concurrency: Requests | None = Field(None, description="Requests that must run at once.")
    memory_fraction: Share | None = Field(None, description="The engine's memory fraction.")


class SpeedAsked(Asked):
    """What a question about speed adds: the lengths and how many requests."""

    isl: Tokens = Field(description="Input tokens of a request.")
    osl: Tokens = Field(description="Output tokens of a request.")
    concurrency: Requests | None = Field(None, description="Requests at once.")
    prefix_hit: Part = Field(0.0, description="Share of the input that a prefix cache holds.")


class PredictAsked(SpeedAsked):
    """What throughput and latencies to expect."""

    request_rate: Rate | None = Field(None, description="Requests a second, instead of concurrency.")
    throughput: Literal[CHOICES] = Field(  # type: ignore[valid-type]
        "auto", description="auto takes what was measured where it was, and the model for the rest."
    )


class Limited(SpeedAsked):
    """What limits of latency add."""

    slo_ttft_s: Seconds | None = Field(None, description="Longest time to the first token [s].")
    slo_tpot_s: Seconds | None = Field(None, description="Longest time per output token [s].")
    slo_e2e_s: Seconds | None = Field(None, description="Longest time of a whole request [s].")
    mixed_kinds: bool = Field(False, description="Whether prices of different kinds may be ranked.")


class CompareAsked(Limited):
    """Which accelerator."""

    request_rate: Rate | None = Field(None, description="Requests a second, instead of concurrency.")
    gpu: Gpus = Field(["mi355x", "b200", "b300"], description=GPU)


class PlanAsked(Limited):
    """How many for a traffic."""

    concurrency: None = Field(None, description="Not of a plan: it follows from the rate.")
    request_rate: Rate | None = Field(None, description="Requests a second, on average over the day.")
    users: Annotated[int, Field(ge=1, le=1_000_000_000)] | None = Field(
        None, description="Instead of a rate, with requests_per_user_hour."
    )
    requests_per_user_hour: Rate | None = Field(None, description="Requests of a user in an hour.")
    peak_factor: Annotated[float, Field(ge=1, le=100)] | None = Field(
        None, description="The rate to plan for over the mean."
    )
    slo_share: Annotated[float, Field(gt=0.5, lt=1)] = Field(
        0.95, description="Share of the requests that must keep the limits."
    )
    spare: Annotated[int, Field(ge=0, le=1000)] | None = Field(None, description="Nodes that stand by.")


class BreakEvenAsked(SpeedAsked):
    """Where the cheaper of two options changes."""

    over: Literal[OVERS] = Field("price", description="What varies.")  # type: ignore[valid-type]
    throughput: Literal[CHOICES] = "auto"  # type: ignore[valid-type]
    mixed_kinds: bool = Field(False, description="Whether prices of different kinds may be compared.")


class LaunchAsked(Deployed):
    """What starts a deployment; names go into printed lines alone, and no file is opened."""

    gpu: Annotated[list[Name], Field(min_length=1, max_length=1)] = Field(
        description="Id or alias of one accelerator."
    )
    isl: Tokens | None = Field(None, description="Input tokens of the load test.")
    osl: Tokens | None = Field(None, description="Output tokens of the load test.")
    concurrency: Requests | None = Field(None, description="Requests at once in the load test.")
    memory_fraction: Share | None = Field(None, description="The engine's memory fraction.")
    format: Literal["command", "kubernetes", "compose"] = Field("command", description="What is printed.")
    replicas: Size | None = Field(None, description="Servers that are alike.")
    checkpoint: Name | None = Field(
        None, description="Repository that the engine loads, where the catalogue names none in this dtype."
    )

    _split = field_validator("gpu", mode="before")(split_names)


class TrainAsked(Scenario):
    """How fast a dense model trains."""

    model: Name = Field(description=MODEL)
    gpu: Gpus = Field(description=GPU)
    gpus: Annotated[int, Field(ge=1, le=100_000)] | None = Field(
        None, description="GPUs of the run; the fewest that hold it by default."
    )
    tp: Size | None = Field(None, description="Tensor-parallel size; searched by default.")
    pp: Size | None = Field(None, description="Pipeline stages; searched by default.")
    dp: Size | None = Field(None, description="Copies; searched by default.")
    fsdp: Annotated[int, Field(ge=0, le=3)] | None = Field(
        None, description="What copies share (ZeRO 0 to 3); searched by default."
    )
    micro_batch: Requests | None = Field(None, description="Sequences that a copy works on at once.")
    global_batch: Annotated[int, Field(ge=1, le=1_000_000)] | None = Field(
        None, description="Sequences of a step; 4 Mi tokens by default."
    )
    seq_len: Tokens | None = Field(None, description="Tokens of a sequence; 4,096 by default.")
    recompute: Literal["none", "selective", "full"] | None = Field(None, description="Of activations.")
    dtype: Literal["bf16", "fp8"] = Field("bf16", description="Of the products of the layers.")
    method: Literal["full", "lora", "qlora"] = Field("full", description="What is trained.")
    lora_rank: Size | None = Field(None, description="Width of adapters; 16 by default.")
    tokens: Annotated[int, Field(ge=1, le=10**16)] | None = Field(
        None, description="Tokens of the whole training, for its days and its cost."
    )
    days: Annotated[float, Field(ge=0.001, le=36_500)] | None = Field(
        None, description="How long that may take, instead of gpus."
    )
    price: Prices | None = Field(None, description="USD per GPU-hour, one for all or by accelerator.")
    price_kind: Word | None = Field(None, description="Published prices of a kind: on-demand, spot, ...")

    _split = field_validator("gpu", mode="before")(split_names)


class AchievedAsked(Scenario):
    """What matrix products reach beside the datasheet."""

    gpu: Gpus | None = Field(None, description="Ids or aliases of accelerators; all that are measured.")

    _split = field_validator("gpu", mode="before")(split_names)


class MediaAsked(Scenario):
    """A model that makes pictures, videos or meshes."""

    model: Name = Field(description="Id or alias of a media model; the tool models names them.")
    gpu: Gpus = Field(description=GPU)
    size: Annotated[str, Field(pattern=r"^\d{1,5}x\d{1,5}$")] | None = Field(
        None, description="Width and height in pixels, such as 1024x1024."
    )
    frames: Annotated[int, Field(ge=1, le=100_000)] | None = Field(None, description="Of a video.")
    latents: Annotated[int, Field(ge=1, le=1_000_000)] | None = Field(None, description="Of a mesh.")
    octree: Annotated[int, Field(ge=1, le=4096)] | None = Field(None, description="Resolution of a mesh.")
    steps: Annotated[int, Field(ge=1, le=10_000)] | None = Field(None, description="Of denoising.")
    weight_dtype: Word | None = Field(None, description="Quantisation; the checkpoint's own by default.")
    price: Prices | None = Field(None, description="USD per GPU-hour, one for all or by accelerator.")
    price_kind: Word | None = Field(None, description="Published prices of a kind: on-demand, spot, ...")

    _split = field_validator("gpu", mode="before")(split_names)


class ModelsAsked(Scenario):
    """A search of the models."""

    search: Annotated[str, Field(max_length=LONGEST_NAME)] = Field(
        "", description="Words that must all occur in id, name, alias or status; all without any."
    )
    show: Name | None = Field(None, description="Id or alias of one model, which is shown in full.")


class GpusAsked(Scenario):
    """A search of the accelerators."""

    search: Annotated[str, Field(max_length=LONGEST_NAME)] = Field(
        "", description="Words that must all occur in name, vendor, alias or status; all without any."
    )
    show: Name | None = Field(None, description="Id or alias of one accelerator, which is shown in full.")
