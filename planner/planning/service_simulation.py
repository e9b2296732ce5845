"""Simulate a deployment request by request: the step times, the pool and the scheduler that it has.

A simulated engine is one lane: one copy of attention with one stage's share of the requests. A deployment
of `dp` copies and `pp` stages has `dp * pp` of them, alike and each with its share of the load, of the KV
pool and of the requests that run at once; rates of the deployment are those of one lane times their number.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from planner.catalogue import Gpu
from planner.errors import InvalidInput, unknown_name
from planner.memory import MemoryFit, fit_memory
from planner.performance.pipeline import most_parts
from planner.performance.predict import make_service
from planner.performance.service import Service
from planner.performance.simulated import step_times
from planner.performance.simulation import (
    Batching,
    ClosedLoop,
    EmpiricalLengths,
    FixedArrivals,
    FixedLength,
    GammaArrivals,
    IndependentLengths,
    KvPool,
    LatencySlo,
    Lengths,
    LognormalLength,
    OpenArrivals,
    PoissonArrivals,
    SimulationResult,
    TabulatedStepTimes,
    Trace,
    UniformLength,
    check_number,
    simulate,
)
from planner.planning.load import Load, check_drafts, deployment_of, judged, load_of
from planner.planning.question import Question
from planner.planning.sizing import Judgement
from planner.scenario import Deployment, Workload

ARRIVALS = ("poisson", "gamma", "fixed")
LENGTHS = ("fixed", "uniform", "lognormal")
USUAL_REQUESTS, REQUESTS_EACH = 2000, 10
"""Requests where none are stated: so many, and in a closed loop so many for each that is there at once."""
SECONDS_AT_LEAST, MOST_UNASKED = 60.0, 20_000.0
"""At a rate it is a minute of it, up to so many requests."""
LONGEST_LENGTHS = 8
"""Longest of the drawn lengths, in means, where no context is given."""
MOST_SEQS, BATCHED_TOKENS = 256, 8192
"""Where an engine has no such limit of its own."""


@dataclass(frozen=True, slots=True)
class SimulatedLoad:
    """What is simulated.

    Parameters
    ----------
    arrivals : str
        How requests come at a rate: one of `ARRIVALS`.
    cv : float or None
        Standard deviation of the gaps over their mean, for ``gamma``.
    lengths : str
        How lengths are drawn around input and output: one of `LENGTHS`.
    length_cv : float
        Standard deviation over mean, for ``lognormal``.
    trace : Trace or None
        Recorded requests: replayed, or their lengths drawn where a rate or a concurrency is given.
    requests : int or None
        How many.
    seed : int
        Of the random streams.
    slo : LatencySlo or None
        For goodput.
    """

    arrivals: str = "poisson"
    cv: float | None = None
    lengths: str = "fixed"
    length_cv: float = 0.5
    trace: Trace | None = None
    requests: int | None = None
    seed: int = 0
    slo: LatencySlo | None = None


@dataclass(frozen=True, slots=True)
class SimulatedService:
    """What a simulation of a deployment found.

    Parameters
    ----------
    judgement : Judgement
        Its memory.
    load : Load
        The load, with the mean lengths.
    result : SimulationResult or None
        Rates and batch of all lanes together; the requests are those of one. None where it does not fit.
    lanes : int
        Simulated engines that the deployment is made of.
    capacity_per_s : float or None
        Requests that can be carried [1/s], where more came.
    source : str
        Where the step times come from.
    notes : tuple of str
        What was chosen that nobody gave.
    """

    judgement: Judgement
    load: Load
    result: SimulationResult | None
    lanes: int = 1
    capacity_per_s: float | None = None
    source: str = ""
    notes: tuple[str, ...] = ()


def simulated_service(
    asked: Question,
    gpu: Gpu,
    load: SimulatedLoad,
    *,
    draft: str | None = None,
    tokens_per_step: float | None = None,
    network_bytes_per_s: float | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> SimulatedService:
    """Simulate a deployment request by request.

    Parameters
    ----------
    asked : Question
        Model, sizes and engine; lengths, and a concurrency, a rate or neither with a trace.
    gpu : Gpu
        The accelerator.
    load : SimulatedLoad
        What is simulated.
    draft, tokens_per_step, network_bytes_per_s
        As for `predict_deployment`.
    progress : callable, optional
        Called with the requests that have finished, and all of them.

    Returns
    -------
    SimulatedService

    Raises
    ------
    PlannerError
        For what cannot run, and for loads that cannot be.
    """
    workload = _workload(asked.workload, load)
    check_drafts(asked.base.speculative_tokens, draft, tokens_per_step)
    judgement, notes = judged(asked, gpu, workload)
    short = load_of(workload)
    if not judgement.memory.fits:
        return SimulatedService(judgement, short, None, notes=notes)
    deployment = deployment_of(asked.base, judgement.memory)
    ready = ready_to_simulate(
        asked,
        gpu,
        deployment,
        judgement.memory,
        workload,
        draft=draft,
        tokens_per_step=tokens_per_step,
        network_bytes_per_s=network_bytes_per_s,
    )
    service, lanes = ready.service, ready.lanes
    result = ready.simulate(load, workload, progress)
    notes += service.decode.warnings
    isl, osl = float(workload.isl or 1), float(workload.osl or 1)
    capacity = service.capacity_per_s(isl, osl, workload.prefix_hit) if result.overloaded else None
    return SimulatedService(judgement, short, result, lanes, capacity, service.calibration.source, notes)


@dataclass(frozen=True, slots=True, eq=False)
class Ready:
    """A deployment that is ready to be simulated, under one load after the other.

    Parameters
    ----------
    service : Service
        Its time model.
    step_times : TabulatedStepTimes
        The steps of one lane.
    pool : KvPool
        The room of one lane.
    batching : Batching
        The scheduler.
    lanes : int
        Simulated engines that the deployment is made of.
    longest : int
        Longest request [tokens].
    """

    service: Service
    step_times: TabulatedStepTimes
    pool: KvPool
    batching: Batching
    lanes: int
    longest: int

    def simulate(
        self, load: SimulatedLoad, workload: Workload, progress: Callable[[int, int], None] | None = None
    ) -> SimulationResult:
        """Serve a load.

        Parameters
        ----------
        load : SimulatedLoad
            What is simulated.
        workload : Workload
            Lengths (means of a trace), and a concurrency or a rate.
        progress : callable, optional
            Called with the requests that have finished, and all of them.

        Returns
        -------
        SimulationResult
            Rates and batch of all lanes together; the requests are those of one.
        """
        result = simulate(
            step_times=self.step_times,
            pool=self.pool,
            batching=self.batching,
            arrivals=_arrivals(workload, load, self.lanes),
            lengths=_lengths(workload, load, self.lanes, self.longest),
            requests=_requests(workload, load, self.lanes),
            seed=load.seed,
            slo=load.slo,
            progress=progress,
        )
        return _of_all(result, self.lanes)


def ready_to_simulate(
    asked: Question,
    gpu: Gpu,
    deployment: Deployment,
    memory: MemoryFit,
    workload: Workload,
    *,
    draft: str | None = None,
    tokens_per_step: float | None = None,
    network_bytes_per_s: float | None = None,
) -> Ready:
    """Return a deployment that fits, ready to be simulated.

    Parameters
    ----------
    asked : Question
        The model, its engine and the catalogue.
    gpu : Gpu
        The accelerator.
    deployment : Deployment
        The sizes, with dtypes and engine.
    memory : MemoryFit
        Its memory.
    workload : Workload
        Lengths, and perhaps a concurrency.
    draft, tokens_per_step, network_bytes_per_s
        As for `simulated_service`.

    Returns
    -------
    Ready
    """
    service = make_service(
        model=asked.model,
        gpu=gpu,
        deployment=deployment,
        workload=workload,
        catalogue=asked.catalogue,
        network_bytes_per_s=network_bytes_per_s,
        draft=draft,
        tokens_per_step=tokens_per_step,
    )
    parts = int(most_parts(service.decode.profile)[0])
    batching = _batching(deployment, memory, service, workload, parts)
    usual = step_times(
        service, float(workload.isl or 1), float(workload.osl or 1), float(workload.concurrency or 16)
    )
    longest = batching.max_context or workload.context or memory.context
    return Ready(
        service=service,
        step_times=TabulatedStepTimes(usual, batching, longest),
        pool=_pool(asked, gpu, deployment, memory, workload, parts),
        batching=batching,
        lanes=deployment.dp * parts,
        longest=longest,
    )


def _workload(given: Workload, load: SimulatedLoad) -> Workload:
    """Return the load with the mean lengths of a trace, and refuse one that contradicts itself."""
    if given.concurrency is not None and given.request_rate is not None:
        raise InvalidInput("concurrency and rate exclude each other: one follows from the other")
    for name, known in ((load.arrivals, ARRIVALS), (load.lengths, LENGTHS)):
        if name not in known:
            raise unknown_name("arrivals" if known is ARRIVALS else "lengths", name, known)
    trace = load.trace
    if trace is not None:
        if given.isl is not None or given.osl is not None:
            raise InvalidInput("a trace has lengths of its own: isl and osl are not possible beside it")
        longest = int((trace.isl + trace.osl).max())
        isl, osl = (max(1, round(float(values.mean()))) for values in (trace.isl, trace.osl))
        return given.model_copy(update={"isl": isl, "osl": osl, "context": given.context or longest})
    if given.isl is None or given.osl is None:
        raise InvalidInput(
            "isl and osl: give input and output tokens of a request, such as --isl 1024 --osl 400, or a trace"
        )
    if given.concurrency is None and given.request_rate is None:
        raise InvalidInput(
            "no load: give a rate, a concurrency, or a trace (--rate 8, --concurrency 32, --trace FILE)"
        )
    return given


def _batching(
    deployment: Deployment, memory: MemoryFit, service: Service, workload: Workload, parts: int
) -> Batching:
    resolved, drafted = memory.deployment, deployment.speculative_tokens
    seqs = max(1, (resolved.max_num_seqs or MOST_SEQS) // parts)
    tokens = resolved.max_num_batched_tokens or BATCHED_TOKENS
    if service.decode.engine != "sglang":
        seqs = min(seqs, tokens // (1 + drafted))
    return Batching(
        policy="prefill-first" if service.decode.engine == "sglang" else "decode-first",
        max_num_seqs=seqs,
        max_num_batched_tokens=tokens,
        prefix_hit=workload.prefix_hit,
        speculative_tokens=drafted,
        accepted_tokens=service.acceptance.tokens if service.acceptance else 1.0,
        max_context=workload.context,
        # Where parts of the requests fill the stages, a chunk would take the place of another part.
        stages=resolved.pp if parts == 1 else 1,
    )


def _pool(
    asked: Question, gpu: Gpu, deployment: Deployment, memory: MemoryFit, workload: Workload, parts: int
) -> KvPool:
    """Return the pool of one lane, with the bytes of a token that requests of these lengths have.

    Where it is allocated as asked it has the slots that a stated concurrency needs, or else all that fit.
    """
    fit = fit_memory(
        model=asked.model,
        gpu=gpu,
        deployment=deployment,
        workload=Workload(isl=workload.isl, osl=workload.osl),
        catalogue=asked.catalogue,
        advise=False,
    )
    pool, most = KvPool.from_fit(fit), memory.pool.most_slots
    if most:
        most = min(most, -(-(workload.concurrency or most) // deployment.dp))
        each = pool.state_tokens + memory.context + deployment.speculative_tokens
        pool = pool.model_copy(update={"tokens": most * each, "slots": most})
    slots = None if pool.slots is None else max(1, pool.slots // parts)
    return pool.model_copy(update={"tokens": max(pool.block_size, pool.tokens // parts), "slots": slots})


def _arrivals(workload: Workload, load: SimulatedLoad, lanes: int) -> OpenArrivals | ClosedLoop:
    if workload.concurrency is not None:
        return ClosedLoop(concurrency=-(-workload.concurrency // lanes))
    if workload.request_rate is None:
        assert load.trace is not None
        return _every(load.trace, lanes)
    rate = workload.request_rate / lanes
    if load.arrivals == "fixed":
        return FixedArrivals(interval_s=1 / rate)
    if load.arrivals == "gamma" or load.cv is not None:
        return GammaArrivals(rate_per_s=rate, cv=1.0 if load.cv is None else load.cv)
    return PoissonArrivals(rate_per_s=rate)


def _every(trace: Trace, lanes: int) -> Trace:
    """Return the requests of a trace that one lane gets, where they are handed out in turn."""
    return Trace(trace.name, trace.arrival_s[::lanes], trace.isl[::lanes], trace.osl[::lanes])


def _lengths(workload: Workload, load: SimulatedLoad, lanes: int, longest: int) -> Lengths:
    if load.trace is not None:
        replayed = workload.concurrency is None and workload.request_rate is None
        return _every(load.trace, lanes) if replayed else EmpiricalLengths(load.trace)
    isl, osl = workload.isl or 1, workload.osl or 1
    if load.lengths == "uniform":
        return IndependentLengths(UniformLength(tokens=isl), UniformLength(tokens=osl))
    if load.lengths == "lognormal":
        share = longest / (isl + osl)
        return IndependentLengths(
            *(
                LognormalLength(mean=mean, cv=load.length_cv, longest=max(mean, int(mean * share)))
                for mean in (isl, osl)
            )
        )
    return IndependentLengths(FixedLength(tokens=isl), FixedLength(tokens=osl))


def _requests(workload: Workload, load: SimulatedLoad, lanes: int) -> int | None:
    """Return the requests of one lane."""
    if load.requests is not None:
        check_number(load.requests)
        return -(-load.requests // lanes)
    if load.trace is not None and workload.concurrency is None and workload.request_rate is None:
        return None
    minute = min(SECONDS_AT_LEAST * (workload.request_rate or 0), MOST_UNASKED)
    wanted = max(USUAL_REQUESTS, REQUESTS_EACH * (workload.concurrency or 0), round(minute))
    return -(-wanted // lanes)


def _of_all(result: SimulationResult, lanes: int) -> SimulationResult:
    """Return the result with the rates and counts of all lanes together."""
    flow = result.flow
    return replace(
        result,
        flow=replace(
            flow,
            offered_per_s=flow.offered_per_s * lanes,
            sustained_per_s=flow.sustained_per_s * lanes,
            queue_growth_per_s=flow.queue_growth_per_s * lanes,
            waiting_at_end=flow.waiting_at_end * lanes,
        ),
        output_tps=result.output_tps * lanes,
        total_tps=result.total_tps * lanes,
        mean_batch=result.mean_batch * lanes,
        preemptions=result.preemptions * lanes,
        recomputed_tokens=result.recomputed_tokens * lanes,
        goodput_per_s=None if result.goodput_per_s is None else result.goodput_per_s * lanes,
    )
