"""What the user states of a run that its file does not say: by option, or in a YAML file beside it."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path

from planner.errors import CatalogueError, InvalidInput, nearest_names, shorten, without_credentials
from planner.measurement.importers.runs import one_line

FOLDER_SIDECAR = "planner-import.yaml"
FILE_SIDECAR = ".planner.yaml"
LARGEST_SIDECAR = 64 * 2**10

COLUMNS = {
    "model": "model",
    "gpu": "gpu",
    "gpus": "n_gpus",
    "nodes": "n_nodes",
    "tp": "tp",
    "pp": "pp",
    "ep": "ep",
    "dp": "dp",
    "weight_dtype": "weight_dtype",
    "kv_dtype": "kv_dtype",
    "engine": "engine",
    "engine_version": "engine_version",
    "isl": "isl",
    "osl": "osl",
    "concurrency": "concurrency",
    "rate": "request_rate",
    "spec_decode": "spec_decode",
    "prefix_hit": "prefix_hit",
    "memory_fraction": "mem_fraction",
    "date": "date",
    "source": "source",
    "source_url": "source_url",
    "notes": "notes",
}
"""Each key of a sidecar (an option with dashes for underscores) and the column that it fills."""

NAMES = (
    "model",
    "gpu",
    "weight_dtype",
    "kv_dtype",
    "engine",
    "engine_version",
    "spec_decode",
    "date",
    "source",
    "source_url",
)
"""Columns where what the user states replaces the file's word: it calls things by names of its own."""

DAY = re.compile(r"20\d\d(-(0[1-9]|1[0-2])(-(0[1-9]|[12]\d|3[01]))?)?", re.ASCII)

Said = Mapping[str, str]
"""Cells by column."""


def stated(given: Mapping[str, object]) -> dict[str, str]:
    """Return what was stated as cells of the tidy schema.

    Parameters
    ----------
    given : mapping
        Values by key of `COLUMNS`; None and empty text count as not stated. `engine` may carry a version, as
        in ``vllm==0.20.2``.

    Returns
    -------
    dict of str to str

    Raises
    ------
    InvalidInput
        When the date is none.
    """
    cells = {
        COLUMNS[key]: without_credentials(one_line(str(value), longest=2000))
        for key, value in given.items()
        if value not in (None, "")
    }
    if "date" in cells and not DAY.fullmatch(cells["date"]):
        raise InvalidInput(
            f"date: {shorten(cells['date'])} is no date; write it like 2026-11-30, 2026-11 or 2026"
        )
    engine, equals, version = cells.get("engine", "").partition("==")
    if equals:
        cells["engine"] = engine
        cells.setdefault("engine_version", version)
    return cells


def beside(file: str) -> dict[str, str]:
    """Return what stands beside a file: in `FILE.planner.yaml`, and in `planner-import.yaml` of its folder.

    Parameters
    ----------
    file : str
        The result file.

    Returns
    -------
    dict of str to str
        Cells by column; the file's own sidecar goes before that of the folder.

    Raises
    ------
    InvalidInput
        With file and line: a sidecar that is no plain mapping of the known keys to single values.
    """
    path = Path(file)
    folder = _sidecar(path.parent / FOLDER_SIDECAR)
    return {**folder, **_sidecar(path.with_name(path.name + FILE_SIDECAR))}


def _sidecar(path: Path) -> dict[str, str]:
    from planner.catalogue.yamltext import Slice, line_of, parse

    try:
        if not path.is_file():
            return {}
        if path.stat().st_size > LARGEST_SIDECAR:
            raise InvalidInput(f"{path}: larger than {LARGEST_SIDECAR // 2**10} KiB; it holds a few settings")
        piece = Slice(str(path), path.read_text(encoding="utf-8"))
        data = parse(piece)
    except (OSError, UnicodeDecodeError) as error:
        raise InvalidInput(
            f"{path}: cannot be read: {getattr(error, 'strerror', None) or 'not UTF-8'}"
        ) from None
    except CatalogueError as error:
        raise InvalidInput(str(error)) from None
    if data is None:
        return {}
    if not isinstance(data, dict):
        raise InvalidInput(f"{path}:1: a mapping such as `gpu: h200` is needed")
    for key, value in data.items():
        where = f"{path}:{line_of(piece, (key,))}"
        if key not in COLUMNS:
            near = nearest_names(key, COLUMNS, limit=1)
            hint = f"is {near[0]!r} meant?" if near else f"known are {', '.join(COLUMNS)}"
            raise InvalidInput(f"{where}: unknown key {shorten(key)}; {hint}")
        if isinstance(value, dict | list):
            raise InvalidInput(f"{where}: {key} is no single value")
    try:
        return stated(data)
    except InvalidInput as error:
        raise InvalidInput(f"{path}: {error}") from None


_LENGTHS = re.compile(r"(?<![a-z0-9])(\d+)k[-_]?(\d+)k(?![a-z0-9])")
_GPU = re.compile(
    r"(?<![a-z0-9])(?:(\d{1,4})x)?(gb200|gb300|h100|h200|h20|b200|b300|a100|a10|l40s|l4|mi300x|mi325x|mi350x|mi355x|gb10)"
    r"(?:x(\d{1,4}))?(?![a-z0-9])"
)
_SIZE = re.compile(r"(?<![a-z])(tp|pp|ep|dp)[-_]?(\d{1,4})(?!\d)")
_LOAD = re.compile(r"(?<![a-z])(?:conc|concurrency|c)[-_]?(\d{1,6})(?!\d)")


def suggestion(file: str, lacking: tuple[str, ...]) -> str | None:
    """Return options that a file's name and folder hint at, for what is lacking; nobody takes them unasked.

    Parameters
    ----------
    file : str
        The file.
    lacking : tuple of str
        Columns that neither the file nor the user states.

    Returns
    -------
    str or None
        Such as ``--gpu h200 --gpus 16``.
    """
    text = "/".join(Path(file).parts[-3:]).lower()
    found: dict[str, str] = {}
    if match := _GPU.search(text):
        found["gpu"] = match[2]
        if times := match[1] or match[3]:
            found["n_gpus"] = times
    for name, size in _SIZE.findall(text):
        found.setdefault(name, size)
    if match := _LOAD.search(text):
        found["concurrency"] = match[1]
    if match := _LENGTHS.search(text):
        found["isl"], found["osl"] = (
            str(1024 * int(length)) for length in match.groups()[:2] if len(length) < 6
        )
    options = {column: key.replace("_", "-") for key, column in COLUMNS.items()}
    words = [f"--{options[column]} {found[column]}" for column in lacking if column in found]
    return " ".join(words) or None
