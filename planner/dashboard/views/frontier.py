"""Which deployment: what nothing beats in output and interactivity, what it costs, and what was measured."""

from __future__ import annotations

import streamlit as st

from planner.dashboard.asking import ask
from planner.dashboard.inputs import engine_and_formats, latencies, scenario
from planner.dashboard.scenario import arguments
from planner.dashboard.showing import show_named, show_rest, show_sentence
from planner.report.frontier import FrontierReport
from planner.report.points import points_table

ASKED = (
    *("model", "gpu", "isl", "osl", "price", "price_kind", "slo_ttft_s", "slo_tpot_s"),
    *("engine", "weight_dtype", "kv_dtype"),
)


def show() -> None:
    """Draw the page."""
    for place, limit in zip(st.columns(2), latencies("held against the median"), strict=True):
        with place:
            limit()
    with st.expander("Engine and formats"):
        engine_and_formats()
    report: FrontierReport = ask("frontier", arguments(scenario(), ASKED))
    show_sentence(report)
    points = points_table(report)
    show_named(report, "frontier", points, "frontier")
    show_named(report, "cost", points, "frontier")
    show_rest(report, "frontier")
