"""Does one deployment fit: the engine's rule, the pool, the verdict and what would change it."""

from __future__ import annotations

from dataclasses import dataclass, replace

from planner.catalogue import Catalogue, Gpu, Model
from planner.errors import PlannerError
from planner.memory.cells import cells
from planner.memory.engines import engine_rule
from planner.memory.levers import TUNED_BATCH, TUNED_FRACTION, Pulled, levers, remedies
from planner.memory.off_gpu import host_shortage
from planner.memory.offload_levers import offload_levers
from planner.memory.overheads import warm_up_warnings
from planner.memory.preparing import prepare
from planner.memory.records import MemoryFit, Pool, StageMemory
from planner.memory.setup import Setup
from planner.memory.starting import is_overdrawn, sequence_warnings, unheld_sequences
from planner.memory.verdict import Verdict, judge, replication_warnings, tightness_warning
from planner.memory.weights import KnownWeights
from planner.scenario import Deployment, Workload
from planner.scenario.legal import check_legal
from planner.scenario.support import support_warnings

ASSUMED_FIELDS = ("memory_fraction", "max_num_batched_tokens", "max_num_seqs", "prefix_caching")
"""Fields of a deployment that an engine fills in."""


def pool_from_available(
    *,
    model: Model,
    gpu: Gpu,
    deployment: Deployment,
    workload: Workload,
    catalogue: Catalogue,
    available_bytes: float,
) -> Pool:
    """Return the KV pool that an engine makes of a given amount of memory.

    Parameters
    ----------
    model, gpu, deployment, workload, catalogue
        As for `fit_memory`.
    available_bytes : float
        Memory left for the pool on every rank [bytes].

    Returns
    -------
    Pool
    """
    setup = prepare(model=model, gpu=gpu, deployment=deployment, workload=workload, catalogue=catalogue)
    rule = engine_rule(setup.stack.id)
    return rule.pool(setup, [available_bytes] * len(setup.stages))


def fit_memory(
    *,
    model: Model,
    gpu: Gpu,
    deployment: Deployment,
    workload: Workload,
    catalogue: Catalogue,
    advise: bool = True,
) -> MemoryFit:
    """Return whether one deployment fits, and why; nothing is searched.

    Parameters
    ----------
    model : Model
        The model.
    gpu : Gpu
        The accelerator.
    deployment : Deployment
        How it runs; what is None is the engine's default in its version.
    workload : Workload
        The longest request, and how many must run at once.
    catalogue : Catalogue
        Where the engine's settings are.
    advise : bool
        Whether to try what would lift the limit, which costs about as much as twenty answers.

    Returns
    -------
    MemoryFit
        With the memory of each stage, the pool, the verdict, and every value that was assumed.

    Raises
    ------
    IllegalDeployment
        For sizes that the model cannot be divided into.
    PlannerError
        For unknown names and impossible values.
    """
    setup, found = _examine(model, gpu, deployment, workload, catalogue)
    stages, pool = found.stages, found.pool
    tuned = None if found.fits(setup) else _tuned(setup, workload, catalogue)
    verdict = judge(setup, stages, pool, found.needed_bytes, tuned is not None)
    late = warm_up_warnings(setup, stages)
    if late and verdict.verdict == "fits":
        verdict = replace(verdict, verdict="tight")
    advice = _advice(setup, found, verdict, tuned, workload, catalogue) if advise else ()
    binding = min(stages, key=lambda stage: stage.available_bytes)
    if pool.most_slots is None:
        stages = [replace(stage, state_bytes=pool.state_bytes) for stage in stages]
    return MemoryFit(
        model=model.id,
        gpu=gpu.id,
        deployment=_resolved(setup),
        context=setup.context,
        concurrency=setup.concurrency,
        request_tokens=setup.request_tokens,
        fits=verdict.fits,
        verdict=verdict.verdict,
        binding_limit=verdict.binding_limit,
        remedies=advice,
        stages=tuple(stages),
        per_rank=stages[binding.stage],
        kv_bytes_per_token_per_rank=growth_bytes(setup, binding.stage),
        pool=pool,
        margin_bytes=verdict.margin_bytes,
        uncertainty_bytes=verdict.uncertainty_bytes,
        safe_max_num_seqs=pool.slots if binding.available_bytes > 0 else None,
        overdrawn=is_overdrawn(setup, stages),
        warnings=(
            *setup.warnings,
            *(late or tightness_warning(verdict)),
            *replication_warnings(setup),
            *sequence_warnings(setup, pool),
        ),
        assumptions=tuple(setup.assumptions),
        host_side=setup.host_side,
    )


@dataclass(frozen=True, slots=True)
class QuickFit:
    """Whether a deployment fits, without what would lift its limit.

    Parameters
    ----------
    fits : bool
        Whether it starts and holds what was asked.
    weights_bytes : float
        Weights of all stages.
    slots : int or None
        Requests at once with which it would start, where only their number keeps it from starting.
    """

    fits: bool
    weights_bytes: float
    slots: int | None = None


def quick_fit(
    *, model: Model, gpu: Gpu, deployment: Deployment, workload: Workload, catalogue: Catalogue
) -> QuickFit:
    """Return whether one deployment fits, and no more; a search asks this of many.

    Parameters
    ----------
    model, gpu, deployment, workload, catalogue
        As for `fit_memory`.

    Returns
    -------
    QuickFit

    Raises
    ------
    PlannerError
        As `fit_memory` does.
    """
    tried = try_memory(model=model, gpu=gpu, deployment=deployment, workload=workload, catalogue=catalogue)
    setup, found = tried.setup, tried.found
    if found is None:
        return QuickFit(False, sum(groups.total() for groups in setup.weights))
    unheld = not tried.fits and found.fits(setup) and unheld_sequences(setup, found.pool)
    return QuickFit(tried.fits, found.weights_bytes, found.pool.slots if unheld else None)


@dataclass(frozen=True, slots=True)
class Measure:
    """The memory of every stage, the pool, and what the pool must hold [bytes]."""

    stages: list[StageMemory]
    pool: Pool
    needed_bytes: float

    @property
    def weights_bytes(self) -> float:
        """Return the weights of all stages."""
        return sum(stage.weights_bytes for stage in self.stages)

    @property
    def fullest_weights_bytes(self) -> float:
        """Return the weights of the GPU that holds most."""
        return max(stage.weights_bytes for stage in self.stages)

    def fits(self, setup: Setup) -> bool:
        """Return whether the pool holds the longest request and the requests asked for."""
        return self.pool.max_context >= setup.context and self.pool.max_concurrency >= setup.concurrency


@dataclass(frozen=True, slots=True)
class Trial:
    """One of many deployments, made ready and measured, without what would lift its limit.

    Parameters
    ----------
    setup : Setup
        With every default filled in.
    found : Measure or None
        Its memory; None where the weights of one GPU are more than the device has.
    verdict : Verdict or None
        Whether it fits, where it was measured.
    """

    setup: Setup
    found: Measure | None
    verdict: Verdict | None

    @property
    def fits(self) -> bool:
        """Return whether it starts and holds what was asked."""
        return self.verdict is not None and self.verdict.fits


def try_memory(
    *,
    model: Model,
    gpu: Gpu,
    deployment: Deployment,
    workload: Workload,
    catalogue: Catalogue,
    legal: bool = False,
    known: KnownWeights | None = None,
) -> Trial:
    """Return the memory of one deployment of a search.

    Parameters
    ----------
    model, gpu, deployment, workload, catalogue
        As for `fit_memory`.
    legal : bool
        Whether the same sizes and dtypes were found legal before, so that it need not be asked again.
    known : dict, optional
        Weights that the search has worked out already, as `planner.memory.preparing.prepare` takes them.

    Returns
    -------
    Trial

    Raises
    ------
    PlannerError
        As `fit_memory` does.
    """
    ready = prepare if legal else _legal
    setup = ready(
        model=model, gpu=gpu, deployment=deployment, workload=workload, catalogue=catalogue, known=known
    )
    if max(groups.total() for groups in setup.weights) > gpu.usable_bytes:
        return Trial(setup, None, None)
    found = _measure(setup)
    return Trial(setup, found, judge(setup, found.stages, found.pool, found.needed_bytes, tunable=False))


def _measure(setup: Setup) -> Measure:
    rule = engine_rule(setup.stack.id)
    stages = [rule.stage(setup, index) for index in range(len(setup.stages))]
    pool = rule.pool(setup, [stage.available_bytes for stage in stages])
    longest = each = rule.request_bytes(setup, setup.context)
    if setup.request_tokens != setup.context:
        each = rule.request_bytes(setup, setup.request_tokens)
    return Measure(stages, pool, max(longest, -(-setup.concurrency // setup.deployment.dp) * each))


def _examine(
    model: Model, gpu: Gpu, deployment: Deployment, workload: Workload, catalogue: Catalogue
) -> tuple[Setup, Measure]:
    """Return a deployment made ready and measured; a PlannerError where it is impossible."""
    setup = _legal(model=model, gpu=gpu, deployment=deployment, workload=workload, catalogue=catalogue)
    return setup, _measure(setup)


def _legal(
    *,
    model: Model,
    gpu: Gpu,
    deployment: Deployment,
    workload: Workload,
    catalogue: Catalogue,
    known: KnownWeights | None = None,
) -> Setup:
    """Return a deployment made ready; a PlannerError where it is impossible."""
    setup = prepare(
        model=model, gpu=gpu, deployment=deployment, workload=workload, catalogue=catalogue, known=known
    )
    check_legal(
        architecture=setup.architecture,
        deployment=deployment,
        workload=workload,
        gpu=gpu,
        engine=setup.stack.id,
    )
    setup.warnings += support_warnings(
        catalogue=catalogue,
        architecture=setup.architecture,
        scheme=setup.scheme,
        deployment=deployment,
        kv_dtype=setup.kv_dtype,
        gpu=gpu,
        stack=setup.stack,
        version=setup.version,
        model=model.id,
    )
    return setup


def _advice(
    setup: Setup,
    found: Measure,
    verdict: Verdict,
    tuned: Deployment | None,
    workload: Workload,
    catalogue: Catalogue,
) -> tuple[str, ...]:
    """Return what would lift the limit: every lever is pulled alone, and measured."""
    if verdict.verdict == "fits":
        return ()
    stage = min(found.stages, key=lambda each: each.available_bytes)
    no_room = stage.weights_bytes > stage.budget_bytes
    pulled = []

    def holds(options: dict[str, object]) -> bool:
        try:
            deployment = setup.deployment.model_copy(update=options)
            _, measured = _examine(setup.model, setup.gpu, deployment, workload, catalogue)
        except PlannerError:
            return False
        gpu = min(each.available_bytes for each in measured.stages)
        return gpu >= max(measured.needed_bytes, 0.0) and gpu > 0

    off_gpu = () if verdict.fits else offload_levers(setup, holds)
    for lever in (*levers(setup, stage, found.pool, workload), *off_gpu):
        deployment = setup.deployment.model_copy(update=lever.options)
        asked = lever.workload or workload
        try:
            other, measured = _examine(setup.model, setup.gpu, deployment, asked, catalogue)
        except PlannerError:
            continue  # a lever that this model or engine does not have
        if lever.kind == "checkpoint" and measured.weights_bytes >= found.weights_bytes:
            continue
        if no_room and measured.fullest_weights_bytes >= found.fullest_weights_bytes:
            continue  # where weights alone are too large, only what makes them smaller on a GPU counts
        after = judge(other, measured.stages, measured.pool, measured.needed_bytes, tunable=False)
        enough = after.fits and (not verdict.fits or after.verdict == "fits")
        gain = after.margin_bytes - verdict.margin_bytes
        pulled.append(Pulled(lever, enough, gain, None if enough else host_shortage(other)))
    short_by = verdict.uncertainty_bytes if verdict.fits else 0.0
    said = remedies(pulled, max(short_by - verdict.margin_bytes, 0.0))
    alone = any(one.enough for one in pulled if one.lever.kind in ("memory fraction", "batch"))
    if tuned is None or alone:
        return said
    both = (
        f"it fits with a memory fraction of {tuned.memory_fraction:g} and a batch of "
        f"{tuned.max_num_batched_tokens:,} tokens"
    )
    return (both, *said)


def _resolved(setup: Setup) -> Deployment:
    """Return the deployment with the engine's defaults in place of what was not given."""
    open_fields = {name for name in ASSUMED_FIELDS if getattr(setup.deployment, name) is None}
    found = {item.name: item.value for item in setup.assumptions if item.name in open_fields}
    return setup.deployment.model_copy(update={**found, "kv_dtype": setup.kv_dtype})


def _tuned(setup: Setup, workload: Workload, catalogue: Catalogue) -> Deployment | None:
    """Return the deployment with vLLM's two usual options turned, where that makes it fit."""
    if setup.stack.id != "vllm" or setup.deployment.kv_cache_memory_bytes is not None:
        return None
    fraction = setup.assume("memory_fraction", setup.deployment.memory_fraction)
    batch = int(setup.assume("max_num_batched_tokens", setup.deployment.max_num_batched_tokens))
    options = {
        "memory_fraction": max(fraction, TUNED_FRACTION),
        "max_num_batched_tokens": min(batch, TUNED_BATCH),
    }
    deployment = setup.deployment.model_copy(update=options)
    other = prepare(
        model=setup.model, gpu=setup.gpu, deployment=deployment, workload=workload, catalogue=catalogue
    )
    return deployment if _measure(other).fits(other) else None


def growth_bytes(setup: Setup, stage: int) -> float:
    """Return by how much one more token makes the caches of a rank of a stage grow in a long context [bytes].

    Where every layer of it has a window, it is the growth before the windows fill.
    """
    found = cells(setup, setup.caches(stage))
    return found.growing_bytes or found.window_bytes
