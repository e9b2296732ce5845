"""Media: how long a picture, video or mesh takes, what it costs, how many GPUs a traffic of them needs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import streamlit as st

from planner.catalogue.media import MediaModel, media_models
from planner.cli.options import HIGHEST_PRICE
from planner.dashboard.asking import ask, catalogue
from planner.dashboard.inputs import amount, forget, keep, part, scenario, seeded, usual_word
from planner.dashboard.scenario import MEDIA_FORMATS, MEDIA_NUMBERS, MEDIA_RATES, MOST_GPUS, MOST_GUIDANCE
from planner.dashboard.showing import (
    answering,
    show_named,
    show_origin,
    show_rest,
    show_sentence,
    show_table,
)
from planner.measurement.media import leave_one_out
from planner.report.media_tables import left_out_table, parts_table, side_by_side
from planner.report.sentences import gpu_label
from planner.scenario.media import APPLIES, plural

FIRST = ("mi355x", "b200-sxm", "h200-sxm")
AS_USUAL = "as the usual files"
NAMES = {
    "frames": "Frames",
    "latents": "Latents",
    "octree": "Resolution of the surface",
    "steps": "Steps",
    "width": "Width, pixels",
    "height": "Height, pixels",
}


def show() -> None:
    """Draw the page."""
    models = {model.id: model for model in media_models(catalogue())}
    before = scenario().get("media_model", next(iter(models)))
    name = usual_word("media_model", "Model", tuple(models))
    if name != before:  # each has sizes that are usual
        forget("media_guidance", *(f"media_{number}" for number in MEDIA_NUMBERS))
    model = models[name]
    gpus = _gpus()
    asked = {"model": name, "gpu": list(gpus), **_unit(model)}
    if not gpus:
        st.info("Choose at least one accelerator.")
        return
    asked["price"] = _prices(gpus)
    with answering():
        _compared(asked, model)
    with answering():
        _planned(asked, model)
    with answering():
        _flips(asked)
    with answering():
        show_table(left_out_table(leave_one_out(catalogue())), "media left out")


def _gpus() -> tuple[str, ...]:
    known = catalogue().gpu_ids()
    now = [gpu for gpu in scenario().get("media_gpu", FIRST) if gpu in known]
    chosen = tuple(
        st.multiselect(
            "Accelerators",
            known,
            key=seeded("media_gpu", now),
            format_func=gpu_label,
            max_selections=MOST_GPUS,
        )
    )
    keep("media_gpu", chosen)
    return chosen


def _unit(model: MediaModel) -> dict[str, Any]:
    """Ask for what is made; it begins as the usual workflow has it."""
    usual, applies = model.defaults, APPLIES[model.makes]
    chosen: dict[str, Any] = {}
    places = iter(st.columns(6))
    names = [*(("width", "height") if "size" in applies else ()), *(one for one in applies if one in NAMES)]
    for name in (*names, "steps"):
        with next(places):
            chosen[name] = _whole(model, name, getattr(usual, name))
    if "size" in applies:
        chosen["size"] = [chosen.pop("width"), chosen.pop("height")]
    with next(places):
        chosen["guidance"] = _guidance(model, usual.guidance)
    forget(*(f"media_{name}" for name in {*MEDIA_NUMBERS} - {*names, "steps"}))
    left, right = st.columns(2)
    with left:
        form = usual_word("media_weights", "Weights of the transformer", (AS_USUAL, *MEDIA_FORMATS))
    with right:
        key = seeded("media_offload", "media_offload" in scenario())
        offload = st.checkbox("Let weights that do not fit stay with the host", key=key)
    keep("media_offload", "yes" if offload else None)
    if form != AS_USUAL:
        chosen["weight_dtype"] = form
    return {**chosen, "offload": offload}


def _whole(model: MediaModel, name: str, usual: int) -> int:
    least, most, step = MEDIA_NUMBERS[name]
    field = f"media_{name}"
    key = seeded(f"{field} {model.id}", scenario().get(field, usual))
    number = int(st.number_input(NAMES[name], least, most, step=step, key=key))
    keep(field, None if number == usual else number)
    return number


def _guidance(model: MediaModel, usual: float) -> float:
    key = seeded(f"media_guidance {model.id}", scenario().get("media_guidance", usual))
    guidance = st.number_input("Guidance", 0.0, MOST_GUIDANCE, step=0.5, key=key)
    keep("media_guidance", None if guidance == usual else guidance)
    return guidance


def _prices(gpus: tuple[str, ...]) -> dict[str, float] | None:
    """Ask for the price of each accelerator."""
    for place, gpu in zip(st.columns(len(gpus)), gpus, strict=True):
        with place:
            amount("media_price", gpu, "USD per GPU-hour", HIGHEST_PRICE, 0.05)
    held = scenario().get("media_price", {})
    return {gpu: held[gpu] for gpu in gpus if gpu in held} or None


def _compared(asked: Mapping[str, Any], model: MediaModel) -> None:
    report = ask("compare", asked)
    show_sentence(report)
    st.caption(
        f"In brackets, and from low to high: 80 % intervals. A unit is one {model.makes}, made on one GPU."
    )
    show_table(side_by_side(report.ranked).without_empty(), "media side")
    show_named(report, "parts", parts_table(report.answers), "media")
    show_rest(report, "media")


def _planned(asked: Mapping[str, Any], model: MediaModel) -> None:
    """Say how many accelerators a traffic needs."""
    label = f"{plural(model.makes).capitalize()} a second, on average (empty: no plan)"
    part("media_rate", label, *MEDIA_RATES)
    rate = scenario().get("media_rate")
    if rate is None:
        return
    report = ask("plan", {**asked, "request_rate": rate})
    show_sentence(report)
    show_table(report.tables()[0], "media plan")
    show_origin(report, "media plan")


def _flips(asked: Mapping[str, Any]) -> None:
    """Say where the cheaper of two accelerators changes, where two are chosen."""
    if len(asked["gpu"]) == 2:
        report = ask("breakeven", asked)
        show_sentence(report)
        show_table(report.tables()[0], "media flips")
        show_origin(report, "media flips")
