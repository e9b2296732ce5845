"""The serving points that a user measured: those of every CSV in the user's folder."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from pathlib import Path

from planner.measurement.serving import load_serving_points
from planner.measurement.serving_points import ServingPoint
from planner.measurement.user_folder import user_files

File = tuple[Path, int, int]
"""A file, when it was written [ns] and its size [bytes]: whatever is written anew is read anew."""


def own_points() -> tuple[ServingPoint, ...]:
    """Return the serving points of the user's own folder, marked as theirs.

    Returns
    -------
    tuple of ServingPoint
        In the order of the files' names; none where there is no folder.

    Raises
    ------
    InvalidInput
        With file and line, when one of the files is no table of serving points.
    """
    found = ((file, file.stat()) for file in user_files("serving"))
    return _read(tuple((file, stat.st_mtime_ns, stat.st_size) for file, stat in found))


@cache
def _read(files: tuple[File, ...]) -> tuple[ServingPoint, ...]:
    return tuple(replace(point, own=True) for point in load_serving_points(file for file, *_ in files))
