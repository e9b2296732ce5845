"""What a card is sold for to anybody, and what it draws with the machine around it."""

from __future__ import annotations

from planner.catalogue import Catalogue, Figure, Gpu
from planner.catalogue.money import ListPrice

HOST_W = 100.0
"""What the machine around a card draws beside it, where no power is given (assumed) [W]."""

AS_LISTED = "list price"
"""Where the price of a card comes from that is sold to anybody."""

OF_MACHINE = f"TDP and {HOST_W:g} W of its machine, assumed"
"""Where the power of a card with its machine comes from."""


def list_price(gpu: Gpu, catalogue: Catalogue) -> Figure | None:
    """Return the list price of a card, or None."""
    if gpu.id not in catalogue.ids("purchases"):
        return None
    found = catalogue.load_entry("purchases", gpu.id)
    assert isinstance(found, ListPrice)
    return found.price


def power_with_machine(gpu: Gpu) -> Figure | None:
    """Return the TDP of a card and what its machine is assumed to draw [W], or None without a TDP."""
    tdp = gpu.power.tdp
    if tdp is None:
        return None
    return tdp.model_copy(update={"value": tdp.value + HOST_W, "confidence": "assumed"})
