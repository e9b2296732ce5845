"""Short ways to ask the memory room, for its tests."""

from __future__ import annotations

from typing import Any

from planner.catalogue import Catalogue
from planner.memory import MemoryFit, Pool, fit_memory, pool_from_available
from planner.scenario import Deployment, Workload

GIB = 2.0**30


def fit(
    catalogue: Catalogue,
    model: str,
    gpu: str,
    context: int | None = None,
    concurrency: int | None = None,
    **deployment: Any,
) -> MemoryFit:
    """Fit a model by id on an accelerator by id."""
    return fit_memory(
        model=catalogue.model(model),
        gpu=catalogue.gpu(gpu),
        deployment=Deployment(**deployment),
        workload=Workload(context=context, concurrency=concurrency),
        catalogue=catalogue,
    )


def pool(
    catalogue: Catalogue,
    model: str,
    gpu: str,
    available_gib: float,
    context: int | None = None,
    concurrency: int | None = None,
    **deployment: Any,
) -> Pool:
    """Make the pool of a given amount of memory."""
    return pool_from_available(
        model=catalogue.model(model),
        gpu=catalogue.gpu(gpu),
        deployment=Deployment(**deployment),
        workload=Workload(context=context, concurrency=concurrency),
        catalogue=catalogue,
        available_bytes=available_gib * GIB,
    )
