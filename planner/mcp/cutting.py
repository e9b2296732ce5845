"""A report in a size that a reader with a window of limited length can take."""

from __future__ import annotations

import json
from typing import Any

MOST_CHARACTERS = 16_000
"""Some 5,000 tokens: the answer about three accelerators with its working is of this size."""

NOTE = "left_out_for_length"

Pattern = tuple[str, ...]
"""Keys down to a value; those of a list of results stand for each of them."""

RESULTS = "results"


def cut(record: dict[str, Any], most: int = MOST_CHARACTERS) -> dict[str, Any]:
    """Return a record without its largest lists and objects, as far as its length asks for it.

    Parameters
    ----------
    record : dict
        A report as JSON holds it; it stays as it is.
    most : int
        Characters at most, the note about what is missing apart.

    Returns
    -------
    dict
        With `NOTE`, the keys that were left out, where there are any; of several results each has the same.
    """
    kept, gone = record, []
    while _size(kept) > most:
        sizes: dict[Pattern, int] = {}
        _weigh(kept, (), sizes)
        if not sizes:
            break
        largest = max(sizes, key=lambda pattern: sizes[pattern])
        kept = _without(kept, largest)
        gone.append(".".join(largest))
    return {**kept, NOTE: sorted(gone)} if gone else kept


def _size(value: Any) -> int:
    return len(json.dumps(value, ensure_ascii=False))


def _weigh(record: dict[str, Any], path: Pattern, sizes: dict[Pattern, int]) -> None:
    """Add the length of every list and object that can go, by its keys."""
    for key, value in record.items():
        if key == RESULTS and isinstance(value, list):
            for one in value:
                _weigh(one, (*path, key), sizes)
        elif isinstance(value, dict | list):
            sizes[*path, key] = sizes.get((*path, key), 0) + _size(value)


def _without(record: dict[str, Any], pattern: Pattern) -> dict[str, Any]:
    """Return a record without one key, or without it in each of its results."""
    first, *rest = pattern
    if not rest:
        return {key: value for key, value in record.items() if key != first}
    return {**record, first: [_without(one, tuple(rest)) for one in record[first]]}
