"""A prediction as plain data: the JSON object of schema `planner.predict/1`, and one flat row of a CSV."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from planner.report.measured import point_record
from planner.report.provenance import price_record
from planner.report.table import GIB

if TYPE_CHECKING:
    from planner.measurement.operating_point import MeasuredPoint
    from planner.performance.intervals import Estimate
    from planner.performance.predict import Prediction
    from planner.performance.providers import Provided
    from planner.report.prediction import PredictAnswer

SCHEMA = "planner.predict/1"

FIGURES = (
    "output_tps_total",
    "output_tps_per_gpu",
    "total_tps_per_gpu",
    "tps_per_user",
    "ttft_ms",
    "tpot_ms",
)


def prediction_record(answer: PredictAnswer) -> dict[str, Any]:
    """Return an answer as one JSON-ready object, units in the keys.

    Parameters
    ----------
    answer : PredictAnswer
        The answer.

    Returns
    -------
    dict
        Figures are None where the model does not fit or the load cannot be carried.
    """
    fit, predicted, load = answer.fit, answer.predicted, answer.load
    memory, prediction = fit.memory, predicted.prediction
    cost, bought = answer.usd_per_million_output_tokens, answer.tokens_per_dollar
    return {
        "schema": SCHEMA,
        "model": fit.model,
        "model_name": fit.model_name,
        "config_status": fit.config_status,
        "gpu": fit.gpu,
        "gpu_name": fit.gpu_name,
        **{name: getattr(memory.deployment, name) for name in ("tp", "pp", "ep", "dp", "dcp")},
        "gpus": answer.gpus,
        "nodes": answer.nodes,
        "prefill_gpus": predicted.pools.prefill_gpus if predicted.pools else None,
        "decode_gpus": predicted.pools.decode_gpus if predicted.pools else None,
        "weight_dtype": memory.deployment.weight_dtype,
        "weight_format": fit.weight_format,
        "kv_dtype": memory.deployment.kv_dtype,
        "engine": memory.deployment.engine,
        "isl_tokens": load.isl,
        "osl_tokens": load.osl,
        "context_tokens": memory.context,
        "concurrency": prediction.concurrency if prediction else load.concurrency,
        "request_rate_per_s": served(answer),
        "asked": {"concurrency": load.concurrency, "request_rate_per_s": load.request_rate_per_s},
        "prefix_hit": load.prefix_hit,
        "speculative_tokens": memory.deployment.speculative_tokens,
        "tokens_per_step": prediction.tokens_per_step if prediction else None,
        "fits": fit.fits,
        "verdict": memory.verdict,
        "overloaded": bool(predicted.overload),
        "sentence": answer.sentence,
        **{name: estimate_record(answer.figures.get(name), predicted.source_of(name)) for name in FIGURES},
        "usd_per_million_output_tokens": cost.value if cost else None,
        "usd_per_million_output_tokens_low": cost.low if cost else None,
        "usd_per_million_output_tokens_high": cost.high if cost else None,
        "tokens_per_dollar": bought.value if bought else None,
        "tokens_per_dollar_low": bought.low if bought else None,
        "tokens_per_dollar_high": bought.high if bought else None,
        **_working(prediction),
        "throughput": predicted.throughput,
        "source": predicted.source_of("output_tps_total") if answer.answered else None,
        "provenance": _provenance(answer),
        "simulated": _simulated(prediction),
        "measured": _measured(predicted.measured),
        "provided": _provided(predicted.provided),
        "memory": {
            "binding_limit": memory.binding_limit,
            "weights_gib": memory.per_rank.weights_bytes / GIB,
            "kv_pool_gib": memory.per_rank.kv_pool_bytes / GIB,
            "kv_tokens": memory.kv_tokens,
            "max_concurrency": memory.max_concurrency,
        },
        "price": price_record(answer.price, answer.gpus),
        "no_price": fit.no_price,
        "warnings": list(answer.warnings),
        "catalogue_digest": fit.catalogue_digest,
    }


def served(answer: PredictAnswer) -> float | None:
    """Return the requests that are served, or None where there is no rate [1/s]."""
    rate = answer.figures.get("output_tps_total")
    return None if rate is None else rate.value / answer.load.osl


def estimate_record(found: Estimate | None, source: str) -> dict[str, Any] | None:
    """Return a figure with its 80 % interval and where it comes from: ``measured`` or ``simulated``."""
    if found is None:
        return None
    return {
        "value": found.value,
        "low": found.low,
        "high": found.high,
        "source": source,
        "provenance": found.provenance,
    }


def _working(prediction: Prediction | None) -> dict[str, Any]:
    """Return the working behind a prediction."""
    if prediction is None:
        names = (
            "bound_by",
            "step_breakdown",
            "bounds",
            "kernels",
            "batch",
            "kv_pool_requests",
            "ttft_mean_ms",
        )
        return dict.fromkeys(names)
    bounds = prediction.bounds
    return {
        "bound_by": prediction.bound_by,
        "step_breakdown": [
            {"operator": row.operator, "time_ms": 1e3 * row.time_s, "share": row.share, "bound": row.bound}
            for row in prediction.step_breakdown
        ],
        "bounds": {
            "full_overlap_step_ms": 1e3 * bounds.fastest_step_s,
            "no_overlap_step_ms": 1e3 * bounds.serial_step_s,
            "most_output_tps_total": bounds.most_output_tps,
        },
        "kernels": [
            {name: getattr(kernel, name) for name in _KERNEL_FIELDS} for kernel in prediction.kernels
        ],
        "batch": prediction.batch,
        "kv_pool_requests": prediction.most_requests,
        "ttft_mean_ms": prediction.ttft_mean_ms,
    }


_KERNEL_FIELDS = (
    "operator",
    "phase",
    "kernel",
    "compute_dtype",
    "slowdown",
    "padding",
    "note",
    "remedy",
    "source",
)


def _provenance(answer: PredictAnswer) -> str | None:
    """Return where the output rate comes from: of every other figure it stands beside it."""
    rate = answer.figures.get("output_tps_total")
    return None if rate is None else rate.provenance


def _simulated(prediction: Prediction | None) -> dict[str, Any] | None:
    if prediction is None:
        return None
    return {
        **{name: estimate_record(getattr(prediction, name), "simulated") for name in FIGURES},
        "provenance": prediction.provenance,
    }


def _measured(found: MeasuredPoint | None) -> dict[str, Any] | None:
    if found is None:
        return None
    return {
        "match": found.match,
        "runs": found.runs,
        **{name: estimate_record(found.figures.get(name), "measured") for name in FIGURES},
        "points": [point_record(point) for point in found.points],
    }


def _provided(found: Provided | None) -> dict[str, Any] | None:
    if found is None:
        return None
    return {
        "name": found.name,
        "version": found.version,
        **{name: estimate_record(found.figures.get(name), found.name) for name in FIGURES},
        "notes": list(found.notes),
    }


def flat_record(answer: PredictAnswer) -> dict[str, Any]:
    """Return an answer as one flat row, units in the keys.

    Parameters
    ----------
    answer : PredictAnswer
        The answer.

    Returns
    -------
    dict
        Every answer has the same keys.
    """
    record = prediction_record(answer)
    price, measured = record["price"] or {}, record["measured"] or {}
    nested = (
        "schema",
        "measured",
        "provided",
        "simulated",
        "price",
        "bounds",
        "step_breakdown",
        "kernels",
        *FIGURES,
    )
    plain = {
        key: value
        for key, value in record.items()
        if key not in nested and not isinstance(value, dict | list)
    }
    figures: dict[str, Any] = {}
    for name in FIGURES:
        found = record[name] or {}
        figures[name] = found.get("value")
        figures.update({f"{name}_{part}": found.get(part) for part in ("low", "high", "source")})
    return {
        **plain,
        **figures,
        "usd_per_gpu_hour": price.get("usd_per_gpu_hour"),
        "usd_per_hour": price.get("usd_per_hour"),
        "price_kind": price.get("kind"),
        "measured_match": measured.get("match"),
        "measured_source": measured["points"][0]["source"] if measured else None,
        "measured_source_url": measured["points"][0]["source_url"] if measured else None,
        "warnings": " | ".join(record["warnings"]),
    }
