"""The tables of a plan: the accelerators side by side, the steps of each, the hours of the day."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from planner.planning.plan import GpuPlan
from planner.planning.plan_steps import Step, steps_of
from planner.report.plan_text import failed_text
from planner.report.prediction_text import number, time_text
from planner.report.provenance import price_rows, sources_table
from planner.report.sentences import gpu_label
from planner.report.table import Column, Table
from planner.units import format_significant

if TYPE_CHECKING:
    from planner.report.plan import PlanAnswer


def _money(value: float) -> str:
    return f"{value:,.2f}"


def _whole(value: float) -> str:
    return f"{value:,.0f}"


def _percent(value: float) -> str:
    return f"{value:.1f} %"


GPU_COLUMNS = (
    Column("gpu", "GPU", show=gpu_label),
    Column("layout", "replica"),
    Column("replica_requests_per_s", "requests/s\na replica", right=True, show=number),
    Column("replicas", "replicas", right=True, show=_whole),
    Column("gpus", "GPUs", right=True, show=_whole),
    Column("nodes", "nodes", right=True, show=_whole),
    Column("racks", "racks", right=True, show=_whole),
    Column("power_kw", "kW", right=True, show=number),
    Column("slo_share_percent", "keep\nthe SLO", right=True, show=_percent),
    Column("usd_per_hour", "USD/h", right=True, show=_money),
    Column("usd_per_million_output_tokens", "USD/M\noutput", right=True, show=number),
)
STEP_COLUMNS = (
    Column("name", "step"),
    Column("formula", "formula", flexible=True),
    Column("numbers", "with numbers", flexible=True),
    Column("value", "result", right=True, show=lambda value: format_significant(value, 4)),
    Column("unit", "unit", flexible=True),
    Column("provenance", "from", flexible=True),
)
COUNTED = ("nodes", "replicas", "racks", "GPUs")
"""Units that are counted: one of them has no s."""
HOUR_COLUMNS = (
    Column("hour", "hour", right=True),
    Column("mean_requests_per_s", "mean\nrequests/s", right=True, show=number),
    Column("planned_requests_per_s", "planned\nrequests/s", right=True, show=number),
    Column("replicas", "replicas", right=True, show=_whole),
    Column("gpus", "GPUs", right=True, show=_whole),
)


def gpu_row(answer: PlanAnswer) -> dict[str, Any]:
    """Return one accelerator as a flat record, units in the keys; what has no plan has what fails instead."""
    plan = answer.plan
    if plan is None:
        missed = answer.missed
        assert missed is not None
        return {
            "gpu": answer.gpu,
            "layout": missed.label or None,
            "failed": "; ".join(failed_text(one) for one in missed.failed) or "; ".join(missed.reasons),
        }
    costs = plan.costs
    return {
        "gpu": answer.gpu,
        "layout": plan.candidate.label,
        "replica_gpus": plan.candidate.gpus,
        "replica_requests_per_s": plan.sized.rate_per_s,
        "replicas": plan.sized.replicas,
        "working_replicas": plan.sized.working,
        "gpus": plan.sized.gpus,
        "gpus_low": plan.interval[0],
        "gpus_high": plan.interval[1],
        "gpus_used": plan.sized.gpus_used,
        "nodes": plan.sized.nodes,
        "racks": plan.racks,
        "power_kw": plan.power_kw,
        "requests_in_flight": plan.in_flight,
        "goodput_requests_per_s": plan.goodput_per_s,
        "slo_share_percent": 100 * (plan.goodput.slo_share or 0.0),
        "mean_utilisation_percent": 100 * plan.utilisation_mean,
        "usd_per_gpu_hour": plan.price.usd_per_gpu_hour if plan.price else None,
        "usd_per_hour": plan.usd_per_hour,
        "usd_per_month": None if plan.usd_per_hour is None else 730 * plan.usd_per_hour,
        "usd_per_million_output_tokens": costs.usd_per_million_output_all if costs else None,
        "usd_per_million_tokens": costs.usd_per_million_total if costs else None,
        "fixed_gpu_hours_per_day": plan.fixed_gpu_hours,
        "scaled_gpu_hours_per_day": plan.scaled_gpu_hours,
        "failed": None,
    }


MORE_KEYS = (
    "replica_gpus",
    "working_replicas",
    "gpus_low",
    "gpus_high",
    "gpus_used",
    "requests_in_flight",
    "goodput_requests_per_s",
    "mean_utilisation_percent",
    "usd_per_gpu_hour",
    "usd_per_month",
    "usd_per_million_tokens",
    "fixed_gpu_hours_per_day",
    "scaled_gpu_hours_per_day",
    "failed",
)


def gpus_table(answers: Iterable[PlanAnswer]) -> Table:
    """Return the accelerators side by side, columns of nothing left out.

    Parameters
    ----------
    answers : iterable of PlanAnswer
        In the order of the report.

    Returns
    -------
    Table
    """
    rows = tuple(gpu_row(answer) for answer in answers)
    return Table(GPU_COLUMNS, rows, "GPUs for this traffic", MORE_KEYS).filled()


def steps_table(plan: GpuPlan) -> Table:
    """Return the working of a plan, step by step."""
    rows = tuple(
        {
            "name": step.name,
            "formula": step.formula,
            "numbers": step.numbers,
            "value": step.value,
            "unit": step.unit,
            "provenance": step.provenance,
        }
        for step in steps_of(plan)
    )
    return Table(STEP_COLUMNS, rows, f"Working for {gpu_label(plan.gpu.id)}")


def step_text(step: Step) -> str:
    """Return a step in one line: the result, the numbers, the formula, and where it comes from."""
    unit = step.unit.removesuffix("s") if step.value == 1 and step.unit in COUNTED else step.unit
    result = f"{format_significant(step.value, 4)} {unit}"
    if not step.summed:
        beside = "" if step.numbers == result else f" {step.numbers}"
        return f"{result}{beside} ({step.formula}; {step.provenance})"
    return f"{result} = {step.numbers} ({step.formula}; {step.provenance})"


def hours_table(plan: GpuPlan) -> Table:
    """Return what each hour needs where its size follows the load."""
    rows = tuple(
        {
            "hour": hour.hour,
            "mean_requests_per_s": hour.mean_per_s,
            "planned_requests_per_s": hour.planned_per_s,
            "replicas": hour.sized.replicas,
            "gpus": hour.sized.gpus,
        }
        for hour in plan.hours
    )
    return Table(HOUR_COLUMNS, rows, f"Hours on {gpu_label(plan.gpu.id)}, spares included")


def scaling_sentence(plan: GpuPlan) -> str:
    """Return GPU-hours of a day at a fixed size and by the hour."""
    scaled = plan.scaled_gpu_hours
    if scaled is None:
        return (
            "how the hours differ is not known (--profile daily, 24 shares, or a trace say it), so that a "
            "size that follows the load is not worked out"
        )
    saved = 100 * (1 - scaled / plan.fixed_gpu_hours)
    return (
        f"{gpu_label(plan.gpu.id)}: {plan.fixed_gpu_hours:,.0f} GPU-hours a day at a fixed size, "
        f"{scaled:,.0f} where each hour has what it needs ({saved:.0f} % fewer)"
    )


def latency_rows(plan: GpuPlan) -> list[tuple[str, str]]:
    """Return the percentiles at the chosen size as labelled facts."""
    result = plan.goodput
    named = (
        ("time to first token", result.ttft_s),
        ("time per output token", result.tpot_s),
        ("request", result.e2e_s),
    )
    return [
        (
            name,
            f"median {time_text(1e3 * found.p50)}, 95 % within {time_text(1e3 * found.p95)}, "
            f"99 % within {time_text(1e3 * found.p99)}",
        )
        for name, found in named
        if found is not None
    ]


ASSUMED_COLUMNS = (
    Column("name", "what"),
    Column("value", "value", right=True),
    Column("provenance", "why", flexible=True),
)


def assumed_table(plan: GpuPlan) -> Table:
    """Return what nobody stated."""
    headroom = plan.terms.headroom
    rows = []
    if "peak_utilisation" not in headroom.model_fields_set:
        why = "the peak over what the replicas carry; room for forecasts that are too low and uneven load"
        rows.append(("peak utilisation", f"{100 * headroom.peak_utilisation:g} %", why))
    if headroom.spare is None and headroom.availability_target is None:
        rows.append(("spares", "1", "N+1: one node, or replica of several nodes, may fail"))
    if plan.traffic.cv == 1.0:
        rows.append(("gaps between arrivals", "cv 1", "independent users; --cv or a trace say otherwise"))
    if "assumed" in plan.traffic.profile:
        rows.append(("hours of the day", "", plan.traffic.profile))
    made = tuple(dict(zip(("name", "value", "provenance"), row, strict=True)) for row in rows)
    return Table(ASSUMED_COLUMNS, made, "Assumptions")


def plan_sources(answers: Iterable[PlanAnswer]) -> Table:
    """Return the quotes of the prices, and where power and predictions come from."""
    rows: list[dict[str, Any]] = []
    for answer in answers:
        plan = answer.plan
        if plan is None:
            continue
        rows += price_rows(gpu_label(answer.gpu), plan.price)
        if plan.power is not None:
            rows.append({"what": f"power of {gpu_label(answer.gpu)}", "source": plan.power.provenance})
        rows.append(
            {"what": f"step times of {gpu_label(answer.gpu)}", "source": plan.carried.steady.provenance}
        )
    return sources_table(rows)
