"""Which format a file is in, by what stands in it and never by its name, and the reader of each."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from planner.errors import InvalidInput, shorten
from planner.measurement.importers import (
    aiperf,
    bench_serving,
    console_blocks,
    guidellm,
    inference_perf,
    inferencex,
    llama_bench,
    mlperf,
    trtllm_bench,
)
from planner.measurement.importers.runs import Fields, Reading, Run
from planner.measurement.importers.sources import BadJson, SourceFile, complete_items, parse_json
from planner.measurement.importers.startup_lines import EngineLog, read_startup
from planner.measurement.importers.startup_others import LLAMA_CPP, SGLANG, TENSORRT_LLM
from planner.measurement.importers.startup_vllm import VLLM

REPLACED = "\ufffd"
"""Stands for bytes that are not UTF-8; a whole JSON with such is refused."""
MOST_COMPLAINTS = 20
"""Lines of complaint of one file; further ones are counted."""
ENGINE_LOGS = (VLLM, SGLANG, TENSORRT_LLM, LLAMA_CPP)

Objects = tuple[str, Callable[[Mapping[str, Any]], bool], Callable[[Fields], Iterable[Run] | Run | None]]
OBJECTS: tuple[Objects, ...] = (
    ("GuideLLM JSON", guidellm.is_report, guidellm.read_report),
    ("AIPerf JSON", aiperf.is_summary, aiperf.read_summary),
    ("inference-perf JSON", inference_perf.is_report, inference_perf.read_report),
    ("InferenceX API", inferencex.is_row, inferencex.read_row),
    ("InferenceX agentic aggregate", inferencex.is_agentic, inferencex.read_agentic),
    ("InferenceX aggregate", inferencex.is_aggregate, inferencex.read_aggregate),
    ("MLPerf results", mlperf.is_result, mlperf.read_result),
    ("llama-bench JSON", llama_bench.is_test, llama_bench.read_test),
    ("trtllm-bench report", trtllm_bench.is_report, trtllm_bench.read_report),
    ("SGLang bench_serving", bench_serving.is_sglang, bench_serving.read_sglang),
    ("vLLM bench serve", bench_serving.is_vllm, bench_serving.read_vllm),
)
"""Formats of one object for a run, alone, in a list or one on each line."""

Tables = tuple[str, Callable[[list[str]], bool], Callable[[str, str, list[str]], Iterator[Run]]]
TABLES: tuple[Tables, ...] = (
    ("GuideLLM CSV", guidellm.is_csv, guidellm.read_csv_report),
    ("AIPerf CSV", aiperf.is_csv, aiperf.read_csv_summary),
    ("InferenceX website CSV", inferencex.is_website, inferencex.read_website),
    ("llama-bench CSV", llama_bench.is_csv, llama_bench.read_csv_tests),
)

Texts = tuple[str, re.Pattern[str], Callable[[str, Iterable[tuple[int, str]], list[str]], Iterator[Run]]]
TEXTS: tuple[Texts, ...] = (
    ("console of a serving benchmark", re.compile(console_blocks.TITLE), console_blocks.read_blocks),
    ("MLPerf summary log", re.compile(mlperf.TITLE), mlperf.read_log),
    ("trtllm-bench console", re.compile(trtllm_bench.TITLE), trtllm_bench.read_console),
    ("AIPerf console", re.compile(r"AIPerf \| LLM Metrics|GenAI-Perf \| LLM Metrics"), aiperf.read_console),
    ("llama-bench SQL", re.compile(r"INSERT INTO (?:llama_bench|test) \(build_commit"), llama_bench.read_sql),
    ("llama-bench table", re.compile(r"^\|\s*model\s*\|.*\|\s*test\s*\|\s*t/s\s*\|"), llama_bench.read_table),
)

KNOWN = (
    "results of vLLM, SGLang, GuideLLM, AIPerf, GenAI-Perf, inference-perf, InferenceX, MLPerf, llama-bench "
    "and trtllm-bench, and start-up logs of vLLM, SGLang, TensorRT-LLM and llama.cpp"
)


def read_results(source: SourceFile) -> Reading:
    """Read a file in whichever of the known formats it is.

    Parameters
    ----------
    source : SourceFile
        The file.

    Returns
    -------
    Reading
        Every run and start-up in it, and one line for each thing that could not be read.

    Raises
    ------
    InvalidInput
        In one line, when the file is in none of the formats or cannot be read at all.
    """
    first = source.first_line()
    if first is None:
        # Results with token times of every request are one line of any length.
        reading = _json(source, "")
    elif (
        first[:1] in ("{", "[")
        and not first.startswith(("[TensorRT-LLM]", "[TRT-LLM]"))
        and not _dated(first)
    ):
        reading = _json_or_log(source, first)
    else:
        reading = _table(source) or _text(source)
    if len(reading.problems) > MOST_COMPLAINTS:
        more = len(reading.problems) - MOST_COMPLAINTS
        reading.problems[MOST_COMPLAINTS:] = [f"{source.path}: {more} more complaints like these"]
    return reading


def _dated(line: str) -> bool:
    """Return whether a line begins as one of a log does, with a date or a rank in brackets."""
    return bool(re.match(r"\[(?:\d{4}-\d\d-\d\d|\d\d/\d\d/\d{4}|[A-Za-z])", line))


def _json_or_log(source: SourceFile, first: str) -> Reading:
    """Read JSON, or a text that only begins like it: with a rank as in `[1,0]<stdout>`, or with settings."""
    try:
        return _json(source, first)
    except InvalidInput as error:
        try:
            return _text(source)
        except InvalidInput:
            raise error from None


def _json(source: SourceFile, first: str) -> Reading:
    try:
        whole = parse_json(first)
        single = True
    except BadJson:
        whole, single = None, False
    second = next((line for _, line in _rest(source)), None) if first else None
    if isinstance(whole, Mapping) and second is not None:
        return _json_lines(source, whole)
    if not single and first.startswith("{") and second is not None and (further := _object(second)):
        return _json_lines(source, further)
    if not single or REPLACED in first:
        whole = _whole_json(source)
    if isinstance(whole, _Broken):
        return _objects(source.path, whole.items, whole.problem)
    if isinstance(whole, list):
        return _objects(source.path, whole, None)
    if isinstance(whole, Mapping):
        return _objects(source.path, [whole], None)
    raise InvalidInput(f"{source.path}: JSON of a single value; an object with results is needed")


def _object(line: str) -> Mapping[str, Any] | None:
    """Return the object that a line is, if it is one whole."""
    try:
        found = parse_json(line)
    except BadJson:
        return None
    return found if isinstance(found, Mapping) else None


def _rest(source: SourceFile) -> Iterator[tuple[int, str]]:
    """Yield the lines after the first that is not blank."""
    begun = False
    for number, line in source.lines():
        if begun and line.strip():
            yield number, line
        begun = begun or bool(line.strip())


class _Broken:
    """What stands whole in a text that is not one JSON value, and what is wrong with the rest of it."""

    def __init__(self, items: list[Any], problem: str | None) -> None:
        self.items, self.problem = items, problem


def _whole_json(source: SourceFile) -> Any:
    text = source.text()
    try:
        return parse_json(text)
    except BadJson as error:
        items, broken = complete_items(text)
        if not any(isinstance(item, Mapping) for item in items):
            raise InvalidInput(f"{source.path}: {error}") from None
        if broken is None:
            return _Broken(items, None)
        where = f"{source.path}:{text.count(chr(10), 0, broken) + 1}"
        return _Broken(items, f"{where}: not valid JSON from here; the {len(items)} items before it are read")


def _json_lines(source: SourceFile, first: Mapping[str, Any]) -> Reading:
    problems: list[str] = []

    def records() -> Iterator[Fields]:
        for number, line in source.lines():
            if not line.strip():
                continue
            where = f"{source.path}:{number}"
            try:
                item = parse_json(line)
            except BadJson as error:
                problems.append(
                    f"{where}: {re.sub(r'^not valid JSON at line 1, ', 'not valid JSON at ', str(error))}"
                )
                continue
            if isinstance(item, Mapping):
                yield Fields(item, where, problems)
            else:
                problems.append(f"{where}: {shorten(item)} is no JSON object")

    if aiperf.is_request(first):
        runs = list(aiperf.read_requests(source.path, records()))
        return Reading("AIPerf single requests", runs=runs, problems=problems)
    return _read_objects(source.path, records(), problems)


def _objects(file: str, items: list[Any], problem: str | None) -> Reading:
    problems = [problem] if problem else []

    def records() -> Iterator[Fields]:
        for position, item in enumerate(items):
            where = f"{file}[{position}]" if len(items) > 1 else file
            if isinstance(item, Mapping):
                yield Fields(item, where, problems)
            else:
                problems.append(f"{where}: {shorten(item)} is no JSON object")

    if items and isinstance(items[0], Mapping) and aiperf.is_request(items[0]):
        return Reading(
            "AIPerf single requests", runs=list(aiperf.read_requests(file, records())), problems=problems
        )
    return _read_objects(file, records(), problems)


def _read_objects(file: str, records: Iterable[Fields], problems: list[str]) -> Reading:
    reading = Reading("", problems=problems)
    for fields in records:
        form = next((form for form in OBJECTS if form[1](fields.data)), None)
        if form is None:
            keys = ", ".join(str(key)[:30] for key in list(fields.data)[:6]) or "none"
            problems.append(f"{fields.where}: no known result (its keys: {keys}); known are {KNOWN}")
            continue
        reading.format = reading.format or form[0]
        found = form[2](fields)
        runs = [found] if isinstance(found, Run) else list(found or ())
        reading.runs += [run for run in runs if _measures(run, problems)]
    if not reading.format:
        raise InvalidInput(problems[0] if problems else f"{file}: no results in it")
    return reading


def _measures(run: Run, problems: list[str]) -> bool:
    """Return whether a run has a figure at all, and has served a request."""
    if run.requests == 0:
        problems.append(f"{run.where}: no request of the run succeeded")
        return False
    rates = (run.output_tps, run.total_tps, run.output_tps_per_gpu, run.total_tps_per_gpu)
    latencies = (run.ttft.mean, run.ttft.median, run.tpot.mean, run.tpot.median)
    if not any((*rates, *latencies)):
        problems.append(f"{run.where}: neither a rate of tokens nor a latency that could be read")
        return False
    return True


def _table(source: SourceFile) -> Reading | None:
    """Read a file as CSV where its header is that of a known one."""
    for _, line in source.lines():
        if not line.strip() or line.startswith("#"):
            continue
        header = [cell.strip().strip('"') for cell in line.split(",")]
        form = next((form for form in TABLES if form[1](header)), None)
        if form is None:
            return None
        problems: list[str] = []
        runs = [run for run in form[2](source.path, source.text(), problems) if _measures(run, problems)]
        return Reading(form[0], runs=runs, problems=problems)
    return None


def _text(source: SourceFile) -> Reading:
    """Read a text, which may hold several kinds: the log of a server, say, and the result of a benchmark."""
    texts: set[int] = set()
    logs: set[int] = set()
    for _, line in source.lines():
        texts |= {i for i, form in enumerate(TEXTS) if i not in texts and form[1].search(line)}
        logs |= {i for i, log in enumerate(ENGINE_LOGS) if i not in logs and log.mark.search(line[:20_000])}
    if not texts and not logs:
        raise InvalidInput(f"{source.path}: in no known format; known are {KNOWN}")
    names = []
    reading = Reading("")
    for i in sorted(texts):
        name, _, read = TEXTS[i]
        names.append(name)
        found = read(source.path, source.lines(), reading.problems)
        reading.runs += [run for run in found if _measures(run, reading.problems)]
    for log in _engines(logs):
        # A benchmark's own lines may look like an engine's; only a log alone must tell of memory.
        starts = read_startup(source.path, source.lines(), log, [] if texts else reading.problems)
        names += [f"start-up log of {log.name}"] if starts or not texts else []
        reading.starts += starts
    reading.format = " and ".join(names)
    return reading


def _engines(found: set[int]) -> list[EngineLog]:
    """Return whose log it is; vLLM and SGLang may name others' parts, so the first of them counts."""
    return [ENGINE_LOGS[min(found)]] if found else []
