"""How long collectives take: latency, wire time over the share of it that is reached, and pipeline fill.

An algorithm that moves V bytes over a link of rate B takes

    t = floor + step x steps + w + 2 sqrt(fill x w),   w = V / (share x B)

The last term is what is lost to filling and draining a pipeline whose chunks have the best size: k chunks
cost k x o + V / B and fill x V / (k x B), least where both are equal (Chan et al., "Collective communication:
theory, practice, and experience", 2007). Tiers of links work on different chunks at once, if not perfectly:
their times add as cubes, which is never less than the slowest of them.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from functools import reduce
from typing import Literal, TypeAlias, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray

from planner.catalogue.fabrics import Algorithm, AlgorithmName
from planner.errors import unknown_name
from planner.performance.fabric import Fabric, Tier

Array: TypeAlias = NDArray[np.float64]
Kind = Literal["all_reduce", "all_gather", "reduce_scatter", "all_to_all", "send", "broadcast"]

LIBRARIES = ("nccl", "rccl", "oneccl")
"""Named as the engine, one of these means: the library's collectives only, no engine's own kernels."""

EP_KERNELS = ("low_latency", "normal")
"""Kinds of kernels of DeepEP, MORI and the like; named as the engine, one means itself only."""

VOLUMES: dict[str, Callable[[int], float]] = {
    "all_reduce": lambda n: 2 * (n - 1) / n,
    "all_gather": lambda n: (n - 1) / n,
    "reduce_scatter": lambda n: (n - 1) / n,
    "broadcast": lambda n: 1.0,
}
"""Bytes that a rank sends for each byte of the whole buffer, without help of the switch."""


def collective_s(
    kind: str,
    bytes_: ArrayLike,
    ranks: int,
    fabric: Fabric,
    *,
    engine: str | None = None,
    stride: int = 1,
    top_k: int = 1,
) -> Array:
    """Return the time of one collective or transfer, for many sizes at once.

    Parameters
    ----------
    kind : str
        ``all_reduce``, ``all_gather``, ``reduce_scatter``, ``broadcast``, ``all_to_all`` or ``send``.
    bytes_ : array_like
        Bytes of the whole buffer; for ``all_to_all`` and ``send`` what a rank sends [bytes]. Nothing is sent,
        and no time passes, where there are none.
    ranks : int
        Size of the group.
    fabric : Fabric
        The links.
    engine : str, optional
        ``nccl``, ``rccl`` or ``oneccl`` for the library alone; ``low_latency`` or ``normal`` for that kind of
        expert-parallel kernel; with anything else the fastest algorithm serves.
    stride : int
        Distance between neighbours of the group, see `Fabric.layout`.
    top_k : int
        Experts that a token chose, for ``all_to_all`` around experts; `bytes_` then counts min(top_k, ranks)
        copies of a token, of which kernels send fewer where experts share a rank or a node.

    Returns
    -------
    array
        Time [s], shaped as `bytes_`.
    """
    sent = np.asarray(bytes_, dtype=float)
    sizes = _layout(kind, ranks, fabric, stride)
    if ranks == 1:
        return np.zeros_like(sent)
    if kind == "send":
        found = _send(sent, sizes, fabric)
    elif kind == "all_to_all":
        found = _all_to_all(sent, sizes, ranks, fabric, engine, top_k)
    else:
        found = _shared_buffer(kind, sent, sizes, ranks, fabric, engine)
    return np.where(sent > 0, found, 0.0)


def lower_bound_s(
    kind: str, bytes_: ArrayLike, ranks: int, fabric: Fabric, *, stride: int = 1, top_k: int = 1
) -> Array:
    """Return the time that the wires alone need: no latency, every link at its line rate.

    Parameters
    ----------
    kind, bytes_, ranks, fabric, stride, top_k
        As for `collective_s`.

    Returns
    -------
    array
        Time of the busiest tier [s]; where the switch can add, an all-reduce sends its buffer once.
    """
    sent = np.asarray(bytes_, dtype=float)
    sizes = _layout(kind, ranks, fabric, stride)
    slowest = np.zeros_like(sent)
    inside = 1
    for tier, size in zip(fabric.tiers, sizes, strict=True):
        if size == 1:
            continue
        if kind == "send":
            slowest = sent / tier.pair_bytes_per_s
        elif kind == "all_to_all":
            copies = min(_copies(ranks, inside, size, top_k, dedup=dedup) for dedup in (False, True))
            slowest = np.maximum(slowest, sent * copies / tier.rate(size))
        else:
            volume = VOLUMES[kind](size)
            if kind == "all_reduce" and "in_switch" in tier.family.algorithms:
                volume = min(volume, 1.0)
            slowest = np.maximum(slowest, sent * volume / inside / tier.rate(size))
        inside *= size
    return slowest


def collective_spread(
    kind: str, ranks: int, fabric: Fabric, *, engine: str | None = None, stride: int = 1
) -> float:
    """Return how far a time may be off: four of five calls lie within this factor of `collective_s`.

    Parameters
    ----------
    kind, ranks, fabric, engine, stride
        As for `collective_s`.

    Returns
    -------
    float
        The widest of the algorithms that may serve; 1 where nothing is sent.
    """
    sizes = _layout(kind, ranks, fabric, stride)
    spreads = [1.0]
    for tier, size in zip(fabric.tiers, sizes, strict=True):
        if size > 1:
            names = _names(kind, tier, fabric, engine)
            source = fabric.tiers[0] if names[0].startswith("network_ep") else tier
            spreads += [source.family.algorithm(name).spread for name in names]
    return max(spreads)


def _layout(kind: str, ranks: int, fabric: Fabric, stride: int) -> tuple[int, ...]:
    if kind not in get_args(Kind):
        raise unknown_name("collective", kind, get_args(Kind))
    return fabric.layout(ranks, stride)


def _names(kind: str, tier: Tier, fabric: Fabric, engine: str | None) -> tuple[AlgorithmName, ...]:
    """Return the algorithms that may serve a collective on one tier."""
    own = engine not in LIBRARIES
    known = tier.family.algorithms
    if kind == "send":
        return ("send",)
    if kind == "all_reduce":
        custom: tuple[AlgorithmName, ...] = ("one_shot", "two_shot") if own else ()
        return tuple(name for name in (*custom, "ring", "in_switch") if name in known)
    if kind == "all_to_all" and own and _has_ep_kernels(fabric):
        kernels: tuple[AlgorithmName, ...] = ("ep_low_latency", "ep_normal")
        if tier.family.topology == "network":
            kernels = ("network_ep_low_latency", "network_ep_normal")
        return tuple(name for name in kernels if engine not in EP_KERNELS or name.endswith(engine))
    if kind == "all_to_all":
        return ("all_to_all",)
    return ("all_gather",)


def _has_ep_kernels(fabric: Fabric) -> bool:
    """Return whether every tier inside a node has kernels for experts; those know the network as well."""
    inside = [tier for tier in fabric.tiers if tier.family.topology != "network"]
    return bool(inside) and all("ep_normal" in tier.family.algorithms for tier in inside)


def _send(sent: Array, sizes: tuple[int, ...], fabric: Fabric) -> Array:
    """Return the time of a transfer over the slowest tier on its way to the outermost one that it needs."""
    outermost = max(i for i, size in enumerate(sizes) if size > 1)
    times = [
        _time(tier.family.algorithm("send"), sent / tier.pair_bytes_per_s, 2)
        for tier in fabric.tiers[: outermost + 1]
    ]
    return reduce(np.maximum, times)


def _shared_buffer(
    kind: str, sent: Array, sizes: tuple[int, ...], ranks: int, fabric: Fabric, engine: str | None
) -> Array:
    """Return the time of a collective over one buffer.

    Ranks that share a node divide the buffer, so that each sends its part to its likes in other nodes. The
    innermost tier is charged as if it joined the whole group: a group that crosses nodes is never cheaper
    than the same group inside one.
    """
    found, inside = _best(kind, sent, fabric.tiers[0], ranks, fabric, engine), sizes[0]
    for tier, size in zip(fabric.tiers[1:], sizes[1:], strict=True):
        if size > 1:
            found = _overlapped(found, _best(kind, sent / inside, tier, size, fabric, engine))
            inside *= size
    return found


def _best(kind: str, sent: Array, tier: Tier, ranks: int, fabric: Fabric, engine: str | None) -> Array:
    """Return the time of the fastest algorithm on one tier."""
    rate = tier.rate(ranks)
    return _fastest(
        _time(tier.family.algorithm(name), sent * (_volume(kind, name, ranks) / rate), ranks)
        for name in _names(kind, tier, fabric, engine)
    )


def _fastest(times: Iterable[Array]) -> Array:
    return reduce(np.minimum, times)


def _overlapped(first: Array, second: Array) -> Array:
    """Return the time of two tiers that work at once: the cube root of their cubes."""
    longer, shorter = np.maximum(first, second), np.minimum(first, second)
    return np.asarray(longer * np.cbrt(1 + (shorter / longer) ** 3))


def _volume(kind: str, name: AlgorithmName, ranks: int) -> float:
    """Return the bytes that a rank sends for each byte of the buffer."""
    if name == "one_shot":
        return ranks - 1
    if name == "in_switch":
        # Each rank hands its buffer to the switch once, and one part of the sum to everybody.
        return (ranks + 1) / ranks
    return VOLUMES[kind](ranks)


def _all_to_all(
    sent: Array, sizes: tuple[int, ...], ranks: int, fabric: Fabric, engine: str | None, top_k: int
) -> Array:
    """Return the time of the fastest kernel that sends tokens to their experts or back."""
    columns = [
        _names("all_to_all", tier, fabric, engine)
        for tier, size in zip(fabric.tiers, sizes, strict=True)
        if size > 1
    ]
    return _fastest(
        _exchange(sent, sizes, ranks, fabric, names, top_k) for names in zip(*columns, strict=True)
    )


def _exchange(
    sent: Array,
    sizes: tuple[int, ...],
    ranks: int,
    fabric: Fabric,
    names: tuple[AlgorithmName, ...],
    top_k: int,
) -> Array:
    """Return the time of one kernel, of which each tier that the group needs has its own algorithm."""
    found, inside, named = np.zeros_like(sent), 1, iter(names)
    for tier, size in zip(fabric.tiers, sizes, strict=True):
        if size == 1:
            continue
        name = next(named)
        family = fabric.tiers[0].family if name.startswith("network_ep") else tier.family
        algorithm = family.algorithm(name)
        copies = _copies(ranks, inside, size, top_k, dedup=algorithm.dedup)
        found = _overlapped(found, _time(algorithm, sent * (copies / tier.rate(size)), size))
        inside *= size
    return found


def _copies(ranks: int, inside: int, size: int, top_k: int, *, dedup: bool) -> float:
    """Return what part of the bytes a rank sends over one tier.

    Experts are chosen at random. Of `units` = ranks / inside groups, those other than a token's own that hold
    any of its k experts are (units - 1) (1 - (1 - 1/units)^k); each gets it once where a kernel removes
    doubles, and passes it on inside. Without that every one of the k copies travels on its own, and a tier
    carries only those that it delivers.
    """
    counted = min(top_k, ranks)
    units = -(-ranks // inside)
    if dedup:
        return (units - 1) * (1 - (1 - 1 / units) ** top_k) / counted
    farther = -(-ranks // (inside * size))
    return top_k * (1 / farther - 1 / units) / counted


def _time(algorithm: Algorithm, wire_s: Array, ranks: int) -> Array:
    """Return the time of an algorithm from the time that its bytes need at line rate."""
    steps = min(ranks - 1, 2 * math.log2(ranks))
    out = np.atleast_1d(wire_s / _share(algorithm, ranks))
    if algorithm.fill:
        out += np.sqrt(4 * algorithm.fill * out)
    out += algorithm.floor + algorithm.step * steps
    return np.reshape(out, np.shape(wire_s))


def _share(algorithm: Algorithm, ranks: int) -> float:
    """Return the share of line rate that is reached, between stated numbers of ranks by their logarithm."""
    known = sorted(algorithm.share)
    return float(
        np.interp(math.log2(ranks), [math.log2(n) for n in known], [algorithm.share[n] for n in known])
    )
