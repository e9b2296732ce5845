"""The root keys a catalogue file may hold, and how one file's entry lies over another's."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from importlib import import_module
from typing import Any

from planner.errors import nearest_names


@dataclass(frozen=True, slots=True)
class Root:
    """Which shipped file holds a root key, and what one of its entries is called."""

    file: str
    kind: str
    record: str = ""
    """Module and record, where it is imported when one is asked for: many questions need none."""


ROOTS: Mapping[str, Root] = {
    "gpus": Root("hardware.yaml", "gpu"),
    "models": Root("models.yaml", "model"),
    "prices": Root("prices.yaml", "price"),
    "stacks": Root("stacks.yaml", "engine", "stacks:Stack"),
    "kernels": Root("stacks.yaml", "kernel rule", "kernels:KernelRule"),
    "host": Root("stacks.yaml", "host time", "effects:Host"),
    "acceptance": Root("stacks.yaml", "acceptance table", "effects:AcceptanceTable"),
    "speedups": Root("stacks.yaml", "speed-up", "effects:Speedup"),
    "transfers": Root("stacks.yaml", "transfer curve", "effects:TransferCurve"),
    "calibration": Root("calibration.yaml", "parameter", "calibrated:ParameterLevels"),
    "intervals": Root("calibration.yaml", "interval", "calibrated:IntervalWidths"),
    "seen": Root("calibration.yaml", "list of names", "calibrated:SeenNames"),
    "hosts": Root("hardware.yaml", "host", "hosts:HostMachine"),
    "fabrics": Root("hardware.yaml", "fabric", "fabrics:LinkFamily"),
    "owning": Root("economics.yaml", "cost of owning", "money:OwnedHardware"),
    "owning_terms": Root("economics.yaml", "terms of owning", "money:TermsOfOwning"),
    "purchases": Root("prices.yaml", "list price", "money:ListPrice"),
    "purchase_terms": Root("economics.yaml", "terms of a purchase", "money:TermsOfPurchase"),
    "planned_use": Root("economics.yaml", "use", "money:PlannedUse"),
    "hosted": Root("economics.yaml", "hosted price", "money:HostedOffer"),
    "training_rates": Root("training.yaml", "training rate", "training:TrainingRate"),
    "training_model": Root("training.yaml", "training model", "training:TrainingModel"),
    "media_models": Root("media.yaml", "media model", "media:MediaModel"),
    "media_stacks": Root("media.yaml", "media stack", "media:MediaStack"),
    "media_hosts": Root("media.yaml", "media host", "media:MediaHost"),
    "media_runs": Root("media.yaml", "media run", "media:MediaRun"),
    "unmapped": Root("hardware.yaml", "name"),
    "sources": Root("", "source"),
}
"""`sources:` may stand in any file and serves the entries of that file and of the files over it."""

FILES = tuple(sorted({root.file for root in ROOTS.values() if root.file}))
"""The shipped files."""

OPTIONAL = ("calibration.yaml", "economics.yaml", "training.yaml", "media.yaml")
"""Files that a catalogue may do without."""


def late_record(root: str) -> type[Any] | None:
    """Return the record of a root key, imported now, or None where it is not imported late."""
    module, _, name = ROOTS[root].record.partition(":")
    if not module:
        return None
    record: type[Any] = getattr(import_module(f"planner.catalogue.{module}"), name)
    return record


def nearest_root(name: str) -> str:
    """Return what to say about a root key that does not exist."""
    near = nearest_names(name, ROOTS)
    return f"nearest: {', '.join(near)}" if near else f"there are {', '.join(ROOTS)}"


def merge(below: Any, over: Any) -> Any:
    """Lay one entry over another.

    Parameters
    ----------
    below : object
        The entry as the lower file has it.
    over : object
        The same from the file over it.

    Returns
    -------
    object
        Mappings merged key by key; a figure (a mapping with `value`), a list or a plain value replaces what
        was there, and null removes it. So a figure never keeps the source of another.
    """
    if not isinstance(below, dict) or not isinstance(over, dict) or "value" in over:
        return over
    merged = dict(below)
    for key, value in over.items():
        if value is None and key in below:
            del merged[key]
        else:
            merged[key] = merge(below.get(key), value)
    return merged
