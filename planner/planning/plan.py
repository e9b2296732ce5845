"""From a traffic and an SLO to replicas, GPUs, nodes, racks and cost on each accelerator type."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated

from pydantic import Field

from planner.catalogue import Gpu
from planner.economics import PricePerHour
from planner.economics.energy import Power, power_of
from planner.economics.per_token import TokenCosts, token_costs
from planner.economics.use import Use
from planner.errors import InvalidInput, Unsupported
from planner.planning.headroom import Headroom
from planner.planning.question import Question
from planner.planning.replica import AT_MOST, EACH, Carried, Missed, Progress, carried, served
from planner.planning.search import Candidate, SearchSpace
from planner.planning.service_simulation import SimulatedLoad
from planner.planning.sized import ROUNDING, Sized, size
from planner.planning.traffic import Traffic
from planner.scenario import Workload
from planner.scenario.records import Count, Plain, Scenario
from planner.scenario.slo import LatencySlo

if TYPE_CHECKING:
    from planner.performance.simulation import SimulationResult

SETTLED, MOST_ROUNDS = 0.005, 6
"""Rates of users who think are worked out again until they change by less than a share, or so many times."""

MEAN_LOAD = Use(
    utilisation=1.0,
    availability=1.0,
    provenance="idle and spare GPUs are counted: the mean load over all GPUs that are paid for",
)


class PlanTerms(Scenario):
    """What a plan is made for, beside the model, its lengths and the traffic."""

    slo: LatencySlo
    """Limits, and the share of requests that must keep them."""
    headroom: Headroom = Headroom()
    """What is kept free."""
    part_nodes: bool = False
    """Whether GPUs are paid for one by one, and not as whole nodes."""
    kw_per_gpu: Mapping[str, float] = {}
    """All-in power of GPUs by id, where it is not published [kW]."""
    rack_kw: Annotated[float, Plain, Field(gt=0, le=10_000)] | None = None
    """Power that a rack can take [kW]; None leaves racks out."""
    requests: Count = 2000
    """Requests of the simulation at the chosen size, at least."""


@dataclass(frozen=True, slots=True)
class HourPlan:
    """One hour of the day.

    Parameters
    ----------
    hour : int
        From 0 to 23.
    mean_per_s, planned_per_s : float
        Mean rate, and the rate to plan for [requests/s].
    sized : Sized
        What this hour needs by itself.
    """

    hour: int
    mean_per_s: float
    planned_per_s: float
    sized: Sized


@dataclass(frozen=True, slots=True, eq=False)
class GpuPlan:
    """The plan on one accelerator type.

    Parameters
    ----------
    gpu : Gpu
        The type.
    traffic : Traffic
        The arrivals, with think times turned into rates.
    terms : PlanTerms
        What it is made for.
    workload : Workload
        Lengths.
    carried : Carried
        The deployment and its rate.
    sized : Sized
        How many of everything.
    interval : tuple of int
        GPUs at the high and at the low end of the 80 % interval of the rate.
    goodput : SimulationResult
        One replica with its share of the peak, spares not counted.
    hours : tuple of HourPlan
        What each hour needs; empty where nobody said how the hours differ.
    price : PricePerHour or None
        Of one GPU.
    unpriced : str
        Why there is none.
    costs : TokenCosts or None
        At the mean load.
    power : Power or None
        All-in, of one GPU.
    no_power : str
        Why it is not known.
    racks : int or None
        Racks by power.
    """

    gpu: Gpu
    traffic: Traffic
    terms: PlanTerms
    workload: Workload
    carried: Carried
    sized: Sized
    interval: tuple[int, int]
    goodput: SimulationResult
    hours: tuple[HourPlan, ...]
    price: PricePerHour | None
    unpriced: str
    costs: TokenCosts[float] | None
    power: Power | None
    no_power: str
    racks: int | None

    @property
    def candidate(self) -> Candidate:
        """Return the deployment of one replica."""
        return self.carried.candidate

    @property
    def in_flight(self) -> float:
        """Return the requests in the system at the peak, by Little's law: rate times mean time."""
        assert self.goodput.e2e_s is not None
        return self.traffic.peak_per_s * self.goodput.e2e_s.mean

    @property
    def utilisation_mean(self) -> float:
        """Return the mean load over what all replicas carry within the SLO, spares included."""
        return self.traffic.mean_per_s / (self.sized.replicas * self.sized.rate_per_s)

    @property
    def goodput_per_s(self) -> float:
        """Return the requests that keep the SLO at the peak [requests/s]."""
        return self.traffic.peak_per_s * (self.goodput.slo_share or 0.0)

    @property
    def usd_per_hour(self) -> float | None:
        """Return the cost of all GPUs [USD/h]."""
        return None if self.price is None else self.sized.gpus * self.price.usd_per_gpu_hour

    @property
    def power_kw(self) -> float | None:
        """Return the power of all GPUs [kW]."""
        return None if self.power is None else self.sized.gpus * self.power.kw_per_gpu

    @property
    def fixed_gpu_hours(self) -> float:
        """Return the GPU-hours of a day at a fixed size."""
        return 24.0 * self.sized.gpus

    @property
    def scaled_gpu_hours(self) -> float | None:
        """Return the GPU-hours of a day where each hour has what it needs."""
        return float(sum(hour.sized.gpus for hour in self.hours)) if self.hours else None


@dataclass(frozen=True, slots=True)
class NoPlan:
    """Why there is no plan on one accelerator type.

    Parameters
    ----------
    gpu : Gpu
        The type.
    missed : Missed
        The deployment that comes closest, and what it fails.
    """

    gpu: Gpu
    missed: Missed


def plan_on(
    asked: Question,
    card: Gpu,
    traffic: Traffic,
    terms: PlanTerms,
    load: SimulatedLoad,
    *,
    workload: Workload,
    space: SearchSpace | None = None,
    progress: Progress | None = None,
) -> GpuPlan | NoPlan:
    """Return the plan that pays for the fewest GPUs of one type.

    Parameters
    ----------
    asked : Question
        The model, with lengths and without a load.
    card : Gpu
        The accelerator.
    traffic : Traffic
        Arrivals.
    terms : PlanTerms
        SLO, headroom, racks.
    load : SimulatedLoad
        How requests arrive, their lengths, and the seed.
    workload : Workload
        Mean lengths, and the longest.
    space : SearchSpace, optional
        Deployments to try.
    progress : callable, optional
        Called with the requests of the last simulation that have finished, and all of them.

    Returns
    -------
    GpuPlan or NoPlan
    """
    whole_nodes = card.whole_nodes and not terms.part_nodes

    def sized(gpus: int, planned_per_s: float, rate_per_s: float) -> Sized:
        return size(
            planned_per_s=planned_per_s,
            rate_per_s=rate_per_s,
            headroom=terms.headroom,
            replica_gpus=gpus,
            node_gpus=card.node_gpus,
            whole_nodes=whole_nodes,
        )

    def dear(candidate: Candidate, rate_per_s: float, e2e_s: float) -> tuple[float, ...]:
        peak = traffic.answered_in(e2e_s).peak_per_s
        return float(sized(candidate.gpus, peak, rate_per_s).gpus), -rate_per_s / candidate.gpus

    found = carried(asked, card, terms.slo, load, workload=workload, judge=dear, space=space)
    if isinstance(found, Missed):
        return NoPlan(card, found)
    best = found[0]
    gpus = best.candidate.gpus

    def at_rate(rate_per_s: float) -> SimulationResult:
        requests = max(terms.requests, min(round(EACH * best.steady.concurrency), AT_MOST))
        return served(best.ready, load, workload, rate_per_s, requests, terms.slo, progress)

    def at_size(known: Traffic) -> tuple[Sized, SimulationResult]:
        whole = sized(gpus, known.peak_per_s, best.rate_per_s)
        return whole, at_rate(known.peak_per_s / whole.working)

    known = traffic
    if traffic.think_s is not None:
        known = _settled(
            traffic, at_size, _mean_s(at_rate(best.rate_per_s * terms.headroom.peak_utilisation))
        )
    whole, goodput = at_size(known)
    low, high = (sized(gpus, known.peak_per_s, rate).gpus for rate in reversed(best.interval))
    price = asked.prices.get(card.id)
    power, no_power = _power(asked, card, terms)
    return GpuPlan(
        gpu=card,
        traffic=known,
        terms=terms,
        workload=workload,
        carried=best,
        sized=whole,
        interval=(low, high),
        goodput=goodput,
        hours=tuple(
            HourPlan(hour, mean, planned, sized(gpus, planned, best.rate_per_s))
            for hour, (mean, planned) in enumerate(zip(known.hourly_per_s, known.planned_per_s, strict=True))
        )
        if known.hours_known
        else (),
        price=price,
        unpriced=asked.unpriced.get(card.id, "" if price else "no price was given"),
        costs=None if price is None else _costs(known, workload, whole, price, best, power),
        power=power,
        no_power=no_power,
        racks=_racks(card, whole.nodes, power, terms.rack_kw),
    )


def _settled(
    traffic: Traffic, at_size: Callable[[Traffic], tuple[Sized, SimulationResult]], time_s: float
) -> Traffic:
    """Return the arrivals of users who think, with the time of a request at the size that they need.

    It begins with the time at the most that a replica is given: fuller replicas answer later, and are asked
    less often.
    """
    assert traffic.think_s is not None
    for _ in range(MOST_ROUNDS):
        found_s = _mean_s(at_size(traffic.answered_in(time_s))[1])
        if abs((traffic.think_s + found_s) / (traffic.think_s + time_s) - 1) < SETTLED:
            break
        time_s = (time_s + found_s) / 2
    return traffic.answered_in(time_s)


def _mean_s(result: SimulationResult) -> float:
    """Return the mean time of a whole request [s]."""
    assert result.e2e_s is not None
    return result.e2e_s.mean


def _power(asked: Question, card: Gpu, terms: PlanTerms) -> tuple[Power | None, str]:
    try:
        return power_of(card, asked.catalogue, kw_per_gpu=terms.kw_per_gpu.get(card.id)), ""
    except Unsupported as error:
        return None, str(error)


def _costs(
    traffic: Traffic,
    workload: Workload,
    sized: Sized,
    price: PricePerHour,
    best: Carried,
    power: Power | None,
) -> TokenCosts[float]:
    """Return what tokens cost when the mean load pays for all GPUs."""
    isl, osl = float(workload.isl or 1), float(workload.osl or 1)
    return token_costs(
        output_tps_total=traffic.mean_per_s * osl,
        isl=isl,
        osl=osl,
        gpus=float(sized.gpus),
        usd_per_gpu_hour=price.usd_per_gpu_hour,
        use=MEAN_LOAD,
        prefix_hit=workload.prefix_hit,
        prefill_share=best.steady.prefill_share,
        kw_per_gpu=None if power is None else power.kw_per_gpu,
    )


def _racks(card: Gpu, nodes: int, power: Power | None, rack_kw: float | None) -> int | None:
    """Return how many racks the nodes fill, by power alone."""
    if rack_kw is None or power is None:
        return None
    node_kw = power.kw_per_gpu * card.node_gpus
    held = math.floor(rack_kw / node_kw * (1 + ROUNDING))
    if held < 1:
        raise InvalidInput(
            f"a rack of {rack_kw:g} kW holds no node of {card.id}, which takes {node_kw:.3g} kW; "
            f"the least is {node_kw:.3g} kW"
        )
    return math.ceil(nodes / held)
