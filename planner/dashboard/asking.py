"""The front door behind a cache: the catalogue of a session, and reports by question and catalogue."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

import streamlit as st

import planner
from planner.catalogue import Catalogue, Model, load_catalogue
from planner.dashboard.scenario import OWN_MODEL
from planner.report.base import Report

KEPT = 400
"""Reports that are kept for all sessions together."""

KEPT_S = 3600.0
"""A report says on which day it was made, so that none is kept for long."""

OWN_CATALOGUE, OWN_MODEL_RECORD, FOLDER = "own catalogue", "own model", "folder"
"""Where a session keeps what was uploaded."""


@st.cache_resource(show_spinner=False)
def shipped() -> Catalogue:
    """Return the catalogue that all sessions share."""
    return load_catalogue()


def catalogue() -> Catalogue:
    """Return the catalogue of this session: its own file over the shipped one, where one was uploaded."""
    return cast(Catalogue, st.session_state.get(OWN_CATALOGUE) or shipped())


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
    given = dict(asked)
    own: Model | None = None
    if given.get("model") == OWN_MODEL:
        own = st.session_state[OWN_MODEL_RECORD]
        given["model"] = own.model_dump_json()
    return _answer(function, json.dumps(given), catalogue().digest, catalogue(), own)


@st.cache_resource(max_entries=KEPT, ttl=KEPT_S, show_spinner="Working it out")
def _answer(function: str, asked: str, digest: str, _catalogue: Catalogue, _model: Model | None) -> Report:
    """Ask; arguments with an underscore are not part of the key, which the digest and the model stand for."""
    given = json.loads(asked)
    if _model is not None:
        given["model"] = _model
    report: Report = getattr(planner, function)(**given, catalogue=_catalogue)
    return _without_folders(report)


def _without_folders(report: Report) -> Report:
    """Return a report whose files are named without the folders that they lie in on the server."""
    made = report.reproduction
    if made is None:
        return report
    files = tuple(replace(file, name=Path(file.name).name) for file in made.files)
    return replace(report, reproduction=replace(made, files=files))
