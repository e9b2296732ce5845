"""Headroom: how far replicas are filled, and how many stand by for those that fail."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Annotated, Any

from pydantic import Field

from planner.errors import InvalidInput
from planner.scenario.records import Plain, Scenario

USUAL_UTILISATION = 0.8
"""Peak load over what the working replicas carry within the SLO, where nobody states it: assumed. It leaves
room for forecasts that are too low and for load that is spread unevenly; it is never 100 % by default."""

LEAST_UTILISATION = 0.001
"""Less would plan for more than a thousand times the load."""

MOST_SPARES = 10_000


class Headroom(Scenario):
    """What a plan keeps free, and for what."""

    peak_utilisation: Annotated[float, Plain, Field(ge=LEAST_UTILISATION, le=1)] = USUAL_UTILISATION
    """Peak load over what the replicas carry within the SLO, spares not counted."""
    spare: Annotated[int, Plain, Field(ge=0, le=MOST_SPARES)] | None = None
    """Groups that stand by; 1 is N+1. None is 1, or what an availability target asks for."""
    availability_target: Annotated[float, Plain, Field(gt=0, lt=1)] | None = None
    """Share of time in which the groups that the peak needs must work."""
    node_availability: Annotated[float, Plain, Field(gt=0, lt=1)] | None = None
    """Share of time in which a node works."""
    gpu_availability: Annotated[float, Plain, Field(gt=0, lt=1)] | None = None
    """Share of time in which a GPU works, instead of that of a node: a node works while all its GPUs do."""

    def model_post_init(self, context: Any, /) -> None:
        """Refuse a target without a stated availability, and two ways to say one thing."""
        stated = self.node_availability is not None or self.gpu_availability is not None
        if self.availability_target is not None:
            if self.spare is not None:
                raise InvalidInput(
                    "headroom: a number of spares and an availability target exclude each other"
                )
            if not stated:
                raise InvalidInput(
                    "headroom: an availability target needs that of a node or a GPU, such as 0.995"
                )
        elif stated:
            raise InvalidInput("headroom: an availability is stated, but no target, such as 0.999")
        if self.node_availability is not None and self.gpu_availability is not None:
            raise InvalidInput("headroom: the availability of a node and of a GPU exclude each other")


@dataclass(frozen=True, slots=True)
class Group:
    """GPUs that fail together: a node with all its replicas, or a replica with all its nodes.

    Parameters
    ----------
    replicas : int
        Replicas in it.
    nodes : int
        Nodes that it takes.
    gpus : int
        GPUs of it that replicas use.
    """

    replicas: int
    nodes: int
    gpus: int


def group_of(replica_gpus: int, node_gpus: int) -> Group:
    """Return what fails together.

    Parameters
    ----------
    replica_gpus : int
        GPUs of one replica.
    node_gpus : int
        GPUs of one node.

    Returns
    -------
    Group
        A node with as many replicas as it holds whole, or one replica over several nodes.
    """
    if replica_gpus > node_gpus:
        return Group(1, math.ceil(replica_gpus / node_gpus), replica_gpus)
    held = node_gpus // replica_gpus
    return Group(held, 1, held * replica_gpus)


def k_of_n(needed: int, groups: int, works: float) -> float:
    """Return how likely at least `needed` of `groups` work, each by itself: a binomial tail.

    Parameters
    ----------
    needed, groups : int
        How many are needed, and how many there are.
    works : float
        Probability that one works.

    Returns
    -------
    float
        ``sum over i from needed to groups of C(groups, i) works**i (1 - works)**(groups - i)``.
    """
    from scipy.stats import binom

    return float(binom.sf(needed - 1, groups, works))


@dataclass(frozen=True, slots=True)
class Spares:
    """Groups that stand by, and why.

    Parameters
    ----------
    groups : int
        How many.
    works : float or None
        Probability that one group works, where it was stated.
    reached : float or None
        How likely the groups that the peak needs work.
    reason : str
        Such as "N+1" or "99.9 % of the time".
    """

    groups: int
    works: float | None
    reached: float | None
    reason: str


def spares_of(headroom: Headroom, needed: int, group: Group, node_gpus: int) -> Spares:
    """Return how many groups stand by.

    Parameters
    ----------
    headroom : Headroom
        What is asked for.
    needed : int
        Groups that carry the peak.
    group : Group
        What fails together.
    node_gpus : int
        GPUs of one node.

    Returns
    -------
    Spares
        The stated number; or the least with which enough groups work in the share of time of the target,
        each failing by itself; or one (N+1), where nothing is stated.
    """
    target = headroom.availability_target
    if target is None:
        count = 1 if headroom.spare is None else headroom.spare
        said = " (assumed; none was stated)" if headroom.spare is None else ""
        return Spares(count, None, None, f"N+{count}{said}")
    each = headroom.node_availability
    if each is None:
        assert headroom.gpu_availability is not None
        works = headroom.gpu_availability ** (group.gpus if group.nodes > 1 else node_gpus)
    else:
        works = each**group.nodes
    for count in range(MOST_SPARES):
        reached = k_of_n(needed, needed + count, works)
        if reached >= target:
            return Spares(count, works, reached, f"{100 * target:g} % of the time")
    raise InvalidInput(
        f"headroom: {MOST_SPARES:,} spares do not reach {100 * target:g} % of the time, "
        f"with each group working {100 * works:.3g} % of it"
    )
