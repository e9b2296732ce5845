"""What joins the ranks of a deployment: tiers of links, each with its rate and its fitted family."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from numbers import Real

from planner.catalogue import Gpu
from planner.catalogue.fabrics import LinkFamily, family_of
from planner.errors import InvalidInput, Unsupported, shorten, unknown_name

UNLIMITED = 2**31
"""Size of the tier between nodes."""

PCIE3_LANE_BYTES_PER_S = 1e9
"""One way; each generation doubles it."""


@dataclass(frozen=True, slots=True)
class Tier:
    """Links of one kind, and how many GPUs reach one another over them.

    Parameters
    ----------
    family : LinkFamily
        Parameters of collectives.
    gpus : int
        GPUs that one domain of these links joins.
    bytes_per_s : float
        One way, all links of a GPU together [bytes/s].
    pair_bytes_per_s : float
        One way, between two GPUs [bytes/s].
    subsets : mapping of int to float
        One way, what a GPU uses in a group of so many, where that is published [bytes/s].
    mesh : bool
        Whether each pair has links of its own, so that a group uses only those to its members.
    """

    family: LinkFamily
    gpus: int
    bytes_per_s: float
    pair_bytes_per_s: float
    subsets: Mapping[int, float] = field(default_factory=dict)
    mesh: bool = False

    def rate(self, ranks: int) -> float:
        """Return what one GPU can send inside a group.

        Parameters
        ----------
        ranks : int
            Size of the group.

        Returns
        -------
        float
            Wire rate, one way [bytes/s].
        """
        if not self.mesh:
            return self.bytes_per_s
        stated = self.subsets.get(ranks)
        return stated or min(self.bytes_per_s, self.pair_bytes_per_s * max(ranks - 1, 1))


@dataclass(frozen=True, slots=True)
class Fabric:
    """The tiers of links of a deployment, the innermost first.

    Parameters
    ----------
    gpu : str
        Id of the accelerator, for messages.
    tiers : tuple of Tier
        Inside the scale-up domain, perhaps inside the node, and between nodes where a rate is known.
    """

    gpu: str
    tiers: tuple[Tier, ...]

    def layout(self, ranks: int, stride: int = 1) -> tuple[int, ...]:
        """Return how a group of ranks spreads over the tiers.

        Parameters
        ----------
        ranks : int
            Size of the group.
        stride : int
            Distance between its neighbours in the order in which ranks fill nodes: 1 for a tensor-parallel
            group, the GPUs of a stage for a pipeline.

        Returns
        -------
        tuple of int
            Members that each tier joins, the innermost first; 1 where a tier joins none.

        Raises
        ------
        InvalidInput
            When a number is not positive.
        Unsupported
            When the group is larger than the tiers with a known rate.
        """
        if ranks < 1 or stride < 1:
            raise InvalidInput(f"ranks and stride are at least 1, not {ranks} and {stride}")
        sizes, groups, inside = [], ranks, 1
        for tier in self.tiers:
            reach = max(1, tier.gpus // stride)
            size = min(groups, max(1, reach // inside))
            sizes.append(size)
            groups, inside = -(-groups // size), max(inside, reach)
        if groups > 1:
            raise Unsupported(
                f"{self.gpu}: {ranks} ranks need links between nodes, whose rate is unknown; give one, "
                "such as 400 Gbit/s for each GPU"
            )
        return tuple(sizes)

    def crosses_nodes(self, ranks: int, stride: int = 1) -> bool:
        """Return whether a group of ranks needs the network between nodes."""
        sizes = self.layout(ranks, stride)
        return any(
            size > 1
            for size, tier in zip(sizes, self.tiers, strict=True)
            if tier.family.topology == "network"
        )


SLOWEST, FASTEST = 1e6, 1e14
"""Rates between nodes that any network of accelerators has [bytes/s]."""


def fabric_of(
    gpu: Gpu,
    families: Mapping[str, LinkFamily],
    *,
    network: str = "rdma",
    network_bytes_per_s: float | None = None,
) -> Fabric:
    """Return what joins GPUs of one kind.

    Parameters
    ----------
    gpu : Gpu
        The accelerator.
    families : mapping of str to LinkFamily
        Those of the catalogue (`Catalogue.fabrics`).
    network : str
        Family of the links between nodes: ``rdma`` (InfiniBand, RoCE v2) or ``efa`` (AWS).
    network_bytes_per_s : float, optional
        One-way line rate between nodes for each GPU [bytes/s], instead of the catalogue's; where GPUs share a
        port, their part of it. 195 Gbit/s are 24.4e9.

    Returns
    -------
    Fabric

    Raises
    ------
    UnknownName
        When there is no such network family.
    InvalidInput
        When the rate is not positive.
    """
    between = families.get(network)
    if between is None or between.topology != "network":
        raise unknown_name(
            "network", network, [key for key, f in families.items() if f.topology == "network"]
        )
    if network_bytes_per_s is not None and not _possible(network_bytes_per_s):
        raise InvalidInput(
            f"a rate between nodes of {shorten(network_bytes_per_s)} bytes/s is not possible; "
            f"from {SLOWEST:g} to {FASTEST:g}, such as 24.4e9 for 195 Gbit/s"
        )
    tiers = [*_scale_up(gpu, families), *_inside_node(gpu, families)]
    stated = gpu.scale_out.per_gpu
    rate = network_bytes_per_s or (stated.value if stated else None)
    if rate is not None:
        tiers.append(Tier(between, UNLIMITED, rate, rate))
    return Fabric(gpu.id, tuple(tiers))


def _scale_up(gpu: Gpu, families: Mapping[str, LinkFamily]) -> list[Tier]:
    """Return the tier of the scale-up links, none where GPUs have only PCIe or nothing."""
    link = gpu.scale_up
    if link is None or link.per_gpu is None or gpu.domain_gpus < 2:
        return []
    pair = link.p2p_link or link.per_gpu
    subsets = {int(ranks): figure.value for ranks, figure in link.tp_subset.items()}
    family, mesh = family_of(gpu, families.values()), link.topology == "mesh"
    return [Tier(family, gpu.domain_gpus, link.per_gpu.value, pair.value, subsets, mesh)]


def _inside_node(gpu: Gpu, families: Mapping[str, LinkFamily]) -> list[Tier]:
    """Return the tier of PCIe that joins the cards of a node, bridged or not."""
    rate = _pcie_bytes_per_s(gpu.scale_up.link) if gpu.scale_up else None
    if rate is None or gpu.node.gpus is None or gpu.node_gpus < 2:
        return []
    bridged = gpu.domain_gpus > 1
    family = families["pcie"] if bridged else family_of(gpu, families.values())
    return [Tier(family, gpu.node_gpus, rate, rate)]


def _pcie_bytes_per_s(link: str) -> float | None:
    found = re.search(r"PCIe (\d)\.0 x(\d+)", link)
    return PCIE3_LANE_BYTES_PER_S * 2 ** (int(found[1]) - 3) * int(found[2]) if found else None


def _possible(bytes_per_s: object) -> bool:
    return isinstance(bytes_per_s, Real) and SLOWEST <= float(bytes_per_s) <= FASTEST
