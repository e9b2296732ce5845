"""What starts the deployment of an answer, to be copied or saved."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import streamlit as st

import planner
from planner.dashboard.asking import OWN_MODEL_RECORD, catalogue
from planner.dashboard.inputs import scenario
from planner.dashboard.scenario import OWN_MODEL
from planner.dashboard.showing import offer, told, without_folder
from planner.errors import PlannerError
from planner.report.base import Report
from planner.report.launch import LaunchReport, launch_text
from planner.report.sentences import gpu_label

FORMS = {
    "command": ("command lines", "launch.sh", "text/x-shellscript", "bash"),
    "kubernetes": ("Kubernetes manifests", "launch.yaml", "application/yaml", "yaml"),
    "compose": ("a compose file", "compose.yaml", "application/yaml", "yaml"),
}
"""Of a launch: in words, name of the file, its type, and the language of the code."""


def show_launch(report: Report, gpus: Sequence[str], key: str) -> None:
    """Show what starts the deployment of an accelerator of a report of `fit`, `compare` or `plan`.

    Parameters
    ----------
    report : Report
        The answer; what the engine refuses, and what fits nowhere, is said in its line.
    gpus : sequence of str
        Accelerators with an answer, by id; nothing is shown without any.
    key : str
        Unique on the page.
    """
    if not gpus:
        return
    with st.expander("Launch it"):
        left, middle, right = st.columns(3)
        with left:
            gpu = st.selectbox(
                "Accelerator to launch on", gpus, format_func=gpu_label, key=f"launch on {key}"
            )
        with middle:
            form = st.selectbox(
                "As", tuple(FORMS), format_func=lambda form: FORMS[form][0], key=f"launch as {key}"
            )
        with right:
            checkpoint = st.text_input(
                "Checkpoint", max_chars=200, placeholder="the catalogue's", key=f"launch from {key}"
            )
        try:
            launch = _launch(report, gpu, form, checkpoint.strip() or None)
            text = without_folder(launch_text(launch) if form == "command" else launch.to_text())
        except PlannerError as error:
            st.info(told(str(error)))
            return
        st.markdown(told(launch.sentence))
        _, name, kind, language = FORMS[form]
        st.code(text, language=language, wrap_lines=True)
        offer("Launch", lambda: text, name, kind, f"launch {key}")


def _launch(report: Report, gpu: str, form: str, checkpoint: str | None) -> LaunchReport:
    own: dict[str, Any] = {}
    if scenario()["model"] == OWN_MODEL:
        own["model"] = st.session_state[OWN_MODEL_RECORD]
    return planner.launch(
        saved=report, gpu=gpu, format=form, checkpoint=checkpoint, catalogue=catalogue(), **own
    )
