"""Fleets: the integer programme against every fleet there is, and what stands in the way of one."""

from __future__ import annotations

import ctypes
import itertools
import math
import os
import time

import numpy as np
import pytest
import scipy.optimize
from hypothesis import given, settings
from hypothesis import strategies as st

from planner.errors import PlannerError
from planner.planning.fleet import FleetPlan, FleetProblem, Limits, ModelDemand, NoFleet, Offer, Supply
from planner.planning.fleet_programme import Programme, Solved, caps_of
from planner.planning.fleet_search import _growing, _narrowed, _units_first
from planner.planning.fleet_solving import _plan, best_fleet, undominated

MODELS, GPUS = ("small", "large"), ("a", "b")
FAR = 1e12


@st.composite
def problems(draw, hours=2):
    supplies = [
        Supply(
            gpu=gpu,
            unit_gpus=draw(st.sampled_from([1, 4])),
            usd_per_gpu_hour=draw(st.integers(1, 9)),
            stock_gpus=draw(st.sampled_from([None, 4, 8])),
            capex_usd_per_gpu=draw(st.integers(1, 5)),
            kw_per_gpu=draw(st.sampled_from([0.5, 1.0, 1.5])),
        )
        for gpu in GPUS
    ]
    offers = [
        Offer(model=model, gpu=gpu, label=f"TP{gpus}", gpus=gpus, rate_per_s=draw(st.integers(2, 6)))
        for model in MODELS
        for gpu in GPUS
        for gpus in draw(st.lists(st.sampled_from([1, 2, 4, 8]), max_size=2, unique=True))
    ]
    demands = [
        ModelDemand(
            model=model,
            rates_per_s=tuple(draw(st.integers(0, 7)) for _ in range(hours)),
            weight=draw(st.sampled_from([1.0, 2.5])),
        )
        for model in MODELS
    ]
    if not any(any(one.rates_per_s) for one in demands):
        demands[0] = ModelDemand(model="small", rates_per_s=(3.0,) * hours)
    scaling = draw(st.sampled_from(["fixed", "reassigned", "hourly"]))
    limits = Limits(
        usd_per_hour=draw(st.sampled_from([None, 20, 60])),
        usd_per_month=draw(st.sampled_from([None, 20 * 730, 60 * 730])),
        capex_usd=draw(st.sampled_from([None, 30])) if scaling != "hourly" else None,
        power_kw=draw(st.sampled_from([None, 8])),
    )
    return FleetProblem(
        supplies=supplies,
        offers=offers,
        demands=demands,
        limits=limits,
        scaling=scaling,
        objective=draw(st.sampled_from(["least-cost", "most-served"])),
        spare_units=draw(st.sampled_from([0, 1])),
    )


def replica_choices(problem, hour):
    """Return each way to place replicas that could be of use in an hour (None: the busiest of each model)."""
    demand = {
        one.model: max(one.rates_per_s) if hour is None else one.rates_per_s[hour] for one in problem.demands
    }
    ranges = [range(math.ceil(demand[offer.model] / offer.rate_per_s) + 1) for offer in problem.offers]
    return itertools.product(*ranges)


def units_of(problem, replicas):
    """Return the units that replicas take, spares included."""
    units = []
    for supply in problem.supplies:
        taken = sum(
            problem.unit_share(offer) * count
            for offer, count in zip(problem.offers, replicas, strict=True)
            if offer.gpu == supply.gpu
        )
        used = math.ceil(taken - 1e-9)
        units.append(used + problem.spare_units if used else 0)
    return tuple(units)


def served(problem, replicas, hour):
    """Return what is served in an hour, weighted."""
    total = 0.0
    for demand in problem.demands:
        able = sum(
            offer.rate_per_s * count
            for offer, count in zip(problem.offers, replicas, strict=True)
            if offer.model == demand.model
        )
        total += demand.weight * min(able, demand.rates_per_s[hour])
    return total


def asked(problem, hour):
    return sum(one.weight * one.rates_per_s[hour] for one in problem.demands)


def brute_force(problem):
    """Return (what is served, its least cost) of the best fleet, or None, by trying every fleet."""
    hours = range(problem.hours)
    if problem.scaling == "fixed":
        every = {}
        for replicas in replica_choices(problem, None):
            values = tuple(served(problem, replicas, hour) for hour in hours)
            every.setdefault(units_of(problem, replicas), set()).add(values)
        days = [((units,) * problem.hours, values) for units, found in every.items() for values in found]
    else:
        by_hour = []
        for hour in hours:
            found = {}
            for replicas in replica_choices(problem, hour):
                units = units_of(problem, replicas)
                found[units] = max(found.get(units, 0.0), served(problem, replicas, hour))
            by_hour.append(list(found.items()))
        days = []
        for parts in itertools.product(*by_hour):
            units = tuple(part[0] for part in parts)
            if problem.scaling == "reassigned":
                units = (tuple(max(column) for column in zip(*units, strict=True)),) * problem.hours
            days.append((units, tuple(part[1] for part in parts)))
    best = None
    for units, values in days:
        if not allowed(problem, units):
            continue
        cost = sum(cost_of(problem, one) for one in units) / problem.hours
        total = sum(values) / problem.hours
        if problem.objective == "least-cost":
            if any(value < asked(problem, hour) - 1e-9 for hour, value in enumerate(values)):
                continue
            total = 0.0
        if best is None or (-total, cost) < best:
            best = (-total, cost)
    return best


def cost_of(problem, units, field="usd_per_gpu_hour"):
    return sum(
        count * one.unit_gpus * getattr(one, field)
        for count, one in zip(units, problem.supplies, strict=True)
    )


def allowed(problem, day):
    limits = problem.limits
    for units in day:
        for count, one in zip(units, problem.supplies, strict=True):
            if count * one.unit_gpus > (FAR if one.stock_gpus is None else one.stock_gpus):
                return False
        if cost_of(problem, units) > (limits.usd_per_hour or FAR):
            return False
        if cost_of(problem, units, "kw_per_gpu") > (limits.power_kw or FAR):
            return False
        if cost_of(problem, units, "capex_usd_per_gpu") > (limits.capex_usd or FAR):
            return False
    mean = sum(cost_of(problem, units) for units in day) / len(day)
    return mean * 730 <= (limits.usd_per_month or FAR) + 1e-9


def check(plan, problem):
    """Check that a plan keeps what it claims, whatever the solver said."""
    hours = range(problem.hours)
    for demand in problem.demands:
        for hour in hours:
            able = sum(
                one.offer.rate_per_s * one.replicas[hour if len(one.replicas) > 1 else 0]
                for one in plan.placements
                if one.offer.model == demand.model
            )
            wanted = (
                demand.rates_per_s[hour]
                if problem.objective == "least-cost"
                else plan.served_per_s[demand.model][hour]
            )
            assert able >= wanted * (1 - 1e-6)
    for stand in plan.stands:
        assert max(stand.gpus) <= (FAR if stand.supply.stock_gpus is None else stand.supply.stock_gpus)


@settings(max_examples=120)
@given(problem=problems())
def test_the_programme_is_as_good_as_trying_every_fleet(problem):
    expected = brute_force(problem)
    found = best_fleet(problem, gap=0.0)
    if expected is None:
        assert isinstance(found, NoFleet)
        return
    assert isinstance(found, FleetPlan), found.sentence
    check(found, problem)
    if problem.objective == "most-served":
        total = sum(asked(problem, hour) for hour in range(problem.hours)) / problem.hours
        assert found.served_share * total == pytest.approx(-expected[0], abs=1e-5)
    assert found.usd_per_hour == pytest.approx(expected[1], abs=1e-6)
    assert found.gap <= 1e-6


@settings(max_examples=60)
@given(problem=problems())
def test_a_named_limit_is_the_one_that_binds_and_the_need_is_exact(problem):
    problem = problem.model_copy(update={"objective": "least-cost"})
    found = best_fleet(problem, gap=0.0)
    if not isinstance(found, NoFleet) or found.unserved:
        return
    for binding in found.bindings:
        assert binding.needed > binding.limit
        lifted = with_limit(problem, binding.name, binding.needed)
        assert isinstance(best_fleet(lifted, gap=0.0), FleetPlan), binding
        almost = with_limit(problem, binding.name, binding.needed - 1e-3)
        assert isinstance(best_fleet(almost, gap=0.0), NoFleet), binding


def with_limit(problem, name, value):
    if name.startswith("stock of "):
        supplies = tuple(
            one.model_copy(update={"stock_gpus": math.floor(value)}) if name.endswith(f" {one.gpu}") else one
            for one in problem.supplies
        )
        return problem.model_copy(update={"supplies": supplies})
    limits = problem.limits.model_copy(update={name: value * (1 + 1e-9)})
    return problem.model_copy(update={"limits": limits})


@settings(max_examples=60)
@given(problem=problems(hours=3))
def test_the_ways_for_large_fleets_keep_every_limit_and_never_beat_the_best(problem):
    problem = problem.model_copy(update={"offers": undominated(problem)})
    caps = [cap for cap in caps_of(problem) if not (cap.mean and problem.scaling == "hourly")]
    best = best_fleet(
        problem.model_copy(
            update={
                "limits": problem.limits.model_copy(
                    update={"usd_per_month": None} if problem.scaling == "hourly" else {}
                )
            }
        ),
        gap=0.0,
    )
    if problem.scaling == "fixed" or isinstance(best, NoFleet):
        return
    deadline = time.perf_counter() + 20
    if problem.objective == "most-served":
        found = _units_first(problem, caps, 0.0, deadline)
    elif problem.scaling == "reassigned":
        found = _growing(problem, caps, 0.0, deadline)
    else:
        return
    assert found is not None
    assert found.bound <= found.objective + 1e-6
    if problem.objective == "least-cost":
        assert found.objective == pytest.approx(best.usd_per_hour)
    else:
        total = sum(asked(problem, hour) for hour in range(problem.hours)) / problem.hours
        assert found.bound - 1e-6 <= -best.served_share * total <= found.objective + 1e-6


@settings(max_examples=60)
@given(problem=problems(hours=1))
def test_one_hour_of_many_is_bounded_from_below(problem):
    problem = problem.model_copy(
        update={"offers": undominated(problem), "objective": "least-cost", "scaling": "hourly"}
    )
    best = best_fleet(problem, gap=0.0)
    if isinstance(best, NoFleet):
        return
    found = _narrowed(problem, caps_of(problem), 0.0, time.perf_counter() + 10)
    assert found.bound - 1e-6 <= best.usd_per_hour <= found.objective + 1e-6


@settings(max_examples=60)
@given(problem=problems())
def test_a_mixed_fleet_costs_no_more_than_the_best_of_one_type(problem):
    problem = problem.model_copy(update={"objective": "least-cost"})
    mixed = best_fleet(problem, gap=0.0)
    for gpu in GPUS:
        offers = tuple(offer for offer in problem.offers if offer.gpu == gpu)
        single = best_fleet(problem.model_copy(update={"offers": offers}), gap=0.0)
        if isinstance(single, FleetPlan):
            assert isinstance(mixed, FleetPlan)
            assert mixed.usd_per_hour <= single.usd_per_hour + 1e-6


@settings(max_examples=60)
@given(problem=problems(), more=st.integers(1, 5))
def test_more_demand_never_costs_less(problem, more):
    problem = problem.model_copy(update={"objective": "least-cost"})
    raised = problem.model_copy(
        update={
            "demands": tuple(
                one.model_copy(update={"rates_per_s": tuple(rate + more for rate in one.rates_per_s)})
                for one in problem.demands
            )
        }
    )
    before, after = best_fleet(problem, gap=0.0), best_fleet(raised, gap=0.0)
    if isinstance(after, FleetPlan):
        assert isinstance(before, FleetPlan)
        assert after.usd_per_hour >= before.usd_per_hour - 1e-6


def simple(**changes):
    given = {
        "supplies": [Supply(gpu="a", unit_gpus=8, usd_per_gpu_hour=2.0, kw_per_gpu=1.0)],
        "offers": [Offer(model="m", gpu="a", label="TP4", gpus=4, rate_per_s=1.0)],
        "demands": [ModelDemand(model="m", rates_per_s=(5.0,))],
    }
    return FleetProblem(**{**given, **changes})


def test_a_fleet_worked_out_by_hand():
    # 5 requests/s at 1 a replica are 5 replicas of 4 GPUs: two to a node, 3 nodes, 24 GPUs, 48 USD/h.
    plan = best_fleet(simple())
    assert [one.replicas for one in plan.placements] == [(5,)]
    assert (plan.gpus, plan.usd_per_hour, plan.power_kw) == (24, 48.0, 24.0)
    assert (plan.status, plan.gap, plan.usd_per_month) == ("optimal", 0.0, 730 * 48.0)


@pytest.mark.parametrize("spare", [0, 1, 2])
def test_spare_units_are_added_to_each_type_in_use(spare):
    plan = best_fleet(simple(spare_units=spare))
    assert plan.gpus == 8 * (3 + spare)


def test_a_limit_that_binds_is_named_with_what_is_needed():
    found = best_fleet(simple(limits=Limits(power_kw=16, usd_per_hour=1000)))
    assert found.sentence == "no fleet: power_kw: 24 kW are needed, 16 are allowed"


def test_limits_that_bind_together_are_named():
    supplies = [
        Supply(gpu="a", unit_gpus=8, usd_per_gpu_hour=2.0, kw_per_gpu=1.0, stock_gpus=16),
        Supply(gpu="b", unit_gpus=8, usd_per_gpu_hour=9.0, kw_per_gpu=1.0, stock_gpus=16),
    ]
    offers = [Offer(model="m", gpu=gpu, label="TP4", gpus=4, rate_per_s=1.0) for gpu in ("a", "b")]
    found = best_fleet(simple(supplies=supplies, offers=offers, limits=Limits(usd_per_hour=90, power_kw=16)))
    assert not found.bindings
    # 5 replicas are 3 nodes, 24 kW; with no limit on their number and power all are of a: 3 x 8 x 2 USD/h.
    needed = {one.name: one.needed for one in found.together}
    assert needed["power_kw"] == 24.0
    assert needed["usd_per_hour"] == 48.0
    assert "but together" in found.sentence


def test_a_model_that_no_offer_carries_is_named():
    found = best_fleet(
        simple(
            demands=[ModelDemand(model="m", rates_per_s=(1.0,)), ModelDemand(model="n", rates_per_s=(1.0,))]
        )
    )
    assert found.unserved == ("n",)
    assert "carries n within its SLO" in found.sentence


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"demands": [ModelDemand(model="m", rates_per_s=(0.0,))]}, "the demand is zero"),
        ({"limits": Limits(capex_usd=5)}, "capex_usd_per_gpu of a is not stated"),
        (
            {"offers": [Offer(model="m", gpu="z", label="x", gpus=1, rate_per_s=1.0)]},
            "unknown gpu in an offer",
        ),
        (
            {
                "demands": [
                    ModelDemand(model="m", rates_per_s=(1.0,)),
                    ModelDemand(model="n", rates_per_s=(1.0, 2.0)),
                ]
            },
            "different numbers of hours",
        ),
        ({"demands": [ModelDemand(model="m", rates_per_s=(1.0,))] * 2}, "named twice"),
    ],
)
def test_what_cannot_be_is_said_in_one_line(changes, said):
    with pytest.raises(PlannerError, match=said):
        simple(**changes)


def test_what_the_solver_prints_is_no_output(monkeypatch, capfd):
    """HiGHS prints some warnings with C's own means, and late: what C holds back comes out as well."""
    solve = scipy.optimize.milp

    def talkative(*given, **named):
        os.write(1, b"written at once\n")
        ctypes.CDLL(None).puts(b"held back")
        return solve(*given, **named)

    monkeypatch.setattr(scipy.optimize, "milp", talkative)
    assert isinstance(best_fleet(simple()), FleetPlan)
    os.write(1, b"the answer\n")
    ctypes.CDLL(None).fflush(None)
    out, said = capfd.readouterr()
    assert out == "the answer\n"
    assert "written at once" in said
    assert "held back" in said


def test_nothing_served_of_what_could_be_is_far_from_the_best():
    nothing = Solved(np.zeros((1, 1)), np.zeros((1, 1)), np.zeros((1, 1)), 0.0, -5.0, False, 1, 1)
    assert _plan(simple(), nothing, 0.1).gap == 1.0


def test_a_search_without_time_or_with_a_gap_beyond_one_is_refused():
    with pytest.raises(PlannerError, match="gap"):
        best_fleet(simple(), gap=1.0)
    with pytest.raises(PlannerError, match="time limit"):
        best_fleet(simple(), time_limit_s=0)


def test_a_fixed_fleet_looks_at_the_busiest_hour_alone():
    demands = [ModelDemand(model="m", rates_per_s=(1.0, 5.0, 2.0))]
    problem = simple(demands=demands)
    assert len(Programme(problem, (), serve_all=True)._rows) == 2
    assert best_fleet(problem).gpus == 24


def test_hourly_rent_pays_for_the_hours_that_are_used():
    demands = [ModelDemand(model="m", rates_per_s=(1.0, 5.0, 0.0))]
    plan = best_fleet(simple(demands=demands, scaling="hourly"))
    assert [stand.gpus for stand in plan.stands] == [(8, 24, 0)]
    assert plan.usd_per_hour == pytest.approx(2 * 32 / 3)
    assert plan.gpu_hours_per_day == pytest.approx(24 * 32 / 3)


def test_gpus_that_are_reassigned_serve_models_that_peak_at_different_hours():
    demands = [ModelDemand(model=m, rates_per_s=rates) for m, rates in (("m", (4.0, 0.0)), ("n", (0.0, 4.0)))]
    offers = [Offer(model=m, gpu="a", label="TP4", gpus=4, rate_per_s=1.0) for m in ("m", "n")]
    fixed = best_fleet(simple(demands=demands, offers=offers))
    moved = best_fleet(simple(demands=demands, offers=offers, scaling="reassigned"))
    assert (fixed.gpus, moved.gpus) == (32, 16)
