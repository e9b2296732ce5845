"""From copies that can run to whole candidates: how many fill a number of GPUs, and which only prefill."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from planner.catalogue import Gpu
from planner.performance.parameters import neutral
from planner.performance.pipeline import copy_share
from planner.performance.profile import stack
from planner.performance.times import prefill
from planner.planning.search.units import Unit

PREFILL_LAYOUTS = 2
"""Layouts of each size that are tried for a pool that only prefills: the quickest for their GPUs."""

MOST_SPLITS = 16
"""Splits of a number of GPUs into the two pools that are tried, at most."""


@dataclass(frozen=True, slots=True)
class Option:
    """A candidate by number: which unit, how many copies, and the same of what only prefills.

    Parameters
    ----------
    unit, copies : int
        Place among the units, and copies of it.
    filling, filling_copies : int
        The same of the pool that only prefills; -1 and 0 where there is none.
    gpus : int
        All GPUs.
    """

    unit: int
    copies: int
    filling: int
    filling_copies: int
    gpus: int


def fills_evenly(gpu: Gpu, size: int, count: int) -> bool:
    """Return whether copies of a size fill a number of GPUs without one that lies over the edge of a node.

    A copy within the GPUs that fast links join is taken to use these links alone: eight copies of three GPUs
    have no place in three nodes of eight.
    """
    joined = max(gpu.node_gpus, gpu.domain_gpus)
    return not gpu.whole_nodes or count <= joined or size > joined or joined % size == 0


def aggregated(gpu: Gpu, units: Sequence[Unit], counts: Iterable[int], copies: bool) -> Iterator[Option]:
    """Yield every unit in as many copies as fill each number of GPUs."""
    for count in counts:
        for place, unit in enumerate(units):
            each = unit.deployment.gpus
            if count % each == 0 and (copies or count == each) and fills_evenly(gpu, each, count):
                yield Option(place, count // each, -1, 0, count)


def apart(gpu: Gpu, units: Sequence[Unit], counts: Iterable[int], isl: float) -> Iterator[Option]:
    """Yield pools of copies that only prefill beside pools that decode, filling each number of GPUs.

    Of each size only the layouts with the quickest prefill are tried for the first pool: all have the same
    formats as the pool that decodes, which reads their cache.
    """
    filling = _quickest(units, isl)
    for count in counts:
        for place, unit in enumerate(units):
            for first in filling.get(_formats(unit), ()):
                each, other = units[first].deployment.gpus, unit.deployment.gpus
                if not all(fills_evenly(gpu, size, count) for size in (each, other)):
                    continue
                for copies in _evenly(_splits(count, each, other)):
                    yield Option(place, copies, first, (count - copies * other) // each, count)


def _splits(count: int, each: int, other: int) -> list[int]:
    """Return how many copies of a size may decode where those that prefill take all other GPUs."""
    return [
        copies for copies in range(1, (count - each) // other + 1) if (count - copies * other) % each == 0
    ]


def _evenly(splits: list[int]) -> list[int]:
    """Return at most `MOST_SPLITS` of them, both ends among them."""
    if len(splits) <= MOST_SPLITS:
        return splits
    last = len(splits) - 1
    return [splits[round(place * last / (MOST_SPLITS - 1))] for place in range(MOST_SPLITS)]


def _formats(unit: Unit) -> tuple[object, ...]:
    return unit.deployment.weight_dtype, unit.deployment.kv_dtype, unit.deployment.speculative_tokens


def _quickest(units: Sequence[Unit], isl: float) -> dict[tuple[object, ...], list[int]]:
    """Return the units with the quickest prefill, by formats: a few of each number of GPUs."""
    if not units:
        return {}
    every = np.arange(len(units))
    profiles = stack([unit.profile for unit in units], every)
    tokens = np.full(len(units), float(isl))
    alone = prefill(profiles, neutral(len(units)), tokens, 0 * tokens)
    each = alone * copy_share(profiles, tokens) / profiles.dp
    found: dict[tuple[object, ...], dict[int, list[int]]] = {}
    for place in np.argsort(each, kind="stable"):
        unit = units[place]
        sizes = found.setdefault(_formats(unit), {})
        kept = sizes.setdefault(unit.deployment.gpus, [])
        if len(kept) < PREFILL_LAYOUTS and unit.deployment.dcp == 1:
            kept.append(int(place))
    return {formats: [one for kept in sizes.values() for one in kept] for formats, sizes in found.items()}
