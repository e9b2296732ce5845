"""Findings that no price changes, kept: the next question often differs by a price alone."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from functools import _lru_cache_wrapper, lru_cache, wraps
from typing import Any, Concatenate, ParamSpec, TypeVar

from planner.catalogue import Gpu
from planner.memory.built import Same, SameModel
from planner.planning.question import Question

P = ParamSpec("P")
R = TypeVar("R")

MOST = 64
"""Findings of each kind that a process keeps; those that were asked for longest ago go first."""


class Alike:
    """A key that is equal by some parts, and carries what the finding does not depend on.

    Parameters
    ----------
    parts : tuple
        What makes it the same question.
    carried : tuple
        What is needed to answer it the first time.
    """

    def __init__(self, parts: tuple[Hashable, ...], carried: tuple[Any, ...]) -> None:
        self.parts, self.carried = parts, carried

    def __hash__(self) -> int:
        """Return the hash of the parts."""
        return hash(self.parts)

    def __eq__(self, other: object) -> bool:
        """Return whether the parts are equal."""
        return isinstance(other, Alike) and self.parts == other.parts

    def take(self) -> tuple[Any, ...]:
        """Return what is carried, and hold it no longer: a key that is kept keeps nothing else alive."""
        taken, self.carried = self.carried, ()
        return taken


def unpriced(asked: Question, gpu: Gpu) -> Alike:
    """Return a question about one accelerator as a key: equal to another that differs by prices alone."""
    records = (SameModel(asked.model), Same(gpu), Same(asked.catalogue))
    stated = (asked.name, asked.base, asked.dtype_given, asked.sizes, asked.workload)
    return Alike((*records, *stated), (asked, gpu))


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
        With the same signature. What it raises is not kept, nor what cannot be told by a hash, such as a list
        in place of a name: the function refuses that itself.
    """

    def find(key: Alike, *args: Any, **kwargs: Any) -> R:
        return function(*key.take(), *args, **kwargs)

    found = lru_cache(maxsize=MOST)(find)

    @wraps(function)
    def asked_again(asked: Question, gpu: Gpu, /, *args: P.args, **kwargs: P.kwargs) -> R:
        return looked_up(found, unpriced(asked, gpu), *args, **kwargs)

    return asked_again


def looked_up(found: _lru_cache_wrapper[R], *args: Any, **kwargs: Any) -> R:
    """Call a function that keeps its answers, past them where an argument can be no key, such as a list."""
    try:
        hash((args, *kwargs.values()))
    except TypeError:
        return found.__wrapped__(*args, **kwargs)
    return found(*args, **kwargs)
