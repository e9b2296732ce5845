"""The smallest deployment that fits: tensor parallelism within a node, pipeline stages beyond."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace

from planner.catalogue import Catalogue, Gpu, Model
from planner.errors import IllegalDeployment
from planner.memory.fit import fit_memory, quick_fit
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

    Of cards every number is tried. Of parts that come in whole nodes those numbers are that divide a node,
    and then whole nodes. Of layouts with as many GPUs the one with the largest TP comes first.

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
        With a warning where fewer GPUs would do if the engine ran fewer requests at once.
    """
    fewest, nearly = 1, ""
    for tp, pp in layouts(gpu, max_nodes):
        if tp * pp < fewest:
            continue
        sizes = {"tp": tp, "pp": pp, "ep": 1, "dp": 1, "dcp": 1, "pipeline_layers": None}
        sized = deployment.model_copy(update=sizes)
        try:
            found = quick_fit(model=model, gpu=gpu, deployment=sized, workload=workload, catalogue=catalogue)
        except IllegalDeployment:
            continue
        if found.fits:
            fit = fit_memory(model=model, gpu=gpu, deployment=sized, workload=workload, catalogue=catalogue)
            return replace(fit, warnings=(*fit.warnings, nearly)) if nearly else fit
        if found.slots and not nearly:
            gpus = "1 GPU holds" if tp * pp == 1 else f"{tp * pp} GPUs (TP{tp} PP{pp}) hold"
            nearly = f"{gpus} it too with max_num_seqs {found.slots:,} or less, one for each block of states"
        if tp == pp == 1:
            # No layout has less weight over all its GPUs than the whole model on one.
            fewest = math.ceil(found.weights_bytes / gpu.usable_bytes)
    return None


def layouts(gpu: Gpu, max_nodes: int) -> Iterator[tuple[int, int]]:
    """Yield (TP, PP) by rising number of GPUs, the largest TP of each number first.

    Parameters
    ----------
    gpu : Gpu
        For the size of a node, and whether it comes in whole ones.
    max_nodes : int
        Nodes at most.

    Yields
    ------
    tuple of int
    """
    node = gpu.node_gpus
    inside = [size for size in range(1, node + 1) if node % size == 0 or not gpu.whole_nodes]
    beyond = range(node + 1, max_nodes * node + 1)
    numbers = [*inside, *(gpus for gpus in beyond if gpus % node == 0 or not gpu.whole_nodes)]
    for gpus in numbers:
        for tp in (size for size in reversed(inside) if gpus % size == 0):
            yield tp, gpus // tp
