"""Choose a fleet, or say which limit stands in the way."""

from __future__ import annotations

import time
from collections.abc import Sequence

from planner.errors import InvalidInput
from planner.planning.fleet import (
    Binding,
    FleetPlan,
    FleetProblem,
    NoFleet,
    Offer,
    Placement,
    Stand,
)
from planner.planning.fleet_programme import Cap, Programme, Solved, TimeUpError, caps_of
from planner.planning.fleet_search import solved

GAP = 1e-3
"""Share of the objective at which the search ends, unless another is asked for or the fleet is small."""
PROVEN_COLUMNS = 100
"""Programmes up to this size are solved to the proven best."""
TIME_LIMIT_S = 8.0
LEAST_PRICE = 1e-9
"""Stands for nothing where a price must be above zero [USD/h]."""


def best_fleet(
    problem: FleetProblem, *, gap: float | None = None, time_limit_s: float = TIME_LIMIT_S
) -> FleetPlan | NoFleet:
    """Choose replicas and GPUs that carry every demand at the least cost, or as much as the limits allow.

    Parameters
    ----------
    problem : FleetProblem
        Demands, offers, supplies and limits. For ``most-served`` the most is served first, and of the fleets
        that serve as much the cheapest is taken.
    gap : float, optional
        Share of the objective at which the search ends; 0 proves the best. By default 0 for small fleets, and
        `GAP` for others.
    time_limit_s : float
        When the solver ends in any case [s]; the plan then says so, with the gap that is left.

    Returns
    -------
    FleetPlan or NoFleet

    Raises
    ------
    InvalidInput
        For limits of the search that cannot be, and where the time ends before any fleet is found.
    """
    if gap is not None and not 0 <= gap < 1:
        raise InvalidInput(f"gap: {gap:g} is no share from 0 to below 1")
    if not time_limit_s > 0:
        raise InvalidInput(f"time limit: {time_limit_s:g} s is not above zero")
    kept = problem.model_copy(update={"offers": undominated(problem)})
    caps, begin = caps_of(kept), time.perf_counter()
    if gap is None:
        gap = 0.0 if Programme(kept, caps, serve_all=False).columns <= PROVEN_COLUMNS else GAP
    try:
        found = solved(kept, caps, gap, begin + time_limit_s)
        return (
            _why_none(kept, gap, time_limit_s)
            if found is None
            else _plan(kept, found, time.perf_counter() - begin)
        )
    except TimeUpError:
        raise InvalidInput(
            f"no fleet was found in {time_limit_s:g} s; allow the solver more time, or name fewer types"
        ) from None


def undominated(problem: FleetProblem) -> tuple[Offer, ...]:
    """Return the offers without those that take as much of a type as another and carry less.

    Parameters
    ----------
    problem : FleetProblem
        What is asked.

    Returns
    -------
    tuple of Offer
    """
    kept: list[Offer] = []
    for offer in sorted(problem.offers, key=lambda one: (problem.unit_share(one), -one.rate_per_s)):
        rivals = [one for one in kept if (one.model, one.gpu) == (offer.model, offer.gpu)]
        if all(one.rate_per_s < offer.rate_per_s for one in rivals):
            kept.append(offer)
    return tuple(kept)


def _plan(problem: FleetProblem, found: Solved, solve_s: float) -> FleetPlan:
    placements = [
        Placement(offer, tuple(int(count) for count in counts))
        for offer, counts in zip(problem.offers, found.replicas, strict=True)
        if counts.any()
    ]
    stands = [
        Stand(supply, tuple(int(count) for count in counts))
        for supply, counts in zip(problem.supplies, found.units, strict=True)
        if counts.any()
    ]
    served = {
        one.model: tuple(float(rate) for rate in rates)
        for one, rates in zip(problem.demands, found.served, strict=True)
    }
    missing, best = abs(found.objective - found.bound), max(abs(found.objective), abs(found.bound))
    return FleetPlan(
        problem=problem,
        placements=tuple(placements),
        stands=tuple(stands),
        served_per_s=served,
        status="optimal" if found.optimal else "best found",
        gap=missing / best if best else 0.0,
        solve_s=solve_s,
        variables=found.variables,
        constraints=found.constraints,
    )


def _why_none(problem: FleetProblem, gap: float, time_limit_s: float) -> NoFleet:
    """Leave out one limit at a time, and ask how much of it would do."""
    offered = {offer.model for offer in problem.offers}
    asked = [one.model for one in problem.demands if max(one.rates_per_s) > 0]
    unserved = tuple(model for model in asked if model not in offered)
    if unserved:
        return NoFleet(problem, unserved=unserved)
    caps = caps_of(problem)
    bindings = []
    for cap in caps:
        others = [one for one in caps if one is not cap]
        needed = _least_of(problem, cap, others, gap, time_limit_s)
        if needed is not None and needed > cap.most:
            bindings.append(Binding(cap.name, cap.most, needed, cap.unit))
    if bindings:
        return NoFleet(problem, bindings=tuple(bindings))
    alone = ((cap, _least_of(problem, cap, (), gap, time_limit_s)) for cap in caps)
    together = tuple(Binding(cap.name, cap.most, least or 0.0, cap.unit) for cap, least in alone)
    return NoFleet(problem, together=together)


def _least_of(
    problem: FleetProblem, cap: Cap, others: Sequence[Cap], gap: float, time_limit_s: float
) -> float | None:
    """Return the least of what a limit counts that carries every demand; None where nothing does."""
    deadline = time.perf_counter() + time_limit_s
    if problem.scaling == "hourly" and any(one.mean for one in others):
        # Hours that share a budget: the highest of them is what becomes least.
        programme = Programme(problem, others, serve_all=True, peak_of=cap.factors)
        found = programme.solve(programme.peak(), gap=gap, time_limit_s=time_limit_s)
    else:
        found = solved(_priced(problem, cap), others, gap, deadline)
    if found is None:
        return None
    each = cap.factors @ found.units
    return float(each.mean() if cap.mean else each.max())


def _priced(problem: FleetProblem, cap: Cap) -> FleetProblem:
    """Return the problem with what a limit counts as the price."""
    priced = tuple(
        one.model_copy(update={"usd_per_gpu_hour": max(float(factor) / one.unit_gpus, LEAST_PRICE)})
        for one, factor in zip(problem.supplies, cap.factors, strict=True)
    )
    return problem.model_copy(update={"supplies": priced, "objective": "least-cost"})
