"""Reports of Kubernetes' inference-perf: the summary of a run or of one stage. Times are in seconds."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from planner.measurement.importers.runs import Fields, Latency, Run


def is_report(data: Mapping[str, Any]) -> bool:
    """Return whether an object is a summary or the report of a stage."""
    return isinstance(data.get("load_summary"), Mapping) and isinstance(data.get("successes"), Mapping)


def read_report(fields: Fields) -> Run | None:
    """Return the run of a report, or None where it holds what Prometheus says of the server.

    A stage states its rate of arrivals, or its concurrency; the summary of several stages states neither.
    """
    load, done = fields.child("load_summary"), fields.child("successes")
    if "latency" not in done.data and "request_latency" in done.data:
        what = "the server's own counts from Prometheus, in buckets"
        fields.problems.append(f"{fields.where}: {what}; import the lifecycle metrics beside it")
        return None
    throughput, latency = done.child("throughput"), done.child("latency")
    concurrency = load.number("concurrency", least=1)
    rate = load.number("requested_rate")
    e2e = _latency(latency, "request_latency")
    requests, rps = done.count("count"), throughput.number("requests_per_sec")
    notes = ["inference-perf"]
    if concurrency:
        rate = math.inf
    elif rate is not None and rps and e2e.mean:
        concurrency = rps * e2e.mean / 1000
        notes.append("concurrency is request rate x mean latency")
    failed = fields.child("failures").count("count")
    if failed:
        notes.append(f"{failed} requests failed")
    return Run(
        where=fields.where,
        isl=_mean(done, "prompt_tokens", "prompt_len"),
        osl=_mean(done, "output_tokens", "output_len"),
        concurrency=concurrency,
        request_rate=rate,
        requests=requests,
        duration_s=fields.number("benchmark_time_seconds"),
        output_tps=throughput.number("output_tokens_per_sec"),
        total_tps=throughput.number("total_tokens_per_sec"),
        ttft=_latency(latency, "time_to_first_token"),
        tpot=_latency(latency, "time_per_output_token"),
        e2e=e2e,
        notes=tuple(notes),
    )


def _latency(latency: Fields, name: str) -> Latency:
    """Return a latency, from seconds to milliseconds."""
    return latency.child(name).latency("mean", "median", "p99", 1000.0)


def _mean(done: Fields, *names: str) -> float | None:
    return next((mean for name in names if (mean := done.child(name).number("mean")) is not None), None)
