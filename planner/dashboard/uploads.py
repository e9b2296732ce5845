"""What a user uploads: small files in a folder of the session, read as data, gone when the session is.

Names are made anew, so that none leads out of the folder, and nothing that is uploaded is run.
"""

from __future__ import annotations

import hashlib
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import streamlit as st

import planner
from planner.catalogue import Catalogue
from planner.catalogue.imported import model_from_config
from planner.cli.ui import MOST_UPLOADED_MB
from planner.dashboard.asking import OWN_CATALOGUE, OWN_MODEL_RECORD, catalogue
from planner.dashboard.inputs import forget_inputs, scenario
from planner.dashboard.scenario import OWN_MODEL, WORKED_EXAMPLE, read_link, write_link
from planner.dashboard.showing import FOLDER
from planner.errors import InvalidInput, PlannerError
from planner.measurement.csvtable import parse_csv, recognise
from planner.measurement.own_file import own_catalogue
from planner.measurement.user_folder import Kind, user_files
from planner.report.imported import ImportReport

MOST_FILES = 20
MOST_TEXT_KB = 512
"""Of a catalogue file or a model's configuration, which are parsed as a whole."""
KINDS: tuple[Kind, ...] = ("serving", "startup_logs")
KERNEL_MARKS = ("system", "op", "dtype", "latency_us")
MOST_ROWS = 5000
"""Of a table that are shown or predicted."""
UNUSUAL = re.compile(r"[^A-Za-z0-9._-]+")


def folder() -> Path:
    """Return the folder of this session, which goes when the session does."""
    held = st.session_state.setdefault(FOLDER, TemporaryDirectory(prefix="planner-"))
    return Path(held.name)


def kept(name: str, content: bytes, *, under: str, most_kb: int = MOST_UPLOADED_MB * 1024) -> Path:
    """Keep an uploaded file for the session.

    Parameters
    ----------
    name : str
        As the browser says; only letters, digits, points, dashes and underscores of it are kept.
    content : bytes
        What is in it.
    under : str
        Folder within that of the session.
    most_kb : int
        How large it may be [KiB].

    Returns
    -------
    Path

    Raises
    ------
    InvalidInput
        When it is too large.
    """
    if len(content) > most_kb * 1024:
        raise InvalidInput(f"{name[:60]}: larger than {most_kb:,} KiB")
    path = folder() / under / (UNUSUAL.sub("-", name).lstrip(".")[-100:] or "file")
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)
    return path


@dataclass(frozen=True, slots=True)
class Results:
    """Uploaded results as tidy rows.

    Parameters
    ----------
    report : ImportReport
        What was read.
    files : dict of str to Path
        The CSV of each kind that rows were found of.
    """

    report: ImportReport
    files: Mapping[str, Path]


def imported(files: Sequence[tuple[str, bytes]], stated: Mapping[str, Any]) -> Results:
    """Read result files and logs into tidy rows within the folder of the session.

    Parameters
    ----------
    files : sequence of (str, bytes)
        Names and contents.
    stated : mapping
        What the files do not say, as `planner.import_results` takes it.

    Returns
    -------
    Results

    Raises
    ------
    InvalidInput
        When there are too many, one is too large, or what is stated cannot be.
    """
    if len(files) > MOST_FILES:
        raise InvalidInput(f"{len(files)} files; {MOST_FILES} can be read at once")
    number = st.session_state["imports"] = st.session_state.get("imports", 0) + 1
    paths = [kept(name, content, under=f"results-{number}") for name, content in files]
    into = folder() / f"measurements-{number}"
    report = planner.import_results(paths, into=into, catalogue=catalogue(), **stated)
    return Results(report, {kind: path for kind in KINDS for path in user_files(kind, into)})


def use_catalogue(path: Path | None) -> Catalogue:
    """Lay a catalogue file over the shipped one in this session, or none.

    Parameters
    ----------
    path : Path or None
        The file; None takes an earlier one away.

    Returns
    -------
    Catalogue

    Raises
    ------
    CatalogueError
        When it is wrong; the catalogue stays as it was.
    """
    chosen = own_catalogue([str(path)]) if path is not None else None
    st.session_state[OWN_CATALOGUE] = chosen
    _start_again()
    return catalogue()


def use_model(path: Path, name: str) -> None:
    """Make the model of a `config.json` the model of the scenario.

    Parameters
    ----------
    path : Path
        The file.
    name : str
        What to call it.

    Raises
    ------
    PlannerError
        When it is no configuration of a model that planner knows the parts of.
    """
    from planner.architecture import build_architecture

    model = model_from_config(path, name)
    build_architecture(model.config)  # refuses what no page could answer
    st.session_state[OWN_MODEL_RECORD] = model
    forget_inputs()
    scenario()["model"] = OWN_MODEL


def _start_again() -> None:
    """Hold the scenario against the catalogue that there is now; what it lacks falls back to the example."""
    forget_inputs()
    now = scenario()
    found, refused = read_link(write_link(now) or write_link(WORKED_EXAMPLE), catalogue())
    if now.get("model") == OWN_MODEL:
        found["model"] = OWN_MODEL
    st.session_state["scenario"], st.session_state["refused"] = found, refused


def tidy(name: str, content: bytes) -> tuple[Kind, Path] | None:
    """Keep a table that `planner validate` takes as it is; None of other files.

    Parameters
    ----------
    name : str
        As the browser says.
    content : bytes
        What is in it.

    Returns
    -------
    (str, Path) or None
        What it holds, and where it lies for the session.

    Raises
    ------
    InvalidInput
        When it has too many rows to be predicted while somebody waits.
    """
    try:
        table = parse_csv(name, content.decode("utf-8-sig"))
        kind: Kind = "serving" if recognise(table) == "serving points" else "startup_logs"
    except (UnicodeDecodeError, PlannerError):
        return None
    if len(table.rows) > MOST_ROWS:
        raise InvalidInput(
            f"{name[:60]}: {len(table.rows):,} rows; up to {MOST_ROWS:,} are predicted here, and more by "
            "`planner validate`"
        )
    return kind, kept(name, content, under=f"tidy-{hashlib.sha256(content).hexdigest()[:16]}")


def kernel_rows(name: str, content: bytes) -> list[dict[str, Any]] | None:
    """Return the efficiency points of a file in the columns of `planner measure gpu`; None of other files.

    Parameters
    ----------
    name : str
        As the browser says.
    content : bytes
        What is in it.

    Returns
    -------
    list of dict, or None
        Numbers where the cells are numbers; rows without a time are left out.
    """
    try:
        table = parse_csv(name, content.decode("utf-8-sig"))
    except (UnicodeDecodeError, PlannerError):
        return None
    if not set(KERNEL_MARKS) <= set(table.columns):
        return None
    rows = [{column: _cell(text) for column, text in row.cells.items()} for row in table.rows[:MOST_ROWS]]
    for row in rows:
        if not isinstance(row.get("achieved_fraction"), float | int):
            row["achieved_fraction"] = None
    return [row for row in rows if isinstance(row["latency_us"], float | int) and row["latency_us"] > 0]


def _cell(text: str) -> str | float | int | None:
    """Return a cell as a whole number, a number, its text, or None where it is empty."""
    try:
        return int(text)
    except ValueError:
        pass
    try:
        number = float(text)
    except ValueError:
        return text or None
    return number if math.isfinite(number) else None
