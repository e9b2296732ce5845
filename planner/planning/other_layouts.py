"""The same GPUs in other layouts: which of them hold more requests, and what each costs."""

from __future__ import annotations

from planner.architecture.caches import TokenCache
from planner.catalogue import Catalogue, Gpu, Model
from planner.errors import PlannerError
from planner.memory import MemoryFit, fit_memory
from planner.memory.built import SameModel, architecture_of
from planner.scenario import Deployment, Workload

MORE = 1.1
"""By how much more requests a layout must hold to be worth a word."""


def other_layouts(
    memory: MemoryFit, *, model: Model, gpu: Gpu, workload: Workload, catalogue: Catalogue
) -> tuple[MemoryFit, ...]:
    """Return layouts of the same GPUs that hold clearly more requests, the most requests first.

    Parameters
    ----------
    memory : MemoryFit
        The layout in question.
    model, gpu, workload, catalogue
        As for `planner.memory.fit_memory`.

    Returns
    -------
    tuple of MemoryFit
        Only where some cache is whole on several tensor-parallel ranks: elsewhere the layouts of as many GPUs
        hold about the same.
    """
    deployment = memory.deployment
    if deployment.gpus == 1 or not _keeps_copies(model, deployment):
        return ()
    least = MORE * memory.max_concurrency if memory.per_rank.available_bytes > 0 else 0.0
    found = []
    for sizes in _candidates(deployment):
        if all(getattr(deployment, name) == size for name, size in sizes.items()):
            continue
        try:
            other = fit_memory(
                model=model,
                gpu=gpu,
                deployment=deployment.model_copy(update={**sizes, "pipeline_layers": None}),
                workload=workload,
                catalogue=catalogue,
                advise=False,
            )
        except PlannerError:
            continue  # a size that the model or the engine cannot be cut into
        if other.fits and other.max_concurrency > least:
            found.append(other)
    found.sort(key=lambda one: -one.max_concurrency)
    return tuple(found)


def _keeps_copies(model: Model, deployment: Deployment) -> bool:
    """Return whether tensor parallelism leaves some cache whole on several ranks."""
    layers = {id(layer): layer for layer in architecture_of(SameModel(model)).layers}
    caches = (cache for layer in layers.values() for cache in layer.caches() if isinstance(cache, TokenCache))
    return any(cache.replicated or cache.heads < deployment.tp for cache in caches)


def _candidates(deployment: Deployment) -> list[dict[str, int]]:
    """Return the sizes to try on the same stages: TP, TP with DCP, DP attention with EP; and half the TP."""
    ranks, pp = deployment.tp * deployment.dp, deployment.pp
    one = {"tp": 1, "pp": pp, "dp": 1, "ep": 1, "dcp": 1}
    found = [
        {**one, "tp": ranks},
        {**one, "tp": ranks, "dcp": ranks},
        {**one, "dp": ranks, "ep": ranks},
    ]
    if ranks % 2 == 0:
        found.append({**one, "tp": ranks // 2, "pp": 2 * pp})
    return found


def layout_cautions(deployment: Deployment, node_gpus: int) -> list[str]:
    """Return what a layout costs in latency, which memory does not show.

    Parameters
    ----------
    deployment : Deployment
        The sizes.
    node_gpus : int
        GPUs of a node.

    Returns
    -------
    list of str
    """
    tp, pp = deployment.tp, deployment.pp
    found = []
    if tp > node_gpus:
        found.append(
            f"TP{tp} reaches over nodes of {node_gpus} GPUs: every layer waits for the network between them, "
            "so expect slow tokens unless that is as fast as the links within a node"
        )
    if pp > 1 and tp == deployment.dp == 1:
        found.append(
            f"TP1 PP{pp}: a token passes {pp} GPUs one after the other, so a request is no faster than on one"
        )
    elif pp > 1 and tp * pp * deployment.dp > node_gpus:
        found.append(
            f"PP{pp} over nodes: each token passes {pp} stages and the network between them, "
            "which costs latency; throughput needs enough requests to fill every stage"
        )
    return found
