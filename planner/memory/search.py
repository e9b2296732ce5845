"""Search for the largest number that still fits."""

from __future__ import annotations

from collections.abc import Callable


def largest_fitting(fits: Callable[[int], bool], limit: int) -> int:
    """Return the largest number up to `limit` that fits, or 0.

    Parameters
    ----------
    fits : callable
        True up to some number, and False from there on.
    limit : int
        The largest number of interest.

    Returns
    -------
    int
    """
    if fits(limit):
        return limit
    low, high = 0, limit
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if fits(middle) else (low, middle)
    return low
