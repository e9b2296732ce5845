"""The dashboard: its pages, the scenario that they share, and the link that brings it back."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module

import streamlit as st

from planner.dashboard.asking import catalogue
from planner.dashboard.inputs import enter, forget_inputs, lengths, model_and_gpus, prices, scenario
from planner.dashboard.scenario import read_link, write_link
from planner.dashboard.showing import answering, begin_page
from planner.dashboard.text import plain

QUESTIONS = {
    "overview": "",
    "fit": "Does the model fit, on how many GPUs, what takes the memory, and what would lift the limit?",
    "compare": "Which accelerator gives most for the money, how sure is that, and what would change it?",
    "frontier": "How much does a GPU put out at each speed for a user? Nothing beats these points.",
    "cost": "What do tokens cost, at which prices does the order change, and does owning pay?",
    "plan": "How many GPUs does a traffic need, hour by hour, and what do they cost?",
    "training": "How fast does a dense model train, in what memory, and at what cost?",
    "media": "How long does a picture, a video or a mesh take, and what does it cost?",
    "measure": "",
    "catalogue": "Every figure that answers rest on, with its source.",
    "accuracy": "How far were predictions from measurements that they had never seen?",
}
"""What each page answers, where it does not say so itself, by module of `planner.dashboard.views`."""

PAGES = tuple(QUESTIONS)
"""They have no icons: browsers would fetch those from elsewhere."""

WITHOUT_QUESTION = ("media", "measure", "catalogue", "accuracy")
"""Pages that do not ask about the model at the left."""


def main() -> None:
    """Draw the page that the address names."""
    st.set_page_config(page_title="planner", layout="wide")
    pages = [
        st.Page(_drawing(name), title=name.capitalize(), url_path=name, default=name == "overview")
        for name in PAGES
    ]
    st.navigation(pages, position="top").run()


def _drawing(name: str) -> Callable[[], None]:
    return lambda: show_page(name)


def show_page(name: str) -> None:
    """Draw one page: the link is read, the sidebar asks, the page answers, and the link is written.

    Parameters
    ----------
    name : str
        One of `PAGES`.
    """
    begin_page()
    _follow_link()
    enter(name)
    if QUESTIONS[name]:
        st.caption(QUESTIONS[name])
    page = import_module(f"planner.dashboard.views.{name}")
    if name in WITHOUT_QUESTION:
        page.show()
        if name == "media":
            _write_link()
        return
    with st.sidebar:
        model_and_gpus()
        lengths()
        prices()
    if not scenario()["gpu"]:
        st.info("Choose at least one accelerator.")
        return
    with answering():
        page.show()
    _write_link()


def _follow_link() -> None:
    """Take the scenario from the address where it is not the one that was written there last."""
    query = dict(st.query_params)
    first = "scenario" not in st.session_state
    if first or (query and query != st.session_state.get("link")):
        forget_inputs()
        st.session_state["scenario"], st.session_state["refused"] = read_link(query, catalogue())
        st.session_state["link"] = query
    refused = st.session_state.get("refused")
    if refused:
        said = "\n".join(f"- {plain(line)}" for line in refused)
        st.warning(f"The link had values that were not accepted, and that are left out here:\n\n{said}")


def _write_link() -> None:
    link = write_link(scenario())
    if link != dict(st.query_params):
        st.query_params.from_dict(link)
    st.session_state["link"] = link
