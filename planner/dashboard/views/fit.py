"""Whether a model fits, on how many GPUs, what takes the memory, and what would lift the limit."""

from __future__ import annotations

import streamlit as st

from planner.dashboard.asking import ask
from planner.dashboard.inputs import chosen_count, engine_and_formats, layers_on_cpu, layout, scenario
from planner.dashboard.launching import show_launch
from planner.dashboard.scenario import OFF_GPU, arguments
from planner.dashboard.showing import show_figure, show_rest, show_sentence, show_table
from planner.report.facts import answer_facts
from planner.report.fit import FitReport
from planner.report.sentences import gpu_label
from planner.report.table import facts_table
from planner.report.tables import layouts_table, memory_table, side_by_side

ASKED = (
    *("model", "gpu", "gpus", "tp", "pp", "engine", "weight_dtype", "kv_dtype"),
    *("context", "concurrency", "price", "price_kind", *OFF_GPU),
)
CONTEXTS = tuple(1024 * 2**power for power in range(11))
CONCURRENCIES = (1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024)


def show() -> None:
    """Draw the page."""
    left, right = st.columns(2)
    with left:
        chosen_count("context", "Longest request, tokens", CONTEXTS, "the model's most")
    with right:
        chosen_count("concurrency", "Requests at once", CONCURRENCIES, "one")
    with st.expander("Engine, formats and layout"):
        engine_and_formats()
        layout()
        layers_on_cpu()
    report: FitReport = ask("fit", arguments(scenario(), ASKED))
    show_sentence(report)
    if len(report) > 1:
        show_table(side_by_side(report.answers), "side by side")
    _memory(report)
    show_launch(report, [answer.gpu for answer in report if answer.fits], "fit")
    show_rest(report, "fit")


def _memory(report: FitReport) -> None:
    from planner.report.figures.whole_memory import whole_memory_figure
    from planner.report.whole_memory import whole_table

    title = "Memory of all GPUs, GiB; an upright stroke is the end of a node"
    show_figure(whole_memory_figure(report.answers), title, whole_table(report.answers), "whole")
    show_figure(report.plot("memory"), "Memory of the fullest GPU, GiB", None, "memory")
    for tab, answer in zip(st.tabs([gpu_label(answer.gpu) for answer in report]), report, strict=True):
        with tab:
            show_table(memory_table(answer), f"parts {answer.gpu}")
            show_table(
                facts_table(answer_facts(answer), "The limit, what lifts it, and how sure that is"),
                f"facts {answer.gpu}",
            )
            if (others := layouts_table(answer)) is not None:
                show_table(others, f"layouts {answer.gpu}")
