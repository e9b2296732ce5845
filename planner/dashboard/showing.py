"""How a report stands on a page: sentence, figures with their tables, the rest, and how to make it again."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import streamlit as st

from planner.dashboard.text import plain
from planner.errors import PlannerError
from planner.measurement.user_folder import user_folder
from planner.report.base import Report
from planner.report.compare import CompareReport
from planner.report.provenance import origin_facts
from planner.report.table import Table

FOLDER = "folder"
"""Where a session keeps the folder of its uploads."""

SAID = "errors that were said"
"""Of the page that is being drawn."""

LONGEST_ERROR = 2000
"""Characters: what is wrong may hold what a user wrote."""

CHARGED = (
    "All on the output: as if input were free. Output, input, cached input: each by its share of GPU time. "
    "Every token: input and output at one price. Hatched: what hosted APIs ask, which has no interval."
)
"""What the ways of counting mean."""

LONGEST_CELL, MOST_WRAPPED = 60, 30
"""Longer texts would be cut off in a cell of one line: such a table wraps them, where it has few rows."""

TOOLBAR = {"displaylogo": False, "toImageButtonOptions": {"format": "png", "scale": 2}}
"""Of plotly: it saves the figure as a picture, and says nothing to anybody."""


@contextmanager
def answering() -> Iterator[None]:
    """Show what a user can mend as one line, which a page says once, and go on below."""
    try:
        yield
    except PlannerError as error:
        said = st.session_state.setdefault(SAID, [])
        if str(error) not in said:
            said.append(str(error))
            st.error(told(str(error)[:LONGEST_ERROR]))


def begin_page() -> None:
    """Forget what the page before, or the same one earlier, had to say."""
    st.session_state[SAID] = []


def without_folder(text: str) -> str:
    """Return a text without the folders of this session's uploads and of the server's own measurements."""
    return _hiding()(text)


def told(text: str) -> str:
    """Return a text of a report as it may stand on a page: as it was written, and without folders."""
    return plain(without_folder(text))


def _hiding() -> Callable[[str], str]:
    """Return what takes folders out of a text, also outside of the session."""
    held = st.session_state.get(FOLDER)
    own = re.escape(f"{user_folder()}/")
    uploaded = "" if held is None else "|" + re.escape(held.name) + r"/(?:[a-z]+-[0-9a-f]+/)?"
    place = re.compile(own + uploaded)
    return lambda text: place.sub("", text)


def show_sentence(report: Report) -> None:
    """Show the answer in words."""
    for line in report.sentence.splitlines():
        st.markdown(told(line))


def show_figure(figure: Any, title: str, table: Table | None, key: str) -> None:
    """Show a figure under its title, and its numbers in a table under it.

    Parameters
    ----------
    figure : plotly Figure
        Drawn by `planner.report.figures`.
    title : str
        What it shows, with its unit.
    table : Table or None
        The same numbers.
    key : str
        Unique on the page.
    """
    st.markdown(f"**{plain(title)}**")
    st.plotly_chart(figure, theme=None, config=TOOLBAR, key=f"figure {key}")
    if table is not None:
        with st.expander("The numbers of this figure"):
            show_table(table, key=f"{key} numbers")


def show_token_costs(report: CompareReport, key: str) -> None:
    """Show what a million tokens cost, where there are prices."""
    from planner.report.compare_tables import tokens_table
    from planner.report.figures.token_costs import token_costs_figure

    table = tokens_table(report)
    if table is None:
        return
    show_figure(
        token_costs_figure(report), "What a million tokens cost, USD, with 80 % intervals", table, key
    )
    st.caption(CHARGED)


def show_named(report: Report, name: str, table: Table | None, key: str) -> None:
    """Show a figure of a report by its name; nothing where the report has no such figure."""
    for figure in report.figures():
        if figure.name == name:
            show_figure(figure.draw(), figure.title, table, f"{key} {name}")


def show_table(table: Table, key: str) -> None:
    """Show a table as it is printed, long texts over several lines, and offer it as CSV."""
    import pandas

    if table.title:
        st.caption(told(table.title))
    heads = _unique([column.heading.replace("\n", " ") for column in table.columns])
    cells = [[without_folder(cell) for cell in row] for row in table.cells()]
    if len(cells) <= MOST_WRAPPED and any(len(cell) > LONGEST_CELL for row in cells for cell in row):
        wrapped = [[plain(cell) for cell in row] for row in cells]
        st.table(pandas.DataFrame(wrapped, columns=[plain(head) for head in heads]), hide_index=True)
        offer_table(table, key)
        return
    aligned = {
        head: st.column_config.TextColumn(head, alignment="right" if column.right else "left")
        for head, column in zip(heads, table.columns, strict=True)
    }
    frame = pandas.DataFrame(cells, columns=heads)
    st.dataframe(frame, hide_index=True, column_config=aligned, key=f"table {key}")
    offer_table(table, key)


def offer_table(table: Table, key: str) -> None:
    """Offer a table as CSV, with its units in the header."""
    offer("CSV", table.to_csv, f"{_file_name(table.title) or 'table'}.csv", "text/csv", key)


def _unique(heads: list[str]) -> list[str]:
    """Return headings of which no two are alike, as a frame needs them."""
    return [
        f"{head} ({heads[:place].count(head) + 1})" if head in heads[:place] else head
        for place, head in enumerate(heads)
    ]


def _file_name(title: str) -> str:
    words = "".join(sign if sign.isalnum() else " " for sign in title.lower()).split()
    return "-".join(words[:8])


def offer(label: str, made: Callable[[], str], name: str, kind: str, key: str) -> None:
    """Offer a file that is made when it is asked for, without the folder of this session's uploads."""
    hide = _hiding()
    st.download_button(
        label,
        lambda: hide(made()),
        file_name=name,
        mime=kind,
        key=f"offer {label} {key}",
        on_click="ignore",
        icon=":material/download:",
        type="tertiary",
    )


def show_rest(report: Report, key: str) -> None:
    """Show all tables, notes, assumptions and sources of a report, and how to make it again."""
    all_tables = st.expander("All tables", key=f"all tables {key}", on_change="rerun")
    if all_tables.open:  # many tables, which would be sent at every click to who does not look at them
        with all_tables:
            for number, table in enumerate(report.tables()):
                show_table(table, key=f"{key} all {number}")
    if report.warnings:
        with st.expander(f"Notes ({len(report.warnings)})"):
            for text in report.warnings:
                st.markdown(f"- {told(text)}")
    for more, name in ((report.assumptions(), "Assumptions"), (report.sources(), "Sources")):
        if more is not None and more.rows:
            with st.expander(name):
                show_table(more, key=f"{key} {name}")
    show_origin(report, key)


def show_origin(report: Report, key: str) -> None:
    """Show the command line that gives the same numbers, and offer the answer as JSON, CSV and a page."""
    made = report.reproduction
    if made is None:
        return
    with st.expander(f"Make this answer again: {made.function}"):
        if made.complete:
            st.caption("The same numbers on the command line:")
            st.code(without_folder(made.command), language="bash", wrap_lines=True)
        for label, text in origin_facts(made):
            st.caption(f"{plain(label)}: {told(text)}")
        name = f"planner-{made.function}"
        offer("JSON", lambda: json.dumps(report.to_dict(), indent=2), f"{name}.json", "application/json", key)
        offer("CSV", report.to_csv, f"{name}.csv", "text/csv", f"{key} whole")
        offer("HTML page", report.to_html, f"{name}.html", "text/html", key)
