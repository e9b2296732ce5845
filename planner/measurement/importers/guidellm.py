"""Results of GuideLLM: its JSON and CSV reports, of before 0.4 and after.

TTFT and inter-token latency are in milliseconds, latency of requests in seconds. TPOT is taken from what
GuideLLM calls inter-token latency, (last - first token) / (tokens - 1) of a request: its own "time per
output token" divides by all tokens, and in later versions contains the prefill. "Tokens per second" is a mean
over moments and not requests/s x tokens, so total rates are computed from the requests.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from planner.measurement.importers.runs import Fields, Latency, Run, as_date, as_number
from planner.measurement.importers.sources import BadJson, csv_lines, parse_json

Stat = Callable[[str, str], float | None]

OLD_NAMES = {
    "requests_per_second": "Requests per second",
    "request_concurrency": "Request concurrency",
    "request_latency": "Request latency",
    "prompt_token_count": "Prompt token count",
    "output_token_count": "Output token count",
    "time_to_first_token_ms": "Time to first token ms",
    "inter_token_latency_ms": "Inter token latency ms",
    "output_tokens_per_second": "Output tokens per second",
}
"""Columns of the older CSV, before which "Successful " stands."""

NEW_NAMES = {
    "requests_per_second": ("Server Throughput", "Successful Requests/Sec"),
    "request_concurrency": ("Server Throughput", "Successful Concurrency"),
    "request_latency": ("Request Latency", "Successful Sec"),
    "prompt_token_count": ("Token Metrics", "Successful Input Tokens"),
    "output_token_count": ("Token Metrics", "Successful Output Tokens"),
    "time_to_first_token_ms": ("Time to First Token", "Successful ms"),
    "inter_token_latency_ms": ("Inter Token Latency", "Successful ms"),
    "output_tokens_per_second": ("Token Throughput", "Successful Output Tokens/Sec"),
}
"""Group and field of the later CSV, whose header takes three lines."""


def is_report(data: Mapping[str, Any]) -> bool:
    """Return whether an object is a GuideLLM report."""
    benchmarks = data.get("benchmarks")
    return isinstance(benchmarks, list) and any(
        isinstance(item, Mapping)
        and "metrics" in item
        and ("config" in item or "args" in item or "run_stats" in item)
        for item in benchmarks
    )


def read_report(fields: Fields) -> Iterator[Run]:
    """Yield the run of each strategy of a JSON report."""
    for item in fields.items("benchmarks"):
        config = item.child("config") if "config" in item.data else item.child("args")
        metrics = item.child("metrics")

        def stat(name: str, which: str, metrics: Fields = metrics) -> float | None:
            found = metrics.child(name, "successful")
            if which == "p99":
                return (
                    found.number("p99") if "p99" in found.data else found.child("percentiles").number("p99")
                )
            return found.number(which)

        totals = metrics.child("request_totals")
        made = item.child("run_stats", "requests_made")
        strategy = config.child("strategy")
        backend = [config.child("backend").text("model"), item.child("worker").text("backend_model")]
        places = (item, item.child("scheduler_metrics"), item.child("run_stats"))
        start = next(filter(None, (place.number("start_time") for place in places)), None)
        yield _run(
            item,
            stat,
            strategy,
            {
                "model": next(filter(None, backend), None) or fields.child("args").text("model"),
                "date": as_date(start),
            },
            totals.count("successful") if totals.data else made.count("successful"),
            item.number("duration"),
        )


def is_csv(header: Sequence[str]) -> bool:
    """Return whether a first line is that of a GuideLLM CSV."""
    return "Successful Inter token latency ms mean" in header or (
        header[:1] == ["Run Info"] and "Server Throughput" in header
    )


def read_csv_report(file: str, text: str, problems: list[str]) -> Iterator[Run]:
    """Yield the run of each row of a CSV report."""
    rows = csv_lines(file, text)
    later = rows[0][1][:1] == ["Run Info"]
    heads = (
        [tuple(parts) for parts in zip(*(row for _, row in rows[:3]), strict=False)] if later else rows[0][1]
    )
    for position, (line, values) in enumerate(rows[3 if later else 1 :]):
        if len(values) != len(heads):
            problems.append(f"{file}:{line}: {len(values)} values, but the header has {len(heads)} columns")
            continue
        data = dict(zip(heads, values, strict=True))
        where = f"{file}:{line}"
        yield _later_row(data, where, position, problems) if later else _older_row(data, where, problems)


def _older_row(data: Mapping[Any, str], where: str, problems: list[str]) -> Run:
    fields = Fields(data, where, problems)

    def stat(name: str, which: str) -> float | None:
        column = f"Successful {OLD_NAMES[name]}"
        if which == "p99":
            return _listed(data.get(f"{column} [min, 0.1, 1, 5, 10, 25, 75, 90, 95, 99, max]"))
        return fields.number(f"{column} {which}")

    strategy = _inner(data.get("Args"), where, problems).child("strategy")
    if not strategy.data:
        strategy = Fields(_named_strategy(fields.text("Name")), where, problems)
    return _run(
        fields,
        stat,
        strategy,
        {
            "model": _inner(data.get("Worker"), where, problems).text("backend_model"),
            "date": as_date(data.get("Start Time")),
        },
        fields.count("Successful Requests"),
        fields.number("Duration"),
    )


def _later_row(data: Mapping[Any, str], where: str, position: int, problems: list[str]) -> Run:
    def value(*head: str) -> str | None:
        return data.get(head)

    flat = Fields({"/".join(head): cell for head, cell in data.items()}, where, problems)

    def stat(name: str, which: str) -> float | None:
        group, field = NEW_NAMES[name]
        if which == "p99":
            return _listed(value(group, field, "Percentiles"))
        return flat.number(f"{group}/{field}/{which.capitalize()}")

    profile = _inner(value("Run Info", "Profile", ""), where, problems).data
    strategy: dict[str, Any] = {"type_": value("Benchmark", "Strategy", "")}
    for name in ("rate", "streams"):
        given = profile.get(name)
        each = given if isinstance(given, list) else [given] * (position + 1)
        strategy[name] = each[position] if position < len(each) else None
    return _run(
        flat,
        stat,
        Fields(strategy, where, problems),
        {
            "model": _inner(value("Run Info", "Backend", ""), where, problems).text("model"),
            "date": as_date(value("Timings", "Start Time", "")),
        },
        flat.count("Request Counts/Successful/"),
        flat.number("Timings/Duration/Sec"),
    )


def _run(
    fields: Fields,
    stat: Stat,
    strategy: Fields,
    facts: Mapping[str, Any],
    requests: int | None,
    duration: float | None,
) -> Run:
    isl, osl = stat("prompt_token_count", "mean"), stat("output_token_count", "mean")
    rps, output = stat("requests_per_second", "mean"), stat("output_tokens_per_second", "mean")
    rate, concurrency, notes = _load(strategy, stat, requests)
    known = None not in (rps, isl, osl)
    return Run(
        where=fields.where,
        facts=facts,
        isl=isl,
        osl=osl,
        concurrency=concurrency,
        request_rate=rate,
        requests=requests,
        duration_s=duration,
        output_tps=output,
        total_tps=rps * (isl + osl) if known else None,  # type: ignore[operator]
        output_tokens=None if osl is None or requests is None else osl * requests,
        ttft=_latency(stat, "time_to_first_token_ms"),
        tpot=_latency(stat, "inter_token_latency_ms"),
        e2e=_latency(stat, "request_latency").times(1000),
        notes=("GuideLLM; TPOT is its inter-token latency", *notes),
    )


def _latency(stat: Stat, name: str) -> Latency:
    return Latency(stat(name, "mean"), stat(name, "median"), stat(name, "p99"))


def _load(strategy: Fields, stat: Stat, requests: int | None) -> tuple[float | None, float | None, list[str]]:
    """Return arrivals [1/s], concurrency and what is to be said of them, by the kind of strategy."""
    kind = strategy.text("type_", "kind")
    if kind == "synchronous":
        return math.inf, 1.0, []
    if kind == "concurrent":
        return math.inf, strategy.number("streams", "rate", least=1), []
    if kind == "throughput":
        return math.inf, None, [f"offline maximum throughput: all {requests} requests sent at once"]
    if kind in ("constant", "poisson", "async"):
        mean = stat("request_concurrency", "mean")
        return strategy.number("rate"), mean, [f"{kind} arrivals", "concurrency is the measured mean"]
    return None, stat("request_concurrency", "mean"), ["concurrency is the measured mean"]


def _named_strategy(name: str | None) -> dict[str, Any]:
    """Return the strategy that a benchmark is called by, such as `poisson@16.00`."""
    kind, _, number = (name or "").partition("@")
    kind = re.sub(r"\W.*", "", kind)
    return {"type_": kind, "streams" if kind == "concurrent" else "rate": number or None}


def _listed(cell: object) -> float | None:
    """Return the 99th percentile of a cell with eleven values from smallest to largest."""
    try:
        found = json.loads(cell) if isinstance(cell, str) else None
    except (ValueError, RecursionError):
        return None
    return as_number(found[9]) if isinstance(found, list) and len(found) == 11 else None


def _inner(cell: object, where: str, problems: list[str]) -> Fields:
    """Return the object that a cell holds as JSON; an empty one where it holds none."""
    try:
        found = parse_json(cell) if isinstance(cell, str) and cell else {}
    except BadJson as error:
        problems.append(f"{where}: {error}")
        found = {}
    return Fields(found if isinstance(found, Mapping) else {}, where, problems)
