"""The frontier is exact: every point on it is undominated, and no undominated point is missing."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from planner.planning.search.pareto import undominated

PAIRS = st.lists(st.tuples(st.integers(0, 12), st.integers(0, 12)), max_size=60)


def brute_force(pairs: list[tuple[int, int]]) -> list[int]:
    """Return each point that no other has as much of both and more of one; of equals the first."""
    return [
        i
        for i, (a, b) in enumerate(pairs)
        if not any(
            (c >= a and d >= b and (c > a or d > b)) or ((c, d) == (a, b) and j < i)
            for j, (c, d) in enumerate(pairs)
        )
    ]


@given(PAIRS)
def test_it_is_what_brute_force_finds(pairs: list[tuple[int, int]]) -> None:
    first, second = (np.array([pair[i] for pair in pairs], dtype=float) for i in (0, 1))
    found = undominated(first, second)
    assert sorted(found) == brute_force(pairs)
    assert (np.diff(first[found]) < 0).all()
    assert (np.diff(second[found]) > 0).all()


@given(PAIRS, st.permutations(range(8)))
def test_the_order_of_points_does_not_matter(pairs: list[tuple[int, int]], order: list[int]) -> None:
    some = (pairs * 8)[:8] if pairs else []
    mixed = [some[place] for place in order] if some else []

    def values(of: list[tuple[int, int]]) -> set[tuple[int, int]]:
        first, second = (np.array([pair[i] for pair in of], dtype=float) for i in (0, 1))
        return {of[place] for place in undominated(first, second)}

    assert values(some) == values(mixed)
