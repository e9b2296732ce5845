"""The deployments that may be worth a try; whether one is legal is for `planner.scenario.legal` to say."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import product

from planner.architecture import Architecture
from planner.catalogue import Gpu
from planner.planning.search.records import SearchSpace
from planner.scenario import Deployment
from planner.scenario.legal import context_copies

MOST_GPUS = 16
"""Where a search ends that nobody gave numbers of GPUs."""
OWN_DRAFTS = (0, 1, 3)
"""Tokens drafted by a model's own draft: most checkpoints have one such layer, which runs once or thrice."""


def gpu_counts(gpu: Gpu, space: SearchSpace) -> tuple[int, ...]:
    """Return the numbers of GPUs to fill.

    Parameters
    ----------
    gpu : Gpu
        Parts of a baseboard come in numbers that divide a node, and then in whole nodes; of cards powers of
        two are tried.
    space : SearchSpace
        With the numbers where they were given.

    Returns
    -------
    tuple of int
        Rising.
    """
    if space.gpus is not None:
        return tuple(sorted(set(space.gpus)))
    node = gpu.node_gpus
    if not gpu.whole_nodes:
        return tuple(2**power for power in range(MOST_GPUS.bit_length()))
    inside = [count for count in range(1, min(node, MOST_GPUS) + 1) if node % count == 0]
    return tuple(inside) + tuple(range(2 * node, MOST_GPUS + 1, node))


def divisors(number: int) -> list[int]:
    """Return the numbers that divide another, rising."""
    return [size for size in range(1, number + 1) if number % size == 0]


def deployments(
    architecture: Architecture, counts: Iterable[int], space: SearchSpace, base: Deployment
) -> Iterator[Deployment]:
    """Yield every deployment of one copy to try.

    Parameters
    ----------
    architecture : Architecture
        The model: experts may be divided and attention copied where there are any, and a context shared where
        ranks hold the same cache.
    counts : iterable of int
        Numbers of GPUs; one copy has a number that divides one of them.
    space : SearchSpace
        Sizes and dtypes.
    base : Deployment
        Everything else.

    Yields
    ------
    Deployment
        By rising number of GPUs.
    """
    kinds = [
        {"weight_dtype": weights, "kv_dtype": cache, "speculative_tokens": drafted}
        for weights, cache, drafted in product(
            space.weight_dtypes or (base.weight_dtype,),
            space.kv_dtypes or (base.kv_dtype,),
            drafts(architecture, space, base),
        )
    ]
    if not space.copies:
        sizes = sorted(set(counts))
    else:
        sizes = sorted({size for count in counts for size in divisors(count)})
    experts = has_experts(architecture)
    for gpus in sizes:
        for tp, pp, dp in _splits(gpus, space, experts):
            for ep in _expert_sizes(tp, dp, space, experts):
                for dcp in _context_sizes(architecture, tp, space):
                    sharded: dict[str, int | None] = {"tp": tp, "pp": pp, "dp": dp, "ep": ep, "dcp": dcp}
                    if base.pp != pp:
                        sharded["pipeline_layers"] = None
                    yield from (base.model_copy(update={**sharded, **kind}) for kind in kinds)


def drafts(architecture: Architecture, space: SearchSpace, base: Deployment) -> tuple[int, ...]:
    """Return the numbers of tokens to draft."""
    if space.speculative_tokens is not None:
        return tuple(dict.fromkeys(space.speculative_tokens))
    if base.speculative_tokens:
        return (base.speculative_tokens,)
    return OWN_DRAFTS if architecture.draft else (0,)


def has_experts(architecture: Architecture) -> bool:
    """Return whether some layers have routed experts."""
    return any(tensor.expert for tensor, _ in architecture.counted_tensors())


def _splits(gpus: int, space: SearchSpace, experts: bool) -> Iterator[tuple[int, int, int]]:
    """Yield (TP, PP, DP) whose product is a number of GPUs; a dense model has no use for DP in one copy."""
    for tp in divisors(gpus):
        for dp in divisors(gpus // tp) if experts or space.dp is not None else (1,):
            pp = gpus // tp // dp
            wanted = ((tp, space.tp), (pp, space.pp), (dp, space.dp))
            if all(sizes is None or size in sizes for size, sizes in wanted):
                yield tp, pp, dp


def _expert_sizes(tp: int, dp: int, space: SearchSpace, experts: bool) -> tuple[int, ...]:
    if space.ep is not None:
        return tuple(dict.fromkeys(space.ep))
    return tuple(dict.fromkeys((1, tp * dp))) if experts else (1,)


def _context_sizes(architecture: Architecture, tp: int, space: SearchSpace) -> tuple[int, ...]:
    if space.dcp is not None:
        return tuple(dict.fromkeys(space.dcp))
    return tuple(divisors(context_copies(architecture, tp)))
