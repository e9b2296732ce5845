"""Records of what an engine's software adds: host time of a step, speculation, the transfer of KV."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field, ValidationInfo, model_validator

from planner.catalogue.figures import Confidence, Date, Record, Source, Tuple, read_quantity, resolve_source
from planner.catalogue.kernels import VersionRange, in_range
from planner.catalogue.stacks import Version
from planner.units import Dimension

Seconds = Annotated[
    float, BeforeValidator(lambda value: read_quantity(value, Dimension.SECONDS)), Field(gt=0)
]
Rate = Annotated[
    float, BeforeValidator(lambda value: read_quantity(value, Dimension.BYTES_PER_S)), Field(gt=0)
]

Key = Annotated[int, Field(strict=False, gt=0)]
"""A whole number as a key, which YAML files give as text."""


class Sourced(Record):
    """A record with a source, a date and a confidence."""

    source: Source
    date: Date
    confidence: Confidence = "published"
    note: str | None = None

    @model_validator(mode="before")
    @classmethod
    def _read(cls, data: Any, info: ValidationInfo) -> Any:
        if not isinstance(data, dict) or isinstance(data.get("source"), Source):
            return data
        return resolve_source(data, info)

    def provenance(self) -> str:
        """Return confidence, source and date as one phrase."""
        return f"{self.confidence}: {self.source.title} ({self.date})"


class HostStep(Sourced):
    """Time of a step in which the GPU waits for the host, for a range of versions."""

    versions: VersionRange
    mode: str
    """What the scheduler does, such as "asynchronous"."""
    low: Seconds
    mid: Seconds
    high: Seconds

    @model_validator(mode="after")
    def _in_order(self) -> HostStep:
        if not self.low <= self.mid <= self.high:
            raise ValueError(f"low {self.low}, mid {self.mid} and high {self.high} s are not in order")
        return self


class Host(Record):
    """The host times of one engine; the last range that holds a version counts."""

    id: str
    steps: Annotated[tuple[HostStep, ...], Field(strict=False, min_length=1)]

    def step(self, version: Version | None) -> HostStep | None:
        """Return the entry of a version (None is the newest), or None where no range holds it."""
        found = [step for step in self.steps if in_range(version, step.versions)]
        return found[-1] if found else None


class AcceptanceTable(Sourced):
    """Mean tokens of a target step by the number of drafted tokens, the target's own token included."""

    id: str
    models: tuple[str, ...] = Tuple
    draft: str
    """How drafts are made: ``mtp``, ``eagle3``, ``dspark``, ``p-eagle``."""
    thinking: bool | None = None
    variant: str | None = None
    """What sets it apart from the plain table of the model; such a table is used only by name."""
    tokens: dict[Key, float] = Field(default_factory=dict)
    """Drafted tokens to tokens of a step."""
    drafted: int | None = Field(default=None, gt=0)
    """Drafted tokens of `tasks`."""
    tasks: dict[str, float] = Field(default_factory=dict)
    """Tokens of a step by what the text is about."""

    @model_validator(mode="after")
    def _possible(self) -> AcceptanceTable:
        if not self.tokens and not self.tasks:
            raise ValueError("give `tokens` (by drafted tokens), or `tasks` with `drafted`")
        if bool(self.tasks) != (self.drafted is not None):
            raise ValueError("`tasks` and `drafted` belong together")
        stated = [*self.tokens.items(), *((self.drafted or 0, mean) for mean in self.tasks.values())]
        for drafted, mean in stated:
            if not 1 <= mean <= drafted + 1:
                raise ValueError(
                    f"{mean} tokens of a step with {drafted} drafted; possible: 1 to {drafted + 1}"
                )
        return self


class Speedup(Sourced):
    """Measured gain of speculation: output tok/s with it over without, by requests at once."""

    id: str
    model: str
    draft: str
    drafted: int | None = Field(default=None, gt=0)
    gpu: str
    gpus: int | None = Field(default=None, gt=0)
    engine: str | None = None
    by_concurrency: dict[Key, float] = Field(default_factory=dict)
    by_load: dict[str, float] = Field(default_factory=dict)
    """Where the source names the load in words (``single``, ``medium``, ``peak``), or gives a range."""
    over: str = "none"
    """What it is compared with: no speculation, or another draft."""
    workload: str | None = None

    @model_validator(mode="after")
    def _says_something(self) -> Speedup:
        gains = [*self.by_concurrency.values(), *self.by_load.values()]
        if not gains or min(gains) <= 0:
            raise ValueError("give `by_concurrency` or `by_load`, each gain above 0")
        return self


class TransferCurve(Sourced):
    """Achieved rate of KV transfer by size."""

    id: str
    library: str
    """``mooncake``, ``mori`` or ``nixl``."""
    fabric: str
    """``roce``, ``infiniband``, ``efa``, ``tcpxo``, ``mixed``."""
    line_rate: Rate | None = None
    """Line rate of what the transfer used; None where the source does not say."""
    by: Literal["transfer", "piece"]
    """Whether sizes are those of a whole transfer, or of its contiguous pieces with many under way."""
    points: dict[int, float]
    """Size [bytes] to achieved rate [bytes/s]."""

    @model_validator(mode="before")
    @classmethod
    def _read_points(cls, data: Any) -> Any:
        if not isinstance(data, dict) or not isinstance(data.get("points"), dict):
            return data
        points = {
            round(read_quantity(size, Dimension.BYTES)): read_quantity(rate, Dimension.BYTES_PER_S)
            for size, rate in data["points"].items()
        }
        return {**data, "points": points}

    @model_validator(mode="after")
    def _possible(self) -> TransferCurve:
        if not self.points or list(self.points) != sorted(self.points):
            raise ValueError("`points` maps sizes, in rising order, to rates, like {64 KiB: 41.4 GB/s}")
        if self.line_rate is not None and max(self.points.values()) > self.line_rate:
            raise ValueError("a rate above the line rate")
        return self
