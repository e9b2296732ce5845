"""The working of a plan: each step with its formula, its numbers, and where they come from."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from planner.economics.prices import GIVEN as PRICE_GIVEN
from planner.planning.plan import GpuPlan
from planner.planning.traffic import Traffic
from planner.units import format_significant

GIVEN, ASSUMED, WORKED_OUT, SIMULATED = "given", "assumed", "worked out", "simulated"
HOURS_PER_MONTH = 730


@dataclass(frozen=True, slots=True)
class Step:
    """One step from the traffic to the cost.

    Parameters
    ----------
    name : str
        What is worked out.
    formula : str
        In words and signs.
    numbers : str
        The formula with its numbers, or in words what is chosen or given, with no sum to do.
    value : float
        The outcome.
    unit : str
        Its unit.
    provenance : str
        Given, assumed, worked out, simulated or published, and from what.
    summed : bool
        Whether the numbers add up to the value, as an equation does.
    """

    name: str
    formula: str
    numbers: str
    value: float
    unit: str
    provenance: str
    summed: bool = True


def steps_of(plan: GpuPlan) -> tuple[Step, ...]:
    """Return the working of a plan, in order.

    Parameters
    ----------
    plan : GpuPlan
        The plan on one accelerator type.

    Returns
    -------
    tuple of Step
    """
    return (*_traffic(plan), *_replicas(plan), *_machines(plan), *_money(plan))


def _n(value: float) -> str:
    return format_significant(value, 4)


def _traffic(plan: GpuPlan) -> Iterator[Step]:
    traffic, goodput = plan.traffic, plan.goodput
    formula, numbers = "as given", traffic.stated
    if traffic.users is not None and traffic.think_s is not None:
        formula = "users / (think time + time of a request)"
        answered_s = traffic.users / traffic.mean_per_s - traffic.think_s
        numbers = f"{traffic.users:,} / ({_n(traffic.think_s)} s + {_n(answered_s)} s)"
    summed = numbers != f"{_n(traffic.mean_per_s)} requests/s"
    yield Step("mean rate", formula, numbers, traffic.mean_per_s, "requests/s", GIVEN, summed)
    yield _planned(traffic)
    assert goodput.e2e_s is not None
    yield Step(
        "requests in flight",
        "rate x mean time of a request (Little's law)",
        f"{_n(traffic.peak_per_s)}/s x {_n(goodput.e2e_s.mean)} s",
        plan.in_flight,
        "requests",
        f"{SIMULATED}: the time at the chosen size",
    )


def _planned(traffic: Traffic) -> Step:
    formula, numbers, source = (
        "mean rate x peak factor",
        f"{_n(traffic.mean_per_s)} x {_n(traffic.burst)}",
        GIVEN,
    )
    if traffic.hours_known:
        formula = "mean of the busiest hour x burst within it"
        numbers = (
            f"{_n(max(traffic.hourly_per_s))} x {_n(traffic.burst)}; {_n(traffic.peak_factor)} times the mean"
        )
        source = traffic.profile
    elif traffic.burst == 1.0:
        source = "no peak factor and no profile was given: the mean is planned for"
    return Step("rate to plan for", formula, numbers, traffic.peak_per_s, "requests/s", source)


def _replicas(plan: GpuPlan) -> Iterator[Step]:
    carried, sized, slo = plan.carried, plan.sized, plan.terms.slo
    share = f"{100 * slo.share:g} %"
    yield Step(
        "rate of a replica",
        f"highest rate at which {share} of the requests keep the SLO",
        f"{plan.candidate.label}: {_n(carried.steady.request_rate_per_s)}/s by medians, at most "
        f"{_n(carried.capacity_per_s)}/s; {100 * (carried.result.slo_share or 0):.3g} % keep it",
        sized.rate_per_s,
        "requests/s",
        f"{SIMULATED}: {len(carried.result.requests.isl):,} requests, seed {carried.result.seed}",
    )
    headroom = plan.terms.headroom
    used = f"{100 * headroom.peak_utilisation:g} %"
    yield Step(
        "rate it is given",
        "rate of a replica x peak utilisation",
        f"{_n(sized.rate_per_s)} x {used}",
        sized.usable_per_s,
        "requests/s",
        f"utilisation of {used} at the peak: "
        + (GIVEN if "peak_utilisation" in headroom.model_fields_set else ASSUMED),
    )
    yield Step(
        "replicas for the peak",
        "rate to plan for / rate it is given, rounded up",
        f"{_n(sized.planned_per_s)} / {_n(sized.usable_per_s)}",
        sized.working,
        "replicas",
        WORKED_OUT,
    )


def _machines(plan: GpuPlan) -> Iterator[Step]:
    sized, group, spares = plan.sized, plan.sized.group, plan.sized.spares
    several = group.nodes > 1
    what = "replicas" if several else "nodes"
    numbers = f"beside the {sized.groups} for the peak"
    if spares.works is not None:
        every = sized.groups + spares.groups
        numbers += (
            f": at least {sized.groups} of {every} work {100 * (spares.reached or 0):.6g} % of the time, "
            f"each {100 * spares.works:.5g} %"
        )
    fails = f"a replica of {group.nodes} nodes" if several else f"a node of {group.replicas} replicas"
    yield Step(
        "spares",
        f"{fails} fails as a whole: {what} that stand by",
        numbers,
        spares.groups,
        what,
        spares.reason,
        summed=False,
    )
    yield Step(
        "replicas",
        "for the peak + those of the spares",
        f"{sized.working} + {spares.groups} x {group.replicas}",
        sized.replicas,
        "replicas",
        WORKED_OUT,
    )
    yield Step(
        "nodes",
        "nodes that hold the replicas for the peak + spares",
        f"({sized.groups} + {spares.groups}) x {group.nodes}",
        sized.nodes,
        "nodes",
        f"{plan.gpu.node_gpus} GPUs a node",
    )
    yield Step("GPUs", *_gpus(plan), sized.gpus, "GPUs", _interval(plan))
    if plan.power is not None and plan.power_kw is not None:
        yield Step(
            "power",
            "GPUs x all-in power of one",
            f"{sized.gpus} x {_n(plan.power.kw_per_gpu)} kW",
            plan.power_kw,
            "kW",
            plan.power.provenance,
        )
        if plan.racks is not None and plan.terms.rack_kw is not None:
            node_kw = plan.power.kw_per_gpu * plan.gpu.node_gpus
            yield Step(
                "racks",
                "nodes / whole nodes that a rack can power, rounded up",
                f"{sized.nodes} / floor({_n(plan.terms.rack_kw)} kW / {_n(node_kw)} kW)",
                plan.racks,
                "racks",
                WORKED_OUT,
            )


def _gpus(plan: GpuPlan) -> tuple[str, str]:
    sized = plan.sized
    if sized.gpus == sized.nodes * plan.gpu.node_gpus:
        idle = sized.gpus - sized.gpus_used
        return (
            "nodes x GPUs of a node, all of them paid for",
            f"{sized.nodes} x {plan.gpu.node_gpus}; {idle} of them free",
        )
    return "replicas x GPUs of one", f"{sized.replicas} x {plan.candidate.gpus}"


def _interval(plan: GpuPlan) -> str:
    return f"80 % interval: {plan.interval[0]} to {plan.interval[1]}, as sure as the predicted throughput"


def _money(plan: GpuPlan) -> Iterator[Step]:
    sized, traffic, price = plan.sized, plan.traffic, plan.price
    share = 100 * (plan.goodput.slo_share or 0.0)
    yield Step(
        "goodput",
        "rate to plan for x share that keeps the SLO at this size",
        f"{_n(traffic.peak_per_s)} x {share:.4g} %",
        plan.goodput_per_s,
        "requests/s",
        f"{SIMULATED}: {len(plan.goodput.requests.isl):,} requests to one of {sized.working} replicas, "
        "no spare at work",
    )
    yield Step(
        "mean utilisation",
        "mean rate / (replicas x rate of a replica)",
        f"{_n(traffic.mean_per_s)} / ({sized.replicas} x {_n(sized.rate_per_s)})",
        100 * plan.utilisation_mean,
        "%",
        "spares and the hours off the peak are in it",
    )
    if price is None or plan.costs is None or plan.usd_per_hour is None:
        return
    yield Step(
        "cost",
        "GPUs x price",
        f"{sized.gpus} x {_n(price.usd_per_gpu_hour)} USD/h",
        plan.usd_per_hour,
        "USD/h",
        price.provenance if price.kind == PRICE_GIVEN else f"{price.kind}: {price.provenance}",
    )
    yield Step(
        "cost of a month",
        f"cost x {HOURS_PER_MONTH} h",
        f"{_n(plan.usd_per_hour)} x {HOURS_PER_MONTH}",
        plan.usd_per_hour * HOURS_PER_MONTH,
        "USD",
        WORKED_OUT,
    )
    osl = float(plan.workload.osl or 1)
    yield Step(
        "cost of output",
        "cost / output tokens of an hour at the mean rate",
        f"{_n(plan.usd_per_hour)} / ({_n(traffic.mean_per_s)} x {_n(osl)} x 3,600 / 1e6)",
        plan.costs.usd_per_million_output_all,
        "USD per million output tokens",
        "all cost on the output; idle and spare GPUs are counted",
    )
