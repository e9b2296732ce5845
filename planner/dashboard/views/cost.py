"""What it costs: tokens, renting against owning and hosted APIs, and the prices at which the answer flips."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from planner.dashboard.asking import ask, catalogue
from planner.dashboard.inputs import buying, chosen_part, layers_on_cpu, owning, scenario
from planner.dashboard.scenario import BOUGHT, OFF_GPU, OWNED, arguments
from planner.dashboard.showing import (
    answering,
    show_figure,
    show_named,
    show_origin,
    show_rest,
    show_sentence,
    show_token_costs,
)
from planner.dashboard.text import plain
from planner.economics import offers_of
from planner.report.breakeven_tables import flips_table, tornado_table
from planner.report.buying import what_to_take
from planner.report.compare_tables import tokens_table
from planner.report.owning import OwningReport
from planner.report.sentences import gpu_label

TOKENS = (
    *("model", "gpu", "isl", "osl", "concurrency", "price", "price_kind", "utilisation"),
    *("engine", "weight_dtype", "kv_dtype"),
    *(*BOUGHT, *OWNED, *OFF_GPU),
)
LOAD = ("model", "isl", "osl", "concurrency", "utilisation", "engine", "weight_dtype", "kv_dtype")
TWO = (*LOAD, *OWNED, *OFF_GPU)


def show() -> None:
    """Draw the page."""
    first = st.container()
    chosen_part("utilisation", "Share of the paid time that is used", "as the catalogue assumes")
    with st.expander("Cards that are bought, and layers on the CPU"):
        buying()
        layers_on_cpu()
    with st.expander("What owning costs"):
        owning()
    draws: tuple[Callable[[], None], ...] = (partial(_tokens, first), _two, _owning)
    for draw in draws:
        with answering():
            draw()


def _tokens(first: DeltaGenerator) -> None:
    """Show what tokens cost, with the answer in words above everything."""
    report = ask("compare", arguments(scenario(), TOKENS))
    first.markdown(plain(what_to_take(report)))
    if tokens_table(report) is None:
        st.info("Give prices, at the left, to see what tokens cost.")
        return
    show_token_costs(report, "tokens")
    show_origin(report, "tokens")


def _two() -> None:
    """Show at which prices either of two accelerators is cheaper, and what else moves the answer."""
    now = scenario()
    gpus = list(now["gpu"])
    if len(gpus) < 2:
        st.info("Choose two accelerators to see the prices at which the cheaper one changes.")
        return
    st.markdown("##### Two accelerators")
    first, second = st.columns(2)
    with first:
        one = st.selectbox("First", gpus, format_func=gpu_label, key="cost first")
    others = [gpu for gpu in gpus if gpu != one]
    with second:
        other = st.selectbox("Second", others, len(others) - 1, format_func=gpu_label, key="cost second")
    asked = arguments({**now, "gpu": (one, other)}, (*TWO, "gpu", "price", "price_kind", *BOUGHT))
    _break_even(asked, "two")


def _break_even(asked: Mapping[str, Any], key: str) -> None:
    report = ask("breakeven", asked)
    show_sentence(report)
    show_named(report, "prices", flips_table(report), key)
    show_named(report, "tornado", tornado_table(report), key)
    show_rest(report, key)


def _owning() -> None:
    from planner.report.figures.owning import owning_figure, owning_table

    st.markdown("##### Owning and renting")
    report: OwningReport = ask("own", arguments(scenario(), ("gpu", *OWNED)))
    show_sentence(report)
    title = "An hour of an owned GPU, and of a rented one, USD"
    show_figure(owning_figure(report), title, owning_table(report), "own")
    show_rest(report, "own")
    with answering():
        _against_owning(report)


def _against_owning(report: OwningReport) -> None:
    """Show when owning an accelerator is cheaper than renting it, or than a hosted API."""
    api = ["api"] if offers_of(scenario()["model"], catalogue()) else []
    owned = {answer.gpu.id: answer for answer in report.priced if answer.rents or api}
    if not owned:
        st.info("Owning is compared with nothing: no rent of it is quoted, and no hosted price of the model.")
        return
    left, middle, right = st.columns(3)
    with left:
        gpu = st.selectbox("Owning", list(owned), format_func=gpu_label, key="cost owned")
    with middle:
        against = st.selectbox("against", [*owned[gpu].rents, *api], key=f"cost against {gpu}")
    with right:
        over = st.selectbox("over", ("utilisation", "volume", "price"), key="cost over")
    asked = {**scenario(), "gpu": (gpu,), "price_kind": f"own,{against}", "over": over}
    _break_even(arguments(asked, (*TWO, "gpu", "price_kind", "over")), "against")
