"""Which layouts people run, of all that are legal: the calibration knows those, and little of others.

Without this a search would prefer what was never measured: a pipeline of 16 stages for a model that one GPU
holds, or a copy over two nodes where each node holds one.
"""

from __future__ import annotations

from collections.abc import Iterable

from planner.catalogue import Gpu
from planner.scenario import Deployment

TIERS = 3
Tiers = list[list[Deployment]]


def by_format(
    deployments: Iterable[Deployment], gpu: Gpu
) -> dict[tuple[object, ...], list[list[Deployment]]]:
    """Return deployments by dtypes and drafts, and of each the usual layouts before those for want of them.

    Parameters
    ----------
    deployments : iterable of Deployment
        In the order of the search.
    gpu : Gpu
        How many of it fast links join.

    Returns
    -------
    dict of tuple to Tiers
        First copies within the GPUs that fast links join, in one stage (of cards, in stages too); then those
        over nodes whose stages fill these GPUs; then all others.
    """
    found: dict[tuple[object, ...], Tiers] = {}
    for deployment in deployments:
        formats = (deployment.weight_dtype, deployment.kv_dtype, deployment.speculative_tokens)
        tiers = found.setdefault(formats, [[] for _ in range(TIERS)])
        tiers[_tier(deployment, gpu)].append(deployment)
    return found


def _tier(deployment: Deployment, gpu: Gpu) -> int:
    joined = max(gpu.node_gpus, gpu.domain_gpus)
    if deployment.gpus <= joined and (deployment.pp == 1 or not gpu.whole_nodes):
        return 0
    over_nodes = deployment.gpus > joined and deployment.tp * deployment.dp % joined == 0
    return 1 if over_nodes else 2
