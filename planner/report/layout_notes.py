"""Why this layout, in words: what was chosen, what is sold, and what it costs in latency."""

from __future__ import annotations

from planner.catalogue import Gpu
from planner.planning.other_layouts import layout_cautions
from planner.planning.sizing import Judgement, Sizes, fills_nodes, layouts
from planner.report.sentences import gpu_label, layout


def layout_notes(judged: Judgement, gpu: Gpu, sizes: Sizes) -> tuple[str, ...]:
    """Return which layout was chosen where the sizes leave a choice, and what it costs in latency.

    Parameters
    ----------
    judged : Judgement
        The deployment of the answer, and others.
    gpu : Gpu
        The accelerator.
    sizes : Sizes
        What the user gave.

    Returns
    -------
    tuple of str
    """
    deployment = judged.memory.deployment
    said = []
    if sizes.gpus is not None and len(layouts(sizes, gpu, deployment)) > 1:
        usual = layouts(sizes, gpu, deployment)[0]
        if (usual.tp, usual.pp) != (deployment.tp, deployment.pp):
            said.append(
                f"of {deployment.gpus} GPUs {layout(usual)} is usual, but does not do; {layout(deployment)} "
                "is the first layout that does. Name --tp or --pp to have another one judged"
            )
    if judged.even is not None:
        even = judged.even.deployment
        said.append(
            f"{deployment.gpus} GPUs do not divide a node of {gpu.node_gpus}: the smallest that divides or "
            f"fills nodes is {even.gpus} x {gpu_label(gpu.id)} ({layout(even)})"
        )
    elif not fills_nodes(gpu, deployment.gpus):
        nodes = -(-deployment.gpus // gpu.node_gpus)
        said.append(
            f"{deployment.gpus} GPUs fill no whole nodes of {gpu.node_gpus}: {nodes} nodes have "
            f"{nodes * gpu.node_gpus}, and rates for each GPU and costs leave out those that idle"
        )
    return (*said, *layout_cautions(deployment, gpu.node_gpus))
