"""The points of a run as rows of the tidy schema of serving measurements."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date
from typing import Any

from planner.measurement.endpoint.run import Measured
from planner.measurement.endpoint.summary import PointSummary
from planner.performance.simulation.summary import Summary

SOURCE = "planner measure endpoint"
MOST_FAILED = 0.05
"""Points of which a larger share failed are not kept: what failed was not of the mean length."""

STATED = (
    *("model", "gpu", "vendor", "n_gpus"),
    *("tp", "pp", "ep", "dp", "weight_dtype", "kv_dtype", "spec_decode"),
)
"""What the user says of the deployment."""


def keeps(point: PointSummary) -> bool:
    """Return whether a point is good enough to be kept among measurements."""
    failed = sum(point.errors.values())
    return point.ended and point.requests > 0 and failed <= MOST_FAILED * (failed + point.requests)


def tidy_rows(run: Measured, points: Sequence[PointSummary], today: date) -> list[dict[str, Any]]:
    """Return one row for each point that is kept.

    Parameters
    ----------
    run : Measured
        The run; its `facts` state at least model, accelerator and number of GPUs.
    points : sequence of PointSummary
        Its points.
    today : date
        The day of the measurement.

    Returns
    -------
    list of dict
        Values by column; rates are divided by all GPUs.
    """
    return [_row(run, point, today) for point in points if keeps(point)]


def _row(run: Measured, point: PointSummary, today: date) -> dict[str, Any]:
    facts = run.facts
    engine, _, version = (facts.get("engine") or run.server.get("engine") or "").partition("==")
    gpus = facts["n_gpus"]
    hit = point.cached_share if point.cached_share is not None else run.load.prefix_hit
    tpot, ttft = point.tpot_s, point.ttft_s
    return {
        "source": SOURCE,
        "date": today.isoformat(),
        **{name: facts.get(name) for name in STATED},
        "engine": engine or None,
        "engine_version": version or None,
        "isl": round(point.isl, 1),
        "osl": round(point.osl, 1),
        "concurrency": point.concurrency,
        "request_rate": "inf" if point.concurrency else _rounded(point.rate_per_s or point.requests_per_s),
        "prefix_hit": _rounded(hit),
        "output_tps_total": _rounded(point.output_tps),
        "output_tps_per_gpu": _rounded(point.output_tps / gpus),
        "total_tps_per_gpu": _rounded(point.total_tps / gpus),
        "tps_per_user": _rounded(1 / tpot.p50) if tpot and tpot.p50 > 0 else None,
        "ttft_ms_median": _ms(ttft, "p50"),
        "ttft_ms_p99": _ms(ttft, "p99"),
        "ttft_ms_mean": _ms(ttft, "mean"),
        "tpot_ms_median": _ms(tpot, "p50"),
        "tpot_ms_p99": _ms(tpot, "p99"),
        "tpot_ms_mean": _ms(tpot, "mean"),
        "e2e_s_median": _rounded(point.e2e_s.p50) if point.e2e_s else None,
        "notes": _notes(run, point),
    }


def _notes(run: Measured, point: PointSummary) -> str:
    parts = [
        f"{point.requests} requests",
        f"served as {run.server.get('served_model')}",
        f"{run.load.lengths} lengths" if run.load.trace is None else "lengths of a trace",
        f"measured mean input {point.isl:.0f} / output {point.osl:.0f} tokens",
        f"{sum(point.errors.values())} failed" if point.errors else "",
        *point.doubts,
    ]
    return "; ".join(part for part in parts if part)


def _rounded(value: float) -> float:
    return float(f"{value:.6g}")


def _ms(found: Summary | None, name: str) -> float | None:
    return None if found is None else _rounded(1e3 * getattr(found, name))
