"""Ways to solve the programme of a fleet: as a whole, hour by hour, or the hardest hours first."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from planner.planning.fleet import FleetProblem, ModelDemand, Offer
from planner.planning.fleet_programme import KEPT, Cap, Floats, Programme, Solved, TimeUpError

FEW_COLUMNS = 400
"""Programmes up to this size are solved as a whole, whatever parts they have."""
LEAST_TIME_S = 0.2
HOUR_GAP = 0.02
"""Serving an hour with the GPUs that are there: the time it gets at least, and when it is good enough."""
CHEAPEST_TYPES = 3
BOUND_GAP = 0.01
"""One hour of many: the types that each model may choose from, and when it is good enough."""


def solved(problem: FleetProblem, caps: Sequence[Cap], gap: float, deadline: float) -> Solved | None:
    """Solve all hours together where they are few, and else in the parts that they fall into.

    Parameters
    ----------
    problem : FleetProblem
        What is asked.
    caps : sequence of Cap
        The limits that hold.
    gap : float
        Share of the objective at which the search ends.
    deadline : float
        When it ends in any case, on the clock of `time.perf_counter` [s].

    Returns
    -------
    Solved or None
        None where nothing was found.
    """
    least_cost = problem.objective == "least-cost"
    if problem.scaling == "hourly" and problem.hours > 1:
        if least_cost:
            # The mean is what becomes least, so a limit on it is either kept by itself or cannot be.
            found = _by_hour(problem, [cap for cap in caps if not cap.mean], gap, deadline)
            kept = found is not None and all(
                float((cap.factors @ found.units).mean()) <= cap.most * (1 + KEPT) for cap in caps if cap.mean
            )
            return found if kept else None
        if not any(cap.mean for cap in caps):
            return _by_hour(problem, caps, gap, deadline)
    programme = Programme(problem, caps, serve_all=least_cost)
    if programme.x_hours == 1 or programme.columns <= FEW_COLUMNS:
        return _together(problem, caps, gap, deadline)
    if least_cost:
        return _growing(problem, caps, gap, deadline)
    return _units_first(problem, caps, gap, deadline)


def _left(deadline: float) -> float:
    return deadline - time.perf_counter()


def _together(problem: FleetProblem, caps: Sequence[Cap], gap: float, deadline: float) -> Solved | None:
    """Solve one programme; of the fleets that serve the most, take the cheapest."""
    programme = Programme(problem, caps, serve_all=problem.objective == "least-cost")
    cost = programme.cost(_usd(problem))
    if problem.objective == "least-cost":
        return programme.solve(cost, gap=gap, time_limit_s=_left(deadline))
    worth = programme.unserved()
    most = programme.solve(worth, gap=gap, time_limit_s=_left(deadline) / 2)
    if most is None:
        return None
    programme.keep(worth, most.objective)
    try:
        cheapest = programme.solve(cost, gap=gap, time_limit_s=_left(deadline))
    except TimeUpError:
        cheapest = None
    if cheapest is None:
        return replace(most, optimal=False)
    # The gap that counts is that of what is served.
    return replace(
        cheapest, objective=most.objective, bound=most.bound, optimal=most.optimal and cheapest.optimal
    )


def _by_hour(problem: FleetProblem, caps: Sequence[Cap], gap: float, deadline: float) -> Solved | None:
    """Solve each hour by itself, equal ones once, each in its share of the time."""
    columns = list(zip(*(one.rates_per_s for one in problem.demands), strict=True))
    different = [column for column in dict.fromkeys(columns) if any(column)]
    way = _together
    if len(problem.offers) * len(different) > FEW_COLUMNS:
        way = _narrowed if problem.objective == "least-cost" else _units_first
    known: dict[tuple[float, ...], Solved] = {}
    for i, column in enumerate(different):
        share = _left(deadline) / (len(different) - i)
        hour = _hours_of(problem, [column])
        found = way(hour, caps, gap, time.perf_counter() + share)
        if found is None:
            return None
        known[column] = found
    parts = list(known.values())
    nothing = {name: np.zeros_like(getattr(parts[0], name)) for name in ("replicas", "units", "served")}
    idle = replace(parts[0], objective=0.0, bound=0.0, **nothing)
    return _joined([known.get(column, idle) for column in columns], parts)


def _narrowed(problem: FleetProblem, caps: Sequence[Cap], gap: float, deadline: float) -> Solved | None:
    """Choose among the types on which each model is cheapest; a relaxation of all of them is the bound."""
    programme = Programme(problem, caps, serve_all=True)
    cost, time_limit_s = programme.cost(_usd(problem)), _left(deadline) / 2
    bound = programme.solve(cost, gap=max(gap, BOUND_GAP), time_limit_s=time_limit_s, whole_replicas=False)
    best: dict[tuple[str, str], float] = {}
    for offer in problem.offers:
        key = (offer.model, offer.gpu)
        best[key] = min(best.get(key, np.inf), _usd_per_request_rate(problem, offer))
    of_model = {model: sorted(best[key] for key in best if key[0] == model) for model, _ in best}
    kept = tuple(
        offer
        for offer in problem.offers
        if best[offer.model, offer.gpu] <= of_model[offer.model][:CHEAPEST_TYPES][-1]
    )
    narrow = problem.model_copy(update={"offers": kept})
    found = _together(narrow, caps, max(gap, BOUND_GAP), time.perf_counter() + time_limit_s)
    if found is None or bound is None:
        return _together(problem, caps, gap, time.perf_counter() + time_limit_s)
    at = [problem.offers.index(offer) for offer in kept]
    replicas = np.zeros((len(problem.offers), 1))
    replicas[at] = found.replicas
    optimal = found.optimal and found.objective - bound.bound <= gap * found.objective
    return replace(found, replicas=replicas, bound=bound.bound, optimal=optimal)


def _usd_per_request_rate(problem: FleetProblem, offer: Offer) -> float:
    """Return what an hour of one request a second costs, whole units left aside."""
    supply = next(one for one in problem.supplies if one.gpu == offer.gpu)
    return supply.unit_gpus * supply.usd_per_gpu_hour * problem.unit_share(offer) / offer.rate_per_s


def _joined(each: Sequence[Solved], parts: Sequence[Solved]) -> Solved:
    """Return hours that were solved one by one as one solution."""
    return Solved(
        replicas=np.hstack([one.replicas for one in each]),
        units=np.hstack([one.units for one in each]),
        served=np.hstack([one.served for one in each]),
        objective=sum(one.objective for one in each) / len(each),
        bound=sum(one.bound for one in each) / len(each),
        optimal=all(one.optimal for one in each),
        variables=sum(one.variables for one in parts),
        constraints=sum(one.constraints for one in parts),
    )


def _growing(problem: FleetProblem, caps: Sequence[Cap], gap: float, deadline: float) -> Solved | None:
    """Solve the hardest hour, and add hours for as long as one cannot be served with the GPUs of those.

    A fleet for some of the hours is a bound for all of them, and the answer once it serves all.
    """
    columns = list(zip(*(one.rates_per_s for one in problem.demands), strict=True))
    hours = [max(range(len(columns)), key=lambda hour: _worth(problem, columns[hour]))]
    while True:
        part = _hours_of(problem, [columns[hour] for hour in hours])
        found = _together(part, caps, gap, time.perf_counter() + 0.5 * _left(deadline))
        if found is None:
            return None
        served = {hour: found.replicas[:, [i]] for i, hour in enumerate(hours)}
        missing = None
        for hour in sorted(set(range(len(columns))) - set(hours), key=lambda h: -_worth(problem, columns[h])):
            one = _within(_hours_of(problem, [columns[hour]]), found.units, deadline)
            if one is None:
                missing = hour
                break
            served[hour] = one.replicas
        if missing is None:
            replicas = np.hstack([served[hour] for hour in range(len(columns))])
            demand = np.array([one.rates_per_s for one in problem.demands], float)
            return replace(found, replicas=replicas, served=demand)
        hours.append(missing)


def _worth(problem: FleetProblem, column: Sequence[float]) -> float:
    """Return about what an hour costs: each demand where it is cheapest."""
    cheapest = {
        one.model: min(
            (_usd_per_request_rate(problem, offer) for offer in problem.offers if offer.model == one.model),
            default=0.0,
        )
        for one in problem.demands
    }
    return sum(rate * cheapest[one.model] for rate, one in zip(column, problem.demands, strict=True))


def _within(hour: FleetProblem, units: Floats, deadline: float) -> Solved | None:
    """Serve an hour with the units that there are, as few of them busy as is soon found."""
    if not any(one.rates_per_s[0] for one in hour.demands):
        hour = hour.model_copy(update={"objective": "most-served"})
    spare = hour.spare_units
    programme = Programme(
        hour.model_copy(update={"spare_units": 0}), (), serve_all=hour.objective == "least-cost"
    )
    programme.fix_units(np.maximum(units - spare, 0.0))
    objective = programme.busy(_usd(hour)) if programme.serve_all else programme.unserved()
    limit = max(LEAST_TIME_S, 0.1 * _left(deadline))
    try:
        return programme.solve(objective, gap=HOUR_GAP, time_limit_s=limit)
    except TimeUpError:
        return None


def _units_first(problem: FleetProblem, caps: Sequence[Cap], gap: float, deadline: float) -> Solved | None:
    """Choose whole units for parts of replicas, which is a bound, and then whole replicas hour by hour."""
    programme = Programme(problem, caps, serve_all=False)
    worth = programme.unserved()
    bound = programme.solve(worth, gap=gap, time_limit_s=_left(deadline) / 2, whole_replicas=False)
    if bound is None:
        return None
    columns = list(zip(*(one.rates_per_s for one in problem.demands), strict=True))
    each = []
    for i, column in enumerate(columns):
        at = i if programme.n_hours > 1 else 0
        found = _within(_hours_of(problem, [column]), bound.units[:, [at]], deadline)
        if found is None:
            return None
        each.append(found)
    joined = _joined(each, [bound])
    return replace(joined, units=bound.units, bound=bound.bound, optimal=False)


def _hours_of(problem: FleetProblem, columns: Sequence[Sequence[float]]) -> FleetProblem:
    """Return the problem of these hours alone."""
    demands = tuple(
        ModelDemand(model=one.model, rates_per_s=rates, weight=one.weight)
        for one, rates in zip(problem.demands, zip(*columns, strict=True), strict=True)
    )
    return problem.model_copy(update={"demands": demands})


def _usd(problem: FleetProblem) -> Floats:
    return np.array([one.unit_gpus * one.usd_per_gpu_hour for one in problem.supplies])
