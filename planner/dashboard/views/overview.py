"""The first screen: which accelerator, how many, what a million tokens cost, how sure, and what flips it."""

from __future__ import annotations

from typing import Any

import streamlit as st

from planner.dashboard.asking import ask
from planner.dashboard.inputs import scenario
from planner.dashboard.scenario import BOUGHT, OFF_GPU, Scenario, arguments
from planner.dashboard.showing import (
    answering,
    show_figure,
    show_named,
    show_origin,
    show_rest,
    show_token_costs,
)
from planner.dashboard.text import plain
from planner.report.buying import card_facts, place_text, what_to_take, why_and_until_when
from planner.report.compare import CompareReport
from planner.report.fit import FitReport
from planner.report.frontier import FrontierReport

SET_UP = ("model", "gpu", "engine", "weight_dtype", "kv_dtype")
ASKED = {
    "compare": (*SET_UP, *OFF_GPU, *BOUGHT, "isl", "osl", "concurrency", "price", "price_kind"),
    "fit": (*SET_UP, *OFF_GPU, "context"),
    "frontier": (*SET_UP, "isl", "osl"),
}
"""A price changes nothing of memory and of this frontier, which are not worked out anew when one moves."""


def questions(now: Scenario) -> dict[str, dict[str, Any]]:
    """Return what the page asks, by function, in the order in which it is shown."""
    return {function: arguments(now, names) for function, names in ASKED.items()}


def show() -> None:
    """Draw the page."""
    asked = questions(scenario())
    with answering():
        compared: CompareReport = ask("compare", asked["compare"])
        st.markdown(f"#### {plain(what_to_take(compared))}")
        st.markdown(plain(why_and_until_when(compared)))
        _cards(compared)
        show_token_costs(compared, "costs")
    with answering():
        _memory(ask("fit", asked["fit"]))
    with answering():
        _frontier(ask("frontier", asked["frontier"]))
    with answering():
        show_rest(ask("compare", asked["compare"]), "compare")


def _cards(report: CompareReport) -> None:
    for place, answer in zip(st.columns(len(report.answers)), report, strict=True):
        with place, st.container(border=True):
            st.markdown(f"##### {plain(place_text(answer))}")
            st.markdown(
                "  \n".join(f"{plain(label)}: **{plain(text)}**" for label, text in card_facts(answer))
            )
    st.caption("In brackets: 80 % intervals. Measured: published runs of this model on this accelerator.")


def _memory(report: FitReport) -> None:
    from planner.report.figures.whole_memory import whole_memory_figure
    from planner.report.whole_memory import whole_table

    title = "Memory of all GPUs against what they have; an upright stroke is the end of a node"
    show_figure(whole_memory_figure(report.answers), title, whole_table(report.answers), "memory")
    show_origin(report, "fit")


def _frontier(report: FrontierReport) -> None:
    from planner.report.points import points_table

    show_named(report, "frontier", points_table(report), "frontier")
    show_origin(report, "frontier")
