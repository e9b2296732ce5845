"""Your own results and logs: what is in them, how far predictions are from them, and a calibration."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import streamlit as st

import planner
from planner.cli.ui import MOST_UPLOADED_MB
from planner.dashboard.asking import catalogue
from planner.dashboard.showing import answering, offer, show_named, show_rest, show_table, without_folder
from planner.dashboard.text import plain
from planner.dashboard.uploads import Results, imported, use_catalogue
from planner.report.imported import ImportReport
from planner.report.validation import errors_table

STATED = {
    "model": "Model",
    "gpu": "Accelerator",
    "gpus": "GPUs",
    "tp": "Tensor parallel",
    "engine": "Engine",
    "weight_dtype": "Weights",
}
"""What result files often leave out."""

NAMES = {"serving": "serving points", "startup_logs": "start-up logs"}
READ = "results that were read"
"""Where the session keeps them: they need not be read at every click."""


def show() -> None:
    """Draw the page."""
    st.markdown(
        "Result files of benchmark tools and start-up logs of engines are read here, held against "
        "predictions, and forgotten with this session."
    )
    files = st.file_uploader(
        f"Result files and logs, up to {MOST_UPLOADED_MB} MB each", accept_multiple_files=True, key="results"
    )
    stated = _stated()
    if not files:
        return
    with answering():
        results = _read([(file.name, file.getvalue()) for file in files], stated)
        _show_import(results.report)
        for kind, path in results.files.items():
            with answering():
                _validated(kind, path)
        if "serving" in results.files:
            with answering():
                _calibrated(results.files["serving"])


def _stated() -> dict[str, str]:
    """Ask for what the files do not say."""
    with st.expander("What the files do not say"):
        fields = [
            (name, place.text_input(label, max_chars=100, key=f"stated {name}"))
            for place, (name, label) in zip(st.columns(len(STATED)), STATED.items(), strict=True)
        ]
    return {name: text.strip() for name, text in fields if text.strip()}


def _read(files: list[tuple[str, bytes]], stated: dict[str, Any]) -> Results:
    key = (files, stated, catalogue().digest)
    held = st.session_state.get(READ)
    if held is None or held[0] != key:
        held = st.session_state[READ] = (key, imported(files, stated))
    results: Results = held[1]
    return results


def _show_import(report: ImportReport) -> None:
    show_table(report.files_table(), "files")
    for table, key in ((report.rows_table(), "rows"), (report.logs_table(), "logs")):
        if table.rows:
            show_table(table, key)
    for lines, told in ((report.problems, st.error), (report.warnings, st.warning)):
        if lines:
            told("\n".join(f"- {plain(without_folder(line))}" for line in lines))


def _validated(kind: str, path: Path) -> None:
    report = planner.validate(path, catalogue=catalogue())
    st.markdown(f"**{plain(NAMES[kind].capitalize())}: {plain(report.sentence)}**")
    table = errors_table(report.result)
    show_named(report, "errors", table if table.rows else None, kind)
    show_rest(report, kind)


def _calibrated(path: Path) -> None:
    """Move the time model to the points that were measured, and offer what came of it."""
    from planner.measurement.calibrate import Calibrated, adapt, calibration_yaml, cases_of, digest_of
    from planner.measurement.serving import load_serving_points
    from planner.performance.levels import calibration_of

    if not st.button("Calibrate to these serving points", icon=":material/tune:"):
        return
    points = load_serving_points([str(path)])
    data, skipped = cases_of(points, catalogue())
    moved = adapt(calibration_of(catalogue()), points, catalogue())
    text = calibration_yaml(Calibrated(moved, data, {}, skipped, digest_of(data.cases)))
    own = path.with_name("calibration.yaml")
    own.write_text(text, encoding="utf-8")
    use_catalogue(own)
    st.success("All pages of this session reckon with this calibration now.")
    offer("Calibration", lambda: text, "calibration.yaml", "application/yaml", "calibration")
