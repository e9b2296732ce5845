"""A plan as plain data: the JSON object of schema `planner.plan/1`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from planner.planning.plan import GpuPlan
from planner.planning.plan_steps import steps_of

if TYPE_CHECKING:
    from planner.planning.replica import Missed
    from planner.planning.traffic import Traffic
    from planner.report.plan import PlanAnswer, PlanReport

SCHEMA = "planner.plan/1"


def plan_record(report: PlanReport) -> dict[str, Any]:
    """Return a report as one JSON-ready object, units in the keys.

    Parameters
    ----------
    report : PlanReport
        The report.

    Returns
    -------
    dict
        `results` has the cheapest first where all are priced, and those without a plan last.
    """
    first = report.answer
    slo, headroom = first.terms.slo, first.terms.headroom
    return {
        "schema": SCHEMA,
        "model": first.asked.model.id,
        "model_name": first.asked.model.name,
        "isl_tokens": first.workload.isl,
        "osl_tokens": first.workload.osl,
        "prefix_hit": first.workload.prefix_hit,
        "slo": {**slo.limits, "share": slo.share},
        "traffic": traffic_record(first.plan.traffic if first.plan else first.traffic),
        "headroom": headroom.model_dump(),
        "sentence": report.sentence,
        "answered": report.answered,
        "ranked_by": report.ranked_by,
        "results": [answer_record(answer) for answer in report],
        "warnings": list(report.warnings),
        "catalogue_digest": first.asked.catalogue.digest,
    }


def traffic_record(traffic: Traffic) -> dict[str, Any]:
    """Return arrivals as a JSON-ready object."""
    return {
        "stated": traffic.stated,
        "profile": traffic.profile,
        "mean_requests_per_s": traffic.mean_per_s,
        "peak_requests_per_s": traffic.peak_per_s,
        "peak_factor": traffic.peak_factor,
        "cv": traffic.cv,
        "hourly_requests_per_s": list(traffic.hourly_per_s),
        "planned_requests_per_s": list(traffic.planned_per_s),
    }


def answer_record(answer: PlanAnswer) -> dict[str, Any]:
    """Return the plan on one accelerator type, or what comes closest."""
    from planner.report.plan_tables import gpu_row

    row = gpu_row(answer)
    missed, plan = answer.missed, answer.plan
    if plan is None:
        assert missed is not None
        return {
            "gpu": answer.gpu,
            "planned": False,
            "sentence": answer.sentence,
            "closest": missed_record(missed),
        }
    row.pop("failed")
    deployment = plan.candidate.deployment
    return {
        **row,
        "planned": True,
        "sentence": answer.sentence,
        **{name: getattr(deployment, name) for name in ("tp", "pp", "ep", "dp", "dcp")},
        "engine": deployment.engine,
        "mean_requests_per_s": plan.traffic.mean_per_s,
        "peak_requests_per_s": plan.traffic.peak_per_s,
        "spare_groups": plan.sized.spares.groups,
        "spares_because": plan.sized.spares.reason,
        "availability_reached": plan.sized.spares.reached,
        "price_kind": plan.price.kind if plan.price else None,
        "price_provenance": plan.price.provenance if plan.price else None,
        "latency": latency_record(plan),
        "steps": [
            {
                "name": step.name,
                "formula": step.formula,
                "numbers": step.numbers,
                "value": step.value,
                "unit": step.unit,
                "provenance": step.provenance,
            }
            for step in steps_of(plan)
        ],
        "hours": [
            {
                "hour": hour.hour,
                "mean_requests_per_s": hour.mean_per_s,
                "planned_requests_per_s": hour.planned_per_s,
                "replicas": hour.sized.replicas,
                "gpus": hour.sized.gpus,
            }
            for hour in plan.hours
        ],
        "warnings": list(answer.warnings),
    }


def latency_record(plan: GpuPlan) -> dict[str, Any]:
    """Return the percentiles at the chosen size, no spare at work."""
    result = plan.goodput
    return {
        "ttft_ms": result.ttft_s.to_dict(1e3) if result.ttft_s else None,
        "tpot_ms": result.tpot_s.to_dict(1e3) if result.tpot_s else None,
        "e2e_s": result.e2e_s.to_dict() if result.e2e_s else None,
        "requests": len(result.requests.isl),
        "seed": result.seed,
        "source": "simulated",
    }


def missed_record(missed: Missed) -> dict[str, Any]:
    """Return what comes closest to limits that nothing keeps."""
    return {
        "layout": missed.label or None,
        "replica_gpus": missed.gpus or None,
        "how": missed.how or None,
        "failed": [
            {"limit": one.name, "limit_s": one.limit_s, "value_s": one.value_s} for one in missed.failed
        ],
        "reasons": list(missed.reasons),
    }
