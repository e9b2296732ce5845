"""Checks of the numbers that money is worked out from: one number or a numpy array of them."""

from __future__ import annotations

import math
from numbers import Real
from typing import Any, TypeVar

from planner.errors import InvalidInput, shorten

A = TypeVar("A")


def positive(name: str, value: A, unit: str) -> A:
    """Return an amount that is finite and above 0.

    Parameters
    ----------
    name : str
        What it is, as the caller named it.
    value : number or numpy array
        The amount.
    unit : str
        Its unit, for the message.

    Returns
    -------
    number or numpy array
        The same.

    Raises
    ------
    InvalidInput
        When it, or any element, is not a finite number above 0.
    """
    return _within(name, value, lambda x: (x > 0) & (x < math.inf), f"a finite number above 0 {unit}")


def not_negative(name: str, value: A, unit: str) -> A:
    """Return an amount that is finite and not below 0; as `positive` otherwise."""
    return _within(name, value, lambda x: (x >= 0) & (x < math.inf), f"a finite number from 0 {unit}")


def share(name: str, value: A) -> A:
    """Return a share above 0 and at most 1; as `positive` otherwise."""
    return _within(name, value, lambda x: (x > 0) & (x <= 1), "above 0 and at most 1")


def part(name: str, value: A) -> A:
    """Return a share from 0 to 1, both possible; as `positive` otherwise."""
    return _within(name, value, lambda x: (x >= 0) & (x <= 1), "from 0 to 1")


def _within(name: str, value: A, test: Any, legal: str) -> A:
    numeric = isinstance(value, Real) or getattr(getattr(value, "dtype", None), "kind", "") in tuple("iuf")
    if isinstance(value, bool) or not numeric:
        raise InvalidInput(f"{name}: {shorten(value)} is no number; {legal} is needed")
    inside: Any = test(value)
    if not (inside.all() if hasattr(inside, "all") else inside):
        raise InvalidInput(f"{name} must be {legal}, not {value if isinstance(value, Real) else 'all of it'}")
    return value
