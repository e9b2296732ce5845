"""Results of vLLM's `bench serve` and older `benchmark_serving.py`, and of SGLang's `bench_serving`: as JSON.

Both write one object for a run, with latencies in milliseconds in keys that end in `_ms`. Model names are
those of the client; GPUs and parallel sizes are in neither.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from planner.measurement.importers.runs import Fields, Latency, Run, as_date, ratio

SGLANG_SERVERS = ("sglang", "sglang-native", "sglang-oai", "sglang-oai-chat")
LATENCY_KEYS = ("mean_ttft_ms", "median_ttft_ms", "mean_tpot_ms", "median_tpot_ms", "median_e2e_latency_ms")


def is_vllm(data: Mapping[str, Any]) -> bool:
    """Return whether an object is a result of vLLM's client."""
    return "output_throughput" in data and "total_output_tokens" in data and not is_sglang(data)


def is_sglang(data: Mapping[str, Any]) -> bool:
    """Return whether an object is a result of SGLang's client."""
    return "output_throughput" in data and (
        "median_e2e_latency_ms" in data or "total_output_tokens_retokenized" in data
    )


def read_vllm(fields: Fields) -> Run:
    """Return the run of a result of vLLM's client."""
    return _run(
        fields, "e2el", {"model": fields.text("model_id"), "date": as_date(fields.data.get("date"))}, []
    )


def read_sglang(fields: Fields) -> Run:
    """Return the run of a line that SGLang's client writes with `--output-file`."""
    backend = fields.text("backend")
    accepted = fields.number("accept_length")
    info = fields.child("server_info")
    facts = {
        "engine": "sglang" if backend in SGLANG_SERVERS else None,
        "engine_version": info.text("version"),
        "model": info.text("model_path"),
        "tp": info.size("tp_size"),
        "pp": info.size("pp_size"),
        "dp": info.size("dp_size"),
        "spec_decode": "speculative" if accepted and accepted > 1 else None,
        "date": as_date(fields.data.get("date")),
    }
    notes = [f"dataset {fields.text('dataset_name')}"] if fields.text("dataset_name") else []
    if accepted:
        notes.append(f"acceptance length {accepted:.4g}")
    return _run(fields, "e2e_latency", facts, notes)


def _run(fields: Fields, e2e: str, facts: dict[str, Any], notes: list[str]) -> Run:
    completed = fields.count("completed")
    inputs, outputs = fields.number("total_input_tokens"), fields.number("total_output_tokens")
    duration = fields.number("duration")
    output = fields.number("output_throughput")
    total = fields.number("total_token_throughput", "total_throughput")
    if total is None and output is not None:
        given = fields.number("input_throughput")
        total = None if given is None else given + output
    latencies = {
        name: fields.latency(f"mean_{name}_ms", f"median_{name}_ms", f"p99_{name}_ms")
        for name in ("ttft", "tpot", e2e)
    }
    rate, cap, mean = (
        fields.rate("request_rate"),
        fields.count("max_concurrency", least=1),
        fields.number("concurrency"),
    )
    unstreamed = fields.number("mean_ttft_ms") == 0 and latencies[e2e].mean is not None
    concurrency, said = load_of(rate, cap, mean, completed, ratio(completed, duration), latencies[e2e])
    failed = fields.count("failed")
    notes = [*notes, *said, *(["not streamed: TTFT and TPOT were not measured"] if unstreamed else [])]
    if failed:
        notes.append(f"{failed} requests failed")
    return Run(
        where=fields.where,
        facts=facts,
        isl=ratio(inputs, completed),
        osl=ratio(outputs, completed),
        concurrency=concurrency,
        request_rate=rate,
        requests=completed,
        duration_s=duration,
        input_tokens=inputs,
        output_tokens=outputs,
        output_tps=output,
        total_tps=total,
        ttft=latencies["ttft"],
        # Without a first token it would contain the prefill.
        tpot=Latency() if unstreamed else latencies["tpot"],
        e2e=latencies[e2e],
        notes=tuple(notes),
    )


def load_of(
    rate: float | None,
    cap: int | None,
    mean: float | None,
    completed: int | None,
    achieved: float | None,
    e2e: Latency,
) -> tuple[float | None, list[str]]:
    """Return the concurrency of a run and what is to be said about it.

    Parameters
    ----------
    rate : float or None
        Requests that were to arrive [1/s]; infinite for a closed loop.
    cap : int or None
        Requests at once, at most.
    mean : float or None
        Requests at once in the mean, where the client measured it.
    completed : int or None
        Requests of the run.
    achieved : float or None
        Completed requests [1/s].
    e2e : Latency
        Of whole requests [ms].

    Returns
    -------
    tuple of float or None and list of str
        A closed loop runs at its cap. Of arrivals at a rate it is the mean, measured or by Little's law.
    """
    if rate is not None and math.isfinite(rate):
        bound = [f"at most {cap} at once"] if cap else []
        if mean:
            return mean, ["concurrency is the measured mean", *bound]
        if achieved and e2e.mean:
            return achieved * e2e.mean / 1000, ["concurrency is request rate x mean latency", *bound]
        return None, bound
    if cap:
        return float(cap), []
    if completed and rate is not None:
        return None, [f"offline maximum throughput: all {completed} requests sent at once"]
    return None, []
