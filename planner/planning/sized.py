"""From a rate and what one replica carries to replicas, nodes and GPUs, with those that stand by."""

from __future__ import annotations

import math
from dataclasses import dataclass

from planner.planning.headroom import Group, Headroom, Spares, group_of, spares_of

ROUNDING = 1e-9
"""Share of a replica that a sum of floats may be over a whole number without asking for one more."""


@dataclass(frozen=True, slots=True)
class Sized:
    """How many of everything, from a rate and what one replica carries.

    Parameters
    ----------
    planned_per_s, rate_per_s, usable_per_s : float
        The rate to plan for, what one replica carries within the SLO, and what it is given [requests/s].
    working : int
        Replicas that the rate needs.
    group : Group
        What fails together.
    groups : int
        Groups that hold them.
    spares : Spares
        Groups that stand by.
    replicas : int
        Replicas with those of the spare groups.
    nodes : int
        Nodes of all groups.
    gpus_used, gpus : int
        GPUs of the replicas, and GPUs that are paid for.
    """

    planned_per_s: float
    rate_per_s: float
    usable_per_s: float
    working: int
    group: Group
    groups: int
    spares: Spares
    replicas: int
    nodes: int
    gpus_used: int
    gpus: int


def size(
    *,
    planned_per_s: float,
    rate_per_s: float,
    headroom: Headroom,
    replica_gpus: int,
    node_gpus: int,
    whole_nodes: bool,
) -> Sized:
    """Return how many replicas, nodes and GPUs carry a rate.

    Parameters
    ----------
    planned_per_s : float
        The rate to plan for [requests/s]; 0 needs nothing.
    rate_per_s : float
        What one replica carries within the SLO [requests/s].
    headroom : Headroom
        What is kept free.
    replica_gpus, node_gpus : int
        GPUs of a replica and of a node.
    whole_nodes : bool
        Whether all GPUs of a node are paid for.

    Returns
    -------
    Sized
        ``working = ceil(planned / (rate * peak utilisation))``; groups hold these, and spare groups stand by.
    """
    usable = rate_per_s * headroom.peak_utilisation
    working = math.ceil(planned_per_s / usable * (1 - ROUNDING))
    group = group_of(replica_gpus, node_gpus)
    groups = math.ceil(working / group.replicas)
    spares = spares_of(headroom, groups, group, node_gpus) if groups else Spares(0, None, None, "no load")
    replicas = working + spares.groups * group.replicas
    nodes = (groups + spares.groups) * group.nodes
    used = replicas * replica_gpus
    return Sized(
        planned_per_s=planned_per_s,
        rate_per_s=rate_per_s,
        usable_per_s=usable,
        working=working,
        group=group,
        groups=groups,
        spares=spares,
        replicas=replicas,
        nodes=nodes,
        gpus_used=used,
        gpus=nodes * node_gpus if whole_nodes else used,
    )
