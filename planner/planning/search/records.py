"""What is searched, and what is found: candidates, operating points, and why others are not among them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from pydantic import Field

from planner.memory import MemoryFit
from planner.performance.intervals import Estimate
from planner.scenario import Deployment
from planner.scenario.records import Name, Plain, Scenario, Size

Sizes = Annotated[tuple[Size, ...], Field(min_length=1)]
Drafted = Annotated[int, Plain, Field(ge=0, le=64)]

SIMULATED = "simulated"


class SearchSpace(Scenario):
    """The deployments to try; None leaves a choice to the search."""

    gpus: Sizes | None = None
    """GPUs of all copies together; None is 1, 2, 4, 8 and 16, in numbers that the type comes in."""
    tp: Sizes | None = None
    """Tensor-parallel sizes."""
    pp: Sizes | None = None
    """Pipeline stages."""
    ep: Sizes | None = None
    """Expert-parallel sizes; None is 1 and all ranks of a stage."""
    dp: Sizes | None = None
    """Data-parallel copies of attention; None tries them where the model has experts."""
    dcp: Sizes | None = None
    """Decode-context parallel sizes; None tries them where ranks hold the same cache."""
    weight_dtypes: Annotated[tuple[Name, ...], Field(min_length=1)] | None = None
    """Quantisations of the model; None is the one asked for."""
    kv_dtypes: Annotated[tuple[Name, ...], Field(min_length=1)] | None = None
    """Dtypes of the cache; None is the one asked for, "auto" where none was."""
    speculative_tokens: Annotated[tuple[Drafted, ...], Field(min_length=1)] | None = None
    """Tokens drafted for each step; None is what was asked for, else none and by the model's own draft."""
    copies: bool = True
    """Whether several copies of a smaller layout may fill a number of GPUs."""
    disaggregated: bool | None = None
    """Whether prefill may have GPUs of its own; None tries it where the model was measured so on the GPU."""
    every_layout: bool = False
    """Whether to try what is legal but unusual: pipelines and copies over nodes that nothing calls for."""
    draft: Name | None = None
    """Kind of draft; None is the model's own."""
    tokens_per_step: Annotated[float, Plain, Field(ge=1, le=65)] | None = None
    """Tokens that a step with drafts yields, where that is known."""
    network_bytes_per_s: Annotated[float, Plain, Field(gt=0)] | None = None
    """One-way line rate between nodes for each GPU [bytes/s]; None is the catalogue's."""


@dataclass(frozen=True, slots=True)
class Candidate:
    """One way to run the model on a number of GPUs.

    Parameters
    ----------
    deployment : Deployment
        One copy; of the decoding pool where prefill has its own.
    copies : int
        How many copies.
    prefill : Deployment or None
        One copy of a pool that only prefills.
    prefill_copies : int
        How many of those.
    memory : MemoryFit
        The memory of one copy.
    gpus, nodes : int
        All GPUs, and the nodes they fill.
    label : str
        Such as "TP8", "2 x TP4 EP4" or "prefill 4 x TP1, decode TP4", with what is not as usual.
    """

    deployment: Deployment
    copies: int
    prefill: Deployment | None
    prefill_copies: int
    memory: MemoryFit
    gpus: int
    nodes: int
    label: str


@dataclass(frozen=True, slots=True)
class Point:
    """What a candidate yields with so many requests at once; latencies are medians.

    Parameters
    ----------
    candidate : Candidate
        The deployment.
    concurrency : float
        Requests in the system.
    request_rate_per_s : float
        Requests that are served [1/s].
    output_tps_total, output_tps_per_gpu, total_tps_per_gpu : Estimate
        Generated tokens of all GPUs and of each, and input and output together of each [tok/s].
    tps_per_user : Estimate
        1 / TPOT [tok/s].
    ttft_ms, tpot_ms : Estimate
        Time to the first token and between tokens [ms].
    e2e_s : float
        Time of a whole request [s].
    prefill_share : float
        Share of the GPUs' time that goes to prefill; of the GPUs where prefill has its own.
    usd_per_million_output_tokens : Estimate or None
        All GPUs' cost over the output, in hours at this load; None without a price [USD].
    source, provenance : str
        ``simulated``, and where the parameters come from.
    """

    candidate: Candidate
    concurrency: float
    request_rate_per_s: float
    output_tps_total: Estimate
    output_tps_per_gpu: Estimate
    total_tps_per_gpu: Estimate
    tps_per_user: Estimate
    ttft_ms: Estimate
    tpot_ms: Estimate
    e2e_s: float
    prefill_share: float
    usd_per_million_output_tokens: Estimate | None
    source: str
    provenance: str

    def merit(self, by: str) -> float:
        """Return how good it is by an aim: more is better; without a price cost is that of a GPU-hour."""
        if by == "interactivity":
            return self.tps_per_user.value
        cost = self.usd_per_million_output_tokens
        return 1 / cost.value if by == "cost" and cost is not None else self.output_tps_per_gpu.value


@dataclass(frozen=True, slots=True)
class Refusal:
    """Deployments that cannot be, by reason.

    Parameters
    ----------
    reason : str
        In a few words.
    count : int
        Deployments of one copy.
    example : str
        The first of them, with what would be legal.
    """

    reason: str
    count: int
    example: str


@dataclass(frozen=True, slots=True)
class FailedLimit:
    """A limit of an SLO that a point does not keep.

    Parameters
    ----------
    name : str
        ``ttft_s``, ``tpot_s`` or ``e2e_s``.
    limit_s, value_s : float
        The limit and what the point has [s].
    """

    name: str
    limit_s: float
    value_s: float

    @property
    def over(self) -> float:
        """Return by how many times the value is over the limit."""
        return self.value_s / self.limit_s


@dataclass(frozen=True, slots=True)
class LeftOut:
    """Points that are not among the answers, counted.

    Parameters
    ----------
    beyond_pool : int
        Candidates whose KV pool, or engine, does not run the load that was asked for.
    overloaded : int
        Points where prefill has no time left, so that queues grow.
    unlikely : int
        Points where prefill has its own GPUs and a token comes sooner than on the same copy alone.
    """

    beyond_pool: int = 0
    overloaded: int = 0
    unlikely: int = 0
