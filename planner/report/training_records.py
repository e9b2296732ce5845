"""A training run as plain data: the JSON object of schema `planner.train/1`, and one flat row of a CSV."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from planner.performance.intervals import Estimate
from planner.report.achieved import achieved_record
from planner.report.provenance import price_record
from planner.report.table import GIB

if TYPE_CHECKING:
    from planner.performance.training import TrainingStep
    from planner.report.training import TrainAnswer

SCHEMA = "planner.train/1"
TERA = 1e12
FIGURES = (
    "step_s",
    "tokens_per_s",
    "tokens_per_s_per_gpu",
    "tflop_per_s_per_gpu",
    "mfu",
    "hfu",
    "run_hours",
    "usd_per_trillion_tokens",
    "usd_of_run",
    "mwh_per_trillion_tokens",
    "mwh_of_run",
)


def train_record(answer: TrainAnswer) -> dict[str, Any]:
    """Return an answer as one JSON-ready object, units in the keys.

    Parameters
    ----------
    answer : TrainAnswer
        The answer.

    Returns
    -------
    dict
        Figures are None where the run does not fit.
    """
    trained, plan, run = answer.trained, answer.trained.plan, answer.trained.plan.run
    memory = plan.memory
    return {
        "schema": SCHEMA,
        "model": answer.model,
        "model_name": answer.model_name,
        "config_status": answer.config_status,
        "gpu": answer.gpu,
        "gpu_name": trained.gpu.name,
        "gpus": run.gpus,
        "nodes": answer.nodes,
        **{name: getattr(run, name) for name in ("tp", "pp", "dp", "fsdp", "interleave")},
        "micro_batch_sequences": run.micro_batch,
        "global_batch_sequences": run.global_batch,
        "sequence_tokens": run.seq_len,
        "recompute": run.recompute,
        "dtype": run.dtype,
        "method": run.method,
        "lora_rank": run.lora_rank if run.frozen else None,
        "fits": answer.fits,
        "sentence": answer.sentence,
        "layouts_searched": plan.searched,
        **{name: _figure(_estimate(answer, name)) for name in FIGURES},
        "step_breakdown": _breakdown(plan.step),
        "memory": {
            **{f"{part}_gib": size / GIB for part, size in memory.parts_bytes.items()},
            "total_gib": memory.total_bytes / GIB,
            "paged_to_host_gib": memory.paged_bytes / GIB,
            "usable_gib": memory.usable_bytes / GIB,
        },
        "training_tokens": trained.tokens,
        "rates": {dtype: achieved_record(rate) for dtype, rate in trained.rates.items()},
        "achieved": [achieved_record(rate) for rate in answer.known],
        "price": price_record(trained.price, run.gpus),
        "no_price": trained.no_price,
        "kw_per_gpu": trained.power.kw_per_gpu if trained.power else None,
        "availability": trained.use.availability,
        "warnings": list(answer.warnings),
        "catalogue_digest": answer.catalogue_digest,
    }


def _breakdown(step: TrainingStep | None) -> list[dict[str, Any]]:
    if step is None:
        return []
    return [
        {"part": part, "time_s": time, "share": time / step.step_s} for part, time in step.parts_s.items()
    ]


def _estimate(answer: TrainAnswer, name: str) -> Estimate | None:
    if name == "tflop_per_s_per_gpu":
        flops = answer.trained.flop_per_s_per_gpu
        return None if flops is None else flops.scaled(1 / TERA)
    found: Estimate | None = getattr(answer.trained, name)
    return found


def _figure(found: Estimate | None) -> dict[str, Any] | None:
    """Return a figure with its 80 % interval and where it comes from."""
    if found is None:
        return None
    return {"value": found.value, "low": found.low, "high": found.high, "provenance": found.provenance}


def flat_record(answer: TrainAnswer) -> dict[str, Any]:
    """Return an answer as one flat row, units in the keys; every answer has the same keys."""
    record = train_record(answer)
    plain = {
        key: value
        for key, value in record.items()
        if key not in (*FIGURES, "schema", "rates", "price") and not isinstance(value, dict | list)
    }
    for name in FIGURES:
        found = record[name] or {}
        plain[name] = found.get("value")
        plain.update({f"{name}_{end}": found.get(end) for end in ("low", "high")})
    step = {row["part"]: row["time_s"] for row in record["step_breakdown"]}
    parts = ("gemm", "attention", "elementwise", "tensor_parallel", "pipeline", "data_parallel", "bubble")
    rate = record["rates"][record["dtype"]]
    return {
        **plain,
        **{f"{part}_s": step.get(part) for part in (*parts, "optimiser")},
        **{f"memory_{name}": size for name, size in record["memory"].items()},
        "achieved_tflop_per_s": rate["achieved_tflop_per_s"],
        "achieved_provenance": rate["provenance"],
        "usd_per_gpu_hour": (record["price"] or {}).get("usd_per_gpu_hour"),
        "warnings": " | ".join(record["warnings"]),
    }
