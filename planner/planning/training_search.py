"""Training runs on one accelerator type: the one that was given, or the fastest legal one that fits."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from planner.architecture import Architecture, Sharding
from planner.errors import InvalidInput, PlannerError
from planner.memory.training import TrainingMemory, check_one_layer, training_memory
from planner.performance.training import Machine, TrainingStep, training_step
from planner.scenario.training import TrainingRun, check_run, stage_layers

USUAL_TOKENS, USUAL_ADAPTER_TOKENS = 1 << 22, 1 << 19
"""Tokens of a step where nobody gives a batch: 4 Mi to train all weights (Llama 2), 512 Ki for adapters."""
TOKENS_PER_GPU = 1 << 10
"""Where that makes more: as for 16 Mi tokens on 16,384 GPUs (Llama 3)."""
MOST_BATCHES = 4
"""So many times the usual batch at most (16 Mi tokens)."""
USUAL_SEQ_LEN = 4096
MICRO_BATCHES = (1, 2, 4, 8, 16)
MOST_STAGES, MOST_PARTS = 64, 8
MOST_DOUBLINGS = 12
"""So often the GPUs are doubled to find the fewest that hold a model."""

OPEN = ("tp", "pp", "dp", "fsdp", "micro_batch", "global_batch", "interleave", "recompute")
"""What is searched where it is not given."""


@dataclass(frozen=True, slots=True)
class TrainingPlan:
    """One run, its memory and, where it fits, its time.

    Parameters
    ----------
    run : TrainingRun
        The run.
    memory : TrainingMemory
        Of the fullest GPU.
    step : TrainingStep or None
        Time of a step; None where it does not fit.
    searched : int
        Legal layouts that were looked at; 1 where all was given.
    """

    run: TrainingRun
    memory: TrainingMemory
    step: TrainingStep | None
    searched: int


def training_plan(
    architecture: Architecture, machine: Machine, *, given: Mapping[str, Any], gpus: int | None, name: str
) -> TrainingPlan:
    """Return the run that was given, or the fastest one that fits.

    Parameters
    ----------
    architecture : Architecture
        A dense model.
    machine : Machine
        What it runs on.
    given : mapping
        Fields of `TrainingRun` that the user states.
    gpus : int or None
        GPUs of the run; None is what the sizes make, or the fewest that hold it.
    name : str
        What people call the model.

    Returns
    -------
    TrainingPlan
        Where nothing fits, the run that comes nearest.

    Raises
    ------
    PlannerError
        Where nothing is legal, in the words of the first refusal; `DoesNotFit` where not even one layer fits.
    """
    best: TrainingPlan | None = None
    for count in _counts(given, gpus):
        found = _best_of(architecture, machine, given, count, name)
        best = found if best is None or found.step else best
        if found.step:
            break
    assert best is not None
    if best.step is None:
        check_one_layer(architecture, best.run, machine.gpu, name)
    return best


def _counts(given: Mapping[str, Any], gpus: int | None) -> Iterator[int]:
    """Yield the numbers of GPUs to try, the fewest first."""
    stated = math.prod(given.get(size, 1) for size in ("tp", "pp", "dp"))
    if gpus is not None:
        if gpus % stated or (gpus != stated and all(size in given for size in ("tp", "pp", "dp"))):
            raise InvalidInput(
                f"{gpus:,} GPUs do not divide into tp x pp x dp = {stated:,}; "
                f"nearest: {max(1, gpus // stated) * stated:,} GPUs"
            )
        yield gpus
        return
    yield stated
    if not all(size in given for size in ("tp", "pp", "dp")):
        yield from (stated << power for power in range(1, MOST_DOUBLINGS))


def _best_of(
    architecture: Architecture, machine: Machine, given: Mapping[str, Any], gpus: int, name: str
) -> TrainingPlan:
    refusal: PlannerError | None = None
    best: tuple[TrainingRun, TrainingMemory, TrainingStep] | None = None
    nearest: tuple[TrainingRun, TrainingMemory] | None = None
    count = 0
    for run in _candidates(architecture, machine, given, gpus):
        try:
            check_run(run, architecture)
        except PlannerError as error:
            refusal = refusal or error
            continue
        count += 1
        memory = training_memory(architecture, run, machine.gpu)
        if not memory.fits:
            if nearest is None or memory.total_bytes < nearest[1].total_bytes:
                nearest = (run, memory)
            continue
        step = training_step(architecture, run, machine)
        if best is None or step.tokens_per_s_per_gpu > best[2].tokens_per_s_per_gpu:
            best = (run, memory, step)
    if best is not None:
        return TrainingPlan(*best, count)
    if nearest is not None:
        return TrainingPlan(*nearest, None, count)
    raise refusal or InvalidInput(f"{name}: {gpus:,} GPUs divide into no layout that is legal for it")


def _candidates(
    architecture: Architecture, machine: Machine, given: Mapping[str, Any], gpus: int
) -> Iterator[TrainingRun]:
    """Yield runs; what is given stays as it is, even where it is not legal."""
    fixed = {field: value for field, value in given.items() if field not in OPEN}
    fixed.setdefault("seq_len", min(USUAL_SEQ_LEN, architecture.max_context or USUAL_SEQ_LEN))
    for tp in _one_or(given, "tp", _tensor_sizes(architecture, machine, gpus)):
        for pp in _one_or(given, "pp", _stages(architecture, gpus // tp)):
            dp = max(1, gpus // (tp * pp))
            if given.get("dp", dp) != dp or tp * pp * dp != gpus:
                continue
            for micro in _one_or(given, "micro_batch", MICRO_BATCHES):
                batch = given.get("global_batch") or _usual_batch(fixed, dp * micro, gpus)
                sizes = {"tp": tp, "pp": pp, "dp": dp, "micro_batch": micro, "global_batch": batch}
                if micro > 1 and "micro_batch" not in given and batch % (dp * micro):
                    continue
                if "global_batch" not in given and batch > MOST_BATCHES * _usual_batch(fixed, 1, 1):
                    continue
                for rest in _rest(architecture, given, sizes):
                    yield TrainingRun(**fixed, **sizes, **rest)


def _rest(
    architecture: Architecture, given: Mapping[str, Any], sizes: Mapping[str, int]
) -> Iterator[dict[str, Any]]:
    """Yield what the copies share, the parts of a stage and what is computed again."""
    shared = (1, 2, 3) if sizes["dp"] > 1 else (1,)
    micro_batches = sizes["global_batch"] // (sizes["dp"] * sizes["micro_batch"])
    parts = _parts(len(architecture.layers), sizes["pp"], micro_batches)
    for fsdp in _one_or(given, "fsdp", shared):
        for interleave in _one_or(given, "interleave", parts):
            for again in _one_or(given, "recompute", ("none", "full")):
                yield {"fsdp": fsdp, "interleave": interleave, "recompute": again}


def _one_or(given: Mapping[str, Any], field: str, otherwise: tuple[Any, ...]) -> tuple[Any, ...]:
    return (given[field],) if field in given else otherwise


def _tensor_sizes(architecture: Architecture, machine: Machine, gpus: int) -> tuple[int, ...]:
    """Return tensor-parallel sizes within one node that the model can have."""
    most = min(gpus, machine.gpu.node_gpus)
    sizes = [size for size in range(1, most + 1) if gpus % size == 0]
    return tuple(size for size in sizes if not architecture.refusals(Sharding(tp=size)))


def _stages(architecture: Architecture, ranks: int) -> tuple[int, ...]:
    layers = len(architecture.layers)
    most = min(ranks, layers, MOST_STAGES)
    return tuple(pp for pp in range(1, most + 1) if ranks % pp == 0 and stage_layers(layers, pp, 1))


def _parts(layers: int, pp: int, micro_batches: int) -> tuple[int, ...]:
    """Return 1, and the most parts of a stage that are legal."""
    if pp == 1 or micro_batches % pp:
        return (1,)
    legal = (parts for parts in range(1, MOST_PARTS + 1) if stage_layers(layers, pp, parts))
    return tuple({1, max(legal, default=1)})


def _usual_batch(fixed: Mapping[str, Any], share: int, gpus: int) -> int:
    """Return the usual batch, up to the next multiple of what the copies work on at once [sequences]."""
    tokens = USUAL_TOKENS if fixed.get("method", "full") == "full" else USUAL_ADAPTER_TOKENS
    tokens = max(tokens, min(MOST_BATCHES * tokens, TOKENS_PER_GPU * gpus))
    wanted = max(1, tokens // int(fixed["seq_len"]))
    return -(-wanted // share) * share
