"""Controls that stand for values of the scenario, whichever page shows them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import streamlit as st

from planner.cli.money_options import MOST_KW, MOST_USD
from planner.cli.options import HIGHEST_PRICE, LARGEST_SIZE, LARGEST_TOKENS, LOWEST_PRICE
from planner.dashboard.asking import OWN_MODEL_RECORD, catalogue
from planner.dashboard.scenario import (
    ENGINES,
    HOURS_A_DAY,
    KV_DTYPES,
    MOST_GPUS,
    OWN_MODEL,
    OWNING_TERMS,
    PRICE_KINDS,
    WEIGHT_DTYPES,
    Scenario,
)
from planner.report.sentences import gpu_label

SHARES = (0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0)
PAGE = "page"
AS_PUBLISHED, SMALLEST = "as published", "the smallest that fits"
OWNING_LABELS = {
    "cost_of_capital": ("Interest, share a year", "the catalogue's"),
    "life_years": ("Years until written off", "the catalogue's"),
    "colocation": ("Colocation, USD per kW-month", "the catalogue's"),
    "electricity": ("Electricity billed on top, USD per kWh", "in the price of the colocation"),
    "pue": ("PUE, where electricity is billed on top", "the catalogue's"),
    "resale": ("Got back at the end, share of the price", "nothing"),
    "network_capex": ("Network, USD per GPU", "in the price of the GPU"),
    "spares": ("Spare parts, share of what is bought", "none"),
    "staff": ("Staff and insurance, USD per GPU and year", "none"),
}
"""What each term of owning is called, and what an empty field means."""


def scenario() -> Scenario:
    """Return the scenario of this session, which all pages read and change."""
    held: Scenario = st.session_state.setdefault("scenario", {})
    return held


def forget_inputs() -> None:
    """Let every control start from the scenario again."""
    for key in [key for key in st.session_state if str(key).startswith("input ")]:
        del st.session_state[key]


def enter(page: str) -> None:
    """Say which page is drawn; its controls start from the scenario when it is opened again."""
    if st.session_state.get(PAGE) != page:
        forget_inputs()
        st.session_state[PAGE] = page


def seeded(name: str, value: Any) -> str:
    """Return the key of a control, which begins at a value; each page has controls of its own."""
    key = f"input {st.session_state[PAGE]} {name}"
    if key not in st.session_state:
        st.session_state[key] = value
    return key


def keep(name: str, value: Any) -> None:
    """Put a value into the scenario; None takes it out."""
    if value is None:
        scenario().pop(name, None)
    else:
        scenario()[name] = value


def forget(*names: str) -> None:
    """Take values out of the scenario."""
    for name in names:
        scenario().pop(name, None)


def model_and_gpus() -> None:
    """Ask for the model and the accelerators."""
    book, now = catalogue(), scenario()
    models = book.model_ids()
    if OWN_MODEL_RECORD in st.session_state:
        models = [OWN_MODEL, *models]
    key = seeded("model", now["model"])
    keep("model", st.selectbox("Model", models, key=key))
    key = seeded("gpu", list(now["gpu"]))
    chosen = st.multiselect(
        "Accelerators", book.gpu_ids(), key=key, format_func=gpu_label, max_selections=MOST_GPUS
    )
    keep("gpu", tuple(chosen))


def lengths() -> None:
    """Ask for the tokens of a request."""
    left, right = st.columns(2)
    with left:
        whole("isl", "Input tokens", LARGEST_TOKENS)
    with right:
        whole("osl", "Output tokens", LARGEST_TOKENS)


def whole(name: str, label: str, most: int, help: str | None = None, least: int = 1) -> None:
    """Ask for a whole number; an empty field is a value that is not given."""
    key = seeded(name, scenario().get(name))
    keep(name, st.number_input(label, least, most, None, 1, key=key, help=help))


def part(name: str, label: str, least: float, most: float, help: str | None = None) -> None:
    """Ask for a number; an empty field is a value that is not given."""
    key = seeded(name, scenario().get(name))
    keep(name, st.number_input(label, least, most, None, format="%.6g", key=key, help=help))


def latencies(of: str) -> tuple[Callable[[], None], Callable[[], None]]:
    """Return what asks for limits of both times that a user notices, which are held against `of`."""
    first = f"TTFT: time to the first token; {of}"
    further = f"TPOT: time for each further token; {of}"
    return (
        lambda: part("slo_ttft_s", "First token (TTFT) at most, s", 1e-4, 1e5, first),
        lambda: part("slo_tpot_s", "Each further token (TPOT) at most, s", 1e-5, 1e4, further),
    )


def chosen_count(name: str, label: str, counts: tuple[int, ...], none: str) -> None:
    """Ask for one of some numbers by a slider, whose first place is a value that is not given."""
    now = scenario().get(name)
    places: list[int | None] = [None, *sorted({*counts, *([now] if now else [])})]
    key = seeded(name, now)
    shown = {place: none if place is None else f"{place:,}" for place in places}
    keep(name, st.select_slider(label, places, key=key, format_func=shown.__getitem__))


def usual_word(name: str, label: str, words: Sequence[str]) -> str:
    """Ask for one of some words, of which the first is usual, and return it."""
    key = seeded(name, scenario().get(name, words[0]))
    chosen = st.selectbox(label, words, key=key)
    keep(name, None if chosen == words[0] else chosen)
    return chosen


def one_word(name: str, label: str, words: tuple[str, ...], none: str, help: str | None = None) -> None:
    """Ask for one of some words, of which the first place is a value that is not given."""
    key = seeded(name, scenario().get(name, none))
    chosen = st.selectbox(label, (none, *words), key=key, help=help)
    keep(name, None if chosen == none else chosen)


def chosen_part(name: str, label: str, none: str) -> None:
    """Ask for a share by a slider, whose first place is a value that is not given."""
    now = scenario().get(name)
    places: list[float | None] = [None, *sorted({*SHARES, *([now] if now else [])})]
    shown = {place: none if place is None else f"{place:.4g}" for place in places}
    key = seeded(name, now)
    keep(name, st.select_slider(label, places, key=key, format_func=shown.__getitem__))


def prices() -> None:
    """Ask for the price of each accelerator, or for a kind of published prices instead of all of them."""
    one_word("price_kind", "Prices", PRICE_KINDS, "as typed here", "published ones are the catalogue's")
    _by_gpu("price", "USD per GPU-hour", HIGHEST_PRICE, 0.05, disabled="price_kind" in scenario())


def _by_gpu(name: str, unit: str, most: float, step: float, disabled: bool = False) -> None:
    """Ask for an amount of each accelerator; an empty field is one that is not given."""
    for gpu in scenario()["gpu"]:
        amount(name, gpu, unit, most, step, disabled)


def amount(name: str, gpu: str, unit: str, most: float, step: float, disabled: bool = False) -> None:
    """Ask for an amount of one accelerator."""
    held = dict(scenario().get(name, {}))
    key = seeded(f"{name} {gpu}", held.get(gpu))
    label = f"{gpu_label(gpu)}, {unit}"
    usd = st.number_input(label, LOWEST_PRICE, most, None, step, key=key, disabled=disabled)
    if usd is None:
        held.pop(gpu, None)
    else:
        held[gpu] = usd
    keep(name, held or None)


def buying() -> None:
    """Ask what cards are bought for and how long they work; given either, prices by the hour do not count."""
    _by_gpu("purchase", "USD to buy one", MOST_USD, 50.0)
    part("hours_a_day", "Hours of a day in which a bought card works", *HOURS_A_DAY, "empty: 8, assumed")


def owning() -> None:
    """Ask what accelerators cost to own, and on which terms."""
    _by_gpu("capex", "USD to own one with its share of server and network", MOST_USD, 500.0)
    _by_gpu("kw", "kW, all in", MOST_KW, 0.1)
    places = st.columns(3)
    for number, (name, (label, empty)) in enumerate(OWNING_LABELS.items()):
        with places[number % 3]:
            part(name, label, *OWNING_TERMS[name], f"empty: {empty}")


def layers_on_cpu() -> None:
    """Ask how many layers stay on the GPU under llama.cpp, and whose memory has the others."""
    layers, host = st.columns(2)
    with layers:
        whole("ngl", "Layers on the GPU (ngl, llama.cpp)", LARGEST_SIZE, "empty: all of them", least=0)
    with host:
        hosts = tuple(catalogue().ids("hosts"))
        one_word("host", "Host that has the other layers", hosts, "as assumed", "counts where ngl is given")


def engine_and_formats() -> None:
    """Ask for engine and formats of weights and KV cache."""
    engine, weights, cache = st.columns(3)
    with engine:
        one_word("engine", "Engine", ENGINES[1:], ENGINES[0])
    with weights:
        one_word("weight_dtype", "Weights", WEIGHT_DTYPES, AS_PUBLISHED)
    with cache:
        one_word("kv_dtype", "KV cache", KV_DTYPES[1:], KV_DTYPES[0])


def layout() -> None:
    """Ask for GPUs and parallel sizes."""
    for place, (name, label) in zip(
        st.columns(3), (("gpus", "GPUs"), ("tp", "Tensor parallel"), ("pp", "Pipeline stages")), strict=True
    ):
        with place:
            whole(name, label, LARGEST_SIZE, help=f"empty: {SMALLEST}")
