"""The record of a machine around a card, which serves what the card does not hold."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

from pydantic import Field, model_validator

from planner.catalogue.figures import Bytes, BytesPerS, FlopPerS, Record, Shares, Tuple

if TYPE_CHECKING:
    from planner.catalogue.loader import Catalogue

USUAL_HOST = "desktop-ddr5-5600"
"""What is assumed, and said, where layers run on a host that nobody named."""

Share = Annotated[float, Field(gt=0, le=1)]


class HostMachine(Record):
    """Memory, processor and slot of a machine, as far as offloaded weights are concerned."""

    id: str
    name: str
    aliases: tuple[str, ...] = Tuple
    memory: Bytes
    """Main memory."""
    memory_bandwidth: BytesPerS
    """Peak of all channels."""
    memory_share: Shares
    """Share of it that kernels of the CPU reach when they read weights."""
    memory_share_range: Annotated[tuple[Share, Share], Field(strict=False)]
    """What that share may be."""
    link: BytesPerS
    """One-way rate of the slot or link of one card."""
    link_share: Shares
    """Share of it that copies of weights reach."""
    compute: FlopPerS
    """What the CPU multiplies with quantised weights, reached rather than peak."""

    @model_validator(mode="after")
    def _in_order(self) -> HostMachine:
        low, high = self.memory_share_range
        if not low <= self.memory_share.value <= high:
            raise ValueError(
                f"memory_share {self.memory_share.value:g} is not within its range {low:g} to {high:g}"
            )
        return self

    @property
    def read_bytes_per_s(self) -> float:
        """Return what the CPU reads weights with [bytes/s]."""
        return self.memory_bandwidth.value * self.memory_share.value

    def provenance(self) -> str:
        """Return where its rate comes from."""
        share = self.memory_share
        return f"{share.value:.0%} of {self.memory_bandwidth}; share {share.provenance()}"


def host_machine(catalogue: Catalogue, name: str) -> HostMachine:
    """Return the host of this id or alias; `UnknownName` with the nearest names otherwise."""
    found = catalogue.load_entry("hosts", catalogue.resolve("hosts", name))
    assert isinstance(found, HostMachine)
    return found
