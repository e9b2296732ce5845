"""Serving measurements: one tidy CSV for each source family, and the points a "measured" answer cites."""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path

from planner.errors import InvalidInput
from planner.measurement.csvtable import CsvTable, parse_csv, read_text
from planner.measurement.serving_flags import ServingFlag, flag_names, mean_lengths, repeated
from planner.measurement.serving_points import (
    COLUMNS,
    ServingPoint,
    UnreadablePoint,
    load_serving,
    parse_points,
    read_serving,
    serving_table,
)
from planner.measurement.serving_sources import (
    SourceFamily,
    serving_directory,
    serving_files,
    source_families,
)

__all__ = [
    "COLUMNS",
    "MeasuredRates",
    "ServingFlag",
    "ServingPoint",
    "SourceFamily",
    "UnreadablePoint",
    "flag_names",
    "load_serving",
    "load_serving_points",
    "mean_lengths",
    "measured_rates",
    "read_serving",
    "serving_directory",
    "serving_files",
    "shipped_points",
    "source_families",
]


@dataclass(frozen=True, slots=True)
class MeasuredRates:
    """The best measured output rates of one model on one accelerator.

    Parameters
    ----------
    peak : ServingPoint or None
        The point with the highest output rate per GPU.
    single_stream : ServingPoint or None
        The point with the highest rate for one request alone, without a draft model.
    """

    peak: ServingPoint | None
    single_stream: ServingPoint | None


def load_serving_points(paths: Iterable[str | os.PathLike[str]] | None = None) -> list[ServingPoint]:
    """Read serving points of one or several files, with every flag.

    Parameters
    ----------
    paths : iterable of path, optional
        Tidy CSVs as `load_serving` takes them; the shipped ones by default.

    Returns
    -------
    list of ServingPoint
        In the order of the files and their rows. Runs that occur twice among them are flagged `REPEATED`,
        apart from the row that says most.

    Raises
    ------
    InvalidInput
        With file and line.
    """
    points = [point for path in (serving_files() if paths is None else paths) for point in _load(Path(path))]
    again = repeated(points)
    return [
        replace(point, flags=point.flags | ServingFlag.REPEATED) if i in again else point
        for i, point in enumerate(points)
    ]


def measured_rates(points: Iterable[ServingPoint]) -> MeasuredRates:
    """Return the best output rates among some points.

    Parameters
    ----------
    points : iterable of ServingPoint
        Points of one model on one accelerator.

    Returns
    -------
    MeasuredRates
        Points without an output rate, and those that are not of a service with fresh prompts (one phase
        only, static batches, offline, cached input), are passed over.
    """
    service = [point for point in points if not point.flags & ServingFlag.NOT_A_SERVICE]
    rated = [point for point in service if point.output_tps_total and point.n_gpus]
    alone = [point for point in rated if point.concurrency == 1 and not point.flags & ServingFlag.SPECULATIVE]
    return MeasuredRates(
        peak=max(rated, key=_rate_per_gpu, default=None),
        single_stream=max(alone, key=lambda point: point.tps_per_user or 0.0, default=None),
    )


def shipped_points(*, model_names: Iterable[str], gpu_names: Iterable[str]) -> list[ServingPoint]:
    """Return the shipped points of one model on one accelerator.

    Parameters
    ----------
    model_names, gpu_names : iterable of str
        Every name of each, in any case.

    Returns
    -------
    list of ServingPoint
        In the order of the files' names. A file that does not name the model is not parsed.
    """
    models = frozenset(name.casefold() for name in model_names)
    gpus = {name.casefold() for name in gpu_names}
    return [point for file in _files_naming(models) for point in _load(file, set(models), gpus)]


@cache
def _files_naming(models: frozenset[str]) -> tuple[Path, ...]:
    """Return the shipped files in which one of the names occurs; several accelerators ask for the same."""
    words = [name.encode() for name in _shortest(set(models))]
    texts = ((file, file.read_bytes().lower()) for file in serving_files())
    return tuple(file for file, text in texts if any(word in text for word in words))


def _rate_per_gpu(point: ServingPoint) -> float:
    return (point.output_tps_total or 0.0) / (point.n_gpus or 1)


def _shortest(names: set[str]) -> list[str]:
    """Return the names that contain no other one: whatever contains a name contains one of these."""
    return [name for name in names if not any(other in name for other in names if other != name)]


def _rows_naming(file: Path, models: set[str], gpus: set[str]) -> CsvTable:
    """Read the rows of a shipped file that may name one of the models and accelerators: reading all is slow.

    A row of a shipped file is one line, so a line that names none of them is blanked and keeps its number.
    """
    text = read_text(file)
    header, *lines = text.splitlines()
    folded = text.casefold().splitlines()[1:]
    kept = [""] * len(lines)
    for name in _shortest(models):
        for number, line in enumerate(folded):
            if name in line:
                kept[number] = lines[number]
    cards = _shortest(gpus)
    kept = [line if line and any(name in line.casefold() for name in cards) else "" for line in kept]
    if not any(kept):
        return CsvTable(str(file), (), ())
    return parse_csv(str(file), "\n".join([header, *kept]))


def _load(file: Path, models: set[str] | None = None, gpus: set[str] | None = None) -> list[ServingPoint]:
    """Read a file, or only the rows of some models and accelerators, with the flags of its source."""
    if models is None or gpus is None:
        table = serving_table(file)
        rows = table.rows
    else:
        table = _rows_naming(file, models, gpus)
        rows = tuple(
            row
            for row in table.rows
            if row.cells["model"].casefold() in models and row.cells["gpu"].casefold() in gpus
        )
    found = []
    for point in parse_points(table, rows):
        if isinstance(point, UnreadablePoint):
            raise InvalidInput(f"{table.file}:{point.line}: {point.what}")
        found.append(point)
    return found
