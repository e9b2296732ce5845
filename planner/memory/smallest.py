"""The smallest deployment that fits: tensor parallelism within a node, pipeline stages across nodes."""

from __future__ import annotations

import math
from collections.abc import Iterator

from planner.catalogue import Catalogue, Gpu, Model
from planner.errors import IllegalDeployment
from planner.memory.fit import fit_memory
from planner.memory.records import MemoryFit
from planner.scenario import Deployment, Workload


def smallest_deployment(
    *,
    model: Model,
    gpu: Gpu,
    workload: Workload,
    deployment: Deployment,
    catalogue: Catalogue,
    max_nodes: int = 16,
) -> MemoryFit | None:
    """Return the deployment with the fewest GPUs that fits, or None.

    Within a node TP takes every size that divides the node; over several nodes, whole nodes are taken.
    Of layouts with as many GPUs the one with the largest TP comes first.

    Parameters
    ----------
    model, gpu, workload, catalogue
        As for `fit_memory`.
    deployment : Deployment
        Everything but the sizes, which are searched.
    max_nodes : int
        Where the search ends.

    Returns
    -------
    MemoryFit or None
    """
    fewest = 1
    for tp, pp in layouts(gpu.node_gpus, max_nodes):
        if tp * pp < fewest:
            continue
        sizes = {"tp": tp, "pp": pp, "ep": 1, "dp": 1, "dcp": 1, "pipeline_layers": None}
        candidate = deployment.model_copy(update=sizes)
        try:
            fit = _fit(model, gpu, candidate, workload, catalogue, advise=False)
        except IllegalDeployment:
            continue
        if fit.fits:
            return _fit(model, gpu, candidate, workload, catalogue, advise=True)
        if tp == pp == 1:
            # No layout has less weight over all its GPUs than the whole model on one.
            fewest = math.ceil(fit.per_rank.weights_bytes / gpu.usable_bytes)
    return None


def _fit(
    model: Model, gpu: Gpu, deployment: Deployment, workload: Workload, catalogue: Catalogue, advise: bool
) -> MemoryFit:
    return fit_memory(
        model=model,
        gpu=gpu,
        deployment=deployment,
        workload=workload,
        catalogue=catalogue,
        advise=advise,
    )


def layouts(node_gpus: int, max_nodes: int) -> Iterator[tuple[int, int]]:
    """Yield (TP, PP) by rising number of GPUs, the largest TP of each number first.

    Parameters
    ----------
    node_gpus : int
        GPUs of a node.
    max_nodes : int
        Nodes at most.

    Yields
    ------
    tuple of int
    """
    inside = [size for size in range(1, node_gpus + 1) if node_gpus % size == 0]
    for gpus in inside:
        for tp in (size for size in reversed(inside) if gpus % size == 0):
            yield tp, gpus // tp
    for nodes in range(2, max_nodes + 1):
        for tp in reversed(inside):
            yield tp, nodes * node_gpus // tp
