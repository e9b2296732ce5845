"""What to measure of an engine: which models, in which formats, at which points, in how much time."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Annotated, Any, Literal

from pydantic import Field

from planner.catalogue.textfiles import read_plain
from planner.catalogue.yamltext import Slice, parse
from planner.errors import InvalidInput, PlannerError
from planner.scenario.records import Count, Name, Scenario, Share, Size

BATCHES = (1, 8, 32, 64, 128)
CONTEXTS = (1024, 8192)
PROMPTS = (1024, 8192, 32768)
CONCURRENCIES = (1, 16, 64, 4, 256)
"""In order of use: what is left out when the time is up stands last."""
MOST_CACHED = 32 * 8192
"""Tokens of a batch at most: filling a larger cache takes longer than it teaches."""
STEPS = 48
LOAD_ISL, LOAD_OSL = 1024, 256
LEAST_REQUESTS, WAVES = 5, 2

MOST_FILE_BYTES = 2**20

SECONDS = 600
"""Time of one run [s]."""


class StaticBatch(Scenario):
    """A batch that starts together: the step in which all of it decodes is timed."""

    kind: Literal["decode"] = "decode"
    batch: Count
    context: Count
    steps: Count = STEPS


class Prompt(Scenario):
    """A prompt alone: its time to the first token."""

    kind: Literal["prefill"] = "prefill"
    isl: Count
    repeats: Count = 3


class Load(Scenario):
    """So many requests in flight, each followed by the next."""

    kind: Literal["load"] = "load"
    concurrency: Count
    isl: Count = LOAD_ISL
    osl: Count = LOAD_OSL
    requests: Count


Point = Annotated[StaticBatch | Prompt | Load, Field(discriminator="kind")]


class EngineRun(Scenario):
    """One start of an engine, and what is timed of it."""

    model: Name
    weight_dtype: Name | None = None
    engine: Literal["vllm", "sglang"] = "vllm"
    seconds: Count = SECONDS
    tp: Size = 1
    pp: Size = 1
    max_model_len: Count = 36864
    memory_fraction: Share | None = None
    max_num_seqs: Count | None = None
    max_num_batched_tokens: Count | None = None
    kv_dtype: Name | None = None
    config: dict[str, Any] = Field(default_factory=dict)
    """Fields of `config.json` that the engine needs and the catalogue's trimmed configuration lacks."""
    points: tuple[Point, ...] = ()
    """The standard set where there are none."""

    @property
    def gpus(self) -> int:
        """Return the GPUs of the engine."""
        return self.tp * self.pp

    def timed(self) -> tuple[Point, ...]:
        """Return the points that are timed."""
        return self.points or standard_points(self.max_model_len)


def standard_points(longest: int) -> tuple[Point, ...]:
    """Return the standard set: steps by batch and context, prompts alone, and a service under load.

    Parameters
    ----------
    longest : int
        Tokens of the longest request.

    Returns
    -------
    tuple of StaticBatch, Prompt or Load
        In order of use.
    """
    room = longest - 2 * STEPS
    prompts = [Prompt(isl=isl) for isl in PROMPTS if isl < room]
    batches = [
        StaticBatch(batch=batch, context=context)
        for context in CONTEXTS
        for batch in BATCHES
        if context < room and batch * context <= MOST_CACHED
    ]
    return (*prompts, *batches, *loads(CONCURRENCIES))


def loads(concurrencies: Iterable[int], isl: int = LOAD_ISL, osl: int = LOAD_OSL) -> tuple[Load, ...]:
    """Return closed loops, each of two waves of requests or more."""
    return tuple(
        Load(
            concurrency=most,
            isl=isl,
            osl=osl,
            requests=max(LEAST_REQUESTS, most * (3 if most <= 64 else WAVES)),
        )
        for most in concurrencies
    )


def read_plan(path: str) -> tuple[EngineRun, ...]:
    """Read a plan: a YAML file with `runs:`, each with the fields of `EngineRun`.

    Parameters
    ----------
    path : str
        The file.

    Returns
    -------
    tuple of EngineRun

    Raises
    ------
    InvalidInput
        With the file and the number of the run.
    """
    text = read_plain(path, most_bytes=MOST_FILE_BYTES, otherwise="not a plan of measurements")
    plan = parse(Slice(path, text))
    if not isinstance(plan, dict) or list(plan) != ["runs"] or not isinstance(plan["runs"], list):
        raise InvalidInput(f"{path}: a plan has `runs:` and nothing else, a list such as `- model: qwen3-8b`")
    found = [_run(path, number, entry) for number, entry in enumerate(plan["runs"], start=1)]
    if not found:
        raise InvalidInput(f"{path}: no run in it")
    return tuple(found)


def _run(path: str, number: int, entry: Any) -> EngineRun:
    try:
        return EngineRun.model_validate(entry)
    except PlannerError as error:
        raise InvalidInput(f"{path}: run {number}: {error}") from None
