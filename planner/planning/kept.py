"""Findings that no price changes, kept: the next question often differs by a price alone."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache, wraps
from typing import Any, Concatenate, ParamSpec, TypeVar

from planner.catalogue import Gpu
from planner.memory.built import Same, SameModel
from planner.planning.question import Question

P = ParamSpec("P")
R = TypeVar("R")

MOST = 64
"""Findings of each kind that a process keeps; those that were asked for longest ago go first."""


class Unpriced:
    """A question about one accelerator as a key: equal to another that differs by prices alone."""

    def __init__(self, asked: Question, gpu: Gpu) -> None:
        self.asked, self.gpu = asked, gpu
        self.parts = (
            *(asked.name, SameModel(asked.model), Same(gpu), Same(asked.catalogue)),
            *(asked.base, asked.dtype_given, asked.sizes, asked.workload),
        )

    def __hash__(self) -> int:
        """Return the hash of all but the prices."""
        return hash(self.parts)

    def __eq__(self, other: object) -> bool:
        """Return whether all but the prices is equal."""
        return isinstance(other, Unpriced) and self.parts == other.parts


def kept(function: Callable[Concatenate[Question, Gpu, P], R]) -> Callable[Concatenate[Question, Gpu, P], R]:
    """Let a function answer at once what it was asked before at other prices.

    Parameters
    ----------
    function : callable
        Of a question, an accelerator and hashable arguments. Nothing that it returns may depend on prices
        or change afterwards.

    Returns
    -------
    callable
        With the same signature. What it raises is not kept.
    """

    def find(key: Unpriced, *args: Any, **kwargs: Any) -> R:
        return function(key.asked, key.gpu, *args, **kwargs)

    found: Callable[..., R] = lru_cache(maxsize=MOST)(find)

    @wraps(function)
    def asked_again(asked: Question, gpu: Gpu, /, *args: P.args, **kwargs: P.kwargs) -> R:
        return found(Unpriced(asked, gpu), *args, **kwargs)

    return asked_again
