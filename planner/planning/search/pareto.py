"""Which of many points nothing beats."""

from __future__ import annotations

import numpy as np

from planner.performance.parameters import Array


def undominated(first: Array, second: Array) -> np.ndarray:
    """Return the points that no other beats in one quantity without being worse in the other.

    Parameters
    ----------
    first, second : array, shape (N,)
        Two quantities of which more is better.

    Returns
    -------
    array of int
        Indices, by falling `first` and so by rising `second`; of equal points the one that comes first.

    Notes
    -----
    Sorted by falling `first`, and by falling `second` where it is equal, a point is dominated where one
    before it has as much of `second`: one pass of a running maximum, exact, in N log N.
    """
    order = np.lexsort((-second, -first))
    best_before = np.maximum.accumulate(np.concatenate(([-np.inf], second[order][:-1])))
    return np.asarray(order[second[order] > best_before])
