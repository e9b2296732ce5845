"""How wrong predictions were on what they never saw."""

from __future__ import annotations

import streamlit as st

from planner.dashboard.showing import answering, show_figure, show_table
from planner.dashboard.text import plain
from planner.report.accuracy import accuracy_sentence, memory_accuracy_table, serving_accuracy


def show() -> None:
    """Draw the page."""
    with answering():
        _serving()
    show_table(memory_accuracy_table(), "memory")
    st.caption("The page Measure holds predictions against your own results and logs.")


def _serving() -> None:
    from planner.report.figures.accuracy import accuracy_figure

    st.markdown(plain(accuracy_sentence()))
    table = serving_accuracy()
    show_figure(accuracy_figure(), f"{table.title}; median error, %", table, "serving")
