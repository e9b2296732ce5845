"""Your own results and logs: what is in them, how far predictions are from them, and a calibration."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import streamlit as st

import planner
from planner.catalogue import load_catalogue
from planner.cli.ui import MOST_UPLOADED_MB
from planner.dashboard.asking import catalogue
from planner.dashboard.showing import (
    answering,
    offer,
    show_figure,
    show_named,
    show_rest,
    show_table,
    told,
)
from planner.dashboard.text import plain
from planner.dashboard.uploads import Results, imported, kernel_rows, tidy, use_catalogue
from planner.measurement.calibrate import calibration_yaml
from planner.measurement.own_calibration import adapted, in_sample_errors, unused_points
from planner.measurement.serving import load_serving_points
from planner.performance.levels import calibration_of
from planner.report.imported import ImportReport
from planner.report.in_sample import in_sample_table
from planner.report.measured_kernels import kernels_table
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
MOST_UNUSED = 20
READ = "results that were read"
"""Where the session keeps them: they need not be read at every click."""


def show() -> None:
    """Draw the page."""
    st.markdown(
        "Result files of benchmark tools, start-up logs of engines and efficiency points of "
        "`planner measure gpu` are read here, held against predictions, and forgotten with this session."
    )
    files = st.file_uploader(
        f"Result files and logs, up to {MOST_UPLOADED_MB} MB each", accept_multiple_files=True, key="results"
    )
    stated = _stated()
    if not files:
        return
    read = [(file.name, file.getvalue(), kernel_rows(file.name, file.getvalue())) for file in files]
    if rows := [row for *_, found in read for row in found or ()]:
        _kernels(rows)
    contents = [(name, content) for name, content, found in read if found is None]
    contents = [one for one in contents if not _tidy(*one)]
    if not contents:
        return
    with answering():
        results = _read(contents, stated)
        _show_import(results.report)
        for kind, path in results.files.items():
            with answering():
                _validated(kind, path)
        if "serving" in results.files:
            with answering():
                _calibrated(results.files["serving"])


def _tidy(name: str, content: bytes) -> bool:
    """Hold a table of measurements against predictions; return whether it is one."""
    with answering():
        found = tidy(name, content)
        if found is None:
            return False
        kind, path = found
        _validated(kind, path)
        if kind == "serving":
            _calibrated(path)
    return True


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
    for lines, say in ((report.problems, st.error), (report.warnings, st.warning)):
        if lines:
            say("\n".join(f"- {told(line)}" for line in lines))


def _validated(kind: str, path: Path) -> None:
    report = planner.validate(path, catalogue=catalogue())
    st.markdown(f"**{plain(NAMES[kind].capitalize())}: {told(report.sentence)}**")
    table, key = errors_table(report.result), f"{kind} {path.parent.name} {path.name}"
    show_named(report, "errors", table if table.rows else None, key)
    show_rest(report, key)


def _calibrated(path: Path) -> None:
    """Move the time model to the points that were measured, and offer what came of it."""
    key = f"calibrate {path.parent.name} {path.name}"
    if not st.button("Calibrate to these serving points", icon=":material/tune:", key=key):
        return
    points = load_serving_points([str(path)])
    before = load_catalogue()  # without a calibration of one's own: points would move it twice
    found = adapted(points, before)
    text = calibration_yaml(found)
    own = path.with_name("calibration.yaml")
    own.write_text(text, encoding="utf-8")
    use_catalogue(own)
    st.success("All pages of this session reckon with this calibration now.")
    errors = in_sample_errors(found.data, calibration_of(before), found.calibration)
    if errors:
        show_table(in_sample_table(errors), "in sample")
    unused = unused_points(points, before)
    if unused:
        lines = "\n".join(f"- {told(f'{one.where}: {one.reason}')}" for one in unused[:MOST_UNUSED])
        st.markdown(f"{len(unused)} rows teach nothing:\n\n{lines}")
    offer("Calibration", lambda: text, "calibration.yaml", "application/yaml", "calibration")


def _kernels(rows: list[dict[str, Any]]) -> None:
    """Show what operations of a device reach, as `planner measure gpu` keeps it."""
    from planner.report.figures.kernels import kernels_figure

    title = "Efficiency points: the share of its limit that each operation reaches, %"
    show_figure(kernels_figure(rows), title, kernels_table(rows), "kernels")
