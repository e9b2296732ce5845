"""How many accelerators train so many tokens in a given time."""

from __future__ import annotations

import math
from collections.abc import Callable

from planner.errors import InvalidInput, PlannerError
from planner.planning.training_search import TrainingPlan

MOST_GPUS = 1 << 20
MOST_TRIES = 32
"""Numbers of accelerators that are looked at; each is searched for its best layout."""


def plan_in_time(
    plan_of: Callable[[int | None], TrainingPlan],
    hours_of: Callable[[TrainingPlan], float],
    *,
    hours: float,
    node_gpus: int,
    stated: int,
) -> TrainingPlan:
    """Return the run on the fewest accelerators that ends in time.

    Parameters
    ----------
    plan_of : callable
        From a number of accelerators to its best run; None is the fewest that hold the model.
    hours_of : callable
        From a run that fits to how long the whole training takes [h].
    hours : float
        How long it may take [h].
    node_gpus : int
        Accelerators of a node; what is more than one has whole nodes.
    stated : int
        Product of the parallel sizes that are given, which divides every number.

    Returns
    -------
    TrainingPlan
        The fewest that hold the model where these are in time; the nearest run where nothing holds it.

    Raises
    ------
    InvalidInput
        Where no number is in time.
    """
    fewest = plan_of(None)
    if fewest.step is None or hours_of(fewest) <= hours:
        return fewest
    taken, count = hours_of(fewest), fewest.run.gpus
    for _ in range(MOST_TRIES):
        count = _up(max(count + 1, math.ceil(count * taken / hours - 1e-9)), node_gpus, stated)
        if count > MOST_GPUS:
            break
        found = _tried(plan_of, count)
        taken = hours if found is None else hours_of(found)
        if found is not None and taken <= hours:
            return _fewer(found, plan_of, hours_of, hours, node_gpus, stated)
    needs = f"{fewest.run.gpus:,} GPUs take {hours_of(fewest) / 24:,.4g} days"
    most = min(count, MOST_GPUS)
    raise InvalidInput(f"days: {needs}, and no number up to {most:,} was found that takes {hours / 24:,.4g}")


def _fewer(
    found: TrainingPlan,
    plan_of: Callable[[int | None], TrainingPlan],
    hours_of: Callable[[TrainingPlan], float],
    hours: float,
    node_gpus: int,
    stated: int,
) -> TrainingPlan:
    """Return the run on fewer accelerators as long as that is in time too."""
    for _ in range(MOST_TRIES):
        count = _up(math.ceil(found.run.gpus * hours_of(found) / hours), node_gpus, stated)
        count = min(count, _down(found.run.gpus - 1, node_gpus, stated))
        fewer = _tried(plan_of, count) if count else None
        if fewer is None or hours_of(fewer) > hours:
            break
        found = fewer
    return found


def _tried(plan_of: Callable[[int | None], TrainingPlan], count: int) -> TrainingPlan | None:
    """Return the best run on so many accelerators; None where there is none that is legal and fits."""
    try:
        plan = plan_of(count)
    except PlannerError:
        return None
    return plan if plan.step else None


def _up(count: int, node_gpus: int, stated: int) -> int:
    one = stated if count <= node_gpus else math.lcm(node_gpus, stated)
    return -(-count // one) * one


def _down(count: int, node_gpus: int, stated: int) -> int:
    one = stated if count <= node_gpus else math.lcm(node_gpus, stated)
    return count // one * one
