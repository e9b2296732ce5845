"""The file of a user's own calibration: where it lies, and whether it still fits the shipped one."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path

from planner.catalogue import Catalogue, load_catalogue
from planner.catalogue.documents import data_directory
from planner.measurement.user_folder import user_folder

FILE = "calibration.yaml"
_OVER = "# over the shipped calibration "


def own_calibration_file(folder: str | os.PathLike[str] | None = None) -> Path:
    """Return where the user's own calibration lies, whether or not it is there."""
    return user_folder(folder) / FILE


def shipped_digest() -> str:
    """Return what tells one shipped calibration from another."""
    file = data_directory() / FILE
    return hashlib.sha256(file.read_bytes()).hexdigest()[:16] if file.exists() else "none"


def marked(text: str) -> str:
    """Return the text of a calibration file with the shipped calibration that it lies over."""
    return f"{_OVER}{shipped_digest()}\n{text}"


def own_catalogue(extra: list[str] | tuple[str, ...] = ()) -> Catalogue:
    """Open the shipped catalogue with the user's own calibration over it, and other files over that.

    Parameters
    ----------
    extra : list or tuple of str
        The user's catalogue files; the last one wins.

    Returns
    -------
    Catalogue
        A calibration that was made over another shipped one is left out, with a warning.
    """
    file = own_calibration_file()
    if not file.is_file():
        return load_catalogue(extra=extra)
    with file.open(encoding="utf-8", errors="replace") as lines:
        fits = lines.readline().strip() == f"{_OVER}{shipped_digest()}"
    catalogue = load_catalogue(extra=[str(file), *extra] if fits else extra)
    if not fits:
        catalogue.warnings.append(
            f"{file}: your own calibration was made over another shipped one and is not used; "
            "`planner calibrate --own` makes it anew"
        )
    return catalogue
