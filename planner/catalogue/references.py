"""Names by which one entry of the catalogue refers to another; where one is missing a rule never applies."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from planner.errors import nearest_names

if TYPE_CHECKING:
    from planner.catalogue.loader import Catalogue

Reference = tuple[tuple[str, ...], str, str]
"""Field, root key that the name must stand under, and the name."""


def unknown_references(catalogue: Catalogue, root: str, key: str) -> Iterator[tuple[tuple[str, ...], str]]:
    """Yield each field of an entry that names something the catalogue lacks, and what is wrong.

    Parameters
    ----------
    catalogue : Catalogue
        What may be named.
    root, key : str
        The entry.

    Yields
    ------
    tuple of path and str
    """
    for path, under, name in _references(catalogue.load_entry(root, key)):
        known = _isas(catalogue) if under == "isa" else catalogue.ids(under)
        if name not in known:
            near = nearest_names(name, known)
            hint = f"nearest: {', '.join(near)}" if near else f"there are {', '.join(known)}"
            yield path, f"{name!r} is no {under.removesuffix('s')} of the catalogue; {hint}"


def _references(entry: object) -> Iterator[Reference]:
    from planner.catalogue.effects import AcceptanceTable, Host, Speedup
    from planner.catalogue.kernels import KernelRule
    from planner.catalogue.media import MediaRun
    from planner.catalogue.money import HostedOffer, OwnedHardware

    if isinstance(entry, KernelRule):
        yield from ((("engines",), "stacks", name) for name in entry.engines)
        yield from ((("gpus",), "gpus", name) for name in entry.gpus)
        yield from ((("isa",), "isa", name) for name in entry.isa)
        yield from ((("when", "models"), "models", name) for name in entry.when.models)
    elif isinstance(entry, AcceptanceTable):
        yield from ((("models",), "models", name) for name in entry.models)
    elif isinstance(entry, Speedup):
        yield ("model",), "models", entry.model
        yield ("gpu",), "gpus", entry.gpu
        if entry.engine is not None:
            yield ("engine",), "stacks", entry.engine
    elif isinstance(entry, MediaRun):
        yield ("model",), "media_models", entry.model
        yield ("gpu",), "gpus", entry.gpu
        yield ("stack",), "media_stacks", entry.stack
    elif isinstance(entry, HostedOffer):
        yield ("model",), "models", entry.model
    elif isinstance(entry, OwnedHardware):
        yield (), "gpus", entry.id
    elif isinstance(entry, Host):
        yield (), "stacks", entry.id


def _isas(catalogue: Catalogue) -> list[str]:
    return list(dict.fromkeys(gpu.isa for gpu in catalogue.gpus() if gpu.isa))
