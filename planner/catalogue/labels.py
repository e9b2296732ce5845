"""What accelerators are called in tables and sentences: shipped ones by id, a user's by name."""

from __future__ import annotations

from planner.catalogue.gpu import Gpu
from planner.catalogue.loader import Catalogue

_OWN: dict[str, str] = {}
"""Names of a user's accelerators by id, as they were last asked about in this process."""


def name_own(gpu: Gpu, catalogue: Catalogue) -> None:
    """Remember the name that a user gave an accelerator, in a catalogue file or as a record of its own.

    Parameters
    ----------
    gpu : Gpu
        One that is asked about.
    catalogue : Catalogue
        Where shipped ones stand.
    """
    if _is_named_by_user(gpu, catalogue):
        _OWN[gpu.id] = gpu.name
    else:
        _OWN.pop(gpu.id, None)


def _is_named_by_user(gpu: Gpu, catalogue: Catalogue) -> bool:
    if gpu.id not in catalogue.gpu_ids():
        return True
    own = [document for document in catalogue.own if document.has("gpus", gpu.id)]
    return any("name" in document.entry("gpus", gpu.id).data for document in own)


def gpu_label(gpu: str) -> str:
    """Return an accelerator's id as people write it, such as MI355X, or the name that its user gave it."""
    return _OWN.get(gpu) or gpu.upper()
