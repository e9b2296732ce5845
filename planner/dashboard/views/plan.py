"""How many GPUs a traffic needs, hour by hour, with what stands by, what it costs, and how that follows."""

from __future__ import annotations

import streamlit as st

from planner.cli.options import LARGEST_SIZE
from planner.dashboard.asking import ask_slowly
from planner.dashboard.inputs import chosen_part, engine_and_formats, one_word, part, scenario, whole
from planner.dashboard.scenario import PROFILES, arguments
from planner.dashboard.showing import show_named, show_rest, show_sentence, show_table
from planner.dashboard.text import plain
from planner.report.plan import PlanReport
from planner.report.plan_tables import gpus_table, hours_table, steps_table
from planner.report.sentences import gpu_label

ASKED = (
    *("model", "gpu", "isl", "osl", "request_rate", "peak_factor", "profile", "slo_ttft_s", "slo_tpot_s"),
    *("peak_utilisation", "spare", "price", "engine", "weight_dtype", "kv_dtype"),
)
NEEDED = "Give requests a second, and at least one limit that 95 % of them must keep."


def show() -> None:
    """Draw the page."""
    _traffic()
    now = scenario()
    if "request_rate" not in now or not {"slo_ttft_s", "slo_tpot_s"} & set(now):
        st.info(NEEDED)
        return
    bar = st.progress(0.0, "Simulating")
    report: PlanReport = ask_slowly("plan", arguments(now, ASKED), bar.progress)
    bar.empty()
    show_sentence(report)
    show_table(gpus_table(report), "gpus")
    plans = [answer.plan for answer in report if answer.plan is not None]
    by_hour = hours_table(plans[0]) if plans and plans[0].hours else None
    show_named(report, "day", by_hour, "plan")
    for line in report.scaling():
        st.caption(plain(line))
    show_named(report, "gpus", gpus_table(report), "plan")
    for plan in plans:
        with st.expander(f"How it was worked out for {gpu_label(plan.gpu.id)}"):
            show_table(steps_table(plan), f"steps {plan.gpu.id}")
    show_rest(report, "plan")


def _traffic() -> None:
    rate, factor, profile, ttft, tpot = st.columns(5)
    with rate:
        part("request_rate", "Requests a second", 1e-6, 1e6, "on average over the day")
    with factor:
        part("peak_factor", "Peak over average", 1.0, 1000.0, "empty: 1, or as the hours say")
    with profile:
        one_word("profile", "Hours of the day", PROFILES, "all alike")
    with ttft:
        part("slo_ttft_s", "TTFT at most, s", 1e-4, 1e5)
    with tpot:
        part("slo_tpot_s", "TPOT at most, s", 1e-5, 1e4)
    with st.expander("Headroom, engine and formats"):
        chosen_part("peak_utilisation", "Peak load over what the replicas carry", "0.8")
        whole("spare", "Nodes that stand by", LARGEST_SIZE, "empty: 1")
        engine_and_formats()
