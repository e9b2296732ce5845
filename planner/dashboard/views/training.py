"""How fast a dense model trains, in what memory, at what cost; and what products reach by stack and date."""

from __future__ import annotations

from typing import Any

import streamlit as st

from planner.architecture.training import training_refusal
from planner.dashboard.asking import OWN_MODEL_RECORD, ask, catalogue
from planner.dashboard.inputs import keep, scenario, seeded, usual_word
from planner.dashboard.scenario import DENSE, OWN_MODEL, TOKENS_TRAINED, TRAINING, arguments
from planner.dashboard.showing import show_figure, show_rest, show_sentence, show_table
from planner.memory.built import SameModel, architecture_of
from planner.performance.training_rates import achieved_rows
from planner.report.achieved import AchievedReport
from planner.report.sentences import gpu_label
from planner.report.training import TrainReport
from planner.report.training_tables import cost_table, energy_table, memory_table, side_by_side, step_table

SIZES = (8, 16, 32, 64, 128, 256, 512, 1024, 2048, 4096, 8192, 16384)
USUAL_GPUS, TRILLION = 64, 10**12


def show() -> None:
    """Draw the page."""
    asked = _question()
    report: TrainReport = ask("train", asked)
    show_sentence(report)
    show_table(side_by_side(report.answers), "training side by side")
    if (step := step_table(report.answers)) is not None:
        show_figure(report.plot("step"), "Where the time of an optimiser step goes, share", step, "step")
    memory = memory_table(report.answers)
    show_figure(report.plot("memory"), "Memory of the fullest GPU, GiB", memory, "training memory")
    for name, table in (("cost", cost_table(report.answers)), ("energy", energy_table(report.answers))):
        if table is not None:
            show_table(table, f"training {name}")
    show_rest(report, "train")
    _achieved(asked["gpu"])


def _question() -> dict[str, Any]:
    """Ask for what training needs beside model, accelerators and prices."""
    model = scenario()["model"]
    if not _trainable(model):
        st.info("The model of the scenario is not dense; training is worked out for dense models alone.")
        model = usual_word("train_model", "Dense model", DENSE)
    first, second, third = st.columns(3)
    with first:
        gpus = _gpus()
        tokens = _tokens()
    with second:
        dtype = usual_word("train_dtype", "Format of products", TRAINING["train_dtype"])
        method = usual_word("method", "Method", TRAINING["method"])
    with third:
        stack = usual_word("stack", "Software", TRAINING["stack"])
    return {
        **arguments(scenario(), ("gpu", "price", "price_kind")),
        "model": model,
        "gpus": gpus,
        "dtype": dtype,
        "method": method,
        "stack": stack,
        "tokens": tokens,
    }


def _gpus() -> int:
    now = scenario().get("train_gpus", USUAL_GPUS)
    gpus = st.select_slider("GPUs", sorted({*SIZES, now}), key=seeded("train_gpus", now))
    keep("train_gpus", None if gpus == USUAL_GPUS else gpus)
    return int(gpus)


def _tokens() -> int:
    least, most = (tokens / TRILLION for tokens in TOKENS_TRAINED)
    now = scenario().get("train_tokens", TRILLION) / TRILLION
    trillions = st.number_input("Tokens, in trillions", least, most, key=seeded("train_tokens", now))
    tokens = round(trillions * TRILLION)
    keep("train_tokens", None if tokens == TRILLION else float(tokens))
    return tokens


def _trainable(model: str) -> bool:
    record = st.session_state.get(OWN_MODEL_RECORD) if model == OWN_MODEL else catalogue().model(model)
    return record is not None and training_refusal(architecture_of(SameModel(record))) is None


def _achieved(gpu: str) -> None:
    """Show datasheet against achieved of each accelerator for which somebody published it."""
    st.markdown("**Datasheet against achieved in matrix products, TFLOP/s**")
    known = [name for name in gpu.split(",") if achieved_rows(catalogue(), catalogue().gpu(name))]
    if not known:
        st.caption("Nobody published what products reach on what is compared; their rates are assumed.")
        return
    report: AchievedReport = ask("achieved", {"gpu": ",".join(known)})
    names = ", ".join(gpu_label(name) for name in dict.fromkeys(rate.gpu for rate in report.rates))
    st.caption(f"By stack and date: {names}")
    show_table(report.tables()[0], "achieved")
