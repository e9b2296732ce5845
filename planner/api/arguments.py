"""What the functions of the front door share: the catalogue and paths as a user may give them."""

from __future__ import annotations

import os
from collections.abc import Iterable

from planner.catalogue import Catalogue, load_catalogue
from planner.errors import InvalidInput, shorten, unknown_name
from planner.measurement.own_file import own_catalogue


def open_catalogue(given: Catalogue | str | os.PathLike[str] | None) -> Catalogue:
    """Return an open catalogue, or the shipped one with the user's own calibration and file over it."""
    if isinstance(given, Catalogue):
        return given
    if given is None:
        return own_catalogue()
    return load_catalogue(path_text("catalogue", given))


def path_text(name: str, given: object) -> str:
    """Return a path as text, or refuse what is none."""
    path = os.fspath(given) if isinstance(given, str | os.PathLike) else None
    if not isinstance(path, str) or not path:
        raise InvalidInput(f"{name}: {shorten(given)} is no path of a file")
    return path


def one_of(name: str, given: object, choices: Iterable[str]) -> str:
    """Return a word that is among some, or refuse it and name the nearest."""
    known = tuple(choices)
    if not isinstance(given, str) or given not in known:
        raise unknown_name(name, given if isinstance(given, str) else shorten(given), known)
    return given
