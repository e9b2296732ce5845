"""Results of TensorRT-LLM's `trtllm-bench`: its report as JSON, and what it prints.

Latencies are in milliseconds, rates of the whole deployment in tokens per second; "output" tokens include the
first.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from planner.measurement.importers.runs import Fields, Latency, Run

TITLE = r"^= (?:PERFORMANCE OVERVIEW|STATISTICS)\b"
"""Heads the figures; the second before 0.13."""
_LINE = re.compile(r"\s*([A-Za-z\[][^:]*?)\s*:\s+(\S.*)$")
_MACHINE = re.compile(r"(.+?), memory ([\d.]+) GB")


def is_report(data: Mapping[str, Any]) -> bool:
    """Return whether an object is a report."""
    performance = data.get("performance")
    return isinstance(performance, Mapping) and "system_output_throughput_tok_s" in performance


def read_report(fields: Fields) -> Run:
    """Return the run of a report."""
    engine, world, info = fields.child("engine"), fields.child("world_info"), fields.child("request_info")
    speed, stream = fields.child("performance"), fields.child("streaming_metrics")
    drafts = fields.child("decoding_stats").text("mode")
    tp, pp = world.size("tp_size"), world.size("pp_size")
    power = fields.child("energy").number("average_gpu_power")

    def percentiles(record: Fields, name: str) -> Latency:
        return record.child(name).latency("average", "p50", "p99")

    return _run(
        fields,
        {
            "model": engine.text("model"),
            "gpu": fields.child("machine").text("name"),
            "n_gpus": world.size("world_size") or _product(tp, pp),
            "tp": tp,
            "pp": pp,
            "ep": world.size("ep_size"),
            "weight_dtype": _dtype(engine.text("quantization"), engine.text("dtype")),
            "kv_dtype": (engine.text("kv_cache_dtype") or "").lower() or None,
            "engine_version": engine.text("version"),
            "spec_decode": drafts.lower() if drafts else "none",
        },
        lengths=(info.number("avg_input_length"), info.number("avg_output_length")),
        requests=info.count("num_requests"),
        concurrency=info.number("avg_num_concurrent_requests"),
        rates=(speed.number("system_output_throughput_tok_s"), speed.number("system_total_throughput_tok_s")),
        duration_ms=speed.number("total_latency_ms"),
        latencies=(
            percentiles(stream, "ttft_percentiles"),
            percentiles(stream, "tpot_percentiles"),
            percentiles(speed, "request_latency_percentiles_ms"),
        ),
        notes=[f"mean power of a GPU {power:.4g} W"] if power else [],
    )


def read_console(file: str, lines: Iterable[tuple[int, str]], problems: list[str]) -> Iterator[Run]:
    """Yield the run of each report that is printed."""
    found: dict[str, str] = {}
    began = 0
    for number, line in lines:
        text = line.strip()
        if re.match(r"= (PYTORCH BACKEND|ENGINE DETAILS|REQUEST DETAILS)", text) and "began" in found:
            yield _printed(Fields(found, f"{file}:{began}", problems))
            found = {}
        if re.match(TITLE, text):
            found["began"], began = "", number
        elif text.startswith("= DATASET DETAILS") and "began" in found:
            yield _printed(Fields(found, f"{file}:{began}", problems))
            found = {}
        elif match := _MACHINE.match(text):
            found["machine"] = match[1]
        elif match := _LINE.match(line):
            found.setdefault(re.sub(r"\s+", " ", match[1]), match[2].strip())
    if "began" in found:
        yield _printed(Fields(found, f"{file}:{began}", problems))


def _printed(fields: Fields) -> Run:
    def named(name: str) -> str | None:
        text = fields.text(name)
        return None if text in (None, "None") else text

    def size(name: str) -> int | None:
        return fields.size(name) if named(name) else None

    def percentiles(tag: str, average: str) -> Latency:
        mean = fields.number(f"[{tag}] AVERAGE", average)
        return Latency(mean, fields.number(f"[{tag}] P50"), fields.number(f"[{tag}] P99"))

    tp, pp = size("TP Size"), size("PP Size")
    seconds = fields.number("Total Latency (seconds)")
    return _run(
        fields,
        {
            "model": named("Model"),
            "gpu": fields.text("machine"),
            "n_gpus": _product(tp, pp),
            "tp": tp,
            "pp": pp,
            "ep": size("EP Size"),
            "weight_dtype": _dtype(named("Quantization"), named("Dtype")),
            "kv_dtype": (named("KV Cache Dtype") or "").lower() or None,
            "engine_version": named("TensorRT LLM Version") or named("TensorRT-LLM Version"),
        },
        lengths=(
            fields.number("Average Input Length (tokens)"),
            fields.number("Average Output Length (tokens)"),
        ),
        requests=fields.count("Number of requests"),
        concurrency=fields.number("Number of concurrent requests"),
        rates=(
            # Before 0.16 the output alone was called so.
            fields.number("Total Output Throughput (tokens/sec)", "Token Throughput (tokens/sec)"),
            fields.number("Total Token Throughput (tokens/sec)"),
        ),
        duration_ms=fields.number("Total Latency (ms)") if seconds is None else 1000 * seconds,
        latencies=(
            percentiles("TTFT", "Average time-to-first-token [TTFT] (ms)"),
            percentiles("TPOT", "Average time-per-output-token [TPOT] (ms)"),
            percentiles("Latency", "Average request latency (ms)"),
        ),
    )


def _run(
    fields: Fields,
    facts: Mapping[str, Any],
    *,
    lengths: tuple[float | None, float | None],
    requests: int | None,
    concurrency: float | None,
    rates: tuple[float | None, float | None],
    duration_ms: float | None,
    latencies: tuple[Latency, Latency, Latency],
    notes: Sequence[str] = (),
) -> Run:
    ttft, tpot, e2e = latencies
    every = f"offline maximum throughput: all {requests} requests sent at once"
    return Run(
        where=fields.where,
        facts={"engine": "trtllm", "disagg": False, **facts},
        isl=lengths[0],
        osl=lengths[1],
        concurrency=concurrency,
        request_rate=math.inf,
        requests=requests,
        duration_s=None if duration_ms is None else duration_ms / 1000,
        output_tokens=None if lengths[1] is None or requests is None else lengths[1] * requests,
        output_tps=rates[0],
        total_tps=rates[1],
        ttft=ttft,
        tpot=tpot,
        e2e=e2e,
        notes=("trtllm-bench", *(["concurrency is the measured mean"] if concurrency else [every]), *notes),
    )


def _product(tp: int | None, pp: int | None) -> int | None:
    return tp * pp if tp and pp else None


def _dtype(quantisation: str | None, dtype: str | None) -> str | None:
    """Return the type of the weights: the quantisation where there is one, else that of the model."""
    if quantisation:
        return quantisation.lower()
    return {"bfloat16": "bf16", "float16": "fp16", "float32": "fp32"}.get(dtype or "", dtype)
