"""What a search found: points, the frontier, what meets an SLO, and what comes closest."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import numpy as np

from planner.catalogue import Gpu
from planner.economics.tokens import usd_per_million_tokens
from planner.errors import InvalidInput, unknown_name
from planner.memory import fit_memory
from planner.performance.intervals import Estimate
from planner.performance.levels import calibration_of
from planner.performance.parameters import Array
from planner.performance.predict import Prediction
from planner.planning.question import Question
from planner.planning.search.evaluation import Evaluator, Found
from planner.planning.search.naming import label_of
from planner.planning.search.pareto import undominated
from planner.planning.search.records import (
    SIMULATED,
    Candidate,
    FailedLimit,
    LeftOut,
    Point,
    Refusal,
    SearchSpace,
)
from planner.scenario import Workload
from planner.scenario.slo import LatencySlo

AIMS = ("throughput", "cost", "interactivity")
LEVEL = 0.01
"""Of copies of one layout that differ by less than this the one with the fewest GPUs is named."""
SATURATED = 0.95
"""Above this share of what prefill, or a whole candidate, can do queues have no steady length."""
HALVINGS = 16
"""After so many the load at which an SLO is just kept is a whole number."""


@dataclass(frozen=True, slots=True, eq=False)
class SearchResult:
    """Every candidate that can run, with what it yields.

    Parameters
    ----------
    asked : Question
        What was asked.
    gpu : Gpu
        The accelerator.
    space : SearchSpace
        What was tried.
    refused : tuple of Refusal
        Deployments of one copy that cannot be, by reason.
    apart : bool
        Whether prefill on GPUs of its own was among what was tried.
    evaluator : Evaluator or None
        Answers for candidates; None where none can run.
    most : array
        Requests that each candidate runs at once.
    tried : Found
        Points in bulk, each candidate's by rising load.
    steady : array of bool
        Which of them are answers.
    left_out : LeftOut
        Those that are not, counted.
    """

    asked: Question
    gpu: Gpu
    space: SearchSpace
    refused: tuple[Refusal, ...]
    apart: bool
    evaluator: Evaluator | None
    most: Array
    tried: Found
    steady: np.ndarray
    left_out: LeftOut
    found: Found = field(init=False)
    """The points that are answers, in bulk."""
    _made: dict[int, Candidate] = field(default_factory=dict)
    explained: dict[tuple[int, float], Prediction] = field(default_factory=dict)
    """Predictions of points that were asked for, by identity of the candidate and load; without prices."""

    def __post_init__(self) -> None:
        """Take the points that are answers out of all."""
        object.__setattr__(self, "found", self.tried.take(np.flatnonzero(self.steady)))

    @classmethod
    def empty(
        cls, asked: Question, gpu: Gpu, space: SearchSpace, refused: tuple[Refusal, ...], apart: bool
    ) -> SearchResult:
        """Return the result where nothing can run."""
        none = np.empty(0)
        nothing = Found(none.astype(int), none, none, none, none, none, none)
        return cls(asked, gpu, space, refused, apart, None, none, nothing, none.astype(bool), LeftOut())

    @property
    def candidates(self) -> int:
        """Return how many candidates can run."""
        return len(self.most)

    @property
    def points(self) -> tuple[Point, ...]:
        """Return all points; there are thousands, and each is made here."""
        return tuple(self.point(self.found, place) for place in range(len(self.found.option)))

    @property
    def usd_per_gpu_hour(self) -> float | None:
        """Return the price of a GPU, where there is one."""
        price = self.asked.prices.get(self.gpu.id)
        return price.usd_per_gpu_hour if price else None

    # -- choosing --------------------------------------------------------------------------------------------

    def frontier(self, slo: LatencySlo | None = None) -> tuple[Point, ...]:
        """Return the points that nothing beats in output per GPU and in interactivity, the fastest first.

        All GPUs of one type have one price, so that it is the frontier of cost and interactivity as well.

        Parameters
        ----------
        slo : LatencySlo, optional
            Limits that all of them keep.

        Returns
        -------
        tuple of Point
        """
        found = self._simple_first(self.meeting(slo))
        if not len(found.option):
            return ()
        chosen = undominated(1 / found.tpot_s, self._per_gpu(found))
        return tuple(self.point(found, place) for place in chosen)

    def meeting(self, slo: LatencySlo | None) -> Found:
        """Return the points that keep an SLO, with the highest load of each candidate that just does.

        Parameters
        ----------
        slo : LatencySlo or None
            Limits, which medians are held against; None is kept by all.

        Returns
        -------
        Found
        """
        if slo is None or self.evaluator is None:
            return self.found
        kept = keeps(slo, self.tried, self.asked) & self.steady
        if self.asked.workload.concurrency or self.asked.workload.request_rate:
            return self.tried.take(np.flatnonzero(kept))
        return self._just_kept(self.evaluator, slo, kept)

    def best(self, slo: LatencySlo | None = None, by: str = "throughput") -> Point | None:
        """Return the best point that keeps an SLO.

        Parameters
        ----------
        slo : LatencySlo, optional
            Limits, which medians are held against.
        by : str
            ``throughput`` per GPU, ``cost`` per token (which needs a price), or ``interactivity``.

        Returns
        -------
        Point or None
            None where nothing keeps it.
        """
        return next(iter(self.ranked(slo, by, 1)), None)

    def ranked(self, slo: LatencySlo | None = None, by: str = "throughput", most: int = 5) -> list[Point]:
        """Return the best point of each layout, the best layout first; copies of one count as the same.

        Parameters
        ----------
        slo, by
            As for `best`.
        most : int
            Layouts at most.

        Returns
        -------
        list of Point
        """
        if by not in AIMS:
            raise unknown_name("aim", by, AIMS)
        if by == "cost" and self.usd_per_gpu_hour is None:
            raise InvalidInput(f"by cost: {self.gpu.id} has no price; give one, or a price kind")
        found = self._simple_first(self.meeting(slo))
        if self.evaluator is None or not len(found.option):
            return []
        value = 1 / found.tpot_s if by == "interactivity" else self._per_gpu(found)
        gpus = self.evaluator.gpus[found.option]
        layout = self.evaluator.layout[found.option]
        chosen: list[Point] = []
        left = np.ones(len(value), dtype=bool)
        while len(chosen) < most and left.any():
            first = int(np.argmax(np.where(left, value, -np.inf)))
            same = np.flatnonzero(layout == layout[first])
            level = same[value[same] >= (1 - LEVEL) * value[first]]
            fewest = level[gpus[level] == gpus[level].min()]
            chosen.append(self.point(found, int(fewest[np.argmax(value[fewest])])))
            left[same] = False
        return chosen

    def closest(self, slo: LatencySlo) -> tuple[Point, tuple[FailedLimit, ...]] | None:
        """Return the point that fails an SLO by least, and the limits that it fails, the worst first.

        Returns
        -------
        tuple of Point and tuple of FailedLimit, or None
            None where nothing runs at all; no failed limit where the point keeps the SLO.
        """
        found = self._simple_first(self.found)
        if not len(found.option):
            return None
        times = latencies(found, self.osl)
        over = np.maximum([times[name] / limit for name, limit in slo.limits.items()], 1.0)
        worst = over.max(axis=0)
        near = np.flatnonzero(worst <= (1 + LEVEL) * worst.min())
        place = int(near[np.argmin(over.sum(axis=0)[near])])
        failed = [
            FailedLimit(name, limit, float(times[name][place]))
            for name, limit in slo.limits.items()
            if times[name][place] > limit
        ]
        return self.point(found, place), tuple(sorted(failed, key=lambda one: -one.over))

    @property
    def osl(self) -> float:
        """Return the output tokens of a request."""
        return float(self.asked.workload.osl or 0)

    def _per_gpu(self, found: Found) -> Array:
        assert self.evaluator is not None
        return np.asarray(found.output_tps / self.evaluator.gpus[found.option])

    def _simple_first(self, found: Found) -> Found:
        """Return points so that of equals the one with fewer GPUs and earlier in the search comes first."""
        if self.evaluator is None:
            return found
        return found.take(np.lexsort((found.option, self.evaluator.gpus[found.option])))

    def _just_kept(self, evaluator: Evaluator, slo: LatencySlo, kept: np.ndarray) -> Found:
        """Return the points of the ladder that keep an SLO, and between two rungs the last that does."""
        found = self.tried
        next_fails = np.append(~kept[1:], True) & np.append(found.option[1:] == found.option[:-1], False)
        edge = np.flatnonzero(kept & next_fails)
        option, low, high = found.option[edge], found.concurrency[edge], found.concurrency[edge + 1]
        for _ in range(HALVINGS):
            middle = np.floor((low + high) / 2)
            between = evaluator.at(option, middle)
            good = keeps(slo, between, self.asked) & (between.busy <= SATURATED)
            low, high = np.where(good, middle, low), np.where(good, high, middle)
        solved = evaluator.at(option, low)
        rungs = found.take(np.flatnonzero(kept))
        names = Found.__dataclass_fields__
        return Found(*(np.concatenate([getattr(rungs, name), getattr(solved, name)]) for name in names))

    # -- records ---------------------------------------------------------------------------------------------

    def point(self, found: Found, place: int) -> Point:
        """Return one point as a record, with intervals."""
        assert self.evaluator is not None
        evaluator, option = self.evaluator, int(found.option[place])
        kind = int(evaluator.kinds[option])
        gpus, osl, isl = int(evaluator.gpus[option]), self.osl, float(self.asked.workload.isl or 0)
        source = calibration_of(self.asked.catalogue).source
        provenance = f"{source}; nearest data: {evaluator.distances[kind]}"

        def sure(quantity: str, value: float) -> Estimate:
            low, high = evaluator.widths[quantity][kind]
            return Estimate(
                value, value * math.exp(min(low, 0.0)), value * math.exp(max(high, 0.0)), provenance
            )

        total = sure("output", float(found.output_tps[place]))
        tpot_s, ttft_s = float(found.tpot_s[place]), float(found.ttft_s[place])
        tpot = sure("tpot", 1e3 * tpot_s)
        price = self.usd_per_gpu_hour
        return Point(
            candidate=self.candidate(option),
            concurrency=float(found.concurrency[place]),
            request_rate_per_s=total.value / osl,
            output_tps_total=total,
            output_tps_per_gpu=total.scaled(1 / gpus),
            total_tps_per_gpu=total.scaled((isl + osl) / osl / gpus),
            tps_per_user=tpot.inverse().scaled(1e3),
            ttft_ms=sure("ttft", 1e3 * ttft_s),
            tpot_ms=tpot,
            e2e_s=ttft_s + (osl - 1) * tpot_s,
            prefill_share=float(found.prefill_share[place]),
            usd_per_million_output_tokens=None if price is None else _cost(total, gpus, price),
            source=SIMULATED,
            provenance=provenance,
        )

    def candidate(self, option: int) -> Candidate:
        """Return one candidate as a record."""
        assert self.evaluator is not None
        if option not in self._made:
            chosen = self.evaluator.options[option]
            units = self.evaluator.units
            deployment = units[chosen.unit].deployment
            prefill = units[chosen.filling].deployment if chosen.filling >= 0 else None
            workload = self.asked.workload
            self._made[option] = Candidate(
                deployment=deployment,
                copies=chosen.copies,
                prefill=prefill,
                prefill_copies=chosen.filling_copies,
                memory=fit_memory(
                    model=self.asked.model,
                    gpu=self.gpu,
                    deployment=deployment,
                    workload=Workload(context=workload.context, isl=workload.isl, osl=workload.osl),
                    catalogue=self.asked.catalogue,
                    advise=False,
                ),
                gpus=chosen.gpus,
                nodes=-(-chosen.gpus // self.gpu.node_gpus),
                label=label_of(deployment, chosen.copies, prefill, chosen.filling_copies, self.asked.base),
            )
        return self._made[option]


def _cost(total: Estimate, gpus: int, usd_per_gpu_hour: float) -> Estimate:
    """Return what a million output tokens cost while GPUs run at a rate, with its interval [USD]."""
    value, high, low = (
        usd_per_million_tokens(output_tokens_per_s=rate, gpus=gpus, usd_per_gpu_hour=usd_per_gpu_hour)
        for rate in (total.value, total.low, total.high)
    )
    return Estimate(value, low, high, total.provenance)


def latencies(found: Found, osl: float) -> dict[str, Array]:
    """Return the latencies that an SLO may limit, by name [s]."""
    whole = found.ttft_s + (osl - 1) * found.tpot_s
    # A single output token has no time to the next one.
    between = found.tpot_s if osl > 1 else np.zeros_like(found.tpot_s)
    return {"ttft_s": found.ttft_s, "tpot_s": between, "e2e_s": whole}


def keeps(slo: LatencySlo, found: Found, asked: Question) -> np.ndarray:
    """Return which points keep every limit of an SLO."""
    times = latencies(found, float(asked.workload.osl or 0))
    return np.asarray(np.all([times[name] <= limit for name, limit in slo.limits.items()], axis=0))
