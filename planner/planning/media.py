"""How many accelerators a traffic of media needs, and at which price the cheaper of two changes.

A unit keeps one accelerator busy from first to last, so that one carries 1 / T units a second and no more.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Annotated

from pydantic import Field

from planner.economics.use import HOURS_PER_MONTH
from planner.planning.headroom import MOST_SPARES, USUAL_UTILISATION
from planner.planning.traffic import Factor, Rate
from planner.scenario.records import Plain, Scenario, Share

SPARE_NODES = 1


class MediaDemand(Scenario):
    """Units that are asked for, and what is kept free of the accelerators that make them."""

    request_rate: Rate
    """Units a second, on average over the day."""
    peak_factor: Factor = 1.0
    """The rate to plan for over that."""
    peak_utilisation: Share = USUAL_UTILISATION
    """Peak load over what the accelerators carry."""
    spare: Annotated[int, Plain, Field(ge=0, le=MOST_SPARES)] = SPARE_NODES
    """Nodes that stand by, or accelerators where these are paid one by one."""
    part_nodes: bool = False
    """Whether accelerators are paid one by one."""
    slo_e2e_s: Annotated[float, Plain, Field(gt=0, le=1e9)] | None = None
    """Longest time of a unit [s]."""


@dataclass(frozen=True, slots=True)
class MediaPlan:
    """Accelerators of one type for a traffic.

    Parameters
    ----------
    seconds : float
        Time of a unit on one accelerator [s].
    mean_per_s, peak_per_s : float
        Units a second, on average over the day and to be planned for [1/s].
    utilisation : float
        Peak load over what the accelerators carry.
    serving, spare, gpus, nodes : int
        Accelerators that carry the peak, those that stand by, all that are paid, and nodes.
    """

    seconds: float
    mean_per_s: float
    peak_per_s: float
    utilisation: float
    serving: int
    spare: int
    gpus: int
    nodes: int

    @property
    def gpu_hours_per_month(self) -> float:
        """Return the time that the units of a month take, one after the other [GPU-hours]."""
        return self.mean_per_s * HOURS_PER_MONTH * self.seconds

    @property
    def busy(self) -> float:
        """Return the share of the paid time in which an accelerator works, on average."""
        return self.mean_per_s * self.seconds / self.gpus

    def usd_per_unit(self, usd_per_gpu_hour: float) -> float:
        """Return what a unit costs with all that is paid, idle hours too [USD]."""
        return self.gpus * usd_per_gpu_hour / 3600 / self.mean_per_s


def media_plan(demand: MediaDemand, *, seconds: float, node_gpus: int) -> MediaPlan:
    """Return the accelerators that a traffic needs.

    Parameters
    ----------
    demand : MediaDemand
        The traffic, and what is kept free.
    seconds : float
        Time of a unit on one accelerator [s].
    node_gpus : int
        Accelerators of a node.

    Returns
    -------
    MediaPlan
        ceil(peak x T / utilisation) accelerators and what stands by, rounded up to whole nodes.
    """
    mean, use = demand.request_rate, demand.peak_utilisation
    peak = mean * demand.peak_factor
    serving = max(1, math.ceil(peak * seconds / use - 1e-9))
    if demand.part_nodes:
        gpus = serving + demand.spare
        nodes = math.ceil(gpus / node_gpus)
    else:
        nodes = math.ceil(serving / node_gpus) + demand.spare
        gpus = nodes * node_gpus
    return MediaPlan(seconds, mean, peak, use, serving, gpus - serving, gpus, nodes)


@dataclass(frozen=True, slots=True)
class MediaFlip:
    """Where the cheaper of two accelerators changes.

    Parameters
    ----------
    ratio, low, high : float
        Price of the first over that of the second at which a unit costs the same, and its 80 % interval.
    first_usd, second_usd : float or None
        Price of each at which that happens while the other keeps its own [USD/h].
    """

    ratio: float
    low: float
    high: float
    first_usd: float | None
    second_usd: float | None


def media_flip(
    first: tuple[float, float, float],
    second: tuple[float, float, float],
    first_usd: float | None,
    second_usd: float | None,
) -> MediaFlip:
    """Return the ratio of prices at which two accelerators cost the same for each unit.

    Parameters
    ----------
    first, second : tuple of float
        Time of a unit, its low and its high end [s].
    first_usd, second_usd : float or None
        Their prices, where they have one [USD/h].

    Returns
    -------
    MediaFlip
        A unit costs p T, so that p1 / p2 = T2 / T1; its ends combine both spreads as independent ones.
    """
    ratio = second[0] / first[0]
    down = math.hypot(math.log(second[0] / second[1]), math.log(first[2] / first[0]))
    up = math.hypot(math.log(second[2] / second[0]), math.log(first[0] / first[1]))
    return MediaFlip(
        ratio=ratio,
        low=ratio * math.exp(-down),
        high=ratio * math.exp(up),
        first_usd=None if second_usd is None else ratio * second_usd,
        second_usd=None if first_usd is None else first_usd / ratio,
    )
