"""What would let a training run fit that does not: shorter sequences, or more accelerators."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from planner.errors import PlannerError
from planner.planning.training_search import TrainingPlan

SHORTEST = 128
"""Tokens of a sequence below which nobody trains a language model."""
MOST_DOUBLINGS = 8


def remedies(
    plan_of: Callable[[Mapping[str, Any], int | None], TrainingPlan],
    plan: TrainingPlan,
    given: Mapping[str, Any],
) -> tuple[str, ...]:
    """Return in words what would be enough by itself.

    Parameters
    ----------
    plan_of : callable
        From fields of a run that are given, and the number of accelerators, to the best run.
    plan : TrainingPlan
        The run that does not fit.
    given : mapping
        Fields of it that are given.

    Returns
    -------
    tuple of str
        The longest sequences, halved again and again, and the fewest accelerators, doubled.
    """
    gpus, length = plan.run.gpus, plan.run.seq_len
    shorter = (size for size in _halves(length) if _fits(plan_of, {**given, "seq_len": size}, gpus))
    more = (gpus << power for power in range(1, MOST_DOUBLINGS + 1))
    enough = (count for count in more if _fits(plan_of, given, count))
    said = [f"with sequences of {size:,} tokens" for size in [next(shorter, None)] if size]
    return (*said, *(f"on {count:,} GPUs" for count in [next(enough, None)] if count))


def _halves(length: int) -> Iterator[int]:
    while (length := length // 2) >= SHORTEST:
        yield length


def _fits(
    plan_of: Callable[[Mapping[str, Any], int | None], TrainingPlan], given: Mapping[str, Any], gpus: int
) -> bool:
    try:
        return plan_of(given, gpus).step is not None
    except PlannerError:
        return False
