"""Results of AIPerf and of GenAI-Perf before it: JSON, CSV, lines of single requests, and console tables.

Every metric states its unit, which is read and never assumed. Inter-token latency is here (latency - TTFT) /
(tokens - 1) of a request, which is TPOT. GPUs and parallel sizes are in none of these.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from statistics import fmean
from typing import Any

from planner.errors import shorten
from planner.measurement.importers.runs import Fields, Latency, Run, as_date, as_number
from planner.measurement.importers.sources import csv_lines

MILLISECONDS = {"ms": 1.0, "s": 1000.0, "sec": 1000.0, "seconds": 1000.0, "us": 1e-3, "ns": 1e-6}
LATENCIES = ("time_to_first_token", "inter_token_latency", "request_latency")
PLAIN = ("", "tokens", "tokens/sec", "requests/sec", "per sec", "requests", "count", "%", "sec", "s")
STATISTICS = ("avg", "p50", "p99")
OLD_NAMES = {"num_output_token": "output_sequence_length", "num_input_token": "input_sequence_length"}
"""Metrics as GenAI-Perf called them in its first versions."""
Metrics = dict[str, dict[str, float]]
"""Statistics by metric; latencies in milliseconds, durations in seconds, the rest as it is."""

_HEADED = re.compile(r"(.+?)(?:\s*\(([^()]*)\))?$")


def is_summary(data: Mapping[str, Any]) -> bool:
    """Return whether an object is a summary of AIPerf or GenAI-Perf."""
    latency = data.get("request_latency")
    return isinstance(latency, Mapping) and "unit" in latency and "avg" in latency


def read_summary(fields: Fields) -> Run:
    """Return the run of a summary in JSON."""
    metrics: Metrics = {}
    for name, value in fields.data.items():
        if isinstance(value, Mapping) and "unit" in value:
            _take(metrics, name, str(value["unit"]), value, fields)
    config = fields.child("input_config")
    gpu, power = _telemetry(fields.child("telemetry_data"))
    facts = {"model": _model(config), "gpu": gpu, "date": as_date(fields.data.get("start_time"))}
    rate, concurrency = _load(config)
    version = fields.text("aiperf_version")
    notes = [f"AIPerf {version}" if version else "AIPerf or GenAI-Perf", *_replayed(config), *power]
    if fields.flag("was_cancelled"):
        notes.append("check: the run was cancelled")
    return _run(fields.where, metrics, facts, rate, concurrency, notes)


def is_csv(header: Sequence[str]) -> bool:
    """Return whether a first line is that of a summary as CSV."""
    return header[:2] == ["Metric", "avg"]


def read_csv_summary(file: str, text: str, problems: list[str]) -> Iterator[Run]:
    """Yield the run of a summary in CSV: a table of statistics, one of single values, perhaps one of GPUs."""
    metrics: Metrics = {}
    header: list[str] = []
    for line, values in csv_lines(file, text):
        fields = Fields({}, f"{file}:{line}", problems)
        if values[0] == "Metric" or "Metric" in values[1:]:
            header = values
        elif header[:1] != ["Metric"]:
            continue
        elif len(values) != len(header):
            problems.append(f"{file}:{line}: {len(values)} values, but the header has {len(header)} columns")
        else:
            name, unit = _metric_name(values[0])
            found = dict(zip(header, values, strict=True))
            _take(metrics, name, unit, {"avg": found["Value"]} if "Value" in found else found, fields)
    yield from _whole(f"{file}:1", metrics, ["AIPerf or GenAI-Perf CSV"], problems)


def is_request(data: Mapping[str, Any]) -> bool:
    """Return whether an object is AIPerf's record of one request."""
    metadata, metrics = data.get("metadata"), data.get("metrics")
    return isinstance(metadata, Mapping) and "request_start_ns" in metadata and isinstance(metrics, Mapping)


def read_requests(file: str, records: Iterable[Fields]) -> Iterator[Run]:
    """Yield the run of records of single requests; warm-up and failed ones do not count."""
    values: dict[str, list[float]] = {}
    first, last, failed, warm, done = math.inf, 0.0, 0, 0, 0
    for fields in records:
        metadata = fields.child("metadata")
        if metadata.text("benchmark_phase") not in (None, "profiling"):
            warm += 1
            continue
        if fields.data.get("error") or metadata.flag("was_cancelled"):
            failed += 1
            continue
        done += 1
        start = metadata.number("request_start_ns", most=1e20)
        end = metadata.number("request_end_ns", most=1e20)
        if start and end:
            first, last = min(first, start), max(last, end)
        metrics: Metrics = {}
        for name, value in fields.child("metrics").data.items():
            if isinstance(value, Mapping) and name in (
                *LATENCIES,
                "input_sequence_length",
                "output_sequence_length",
            ):
                _take(metrics, name, str(value.get("unit", "")), {"avg": value.get("value")}, fields)
        for name, stats in metrics.items():
            values.setdefault(name, []).append(stats["avg"])
    if not done:
        return
    summary = {name: _statistics(sample) for name, sample in values.items()}
    duration = (last - first) / 1e9 if last > first else None
    outputs, inputs = (sum(values.get(f"{part}_sequence_length", ())) for part in ("output", "input"))
    summary["request_count"] = {"avg": float(done)}
    if duration:
        summary["benchmark_duration"] = {"avg": duration}
        summary["output_token_throughput"] = {"avg": outputs / duration}
        summary["total_token_throughput"] = {"avg": (inputs + outputs) / duration}
    notes = ["AIPerf, single requests", *([f"{warm} warm-up requests left out"] if warm else [])]
    notes += [f"{failed} requests failed"] if failed else []
    yield _run(f"{file}:1", summary, {"date": as_date(first / 1e9)}, None, None, notes)


def read_console(file: str, lines: Iterable[tuple[int, str]], problems: list[str]) -> Iterator[Run]:
    """Yield the run of the tables that AIPerf and GenAI-Perf print, of which one tells of latencies."""
    notes = ["AIPerf or GenAI-Perf console"]
    whole: Metrics = {}
    began = 0
    for line, table in _tables(file, lines, problems):
        if "request_latency" in table and "request_latency" in whole:
            yield from _whole(f"{file}:{began}", whole, notes, problems)
            whole, began = {}, 0
        began = began or line
        whole = {**table, **whole}
    yield from _whole(f"{file}:{began or 1}", whole, notes, problems)


def _tables(
    file: str, lines: Iterable[tuple[int, str]], problems: list[str]
) -> Iterator[tuple[int, Metrics]]:
    """Yield each printed table with the line of its header; a name may go on in the line below."""
    began, header, rows = 0, list[str](), list[tuple[int, list[str]]]()

    def table() -> Metrics:
        metrics: Metrics = {}
        for number, row in rows:
            name, unit = _metric_name(row[0])
            found = {key: value for key, value in zip(header, row, strict=False) if value != "N/A"}
            _take(metrics, name, unit, found, Fields({}, f"{file}:{number}", problems))
        return metrics

    for number, line in lines:
        cells = [cell.strip() for cell in re.split(r"[│┃|]", line)][1:-1]
        if len(cells) < 2:
            continue
        if cells[0] in ("Metric", "Statistic"):
            yield from [(began, table())] if rows else []
            began, header, rows = number, cells, []
        elif header and cells[0] and any(cells[1:]):
            rows.append((number, cells))
        elif cells[0] and rows:
            rows[-1][1][0] += f" {cells[0]}"
    yield from [(began, table())] if rows else []


def _whole(where: str, metrics: Metrics, notes: list[str], problems: list[str]) -> Iterator[Run]:
    if "output_token_throughput" not in metrics and "time_to_first_token" not in metrics:
        problems.append(f"{where}: neither an output token throughput nor a time to first token")
        return
    hit = metrics.get("theoretical_prefix_cache_hit", {}).get("avg", 0.0)
    yield _run(
        where, metrics, {}, None, None, [*notes, *(["multi-turn or agentic replay"] if hit > 5 else [])]
    )


def _metric_name(text: str) -> tuple[str, str]:
    """Split `Time to First Token (ms)` into its key and its unit."""
    match = _HEADED.fullmatch(text)
    name, unit = (match[1], match[2] or "") if match else (text, "")
    key = re.sub(r"[^a-z0-9]+", "_", name.lower()).strip("_")
    return OLD_NAMES.get(key, key), unit


def _take(metrics: Metrics, name: str, unit: str, values: Mapping[str, Any], fields: Fields) -> None:
    """Take the statistics of one metric over, in the unit that its kind has here."""
    factor = 1.0
    if name in LATENCIES:
        if unit not in MILLISECONDS:
            wanted = f"one of {', '.join(MILLISECONDS)} is needed"
            fields.problems.append(f"{fields.where}: the unit of {name} is {shorten(unit)}; {wanted}")
            return
        factor = MILLISECONDS[unit]
    elif name == "benchmark_duration":
        factor = MILLISECONDS.get(unit, 1000.0) / 1000
    elif unit not in PLAIN:
        return
    numbers = {key: as_number(values.get(key)) for key in STATISTICS}
    found = {
        k: v * factor for k, v in numbers.items() if v is not None and math.isfinite(v) and 0 <= v <= 1e12
    }
    if found:
        metrics.setdefault(name, found)


def _statistics(sample: Sequence[float]) -> dict[str, float]:
    """Return mean, median and 99th percentile, interpolated between neighbours as the tool does."""
    ordered = sorted(sample)

    def at(share: float) -> float:
        place = share * (len(ordered) - 1)
        low = int(place)
        high = min(low + 1, len(ordered) - 1)
        return ordered[low] + (place - low) * (ordered[high] - ordered[low])

    return {"avg": fmean(ordered), "p50": at(0.5), "p99": at(0.99)}


def _run(
    where: str,
    metrics: Metrics,
    facts: Mapping[str, Any],
    rate: float | None,
    concurrency: float | None,
    notes: Sequence[str],
) -> Run:
    def mean(name: str) -> float | None:
        return metrics.get(name, {}).get("avg")

    def latency(name: str) -> Latency:
        found = metrics.get(name, {})
        return Latency(*(found.get(key) for key in STATISTICS))

    count = mean("request_count")
    output, given = mean("output_token_throughput"), mean("input_token_throughput")
    total = mean("total_token_throughput")
    hit = mean("theoretical_prefix_cache_hit")
    osl = mean("output_sequence_length")
    told = [f"theoretical prefix cache hit {hit:.4g} %"] if hit else []
    return Run(
        where=where,
        facts=facts,
        isl=mean("input_sequence_length"),
        osl=osl,
        concurrency=concurrency,
        request_rate=rate,
        requests=None if count is None else int(count),
        duration_s=mean("benchmark_duration"),
        output_tokens=mean("total_osl") or mean("total_output_sequence_length"),
        input_tokens=mean("total_isl") or mean("total_input_sequence_length"),
        output_tps=output,
        total_tps=total if total is not None else (None if None in (output, given) else output + given),  # type: ignore[operator]
        ttft=latency("time_to_first_token"),
        tpot=latency("inter_token_latency"),
        e2e=latency("request_latency"),
        notes=(*notes, *told),
    )


def _model(config: Fields) -> str | None:
    for given in (config.child("endpoint").data.get("model_names"), config.data.get("model")):
        if isinstance(given, list) and len(given) == 1:
            return Fields({"model": given[0]}, config.where, config.problems).text("model")
    items = list(config.child("models").items("items"))
    return items[0].text("name") if len(items) == 1 else None


def _telemetry(told: Fields) -> tuple[str | None, list[str]]:
    """Return the kind of the GPUs that were watched, where it is one, and what is to be said of their power.

    How many took part is not told: other GPUs of a node are watched as well.
    """
    names, powers = set(), []
    for endpoint in told.child("endpoints").data:
        gpus = told.child("endpoints", endpoint, "gpus")
        for gpu in map(gpus.child, gpus.data):
            names.add(gpu.text("gpu_name"))
            powers.append(gpu.child("metrics", "gpu_power_usage").number("avg"))
    known = [power for power in powers if power is not None]
    told_power = [f"mean power of {len(known)} GPUs {fmean(known):.4g} W"] if known else []
    return (names.pop() if len(names) == 1 else None), told_power


def _load(config: Fields) -> tuple[float | None, float | None]:
    """Return arrivals [1/s] and concurrency: of the load generator, or of the one measured phase."""
    load = config.child("loadgen")
    if not load.data:
        phases = [p for p in config.items("phases") if p.text("kind") in (None, "profiling")]
        load = phases[0] if len(phases) == 1 else load
    if not load.data:
        perf = config.child("perf_analyzer", "stimulus")
        load = perf if perf.data else config
    rate, concurrency = load.number("request_rate"), load.number("concurrency", least=1)
    return (math.inf if rate is None and concurrency else rate), concurrency


def _replayed(config: Fields) -> list[str]:
    """Say that prompts are the turns of recorded conversations, most of which a prefix cache holds."""
    scenario = config.text("scenario") or ""
    timing = [phase.text("timing_mode") or "" for phase in config.items("phases")]
    replay = "agent" in scenario or any("agentic" in mode for mode in timing)
    return [f"agentic replay ({scenario or 'trace'})"] if replay else []
