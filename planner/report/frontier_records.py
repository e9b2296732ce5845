"""A frontier as JSON-ready objects and flat records, units in the keys."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from planner.report.measured import point_record
from planner.report.prediction_records import estimate_record

if TYPE_CHECKING:
    from planner.measurement.frontier_points import MeasuredMarker
    from planner.planning.search import Candidate, Point
    from planner.report.frontier import FrontierAnswer
    from planner.scenario import Deployment

SCHEMA = "planner.frontier/1"
FIGURES = (
    "output_tps_total",
    "output_tps_per_gpu",
    "total_tps_per_gpu",
    "tps_per_user",
    "ttft_ms",
    "tpot_ms",
    "usd_per_million_output_tokens",
)
SIZES = ("tp", "pp", "ep", "dp", "dcp", "weight_dtype", "kv_dtype", "speculative_tokens")
KEYS = (
    "model",
    "gpu",
    "gpus",
    "nodes",
    "deployment",
    "copies",
    *SIZES,
    "prefill",
    "prefill_copies",
    "isl",
    "osl",
    "concurrency",
    "request_rate_per_s",
    *(f"{name}{end}" for name in FIGURES for end in ("", "_low", "_high")),
    "e2e_s",
    "prefill_share",
    "kv_pool_requests",
    "source",
    "provenance",
)


def answer_record(answer: FrontierAnswer) -> dict[str, Any]:
    """Return the answer for one accelerator as a JSON-ready object.

    Parameters
    ----------
    answer : FrontierAnswer
        The answer.

    Returns
    -------
    dict
    """
    result, slo, price = answer.result, answer.slo, answer.price
    return {
        "schema": SCHEMA,
        "model": result.asked.model.id,
        "gpu": answer.gpu,
        "isl": answer.load.isl,
        "osl": answer.load.osl,
        "prefix_hit": answer.load.prefix_hit,
        "engine": result.asked.base.engine,
        "slo": None if slo is None else {**slo.limits, "judged_by": "medians of the steady state"},
        "by": answer.by,
        "fits": answer.fits,
        "answered": answer.answered,
        "sentence": answer.sentence,
        "best": None if answer.best is None else point_of(answer.best),
        "bound_by": answer.bound_by,
        "layouts": [
            {**point_of(point), "bound_by": prediction.bound_by} for point, prediction in answer.layouts
        ],
        "closest": _closest(answer),
        "frontier": [point_of(point) for point in answer.points],
        "measured": [_marker(one) for one in answer.measured],
        "candidates": result.candidates,
        "points": len(result.found.option),
        "refused": [
            {"reason": one.reason, "count": one.count, "example": one.example} for one in result.refused
        ],
        "left_out": {
            "beyond_pool": result.left_out.beyond_pool,
            "overloaded": result.left_out.overloaded,
            "unlikely": result.left_out.unlikely,
        },
        "usd_per_gpu_hour": None if price is None else price.usd_per_gpu_hour,
        "price_kind": None if price is None else price.kind,
        "price_provenance": None if price is None else price.provenance,
        "warnings": list(answer.warnings),
        "catalogue_digest": result.asked.catalogue.digest,
    }


def point_of(point: Point) -> dict[str, Any]:
    """Return an operating point as a JSON-ready object."""
    figures = {name: estimate_record(getattr(point, name), point.source) for name in FIGURES}
    return {
        **_candidate(point.candidate),
        "concurrency": point.concurrency,
        "request_rate_per_s": point.request_rate_per_s,
        **figures,
        "e2e_s": point.e2e_s,
        "prefill_share": point.prefill_share,
        "source": point.source,
        "provenance": point.provenance,
    }


def _candidate(candidate: Candidate) -> dict[str, Any]:
    prefill = candidate.prefill
    return {
        "deployment": candidate.label,
        "gpus": candidate.gpus,
        "nodes": candidate.nodes,
        "copies": candidate.copies,
        **_sizes(candidate.deployment),
        "prefill": None if prefill is None else {"copies": candidate.prefill_copies, **_sizes(prefill)},
        "kv_pool_requests": candidate.memory.max_concurrency * candidate.copies,
    }


def _sizes(deployment: Deployment) -> dict[str, Any]:
    return {name: getattr(deployment, name) for name in SIZES}


def _closest(answer: FrontierAnswer) -> dict[str, Any] | None:
    if answer.closest is None:
        return None
    point, failed = answer.closest
    return {
        **point_of(point),
        "failed": [
            {"limit": one.name, "limit_s": one.limit_s, "value_s": one.value_s, "over": one.over}
            for one in failed
        ],
    }


def _marker(marker: MeasuredMarker) -> dict[str, Any]:
    return {
        "output_tps_per_gpu": marker.output_tps_per_gpu,
        "tps_per_user": marker.tps_per_user,
        "alike": marker.alike,
        "best": marker.best,
        **{
            key: value
            for key, value in point_record(marker.point).items()
            if key not in ("output_tps_per_gpu", "tps_per_user")
        },
    }


def flat_records(answers: Sequence[FrontierAnswer]) -> list[dict[str, Any]]:
    """Return a flat record for each point of each frontier, as CSV and frames hold it.

    Parameters
    ----------
    answers : sequence of FrontierAnswer
        The answers.

    Returns
    -------
    list of dict
        With the keys `KEYS`.
    """
    return [_flat(answer, point) for answer in answers for point in answer.points]


def _flat(answer: FrontierAnswer, point: Point) -> dict[str, Any]:
    nested = point_of(point)
    ends = {
        f"{name}{suffix}": None if nested[name] is None else nested[name][key]
        for name in FIGURES
        for suffix, key in (("", "value"), ("_low", "low"), ("_high", "high"))
    }
    prefill = point.candidate.prefill
    known = {
        **nested,
        **ends,
        "model": answer.result.asked.model.id,
        "gpu": answer.gpu,
        "isl": answer.load.isl,
        "osl": answer.load.osl,
        "prefill": None if prefill is None else prefill.layout,
        "prefill_copies": point.candidate.prefill_copies,
    }
    return {key: known[key] for key in KEYS}
