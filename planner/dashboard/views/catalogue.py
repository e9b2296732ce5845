"""The catalogue: every figure with its source, and entries of one's own over it."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import streamlit as st

from planner.catalogue import Catalogue
from planner.dashboard.asking import OWN_CATALOGUE, catalogue
from planner.dashboard.showing import answering, show_table, without_folder
from planner.dashboard.text import plain
from planner.dashboard.uploads import MOST_TEXT_KB, kept, use_catalogue, use_model
from planner.report.details import Detail, gpu_detail, model_detail, price_detail
from planner.report.listings import gpus_table, models_table, prices_table
from planner.report.table import Table, facts_table


def show() -> None:
    """Draw the page."""
    _own()
    book = catalogue()
    gpus, models, prices = st.tabs(["Accelerators", "Models", "Prices"])
    with gpus, answering():
        _listed(book, "gpus", gpus_table, book.gpu_ids(), lambda name: gpu_detail(book.gpu(name), book))
    with models, answering():
        _listed(
            book, "models", models_table, book.model_ids(), lambda name: model_detail(book.model(name), book)
        )
    with prices, answering():
        _listed(book, "prices", prices_table, book.gpu_ids(), lambda name: price_detail(book.gpu(name), book))


def _listed(
    book: Catalogue,
    key: str,
    table: Callable[[Catalogue, str], Table],
    names: Sequence[str],
    detail: Callable[[str], Detail],
) -> None:
    words = st.text_input("Search", max_chars=100, key=f"search {key}")
    show_table(table(book, words), key)
    name = st.selectbox("One in full", names, None, key=f"detail {key}", placeholder="Choose")
    if name is not None:
        _detail(detail(name), key)


def _detail(detail: Detail, key: str) -> None:
    st.markdown(f"**{plain(detail.heading)}**")
    show_table(facts_table(detail.facts), f"{key} facts")
    for number, table in enumerate(detail.tables):
        show_table(table, f"{key} {number}")
    for title, lines in detail.lines:
        if lines:
            show_table(facts_table([("", line) for line in lines], title), f"{key} {title}")
    if detail.sources:
        show_table(facts_table(detail.sources, "Sources"), f"{key} sources")


def _own() -> None:
    """Take a catalogue file or a model's configuration for this session."""
    with st.expander("Your own accelerators, prices and models, in this session"):
        left, right = st.columns(2)
        with left, answering():
            _own_catalogue()
        with right, answering():
            _own_model()


def _own_catalogue() -> None:
    file = st.file_uploader(
        f"A catalogue file, as docs/catalogue.md explains it, up to {MOST_TEXT_KB} KB",
        ["yaml", "yml"],
        key="own catalogue file",
    )
    if file is not None and st.button("Use this catalogue file"):
        book = use_catalogue(kept(file.name, file.getvalue(), under="catalogue", most_kb=MOST_TEXT_KB))
        st.success("All pages of this session reckon with it now.")
        for line in book.warnings:
            st.warning(plain(without_folder(line)))
    if st.session_state.get(OWN_CATALOGUE) is not None and st.button("Back to the shipped catalogue"):
        use_catalogue(None)


def _own_model() -> None:
    file = st.file_uploader(f"A model's config.json, up to {MOST_TEXT_KB} KB", ["json"], key="own model file")
    name = st.text_input("What to call it", "my model", max_chars=60, key="own model name")
    if file is not None and st.button("Use this model"):
        path = kept("config.json", file.getvalue(), under="model", most_kb=MOST_TEXT_KB)
        use_model(path, name.strip() or "my model")
        st.success("It is the model of all pages of this session now.")
