"""Which accelerator: side by side, in order, how sure that is, and at which price the order flips."""

from __future__ import annotations

from typing import Any

import streamlit as st

from planner.cli.options import LARGEST_REQUESTS
from planner.dashboard.asking import ask
from planner.dashboard.inputs import (
    buying,
    engine_and_formats,
    latencies,
    layers_on_cpu,
    layout,
    scenario,
    whole,
)
from planner.dashboard.launching import show_launch
from planner.dashboard.scenario import BOUGHT, OFF_GPU, arguments
from planner.dashboard.showing import show_named, show_rest, show_table, show_token_costs
from planner.dashboard.text import plain
from planner.report.buying import buying_sentence
from planner.report.compare import CompareReport
from planner.report.compare_tables import (
    figures_table,
    kinds_table,
    money_table,
    pairs_table,
)

ASKED = (
    *("model", "gpu", "isl", "osl", "concurrency", "price", "price_kind", "utilisation"),
    *("slo_ttft_s", "slo_tpot_s", "gpus", "tp", "pp", "engine", "weight_dtype", "kv_dtype"),
    *(*BOUGHT, *OFF_GPU),
)


def load_and_limits() -> None:
    """Ask for the load and the limits that medians must keep."""
    fields: tuple[Any, ...] = (
        lambda: whole("concurrency", "Requests at once", LARGEST_REQUESTS, "empty: each at its best"),
        *latencies("held against the median"),
    )
    for place, field in zip(st.columns(len(fields)), fields, strict=True):
        with place:
            field()


def show() -> None:
    """Draw the page."""
    with st.expander("Load, limits, engine and layout"):
        load_and_limits()
        engine_and_formats()
        layout()
        layers_on_cpu()
    with st.expander("Cards that are bought"):
        buying()
    report: CompareReport = ask("compare", arguments(scenario(), ASKED))
    st.markdown(plain(buying_sentence(report)))
    show_table(figures_table(report), "figures")
    show_named(report, "merit", money_table(report), "compare")
    pairs = pairs_table(report)
    if pairs is not None:
        show_table(pairs, "pairs")
    show_token_costs(report, "costs")
    show_named(report, "price-kinds", kinds_table(report), "compare")
    show_launch(report, [answer.gpu for answer in report if answer.answered], "compare")
    show_rest(report, "compare")
