"""The front door behind a cache: the catalogue of a session, and reports by question and catalogue."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

import streamlit as st

import planner
from planner.catalogue import Catalogue, Model
from planner.dashboard.scenario import OWN_MODEL
from planner.measurement.own_file import own_calibration_file, own_catalogue
from planner.measurement.user_folder import user_files
from planner.report.base import Report

KEPT = 200
"""Reports that are kept for all sessions together."""

KEPT_S = 3600.0
"""A report says on which day it was made, so that none is kept for long."""

OWN_CATALOGUE, OWN_MODEL_RECORD = "own catalogue", "own model"
SLOW_ANSWER = "slow answer"
"""Where a session keeps what was uploaded."""


Stamp = tuple[tuple[str, int, int], ...]
"""Files with when they were written [ns] and their size [bytes]."""


def stamp() -> Stamp:
    """Return what tells when the measurements of whoever runs the server have changed.

    Answers lean on them as those of the command line do: on points that were measured, and on a calibration.
    """
    files = [own_calibration_file(), *user_files("serving")]
    found = [(str(file), file.stat()) for file in files if file.is_file()]
    return tuple((name, stat.st_mtime_ns, stat.st_size) for name, stat in found)


@st.cache_resource(max_entries=2, show_spinner=False)
def _shared(stamped: Stamp) -> Catalogue:  # its key
    return own_catalogue()


def shared() -> Catalogue:
    """Return the catalogue that all sessions share: the shipped one with the server's own calibration."""
    return _shared(stamp())


def catalogue() -> Catalogue:
    """Return the catalogue of this session: its own file over the shared one, where one was uploaded."""
    return cast(Catalogue, st.session_state.get(OWN_CATALOGUE) or shared())


def ask(function: str, asked: Mapping[str, Any]) -> Any:
    """Return the report of a function of the front door, from the cache where it was asked before.

    Parameters
    ----------
    function : str
        Its name, such as "fit".
    asked : mapping
        Its arguments, JSON-ready.

    Returns
    -------
    Report
        Reports do not change, so that sessions share them. No folder of the server stands in one.

    Raises
    ------
    PlannerError
        As the function does.
    """
    given = _with_own_model(asked)
    book = catalogue()
    return _answer(function, _key(given), (book.digest, stamp()), book, given.get("model"))


def _with_own_model(asked: Mapping[str, Any]) -> dict[str, Any]:
    """Return arguments in which the model that was uploaded stands itself."""
    if asked.get("model") == OWN_MODEL:
        return {**asked, "model": st.session_state[OWN_MODEL_RECORD]}
    return dict(asked)


def _key(given: Mapping[str, Any]) -> str:
    """Return arguments as text, a model by all that it says."""
    return json.dumps(given, default=lambda model: model.model_dump(mode="json"))


@st.cache_resource(max_entries=KEPT, ttl=KEPT_S, show_spinner="Working it out")
def _answer(
    function: str,
    asked: str,
    of: tuple[str, Stamp],
    _catalogue: Catalogue,
    _model: str | Model | None,
) -> Report:
    """Ask; what begins with an underscore is no part of the key, for the others say all of it."""
    given = json.loads(asked)
    if _model is not None:
        given["model"] = _model
    report: Report = getattr(planner, function)(**given, catalogue=_catalogue)
    return _without_folders(report)


def ask_slowly(function: str, asked: Mapping[str, Any], progress: Callable[[float], object]) -> Any:
    """Return the report of a function that takes its time, told how far it is.

    Parameters
    ----------
    function : str
        Its name, such as "plan".
    asked : mapping
        Its arguments, JSON-ready.
    progress : callable
        Called with the share that is done.

    Returns
    -------
    Report
        Kept for the session, until something else is asked: what shows progress cannot be shared.
    """
    given = _with_own_model(asked)
    key = (function, _key(given), catalogue().digest)
    held = st.session_state.get(SLOW_ANSWER)
    if held is None or held[0] != key:
        report = getattr(planner, function)(
            **given, catalogue=catalogue(), progress=lambda done, every: progress(min(done / every, 1.0))
        )
        held = st.session_state[SLOW_ANSWER] = (key, _without_folders(report))
    return held[1]


def _without_folders(report: Report) -> Report:
    """Return a report whose files are named without the folders that they lie in on the server."""
    made = report.reproduction
    if made is None:
        return report
    files = tuple(replace(file, name=Path(file.name).name) for file in made.files)
    return replace(report, reproduction=replace(made, files=files))
