"""How much of a model must leave the GPU so that the rest fits: layers, experts, or weights that stream."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator

from planner.memory.levers import Lever
from planner.memory.setup import Setup
from planner.scenario.offload import GIB, ON_CPU, STREAMED, has_experts

Holds = Callable[[dict[str, object]], bool]
"""Whether the GPU holds its part with these options of the deployment."""


def offload_levers(setup: Setup, holds: Holds) -> Iterator[Lever]:
    """Yield the smallest offload of each kind with which the GPU holds the rest.

    Parameters
    ----------
    setup : Setup
        A deployment that does not fit.
    holds : callable
        From options of the deployment to whether its GPU has room.

    Yields
    ------
    Lever
        None for engines that offload nothing, for several GPUs, and for parts that come in whole nodes.
    """
    if setup.deployment.gpus > 1 or setup.gpu.whole_nodes:
        return
    if setup.stack.id in ON_CPU:
        yield from _experts(setup, holds)
        yield from _layers(setup, holds)
    elif setup.stack.id in STREAMED:
        most = math.floor(max(groups.total() for groups in setup.weights) / GIB)
        least = _first(lambda gib: holds({"cpu_offload_gb": float(gib)}), 1, most)
        if least is not None:
            text = f"keep {least:,} GiB of weights of each GPU on the host (cpu_offload_gb {least}): slow"
            yield Lever("offload", text, {"cpu_offload_gb": float(least)})


def _experts(setup: Setup, holds: Holds) -> Iterator[Lever]:
    layers = setup.architecture.layers
    if setup.deployment.ngl is not None or not any(has_experts(layer) for layer in layers):
        return
    least = _first(lambda count: holds({"n_cpu_moe": count}), 1, len(layers))
    if least is not None:
        text = f"the experts of {least} of {len(layers)} layers on the CPU (n_cpu_moe {least})"
        yield Lever("experts", text, {"n_cpu_moe": least})


def _layers(setup: Setup, holds: Holds) -> Iterator[Lever]:
    layers = len(setup.architecture.layers)
    fewer = _first(lambda taken: holds({"ngl": layers + 1 - taken}), 1, layers + 1)
    if fewer is None:
        return
    most = layers + 1 - fewer
    if most < 2:
        text = f"no whole layer fits on the card: all {layers} on the CPU (ngl {most})"
    else:
        text = f"{most - 1} of {layers} layers and the output on the GPU (ngl {most}), the others on the CPU"
    yield Lever("layers", text, {"ngl": most})


def _first(holds: Callable[[int], bool], low: int, high: int) -> int | None:
    """Return the smallest number from `low` to `high` that holds, where all above one that does hold too."""
    if high < low or not holds(high):
        return None
    while low < high:
        middle = (low + high) // 2
        if holds(middle):
            high = middle
        else:
            low = middle + 1
    return high
