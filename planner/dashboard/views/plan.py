"""How many GPUs a traffic needs, hour by hour, with what stands by, what it costs, and how that follows."""

from __future__ import annotations

from typing import Any

import streamlit as st

from planner.cli.plan_options import MOST_SPARES
from planner.dashboard import traffic
from planner.dashboard.asking import ask_slowly
from planner.dashboard.inputs import (
    chosen_part,
    engine_and_formats,
    forget_inputs,
    latencies,
    part,
    scenario,
    whole,
)
from planner.dashboard.launching import show_launch
from planner.dashboard.scenario import arguments
from planner.dashboard.showing import show_named, show_rest, show_sentence, show_table, told
from planner.report.plan import PlanReport
from planner.report.plan_fleet import FleetReport
from planner.report.plan_tables import gpus_table, hours_table, steps_table
from planner.report.sentences import gpu_label

ASKED = (
    *("model", "gpu", "price", "price_kind", "engine", "weight_dtype", "kv_dtype"),
    *("slo_ttft_s", "slo_tpot_s", "slo_e2e_s", "peak_utilisation", "spare"),
)
EXAMPLES: dict[str, dict[str, Any]] = {
    traffic.RATE: {"request_rate": 2.0, "profile": "daily", "slo_ttft_s": 5.0},
    traffic.USERS: {"users": 2000, "requests_per_user_hour": 4.0, "profile": "daily", "slo_ttft_s": 5.0},
}
"""Traffic and limits for who wants to see an answer before giving numbers."""
ASKS = {traffic.RATE: traffic.rate, traffic.USERS: traffic.users}


def show() -> None:
    """Draw the page."""
    kind = traffic.kind()
    if kind == traffic.FLEET:
        path = traffic.fleet()
        if path is None:
            st.info("A fleet file has several models, types with stock and price, and limits of its own.")
        else:
            _show_fleet(_planned({"fleet": str(path)}))
        return
    recorded = traffic.trace() if kind == traffic.TRACE else ASKS[kind]()
    _limits()
    now = {**scenario(), **({} if recorded is None else {"trace": str(recorded)})}
    lacking = traffic.needed(kind, now)
    if lacking:
        st.info(lacking)
        if kind in EXAMPLES:
            st.button("Fill in an example", on_click=_fill_in, args=(kind,))
        return
    asked = arguments(now, (*ASKED, *traffic.OF[kind]))
    if recorded is not None:
        asked["trace"] = str(recorded)
    _show_plan(_planned(asked))


def _fill_in(kind: str) -> None:
    forget_inputs()
    scenario().update(EXAMPLES[kind])


def _limits() -> None:
    *two, whole_request = st.columns(3)
    for place, limit in zip(two, latencies("95 % of the requests must keep it"), strict=True):
        with place:
            limit()
    with whole_request:
        part("slo_e2e_s", "Whole request at most, s", 1e-4, 1e6)
    with st.expander("Headroom, engine and formats"):
        chosen_part("peak_utilisation", "Peak load over what the replicas carry", "as usual: 0.8")
        whole("spare", "Nodes that stand by", MOST_SPARES, "empty: 1", least=0)
        engine_and_formats()


def _planned(asked: dict[str, Any]) -> Any:
    """Return a plan, showing how far it is."""
    bar = st.progress(0.0, "Simulating requests")
    try:
        return ask_slowly("plan", asked, bar.progress)
    finally:
        bar.empty()


def _show_plan(report: PlanReport) -> None:
    show_sentence(report)
    show_table(gpus_table(report), "gpus")
    plans = [answer.plan for answer in report if answer.plan is not None]
    by_hour = hours_table(plans[0]) if plans and plans[0].hours else None
    show_named(report, "day", by_hour, "plan")
    for line in report.scaling():
        st.caption(told(line))
    show_named(report, "gpus", gpus_table(report), "plan")
    for plan in plans:
        with st.expander(f"How it was worked out for {gpu_label(plan.gpu.id)}"):
            show_table(steps_table(plan), f"steps {plan.gpu.id}")
    show_launch(report, [plan.gpu.id for plan in plans], "plan")
    show_rest(report, "plan")


def _show_fleet(report: FleetReport) -> None:
    show_sentence(report)
    for label, text in report.facts():
        if text:
            st.caption(told(f"{label}: {text}"))
    show_named(report, "fleet", report.stands_table(), "fleet")
    show_table(report.placements_table() if report.answered else report.offers_table(), "placements")
    show_rest(report, "fleet")
