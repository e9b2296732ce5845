"""What one replica carries within an SLO: the rate that a request-level simulation verifies."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np

from planner.catalogue import Gpu
from planner.memory.built import Same
from planner.planning.kept import Alike, kept, looked_up
from planner.planning.question import Question
from planner.planning.search import Candidate, FailedLimit, Point, SearchResult, SearchSpace, search_again
from planner.planning.service_simulation import Ready, SimulatedLoad, ready_to_simulate
from planner.scenario import Workload
from planner.scenario.slo import LatencySlo

if TYPE_CHECKING:
    from planner.performance.simulation import SimulationResult

RATIO, LAST = 0.95, 64
"""Rates tried: the most that a replica can serve times powers of the ratio, 5 % apart and down to 4 %."""
START = 0.92
"""Share of the rate at which medians keep the SLO that is tried first."""
AT_LEAST, EACH = 1000, 10
"""Requests of one simulation: so many, and so many for each that is there at once while medians hold."""
AT_MOST = 50_000
KEPT = 32
"""Simulations that are kept for questions that differ by a price, or by what stands by."""
OVER_MEDIANS = 1.25
"""Rate that a deployment may reach in a simulation over that at which its medians keep the SLO: assumed."""

Progress = Callable[[int, int], None]

Key = tuple[float, ...]
Judge = Callable[[Candidate, float, float], Key]
"""How dear a deployment is that carries a rate [requests/s], with requests that take so long [s]."""


@dataclass(frozen=True, slots=True, eq=False)
class Carried:
    """What one replica of a deployment carries within the SLO.

    Parameters
    ----------
    candidate : Candidate
        The deployment.
    steady : Point
        Where its medians keep the SLO with the most requests; intervals are from here.
    capacity_per_s : float
        The most it can serve, whatever the latency [requests/s].
    rate_per_s : float
        The highest rate tried at which the share of the requests kept the SLO [requests/s].
    result : SimulationResult
        The simulation at that rate.
    ready : Ready
        For further loads.
    """

    candidate: Candidate
    steady: Point
    capacity_per_s: float
    rate_per_s: float
    result: SimulationResult
    ready: Ready

    @property
    def rate_per_gpu(self) -> float:
        """Return the rate of one GPU [requests/s]."""
        return self.rate_per_s / self.candidate.gpus

    @property
    def interval(self) -> tuple[float, float]:
        """Return the 80 % interval of the rate [requests/s], as wide as that of the throughput."""
        output = self.steady.output_tps_total
        return self.rate_per_s * output.low / output.value, self.rate_per_s * output.high / output.value

    @property
    def e2e_s(self) -> float:
        """Return the mean time of a whole request at that rate [s]."""
        assert self.result.e2e_s is not None
        return self.result.e2e_s.mean


@dataclass(frozen=True, slots=True)
class Missed:
    """The deployment that comes closest to an SLO that none keeps.

    Parameters
    ----------
    label : str
        Its sizes; empty where nothing can run at all.
    gpus : int
        Its GPUs.
    failed : tuple of FailedLimit
        Limits that it fails, the worst first.
    how : str
        What the values are: medians of one request at a time, or percentiles of a simulation.
    reasons : tuple of str
        Why deployments were refused, where nothing can run.
    """

    label: str
    gpus: int
    failed: tuple[FailedLimit, ...]
    how: str
    reasons: tuple[str, ...] = ()


def carried(
    asked: Question,
    card: Gpu,
    slo: LatencySlo,
    load: SimulatedLoad,
    *,
    workload: Workload,
    judge: Judge | None = None,
    by_size: bool = False,
    space: SearchSpace | None = None,
    progress: Progress | None = None,
) -> list[Carried] | Missed:
    """Return what each deployment of a model on one accelerator type carries within an SLO.

    Parameters
    ----------
    asked : Question
        The model, with lengths and without a load.
    card : Gpu
        The accelerator.
    slo : LatencySlo
        Limits, and the share of requests that must keep them.
    load : SimulatedLoad
        How requests arrive, and their lengths.
    workload : Workload
        Mean lengths, and the longest.
    judge : callable, optional
        Which of them is wanted, the least by this key. A deployment is simulated where it could be less by
        the first part of the key, were its rate 1.25 times that at which its medians keep the SLO; and no
        further where it does not keep the rate that it would need.
    by_size : bool
        Whether a deployment has to be less than those alone that take no more GPUs than it does.
    space : SearchSpace, optional
        Deployments to try: single copies whose GPUs all do both prefill and decode.
    progress : callable, optional
        Called with the deployments that were simulated, and all of them.

    Returns
    -------
    list of Carried, or Missed
        Those that keep the SLO, the best by the key first.
    """
    one_copy = {"copies": False, "disaggregated": False}
    found = search_again(asked, card, space=(space or SearchSpace()).model_copy(update=one_copy))
    steady = _steady_points(found, slo)
    if not steady:
        return _missed(found, slo)
    if judge is not None:
        steady.sort(key=lambda one: _hoped(judge, one.point))
    kept: list[Carried] = []
    failed: list[tuple[Candidate, SimulationResult]] = []
    for done, each in enumerate(steady):
        if progress is not None:
            progress(done, len(steady))
        last = LAST
        rivals = [one for one in kept if not by_size or one.candidate.gpus <= each.point.candidate.gpus]
        if judge is not None and rivals:
            wanted = min(_reached(judge, one) for one in rivals)[0]
            slowest = _slowest_below(judge, each, wanted)
            if slowest is None:
                continue
            last = slowest
        verified = _verified(asked, card, each, slo, load, workload, last)
        if isinstance(verified, Carried):
            kept.append(verified)
        else:
            failed.append((each.point.candidate, verified))
    if kept:
        return kept if judge is None else sorted(kept, key=lambda one: _reached(judge, one))
    candidate, result = max(failed, key=lambda one: one[1].slo_share or 0.0)
    return Missed(candidate.label, candidate.gpus, *_failed(result, slo))


def _hoped(judge: Judge, point: Point) -> Key:
    return judge(point.candidate, point.request_rate_per_s, point.e2e_s)


def _reached(judge: Judge, one: Carried) -> Key:
    return judge(one.candidate, one.rate_per_s, one.e2e_s)


def _slowest_below(judge: Judge, steady: _Steady, wanted: float) -> int | None:
    """Return the step of the lowest rate at which a candidate is less than wanted; None if it cannot be."""
    point, slowest = steady.point, None
    for step in range(_step_of(OVER_MEDIANS * point.request_rate_per_s / steady.capacity_per_s), LAST + 1):
        rate = steady.capacity_per_s * RATIO**step
        if not judge(point.candidate, rate, point.e2e_s)[0] < wanted:
            break
        slowest = step
    return slowest


@dataclass(frozen=True, slots=True)
class _Steady:
    """A candidate before it is simulated: where its medians keep the SLO, and the most that it serves."""

    point: Point
    capacity_per_s: float


def _steady_points(found: SearchResult, slo: LatencySlo) -> list[_Steady]:
    """Return each candidate whose medians keep the SLO, at the load where it serves most requests so."""
    if not len(found.found.option):
        return []
    meeting = found.meeting(slo)
    points = []
    for option in np.unique(meeting.option):
        places = np.flatnonzero(meeting.option == option)
        best = int(places[np.argmax(meeting.output_tps[places])])
        of_option = np.flatnonzero(found.found.option == option)
        full = of_option[np.argmax(found.found.output_tps[of_option])]
        capacity = float(found.found.output_tps[full]) / found.osl
        points.append(_Steady(found.point(meeting, best), capacity))
    return points


def _verified(
    asked: Question,
    card: Gpu,
    steady: _Steady,
    slo: LatencySlo,
    load: SimulatedLoad,
    workload: Workload,
    last: int,
) -> Carried | SimulationResult:
    """Return the highest rate of the grid at which the share keeps the SLO, or the simulation at the last.

    The grid hangs on the capacity alone, and the seed is the same for all, so that another SLO is judged at
    the same rates and by the same arrivals.
    """
    candidate, capacity = steady.point.candidate, steady.capacity_per_s
    ready = _ready(asked, card, Same(candidate), workload)
    requests = int(min(max(AT_LEAST, EACH * steady.point.concurrency), AT_MOST))
    results: dict[int, SimulationResult] = {}

    def keeps(step: int) -> bool:
        if step not in results:
            results[step] = served(ready, load, workload, capacity * RATIO**step, requests, slo)
        return bool(results[step].meets_slo)

    begin = min(_step_of(START * steady.point.request_rate_per_s / capacity), last)
    high = _first_kept(keeps, begin, last)
    if high is None:
        return results[last]
    rate = capacity * RATIO**high
    return Carried(candidate, steady.point, capacity, rate, results[high], ready)


@kept
def _ready(asked: Question, card: Gpu, candidate: Same[Candidate], workload: Workload) -> Ready:
    made = candidate.record
    return ready_to_simulate(asked, card, made.deployment, made.memory, workload)


def _step_of(share: float) -> int:
    """Return the step of the grid at a share of the most, or the next below."""
    return min(LAST, max(0, math.ceil(math.log(share) / math.log(RATIO) - 1e-9)))


def _first_kept(keeps: Callable[[int], bool], begin: int, last: int) -> int | None:
    """Return the first step that keeps the SLO, looked for from where it is likely; None if none does."""
    stride = 1
    if keeps(begin):
        high, low = begin, begin - stride
        while low >= 0 and keeps(low):
            stride *= 2
            high, low = low, low - stride
        low = max(low, -1)
    else:
        low, high = begin, min(begin + stride, last)
        while not keeps(high):
            if high == last:
                return None
            stride *= 2
            low, high = high, min(high + stride, last)
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if keeps(middle) else (middle, high)
    return high


def served(
    ready: Ready,
    load: SimulatedLoad,
    workload: Workload,
    rate_per_s: float,
    requests: int,
    slo: LatencySlo,
    progress: Progress | None = None,
) -> SimulationResult:
    """Simulate one replica at a rate.

    Parameters
    ----------
    ready : Ready
        The replica.
    load : SimulatedLoad
        Arrivals, lengths and seed.
    workload : Workload
        Mean lengths.
    rate_per_s : float
        Requests that one replica gets [requests/s].
    requests : int
        How many are simulated.
    slo : LatencySlo
        What they must keep.
    progress : callable, optional
        Called with the requests that have finished, and all of them.

    Returns
    -------
    SimulationResult
    """
    at_rate = workload.model_copy(update={"request_rate": rate_per_s, "concurrency": None})
    what = replace(load, requests=requests, slo=slo, trace=None)
    trace = None if load.trace is None else Same(load.trace)
    run = Alike(
        (Same(ready), what, trace, at_rate), (ready, replace(what, trace=load.trace), at_rate, progress)
    )
    return looked_up(_simulated, run)


@lru_cache(maxsize=KEPT)
def _simulated(run: Alike) -> SimulationResult:
    """Return a simulation, which begins from a seed: no price and nobody who watches changes it."""
    ready, load, workload, progress = run.take()
    result: SimulationResult = ready.simulate(load, workload, progress)
    return result


def _failed(result: SimulationResult, slo: LatencySlo) -> tuple[tuple[FailedLimit, ...], str]:
    """Return the limits that the asked share of requests does not keep, the worst first, and of what share.

    Where each limit is kept by that share, but not by the same requests, one of them is failed by more than
    its part of those that may fail.
    """
    at = f"of simulated requests at {result.flow.offered_per_s:.3g}/s"
    if failed := _failed_by(result, slo, slo.share):
        return failed, f"{100 * slo.share:g} % {at}"
    part = 1 - (1 - slo.share) / len(slo.limits)
    return _failed_by(result, slo, part), f"{100 * part:.4g} % {at}, as {100 * slo.share:g} % keep all limits"


def _failed_by(result: SimulationResult, slo: LatencySlo, share: float) -> tuple[FailedLimit, ...]:
    requests = result.requests
    times = {"ttft_s": requests.ttft_s, "e2e_s": requests.e2e_s, "tpot_s": requests.tpot_s}
    failed = []
    for name, limit in slo.limits.items():
        known = times[name][requests.measured]
        known = known[np.isfinite(known)]  # a single output token has no time to the next one
        value = float(np.percentile(known, 100 * share)) if known.size else 0.0
        if value > limit:
            failed.append(FailedLimit(name, limit, value))
    return tuple(sorted(failed, key=lambda one: -one.over))


def _missed(found: SearchResult, slo: LatencySlo) -> Missed:
    near = found.closest(slo)
    if near is None:
        reasons = tuple(f"{one.reason} ({one.count}): {one.example}" for one in found.refused)
        return Missed("", 0, (), "", reasons)
    point, failed = near
    how = f"medians with {point.concurrency:.3g} at once"
    return Missed(point.candidate.label, point.candidate.gpus, failed, how)
