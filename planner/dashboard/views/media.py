"""Media: how long a picture, video or mesh takes, what it costs, how many GPUs a traffic of them needs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import streamlit as st

from planner.catalogue.media import MediaModel, media_models
from planner.cli.options import HIGHEST_PRICE, LOWEST_PRICE
from planner.dashboard.asking import ask, catalogue
from planner.dashboard.showing import answering, show_named, show_rest, show_sentence, show_table
from planner.measurement.media import leave_one_out
from planner.report.media_tables import left_out_table, side_by_side
from planner.report.sentences import gpu_label
from planner.scenario.media import APPLIES

HELD = "media"
"""Where a session keeps what was chosen here."""
FIRST = ("mi355x", "b200-sxm", "h200-sxm")
FORMATS = ("bf16", "fp16", "fp8", "nvfp4", "mxfp4")
AS_USUAL = "as the usual files"
MOST_TYPES, MOST_RATE = 8, 10_000.0
NUMBERS = {
    "frames": ("Frames", 1, 2001, 4),
    "latents": ("Latents", 64, 16_384, 64),
    "octree": ("Resolution of the surface", 16, 1024, 16),
}
"""Sizes that are whole numbers: label, least, most, step."""


def show() -> None:
    """Draw the page."""
    held: dict[str, Any] = st.session_state.setdefault(HELD, {})
    models = {model.id: model for model in media_models(catalogue())}
    model = models[_one_of("model", "Model", tuple(models), held)]
    gpus = st.multiselect(
        "Accelerators",
        catalogue().gpu_ids(),
        held.get("gpu", [gpu for gpu in FIRST if gpu in catalogue().gpu_ids()]),
        format_func=gpu_label,
        max_selections=MOST_TYPES,
        key="media gpu",
    )
    held["gpu"] = gpus
    asked = {"model": model.id, "gpu": gpus, **_unit(model, held)}
    asked["price"] = _prices(gpus, held)
    if not gpus:
        st.info("Choose at least one accelerator.")
        return
    with answering():
        _compared(asked)
    with answering():
        _planned(asked, held)
    with answering():
        _flips(asked)
    with answering():
        show_table(left_out_table(leave_one_out(catalogue())), "media left out")


def _one_of(name: str, label: str, words: tuple[str, ...], held: dict[str, Any]) -> str:
    now = held.get(name)
    chosen = st.selectbox(label, words, words.index(now) if now in words else 0, key=f"media {name}")
    held[name] = chosen
    return chosen


def _unit(model: MediaModel, held: dict[str, Any]) -> dict[str, Any]:
    """Ask for what is made; it begins as the usual workflow has it."""
    usual = model.defaults
    chosen: dict[str, Any] = {}
    places = iter(st.columns(6))
    if "size" in APPLIES[model.makes]:
        sides = []
        for name in ("width", "height"):
            with next(places):
                sides.append(_whole(model, name, name.capitalize(), 16, 8192, 16, getattr(usual, name), held))
        chosen["size"] = sides
    for name in APPLIES[model.makes]:
        if name in NUMBERS:
            with next(places):
                chosen[name] = _whole(model, name, *NUMBERS[name], getattr(usual, name), held)
    with next(places):
        chosen["steps"] = _whole(model, "steps", "Steps", 1, 200, 1, usual.steps, held)
    with next(places):
        key = f"media {model.id} guidance"
        guidance = st.number_input("Guidance", 0.0, 50.0, held.get(key, usual.guidance), 0.5, key=key)
        chosen["guidance"] = held[key] = guidance
    left, right = st.columns(2)
    with left:
        form = _one_of("weights", "Weights of the transformer", (AS_USUAL, *FORMATS), held)
    with right:
        offload = st.checkbox(
            "Let weights that do not fit stay with the host", held.get("offload", False), key="media offload"
        )
    held["offload"] = offload
    if form != AS_USUAL:
        chosen["weight_dtype"] = form
    return {**chosen, "offload": offload}


def _whole(
    model: MediaModel,
    name: str,
    label: str,
    least: int,
    most: int,
    step: int,
    usual: int,
    held: dict[str, Any],
) -> int:
    key = f"media {model.id} {name}"
    number = st.number_input(label, least, most, held.get(key, usual), step, key=key)
    held[key] = number
    return int(number)


def _prices(gpus: list[str], held: dict[str, Any]) -> dict[str, float] | None:
    """Ask for the price of each accelerator."""
    prices: dict[str, float] = held.setdefault("price", {})
    if not gpus:
        return None
    for place, gpu in zip(st.columns(len(gpus)), gpus, strict=True):
        with place:
            usd = st.number_input(
                f"{gpu_label(gpu)}, USD per GPU-hour",
                LOWEST_PRICE,
                HIGHEST_PRICE,
                prices.get(gpu),
                0.05,
                key=f"media price {gpu}",
            )
        if usd is None:
            prices.pop(gpu, None)
        else:
            prices[gpu] = usd
    found = {gpu: prices[gpu] for gpu in gpus if gpu in prices}
    return found or None


def _compared(asked: Mapping[str, Any]) -> None:
    report = ask("compare", asked)
    show_sentence(report)
    show_table(side_by_side(report.ranked).without_empty(), "media side")
    show_named(report, "parts", None, "media")
    show_rest(report, "media")


def _planned(asked: Mapping[str, Any], held: dict[str, Any]) -> None:
    """Say how many accelerators a traffic needs."""
    rate = st.number_input(
        "Units a second, on average (empty: no plan)",
        0.0001,
        MOST_RATE,
        held.get("rate"),
        format="%.6g",
        key="media rate",
    )
    held["rate"] = rate
    if rate is None:
        return
    report = ask("plan", {**asked, "request_rate": rate})
    show_sentence(report)
    show_table(report.tables()[0], "media plan")


def _flips(asked: Mapping[str, Any]) -> None:
    """Say where the cheaper of two accelerators changes, where two are chosen."""
    if len(asked["gpu"]) == 2:
        report = ask("breakeven", asked)
        show_sentence(report)
        show_table(report.tables()[0], "media flips")
