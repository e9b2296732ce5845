"""MLPerf Inference: the summary that LoadGen logs, and `summary_results.json` of a round.

Latencies of the log are in nanoseconds. Tokens per second are OUTPUT tokens. In the JSON, `a#` counts
accelerators of one node and `Total Accelerators` those of the system.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from planner.measurement.importers.runs import Fields, Latency, Run, ratio

TITLE = "MLPerf Results Summary"
SCENARIOS = ("Server", "Offline", "Interactive")
DATASETS = {
    "llama2-70b": (222, 219),
    "llama3.1-405b": (9429, 685),
    "llama3.1-8b": (871, 82),
    "mixtral-8x7b": (427, 145),
    "deepseek-r1": (804, 4043),
    "gpt-oss-120b": (5011, None),
}
"""Mean input and output of each benchmark's data [tokens]."""
MODELS = {
    "llama2-70b": "Llama-2-70b-chat",
    "llama3.1-405b": "Llama-3.1-405B-Instruct",
    "llama3.1-8b": "Llama-3.1-8B-Instruct",
}
"""Names of the models beside those that the benchmark is called by."""
ENGINES = {"tensorrt": "trtllm", "vllm": "vllm", "sglang": "sglang"}
"""What the list of software names, where it names one of them alone."""
MISLABELLED = {("v5.0", "llama3.1-405b", "Samples/s"), ("v5.1", "llama3.1-8b", "Queries/s")}
"""Round, benchmark and unit as printed where the value is tokens/s."""

_LINE = re.compile(r"\s*([A-Za-z0-9][^:]*?)\s*:\s*(\S.*)$")


def read_log(file: str, lines: Iterable[tuple[int, str]], problems: list[str]) -> Iterator[Run]:
    """Yield the run of each summary in a log."""
    found: dict[str, str] | None = None
    began = 0
    for number, line in lines:
        if TITLE in line:
            if found is not None:
                yield from _log_run(Fields(found, f"{file}:{began}", problems))
            found, began = {}, number
        elif found is not None and (match := _LINE.match(line)):
            name = re.sub(r"Time (?:to|per) Output Token", "Time to Output Token", match[1])
            found.setdefault(name, match[2].strip())
    if found is not None:
        yield from _log_run(Fields(found, f"{file}:{began}", problems))


def _log_run(fields: Fields) -> Iterator[Run]:
    scenario = fields.text("Scenario")
    tokens = fields.number("Completed tokens per second", "Tokens per second")
    if tokens is None or scenario not in SCENARIOS:
        why = "no tokens per second" if tokens is None else f"the scenario is {scenario}"
        fields.problems.append(f"{fields.where}: {why}; a language model's Server or Offline run is needed")
        return
    samples = fields.number("Completed samples per second", "Samples per second")
    notes = [f"LoadGen {scenario} of MLPerf"]
    doubts = []
    if (verdict := fields.text("Result is")) != "VALID":
        doubts.append(f"the result is {verdict or 'not stated'}")
    yield Run(
        where=fields.where,
        osl=ratio(tokens, samples),
        request_rate=fields.number("Scheduled samples per second") if scenario != "Offline" else None,
        output_tps=tokens,
        ttft=_nanoseconds(fields, "First Token latency", "first token latency"),
        tpot=_nanoseconds(fields, "Time to Output Token", "time to output token"),
        e2e=_nanoseconds(fields, "latency", "latency") if scenario != "Offline" else Latency(),
        notes=tuple(notes),
        doubts=tuple(doubts),
    )


def _nanoseconds(fields: Fields, mean: str, part: str) -> Latency:
    """Return a latency, from nanoseconds to milliseconds."""
    names = (f"Mean {mean} (ns)", f"50.00 percentile {part} (ns)", f"99.00 percentile {part} (ns)")
    return Latency(*(fields.number(name, most=1e18) for name in names)).times(1e-6)


def is_result(data: Mapping[str, Any]) -> bool:
    """Return whether an object is one result of a round's summary."""
    return "Performance_Units" in data and "Performance_Result" in data and "Scenario" in data


def read_result(fields: Fields) -> Run | None:
    """Return the run of one result, or None where it is not of a language model."""
    benchmark = re.sub(r"-99(\.9)?$", "", fields.text("Model", "UsedModel") or "")
    version, unit = fields.text("version") or "", fields.text("Performance_Units")
    if unit != "Tokens/s" and (version, benchmark, unit) not in MISLABELLED:
        shown = f"{benchmark or 'no model'} in {unit}"
        fields.problems.append(f"{fields.where}: {shown} is no rate of tokens; only tokens/s are imported")
        return None
    isl, osl = DATASETS.get(benchmark, (None, None))
    measured = re.search(r"TOKENS_PER_SAMPLE: ([\d.]+)", fields.text("Accuracy") or "")
    scenario = fields.text("Scenario")
    software = fields.text("Software")
    named = [name for key, name in ENGINES.items() if key in (software or "").lower()]
    return Run(
        where=fields.where,
        facts={
            "model": MODELS.get(benchmark, benchmark) or None,
            "gpu": _accelerator(fields.text("Accelerator")),
            "n_gpus": fields.size("Total Accelerators"),
            "n_nodes": fields.size("Nodes"),
            "weight_dtype": (fields.text("weight_data_types") or "").lower() or None,
            "engine": named[0] if len(named) == 1 else None,
            "engine_version": software,
        },
        isl=isl,
        # The scores of llama3.1-8b count characters and not tokens.
        osl=float(measured[1]) if measured and benchmark != "llama3.1-8b" else osl,
        request_rate=None,
        output_tps=fields.number("Performance_Result"),
        notes=(
            f"MLPerf {version} {fields.text('Category') or ''} {scenario}".replace("  ", " "),
            f"benchmark {fields.text('Model', 'UsedModel')}",
            f"submitter {fields.text('Submitter')}",
            f"system {fields.text('System')}",
            f"ID {fields.text('ID')}",
        ),
    )


def _accelerator(name: str | None) -> str | None:
    """Return an accelerator's name without trade marks."""
    return re.sub(r"\((?:R|TM)\)", "", name) if name else None
