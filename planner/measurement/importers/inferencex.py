"""Results of InferenceX (InferenceMAX before): rows of its API, aggregates of its CI, replays, website CSV.

Times are in seconds, also under the heads of the CSV that say "(ms)". `tput_per_gpu` counts input and output
tokens and divides by all GPUs; on disaggregated rows `output_tput_per_gpu` divides by the GPUs that decode.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from planner.measurement.importers.runs import Fields, Latency, Run, as_date, ratio
from planner.measurement.importers.sources import csv_lines

MODELS = {"dsr1": "DeepSeek-R1-0528", "gptoss120b": "gpt-oss-120b", "llama70b": "Llama-3.3-70B-Instruct"}
"""Its own short names."""
ENGINES = {"trt": "trtllm", "dynamo-trt": "dynamo-trtllm"}
NOMINAL = "random-range 0.8 to 1.0 of the lengths"
AGREE = 0.02
"""Relative difference between a rate and the sum of its parts by which a split of GPUs is believed."""
RACKS, RACK = ("GB200", "GB300"), 72
"""Accelerators of which a rack of so many counts as one node."""
WEBSITE = ("Hardware Key", "Throughput/GPU (tok/s)", "Median TTFT (ms)")


def is_row(data: Mapping[str, Any]) -> bool:
    """Return whether an object is a row of the API."""
    return "hardware" in data and "framework" in data and isinstance(data.get("metrics"), Mapping)


def is_aggregate(data: Mapping[str, Any]) -> bool:
    """Return whether an object is an aggregate of the CI."""
    return "hw" in data and "tput_per_gpu" in data


def is_agentic(data: Mapping[str, Any]) -> bool:
    """Return whether an object is the aggregate of an agentic replay."""
    return "hw" in data and isinstance(data.get("request_metrics"), Mapping)


def read_row(fields: Fields) -> Run:
    """Return the run of a row of the API."""
    metrics = fields.child("metrics")
    disagg = fields.flag("disagg")
    multinode = fields.flag("is_multinode")
    parts = {part: fields.count(f"num_{part}_gpu") for part in ("prefill", "decode")}
    workers = fields.count("decode_num_workers")
    facts = {
        **_common(fields, fields.text("hardware"), fields.text("spec_method")),
        **_sizes(fields, _phase(parts)),
        "disagg": disagg,
        "date": as_date(fields.data.get("date")),
    }
    notes = [NOMINAL]
    output, total = metrics.number("output_tput_per_gpu"), metrics.number("tput_per_gpu")
    doubts: list[str] = []
    if not disagg and not multinode:
        # One replica on one node: the GPUs are those of TP. `num_*_gpu` multiplies by EP and is wrong.
        facts["n_gpus"] = _replica(fields, _phase(parts))
    elif disagg and not workers:
        facts["n_gpus"] = parts["decode"]
        output = None
        notes.append("only the number of all GPUs is recorded; the output rate is by an unknown part of them")
    elif None not in parts.values():
        gpus = facts["n_gpus"] = sum(filter(None, parts.values()))
        facts["prefill_gpus"], facts["decode_gpus"] = parts["prefill"], parts["decode"]
        output, doubts = _over_all(output, total, metrics.number("input_tput_per_gpu"), parts, gpus)
    racks = facts["gpu"] in RACKS and (facts.get("n_gpus") or RACK + 1) <= RACK
    facts["n_nodes"] = 1 if multinode is False or racks else None
    return _run(fields, metrics, facts, output, total, notes, doubts, lengths=True)


def read_aggregate(fields: Fields) -> Run:
    """Return the run of an aggregate of the CI."""
    draft = fields.text("spec_decoding", "mtp")
    disagg = fields.flag("disagg")
    facts = {
        **_common(fields, fields.text("hw"), "mtp" if draft == "on" else None if draft == "off" else draft),
        **_sizes(fields, ""),
        "disagg": disagg,
    }
    facts["n_gpus"] = _replica(fields, "")
    notes = [NOMINAL]
    output, total = fields.number("output_tput_per_gpu"), fields.number("tput_per_gpu")
    parts = {part: fields.count(f"num_{part}_gpu") for part in ("prefill", "decode")}
    doubts: list[str] = []
    if fields.flag("is_multinode") and None not in parts.values():
        facts |= _sizes(fields, _phase(parts))
        gpus = facts["n_gpus"] = sum(filter(None, parts.values()))
        facts["prefill_gpus"], facts["decode_gpus"] = parts["prefill"], parts["decode"]
        output, doubts = _over_all(output, total, fields.number("input_tput_per_gpu"), parts, gpus)
    elif disagg or (fields.text("framework") or "").startswith("dynamo") or fields.flag("is_multinode"):
        facts["n_gpus"] = None if fields.flag("is_multinode") else facts["tp"]
        output = None
        notes.append("disaggregated: the output rate is by an unknown part of the GPUs")
    kinds = [fields.text("prefill_hw"), fields.text("decode_hw")]
    if kinds[0] != kinds[1]:
        notes.append(f"prefill on {kinds[0]}, decode on {kinds[1]}")
    return _run(fields, fields, facts, output, total, notes, doubts, lengths=True)


def read_agentic(fields: Fields) -> Run:
    """Return the run of an agentic replay; lengths are measured means, and most of the input is cached."""
    measured = fields.child("request_metrics")
    rates, latency = measured.child("throughput"), measured.child("latency")
    total, each = (
        rates.child("total").number("tokens_per_second"),
        rates.child("per_gpu").number("total_tput_tps"),
    )
    gpus = ratio(total, each)
    hit = fields.child("server_metrics", "cache").number("overall_cache_hit_rate", most=1)
    facts = {
        **_common(fields, fields.text("hw"), fields.text("spec_decoding")),
        **_sizes(fields, ""),
        "pp": fields.size("pp"),
        "disagg": fields.flag("disagg"),
        "n_gpus": None if gpus is None else max(1, round(gpus)),
        "prefix_hit": hit,
    }

    def part(name: str) -> Latency:
        return latency.child(name).latency("mean", "p50", "p99", 1000.0)

    tokens = measured.child("tokens")
    return Run(
        where=fields.where,
        facts=facts,
        isl=tokens.child("input").number("mean"),
        osl=tokens.child("output_actual").number("mean"),
        concurrency=fields.number("conc", least=1),
        request_rate=math.inf,
        requests=fields.count("num_requests_successful"),
        duration_s=rates.number("duration_seconds"),
        output_tps=rates.child("output").number("tokens_per_second"),
        total_tps=total,
        ttft=part("ttft"),
        tpot=part("tpot"),
        e2e=part("e2el"),
        notes=("InferenceX agentic trace replay",),
    )


def is_website(header: Sequence[str]) -> bool:
    """Return whether a header is that of the website's export."""
    return all(name in header for name in WEBSITE)


def read_website(file: str, text: str, problems: list[str]) -> Iterator[Run]:
    """Yield the run of each row of the website's export, which begins with comments."""
    rows = [(line, values) for line, values in csv_lines(file, text) if not values[0].startswith("#")]
    header = rows[0][1]
    for line, values in rows[1:]:
        if len(values) != len(header):
            problems.append(f"{file}:{line}: {len(values)} values, but the header has {len(header)} columns")
            continue
        yield _website_row(Fields(dict(zip(header, values, strict=True)), f"{file}:{line}", problems))


def _website_row(fields: Fields) -> Run:
    draft = fields.text("Spec Decoding")
    disagg, tp = fields.flag("Disaggregated"), fields.size("TP")
    facts = {
        "model": fields.text("Model"),
        "gpu": _gpu(fields.text("Hardware")),
        "engine": _engine(fields.text("Framework")),
        "weight_dtype": fields.text("Precision"),
        "spec_decode": draft,
        "tp": tp,
        "ep": fields.size("EP"),
        "dp": tp if fields.flag("DP Attention") else 1,
        "disagg": disagg,
        "date": as_date(fields.data.get("Date")),
    }
    parts = {part: fields.count(f"Num {part.capitalize()} GPUs") for part in ("prefill", "decode")}
    output, total = fields.number("Output Throughput/GPU (tok/s)"), fields.number("Throughput/GPU (tok/s)")
    doubts: list[str] = []
    if not disagg and not fields.flag("Is Multinode"):
        facts["n_gpus"], facts["n_nodes"] = tp, 1
    elif None not in parts.values():
        gpus = facts["n_gpus"] = sum(filter(None, parts.values()))
        facts["prefill_gpus"], facts["decode_gpus"] = parts["prefill"], parts["decode"]
        output, doubts = _over_all(output, total, fields.number("Input Throughput/GPU (tok/s)"), parts, gpus)

    def seconds(name: str) -> Latency:
        return fields.latency(f"Mean {name} (ms)", f"Median {name} (ms)", f"P99 {name} (ms)", 1000.0)

    return Run(
        where=fields.where,
        facts=facts,
        isl=fields.number("ISL"),
        osl=fields.number("OSL"),
        concurrency=fields.number("Concurrency", least=1),
        request_rate=math.inf,
        output_tps_per_gpu=output,
        total_tps_per_gpu=total,
        ttft=seconds("TTFT"),
        tpot=seconds("TPOT"),
        e2e=seconds("E2E Latency"),
        notes=("InferenceX website export, whose columns headed (ms) hold seconds", NOMINAL),
        doubts=tuple(doubts),
    )


def _common(fields: Fields, hardware: str | None, draft: str | None) -> dict[str, Any]:
    model = fields.text("model")
    image = fields.text("image") or ""
    return {
        "model": MODELS.get(model or "", model),
        "gpu": _gpu(hardware),
        "engine": _engine(fields.text("framework")),
        "engine_version": image.rpartition(":")[2] or None if ":" in image else None,
        "weight_dtype": fields.text("precision"),
        "spec_decode": draft,
    }


def _sizes(fields: Fields, prefix: str) -> dict[str, Any]:
    tp = fields.size(f"{prefix}tp")
    attention = fields.flag(f"{prefix}dp_attention")
    return {
        "tp": tp,
        "pp": fields.size(f"{prefix}pp"),
        "ep": fields.size(f"{prefix}ep"),
        "dp": tp if attention else None if attention is None else 1,
    }


def _phase(parts: Mapping[str, int | None]) -> str:
    """Return whose sizes tell of a row: those that decode, or of all where none decode alone."""
    return "prefill_" if parts["decode"] == 0 and parts["prefill"] else "decode_"


def _replica(fields: Fields, prefix: str) -> int | None:
    """Return the GPUs of one replica: TP x PP x prefill context parallelism."""
    tp = fields.size(f"{prefix}tp")
    return tp and tp * (fields.size(f"{prefix}pp") or 1) * (fields.size(f"{prefix}pcp_size") or 1)


def _run(
    fields: Fields,
    metrics: Fields,
    facts: Mapping[str, Any],
    output: float | None,
    total: float | None,
    notes: Sequence[str],
    doubts: Sequence[str],
    *,
    lengths: bool,
) -> Run:
    def seconds(name: str) -> Latency:
        return metrics.latency(f"mean_{name}", f"median_{name}", f"p99_{name}", 1000.0)

    return Run(
        where=fields.where,
        facts=facts,
        isl=fields.number("isl") if lengths else None,
        osl=fields.number("osl") if lengths else None,
        concurrency=fields.number("conc", least=1),
        request_rate=math.inf,
        output_tps_per_gpu=output,
        total_tps_per_gpu=total,
        ttft=seconds("ttft"),
        tpot=seconds("tpot"),
        e2e=seconds("e2el"),
        notes=("InferenceX", *notes),
        doubts=tuple(doubts),
    )


def _over_all(
    output: float | None,
    total: float | None,
    given: float | None,
    parts: Mapping[str, int | None],
    gpus: int,
) -> tuple[float | None, list[str]]:
    """Return the output rate by all GPUs of a disaggregated row, where its parts add up to its whole."""
    prefill, decode = parts["prefill"] or 0, parts["decode"] or gpus
    if output is None or not gpus:
        return None, []
    if total is None or given is None:
        return output * decode / gpus, []
    together = given * prefill + output * decode
    if abs(together - total * gpus) > AGREE * total * gpus:
        return None, [
            f"input and output by their GPUs are {together:.5g} tok/s, the whole {total * gpus:.5g}"
        ]
    return output * decode / gpus, []


def _gpu(hardware: str | None) -> str | None:
    """Return the accelerator of a key such as `cluster:mi355x-amds`, `b200-trt` or `h200_sglang`."""
    return re.split(r"[-_]", hardware.removeprefix("cluster:"))[0].upper() or None if hardware else None


def _engine(framework: str | None) -> str | None:
    return ENGINES.get(framework or "", framework)
