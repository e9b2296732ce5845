"""How long the GPU waits for the engine's host code in each step."""

from __future__ import annotations

from dataclasses import dataclass

from planner.catalogue import Catalogue
from planner.catalogue.stacks import Version, parse_version
from planner.errors import UnknownName


@dataclass(frozen=True, slots=True)
class HostTime:
    """Host time of one decode step that the GPU does not hide.

    Parameters
    ----------
    low_s, mid_s, high_s : float
        Range and middle [s].
    mode : str
        What the scheduler does, such as ``asynchronous``.
    source : str
        Confidence, source and date.
    """

    low_s: float
    mid_s: float
    high_s: float
    mode: str
    source: str


UNKNOWN = HostTime(
    0.1e-3, 0.4e-3, 2e-3, "unknown", "assumed: between asynchronous and synchronous schedulers"
)
"""For engines without a figure."""


def host_time(*, catalogue: Catalogue, engine: str, version: str | Version | None = None) -> HostTime:
    """Return the host time of a decode step of an engine.

    Parameters
    ----------
    catalogue : Catalogue
        With the figures (`host:` in `data/stacks.yaml`).
    engine : str
        Id or alias.
    version : str or tuple of int, optional
        Engine version; None is the newest.

    Returns
    -------
    HostTime
        `UNKNOWN` where no figure is known.
    """
    try:
        host = catalogue.host(catalogue.resolve("stacks", engine))
    except UnknownName:
        return UNKNOWN
    step = host.step(parse_version(version) if isinstance(version, str) else version) if host else None
    if step is None:
        return UNKNOWN
    return HostTime(step.low, step.mid, step.high, step.mode, step.provenance())
