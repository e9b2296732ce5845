"""A break-even as plain data: the JSON object of schema `planner.breakeven/1`, and flat rows of a CSV."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from planner.economics import DOLLAR, Currency
from planner.measurement.breaking_even import PRICE, UNITS, Decided
from planner.measurement.sides import Load, Side
from planner.planning.breakeven import Flip
from planner.planning.sensitivity import Swing
from planner.report.prediction_records import estimate_record

if TYPE_CHECKING:
    from planner.report.breakeven import BreakEvenReport

SCHEMA = "planner.breakeven/1"


def breakeven_record(report: BreakEvenReport) -> dict[str, Any]:
    """Return a break-even as one JSON-ready object, units in the keys.

    Parameters
    ----------
    report : BreakEvenReport
        The break-even.

    Returns
    -------
    dict
        `at` is a ratio of prices over `price`, a share over `utilisation`, and tokens or requests else.
    """
    decided = report.decided
    result = decided.result if decided else None
    return {
        "schema": SCHEMA,
        "model": report.model,
        "about": report.about,
        "over": report.over,
        "unit": unit_of(report),
        "currency": report.currency.model_dump(),
        "sentence": report.sentence,
        "options": [option_record(side, decided.load if decided else None) for side in report.sides],
        "decided_by": "usd_per_million_output" if _priced(report) else "gpu_hours_per_million_output",
        "cost_ratio": _ratio(decided),
        "flips": [flip_record(flip) for flip in result.flips] if result else [],
        "never_flips": bool(result and not result.flips),
        "reason": (result.reason or None) if result else None,
        "bracket": [_finite(end) for end in result.bracket] if result else None,
        "cost_ratio_at_ends": [_finite(end) for end in result.ratios] if result else None,
        "by_weight_dtype": [
            {
                "weight_dtype": row.dtype,
                "cost_ratio": {"value": row.ratio.value, "low": row.ratio.low, "high": row.ratio.high},
                "usd_per_million_output": list(row.costs) if _priced(report) else None,
                "gpu_hours_per_million_output": None if _priced(report) else list(row.costs),
                "winner": row.winner,
            }
            for row in report.dtypes
        ],
        "sensitivity": [swing_record(swing, decided) for swing in report.swings if decided],
        "warnings": list(report.warnings),
        "catalogue_digest": report.catalogue_digest,
    }


def unit_of(report: BreakEvenReport, currency: Currency = DOLLAR) -> str:
    """Return the unit of a flip; a price of a GPU-hour is in a currency."""
    decided = report.decided
    if decided is not None and decided.over == PRICE:
        if decided.hosted:
            return f"{currency.code} per GPU-hour"
        return f"price of {decided.names[0]} over price of {decided.names[1]}"
    return UNITS.get(report.over, "format")


def _priced(report: BreakEvenReport) -> bool:
    return all(side.priced for side in report.sides)


def _ratio(decided: Decided | None) -> dict[str, Any] | None:
    if decided is None:
        return None
    ratio = decided.ratio
    return {
        "of": list(decided.names),
        "value": ratio.value,
        "low": ratio.low,
        "high": ratio.high,
        "provenance": ratio.provenance,
    }


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) else None


def option_record(side: Side, load: Load | None) -> dict[str, Any]:
    """Return one option as it was asked about."""
    found, price = side.found, side.price
    return {
        "name": side.name,
        "gpu": side.gpu or None,
        "gpus": side.gpus or None,
        "layout": found.memory.deployment.layout if found else None,
        "engine": found.engine if found else None,
        "chosen": found.chosen if found else None,
        "output_tps_total": estimate_record(side.rate, found.source) if found else None,
        "usd_per_gpu_hour": price.usd_per_gpu_hour if price else None,
        "price_kind": price.kind if price else side.hosted.kind if side.hosted else None,
        "price_provenance": price.provenance if price else side.hosted.provenance if side.hosted else None,
        "paid_when_used": side.paid_when_used,
        "utilisation": side.use.utilisation,
        "availability": side.use.availability,
        "usd_per_million_output": side.usd_per_million(load) if load and side.priced else None,
    }


def flip_record(flip: Flip) -> dict[str, Any]:
    """Return one flip."""
    return {
        "at": flip.at,
        "low": flip.low,
        "high": flip.high,
        "cheaper_below": flip.below,
        "cheaper_above": flip.above,
        "solved_by": flip.how,
    }


def swing_record(swing: Swing, decided: Decided) -> dict[str, Any]:
    """Return one input with the ratio of costs at both of its ends."""
    return {
        "input": swing.name,
        "low": swing.low,
        "high": swing.high,
        "cost_ratio_at_low": swing.low_ratio,
        "cost_ratio_at_high": swing.high_ratio,
        "swing": swing.swing,
        "flips_the_answer": swing.flips(decided.ratio.value),
        "why": swing.why,
    }


def flip_records(report: BreakEvenReport) -> list[dict[str, Any]]:
    """Return flat rows, one for each flip, or one that says that there is none."""
    decided = report.decided
    asked = {
        "model": report.model,
        "over": report.over,
        "unit": unit_of(report),
        "first": report.names[0],
        "second": report.names[1],
    }
    if decided is None:
        return [
            {
                **asked,
                "weight_dtype": row.dtype,
                "cost_ratio": row.ratio.value,
                "cost_ratio_low": row.ratio.low,
                "cost_ratio_high": row.ratio.high,
                "winner": row.winner,
            }
            for row in report.dtypes
        ]
    ratio = decided.ratio
    costs = {"cost_ratio": ratio.value, "cost_ratio_low": ratio.low, "cost_ratio_high": ratio.high}
    none = dict.fromkeys(("at", "low", "high", "cheaper_below", "cheaper_above", "solved_by"))
    rows = [flip_record(flip) for flip in decided.result.flips] or [none]
    return [{**asked, **costs, **row, "reason": decided.result.reason or None} for row in rows]
