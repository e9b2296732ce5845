"""Plans and fleets made by hand, so that their drawing depends on no calibration."""

from __future__ import annotations

from types import SimpleNamespace

from planner.economics import given_price
from planner.economics.energy import Power
from planner.performance.intervals import Estimate
from planner.performance.simulation import (
    Batching,
    FixedLength,
    IndependentLengths,
    KvPool,
    PoissonArrivals,
    simulate,
)
from planner.planning.fleet import FleetProblem, ModelDemand, Offer, Supply
from planner.planning.fleet_asked import FleetAsked, FleetGpu, FleetModel
from planner.planning.fleet_making import FleetMade, OnGpu
from planner.planning.fleet_solving import best_fleet
from planner.planning.headroom import Headroom
from planner.planning.plan import GpuPlan, HourPlan, NoPlan, PlanTerms, _costs, _racks
from planner.planning.replica import Carried, Missed
from planner.planning.search import Candidate, FailedLimit, Point
from planner.planning.sized import size
from planner.planning.traffic import Demand, traffic_of
from planner.report.plan import PlanAnswer, PlanReport, ranked
from planner.report.plan_fleet import FleetReport
from planner.scenario import Deployment, Workload
from planner.scenario.slo import LatencySlo

SLO = LatencySlo(ttft_s=2.0, tpot_s=0.05)
WORKLOAD = Workload(isl=100, osl=50)


class Steps:
    """Steps of 10 ms, and a tenth of one for each prompt token."""

    def step_s(self, decode_requests, decode_context_tokens, prefill_tokens, prefill_context_tokens):
        return 0.01 + 0.0001 * prefill_tokens + 0 * decode_context_tokens


def served(rate_per_s):
    """Return a simulation of 400 requests."""
    return simulate(
        step_times=Steps(),
        pool=KvPool(tokens=100_000),
        batching=Batching(max_num_seqs=64),
        arrivals=PoissonArrivals(rate_per_s=rate_per_s),
        lengths=IndependentLengths(FixedLength(tokens=100), FixedLength(tokens=50)),
        requests=400,
        slo=SLO,
    )


def estimate(value):
    return Estimate(value, 0.8 * value, 1.25 * value, "calibrated: made")


def made_carried(gpus, rate_per_s):
    """Return a replica that carries a rate."""
    candidate = Candidate(
        deployment=Deployment(tp=gpus),
        copies=1,
        prefill=None,
        prefill_copies=0,
        memory=None,
        gpus=gpus,
        nodes=-(-gpus // 8),
        label=f"TP{gpus}",
    )
    tps = 50 * rate_per_s
    steady = Point(
        candidate=candidate,
        concurrency=20.0,
        request_rate_per_s=1.1 * rate_per_s,
        output_tps_total=estimate(tps),
        output_tps_per_gpu=estimate(tps / gpus),
        total_tps_per_gpu=estimate(3 * tps / gpus),
        tps_per_user=estimate(50.0),
        ttft_ms=estimate(100.0),
        tpot_ms=estimate(20.0),
        e2e_s=1.1,
        prefill_share=0.4,
        usd_per_million_output_tokens=None,
        source="simulated",
        provenance="calibrated: made",
    )
    ready = SimpleNamespace(service=SimpleNamespace(decode=SimpleNamespace(warnings=())))
    return Carried(candidate, steady, 1.3 * rate_per_s, rate_per_s, served(rate_per_s), ready)


def card(name, vendor):
    return SimpleNamespace(id=name, vendor=vendor, node_gpus=8, whole_nodes=True)


def made_answer(name, *, vendor="NVIDIA", gpus=4, rate=6.0, price=None, kw=None, rack_kw=None, **demand):
    """Return a plan for 20 requests/s, or for another demand."""
    gpu = card(name, vendor)
    traffic = traffic_of(Demand(**{"rate_per_s": 20.0, "peak_factor": 3.0, **demand}))
    terms = PlanTerms(slo=SLO, headroom=Headroom(), rack_kw=rack_kw)
    best = made_carried(gpus, rate)

    def sized(planned, each=rate):
        return size(
            planned_per_s=planned,
            rate_per_s=each,
            headroom=terms.headroom,
            replica_gpus=gpus,
            node_gpus=8,
            whole_nodes=True,
        )

    whole = sized(traffic.peak_per_s)
    money = None if price is None else given_price(price)
    power = None if kw is None else Power(kw, "published: made")
    hours = zip(traffic.hourly_per_s, traffic.planned_per_s, strict=True)
    plan = GpuPlan(
        gpu=gpu,
        traffic=traffic,
        terms=terms,
        workload=WORKLOAD,
        carried=best,
        sized=whole,
        interval=(
            sized(traffic.peak_per_s, 1.25 * rate).gpus,
            sized(traffic.peak_per_s, 0.8 * rate).gpus,
        ),
        goodput=served(traffic.peak_per_s / whole.working),
        hours=tuple(HourPlan(i, mean, planned, sized(planned)) for i, (mean, planned) in enumerate(hours))
        if traffic.hours_known
        else (),
        price=money,
        unpriced="" if money else "no price was given",
        costs=None if money is None else _costs(traffic, WORKLOAD, whole, money, best, power),
        power=power,
        no_power="" if power else "no all-in power is known",
        racks=_racks(gpu, whole.nodes, power, rack_kw),
    )
    return PlanAnswer(asked(), plan, traffic, terms, WORKLOAD)


def made_missed(name):
    """Return an accelerator on which nothing keeps the limits."""
    traffic = traffic_of(Demand(rate_per_s=20.0))
    failed = (FailedLimit("tpot_s", 0.05, 0.0812), FailedLimit("ttft_s", 2.0, 2.5))
    missed = Missed("TP8", 8, failed, "medians with 1 at once")
    found = NoPlan(card(name, "AMD"), missed)
    return PlanAnswer(asked(), found, traffic, PlanTerms(slo=SLO), WORKLOAD)


def asked():
    return SimpleNamespace(
        model=SimpleNamespace(id="made-8b", name="Made 8B"), catalogue=SimpleNamespace(digest="00")
    )


def plans(*answers):
    return PlanReport(ranked(answers))


def fleet(**limits):
    """Return a fleet of two models on two types."""
    rates = {("made-8b", "h100-sxm"): 6.0, ("made-70b", "mi300x"): 2.0, ("made-70b", "h100-sxm"): 1.0}
    gpus = {"made-8b": 1, "made-70b": 4}
    prices = {"h100-sxm": 2.5, "mi300x": 2.0}
    on = [
        OnGpu(model, card(gpu, ""), (made_carried(gpus[model], rate),))
        for (model, gpu), rate in rates.items()
    ]
    missed = Missed("TP1", 1, (FailedLimit("tpot_s", 0.05, 0.0812),), "medians with 1 at once")
    on.append(OnGpu("made-8b", card("mi300x", ""), (), missed=missed))
    wanted = FleetAsked(
        models=[
            FleetModel(model=model, isl=100, osl=50, demand=Demand(rate_per_s=1.0), slo=SLO) for model in gpus
        ],
        gpus=[FleetGpu(gpu=gpu, usd_per_gpu_hour=price) for gpu, price in prices.items()],
        limits=limits,
        spare_nodes=0,
    )
    problem = FleetProblem(
        supplies=[
            Supply(gpu=gpu, unit_gpus=8, usd_per_gpu_hour=price, kw_per_gpu=1.5)
            for gpu, price in prices.items()
        ],
        offers=[
            Offer(
                model=each.model,
                gpu=each.gpu.id,
                label=one.candidate.label,
                gpus=one.candidate.gpus,
                rate_per_s=0.8 * one.rate_per_s,
            )
            for each in on
            for one in each.kept
        ],
        demands=[
            ModelDemand(model="made-8b", rates_per_s=(40.0,)),
            ModelDemand(model="made-70b", rates_per_s=(9.0,)),
        ],
        limits=limits,
    )
    models = tuple(SimpleNamespace(name=model, slo=SLO) for model in gpus)
    made = FleetMade(
        wanted,
        models,
        tuple(card(gpu, "") for gpu in prices),
        {gpu: given_price(price) for gpu, price in prices.items()},
        {gpu: Power(1.5, "published: made") for gpu in prices},
        tuple(on),
        best_fleet(problem),
    )
    return FleetReport(made, digest="00")
