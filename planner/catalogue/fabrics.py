"""The record of one family of links: how long its collectives take, as few fitted parameters."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field, ValidationInfo, model_validator

from planner.catalogue.figures import Confidence, Date, Record, Source, Tuple, read_quantity, resolve_source
from planner.catalogue.gpu import Gpu, Topology
from planner.errors import CatalogueError
from planner.units import Dimension

AlgorithmName = Literal[
    "one_shot",
    "two_shot",
    "ring",
    "in_switch",
    "all_gather",
    "all_to_all",
    "send",
    "ep_low_latency",
    "ep_normal",
    "network_ep_low_latency",
    "network_ep_normal",
]
"""one_shot, two_shot: an engine's own all-reduce. ring: the library's. in_switch: the switch adds.

all_gather: of the library, also for reduce-scatter and broadcast. ep_*: dispatch to experts, or combination
of what they return; network_ep_*: the part of it between nodes.
"""


def _read_seconds(value: Any) -> Any:
    return read_quantity(value, Dimension.SECONDS)


def _read_shares(value: Any) -> Any:
    shares = value if isinstance(value, dict) else {2: value}
    return {int(ranks): read_quantity(share, Dimension.SHARE) for ranks, share in shares.items()}


Seconds = Annotated[float, BeforeValidator(_read_seconds)]


class Algorithm(Record):
    """One way to do a collective: t = floor + step x steps + w + 2 sqrt(fill x w), w = wire time / share."""

    floor: Seconds = Field(ge=0)
    """Time of the smallest message, before any step [s]."""
    step: Seconds = Field(default=0.0, ge=0)
    """Time of each message in a row of them [s]: n - 1 around a ring, 2 log2 n through a tree."""
    share: Annotated[dict[int, Annotated[float, Field(gt=0, le=1)]], BeforeValidator(_read_shares)]
    """Share of the wire's rate that large messages reach, by number of ranks (of nodes between nodes)."""
    fill: Seconds = Field(default=0.0, ge=0)
    """Time to fill the pipeline of chunks that a message is cut into [s]."""
    dedup: bool = False
    """Whether a token that chose several experts on one rank (or node) goes there once."""
    spread: float = Field(ge=1)
    """Four calls of five take between the time divided by this and the time multiplied by it."""
    source: Source
    date: Date
    confidence: Confidence = "inferred"
    note: str | None = None

    @model_validator(mode="before")
    @classmethod
    def _read(cls, data: Any, info: ValidationInfo) -> Any:
        return resolve_source(data, info) if isinstance(data, dict) else data


class LinkFamily(Record):
    """Links of one kind, whose collectives share their parameters."""

    id: str
    name: str
    topology: Topology | Literal["network"]
    links: tuple[str, ...] = Tuple
    """How the names of such links begin; empty for every link of this topology."""
    gpus: tuple[str, ...] = Tuple
    """Accelerators that belong here whatever their link is called."""
    source: Source
    date: Date
    note: str | None = None
    algorithms: dict[AlgorithmName, Algorithm]

    @model_validator(mode="before")
    @classmethod
    def _read(cls, data: Any, info: ValidationInfo) -> Any:
        return resolve_source(data, info) if isinstance(data, dict) else data

    def algorithm(self, name: AlgorithmName) -> Algorithm:
        """Return the parameters of an algorithm.

        Raises
        ------
        CatalogueError
            When the family has none of this name.
        """
        found = self.algorithms.get(name)
        if found is None:
            have = ", ".join(self.algorithms)
            raise CatalogueError(f"fabrics.{self.id}: no algorithm {name!r}; it has: {have}")
        return found

    def fit_of(self, gpu: Gpu) -> int:
        """Return how closely the family describes a GPU's links: 3 by id, 2 by link, 1 by topology, 0 not."""
        if gpu.id in self.gpus:
            return 3
        link = gpu.scale_up
        if link is None or link.topology != self.topology:
            return 0
        if self.links:
            return 2 if link.link.startswith(self.links) else 0
        return 1


def family_of(gpu: Gpu, families: Iterable[LinkFamily]) -> LinkFamily:
    """Return the family that a GPU's scale-up links belong to.

    Parameters
    ----------
    gpu : Gpu
        The accelerator.
    families : iterable of LinkFamily
        Those of the catalogue.

    Returns
    -------
    LinkFamily
        The closest one: by the GPU's id, else by the name of its link, else by topology.

    Raises
    ------
    CatalogueError
        When none describes it.
    """
    closest = max(families, key=lambda family: family.fit_of(gpu), default=None)
    if closest is None or closest.fit_of(gpu) == 0:
        shown = gpu.scale_up.link if gpu.scale_up else "no scale-up links"
        raise CatalogueError(f"fabrics: none describes {gpu.id} ({shown}); add it to the `gpus` of one")
    return closest
