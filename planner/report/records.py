"""A fit answer as plain data: the JSON object of schema `planner.fit/1`, and one flat row of a CSV."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from planner.memory.records import MemoryFit, StageMemory
from planner.report.certainty import certainty_record
from planner.report.measured import measured_record
from planner.report.provenance import price_record
from planner.report.table import GIB
from planner.report.tables import beside_tokens_share, layout_row

if TYPE_CHECKING:
    from planner.report.fit import FitAnswer

SCHEMA = "planner.fit/1"

_PER_RANK = (
    "usable",
    "budget",
    "weights",
    "kv_pool",
    "state",
    "activation",
    "graph",
    "non_torch",
    "reserve",
)


def fit_record(answer: FitAnswer) -> dict[str, Any]:
    """Return an answer as one JSON-ready object, units in the keys.

    Parameters
    ----------
    answer : FitAnswer
        The answer.

    Returns
    -------
    dict
    """
    memory, one_node, smallest = answer.memory, answer.one_node, answer.smallest
    return {
        "schema": SCHEMA,
        "model": answer.model,
        "model_name": answer.model_name,
        "config_status": answer.config_status,
        "gpu": answer.gpu,
        "gpu_name": answer.gpu_name,
        **_sizes(answer, memory),
        "weight_dtype": memory.deployment.weight_dtype,
        "weight_format": answer.weight_format,
        "kv_dtype": memory.deployment.kv_dtype,
        "engine": memory.deployment.engine,
        "context_tokens": memory.context,
        "request_tokens": memory.request_tokens,
        "concurrency": memory.concurrency,
        **_verdict(memory),
        "sentence": answer.sentence,
        "remedies": list(memory.remedies),
        "per_rank": per_rank_gib(memory.per_rank),
        "stages": [{"stage": s.stage, "layers": list(s.layers), **per_rank_gib(s)} for s in memory.stages],
        **off_gpu_record(memory),
        "weights_gib_by_group": {
            group: round(size / GIB, 6) for group, size in memory.per_rank.weights_by_group.most_common()
        },
        "kv_bytes_per_token_per_rank": memory.kv_bytes_per_token_per_rank,
        "kv_pool_share_beside_tokens": beside_tokens_share(memory),
        "kv_tokens": memory.kv_tokens,
        "kv_blocks": memory.kv_blocks,
        "block_size_tokens": memory.block_size,
        "needed_kv_gib": memory.needed_kv_bytes / GIB,
        "max_concurrency": memory.max_concurrency,
        "max_context_tokens": memory.max_context,
        "safe_max_num_seqs": memory.safe_max_num_seqs,
        "margin_gib": memory.margin_bytes / GIB,
        "uncertainty_gib": memory.uncertainty_bytes / GIB,
        "certainty": certainty_record(answer),
        "node_gpus": answer.node_gpus,
        "one_node": None if one_node is None else _summary(answer, one_node),
        "smallest_deployment": None if smallest is None else _summary(answer, smallest),
        "other_layouts": [{**_summary(answer, one), **layout_row(memory, one)} for one in answer.others],
        "price": price_record(answer.price, answer.gpus),
        "no_price": answer.no_price,
        "measured": measured_record(answer),
        "assumptions": [
            {"name": a.name, "value": a.value, "unit": a.unit, "provenance": a.provenance}
            for a in memory.assumptions
        ],
        "warnings": list(answer.warnings),
        "catalogue_digest": answer.catalogue_digest,
    }


def off_gpu_record(memory: MemoryFit) -> dict[str, Any]:
    """Return what is in the host's memory, under one key; nothing where all is on the GPUs."""
    side = memory.host_side
    if side is None:
        return {}
    plan, machine = side.plan, side.machine
    return {
        "off_gpu": {
            "host": machine.id,
            "host_weights_gib": sum(side.weights.values()) / GIB,
            "cpu_layers": plan.cpu_layers,
            "expert_layers": len(plan.expert_layers),
            "streamed": plan.streamed_bytes > 0,
            "host_read_bytes_per_s": machine.read_bytes_per_s,
        }
    }


def flat_record(answer: FitAnswer) -> dict[str, Any]:
    """Return an answer as one flat row, units in the keys.

    Parameters
    ----------
    answer : FitAnswer
        The answer.

    Returns
    -------
    dict
        Every answer has the same keys.
    """
    record = fit_record(answer)
    price, measured = record["price"] or {}, record["measured"] or {}
    one_node, smallest = record["one_node"] or {}, record["smallest_deployment"] or {}
    plain = {key: value for key, value in record.items() if not isinstance(value, dict | list)}
    for key in ("schema", "one_node", "smallest_deployment", "price", "measured"):
        plain.pop(key, None)
    return {
        **plain,
        **record["per_rank"],
        "one_node_fits": one_node.get("fits"),
        "smallest_gpus": smallest.get("gpus"),
        "smallest_nodes": smallest.get("nodes"),
        "usd_per_gpu_hour": price.get("usd_per_gpu_hour"),
        "usd_per_hour": price.get("usd_per_hour"),
        "price_kind": price.get("kind"),
        "price_provenance": price.get("provenance"),
        "measured_match": measured.get("match"),
        "measured_isl_tokens": measured.get("isl_tokens"),
        "measured_osl_tokens": measured.get("osl_tokens"),
        "measured_concurrency": measured.get("concurrency"),
        "measured_output_tps_total": measured.get("output_tps_total"),
        "measured_peak_output_tps_total": measured.get("peak_output_tps_total"),
        "measured_gpus": measured.get("gpus"),
        "measured_single_stream_output_tps": measured.get("single_stream_output_tps"),
        "measured_output_tps_per_usd_per_hour": measured.get("output_tps_per_usd_per_hour"),
        "measured_source": measured.get("source"),
        "warnings": " | ".join(record["warnings"]),
    }


def per_rank_gib(stage: StageMemory) -> dict[str, float]:
    """Return the memory of one GPU of a stage [GiB].

    Parameters
    ----------
    stage : StageMemory
        The stage.

    Returns
    -------
    dict
        The state of one request is a part of the KV pool; the reserve is what the engine leaves unused.
    """
    return {f"{part}_gib": getattr(stage, f"{part}_bytes") / GIB for part in _PER_RANK}


def _sizes(answer: FitAnswer, memory: MemoryFit) -> dict[str, int]:
    sizes = {name: getattr(memory.deployment, name) for name in ("tp", "pp", "ep", "dp", "dcp")}
    return {**sizes, "gpus": memory.deployment.gpus, "nodes": answer.nodes_of(memory)}


def _verdict(memory: MemoryFit) -> dict[str, Any]:
    return {"fits": memory.fits, "verdict": memory.verdict, "binding_limit": memory.binding_limit}


def _summary(answer: FitAnswer, memory: MemoryFit) -> dict[str, Any]:
    return {
        **_sizes(answer, memory),
        **_verdict(memory),
        "per_rank": per_rank_gib(memory.per_rank),
        "kv_tokens": memory.kv_tokens,
        "max_concurrency": memory.max_concurrency,
    }
