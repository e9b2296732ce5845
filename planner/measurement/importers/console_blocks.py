"""The block "Serving Benchmark Result" that the clients of vLLM and SGLang print, any number in one text."""

from __future__ import annotations

import math
import re
import shlex
from collections.abc import Iterable, Iterator
from typing import Any

from planner.measurement.importers.bench_serving import SGLANG_SERVERS, load_of
from planner.measurement.importers.runs import Fields, Latency, Run, ratio

TITLE = "Serving Benchmark Result"
_BLOCK_START = re.compile(r"=+\s*Serving Benchmark Result\s*=+")
_BLOCK_END = re.compile(r"={30,}$")
_LINE = re.compile(r"([A-Z][^:]{2,60}):\s+(\S[^:]*)$")
_TOLD = re.compile(r"(Traffic request rate|Maximum request concurrency|Maximum concurrency):\s*(\S+)")
_COMMAND = re.compile(r"bench_serving|bench serve|benchmark_serving")
_SETTINGS = re.compile(r"\bNamespace\(.*?[( ]model='([^']+)'")
LONGEST_COMMAND = 40


def read_blocks(file: str, lines: Iterable[tuple[int, str]], problems: list[str]) -> Iterator[Run]:
    """Yield the run of every block.

    Parameters
    ----------
    file : str
        Its name.
    lines : iterable of int and str
        The text, with line numbers.
    problems : list of str
        Takes what cannot be read.

    Yields
    ------
    Run
        A block without its last line is read as far as it goes, and complained of.
    """
    block: dict[str, Any] | None = None
    told: dict[str, str] = {}
    began, command, before = 0, _Command(), re.compile("")
    for number, line in lines:
        if title := _BLOCK_START.search(line):
            before = _alike(line[: title.start()])
        text = (before.sub("", line, count=1) if block is not None else line).strip()
        if title:
            if block is not None:
                problems.append(f"{file}:{began}: the block of results breaks off")
                yield from _run(file, began, block, told, command, problems)
            block, began = {}, number
        elif block is None:
            command.take(text)
            if match := _TOLD.search(text):
                told[match[1]] = match[2]
        elif _BLOCK_END.search(text):
            yield from _run(file, began, block, told, command, problems)
            block, told, command = None, {}, _Command()
        elif match := _LINE.search(text):
            block.setdefault(match[1].strip(), match[2].strip())
    if block is not None:
        problems.append(f"{file}:{began}: the block of results breaks off")
        yield from _run(file, began, block, told, command, problems)


def _alike(prefix: str) -> re.Pattern[str]:
    """Return a pattern of what a log or a comment puts before each line: the same, with other numbers."""
    return re.compile("^" + re.sub(r"\d+", r"\\d+", re.escape(prefix)))


class _Command:
    """The command line above a block, which may go over several lines that end in a backslash."""

    def __init__(self) -> None:
        self.options: dict[str, str] = {}
        self._lines: list[str] | None = None

    def take(self, text: str) -> None:
        if "Namespace(" in text and (settings := _SETTINGS.search(text)):
            # The client prints what it was told.
            self.options.setdefault("model", settings[1])
        if self._lines is None and not (_COMMAND.search(text) and "--" in f"{text}\\--"):
            return
        self._lines = [*(self._lines or []), text.rstrip("\\")]
        if text.endswith("\\") and len(self._lines) < LONGEST_COMMAND:
            return
        try:
            words = shlex.split(" ".join(self._lines))
        except ValueError:
            words = []
        self._lines = None
        for word, value in zip(words, [*words[1:], ""], strict=False):
            if word.startswith("--"):
                name, equals, inline = word[2:].partition("=")
                self.options[name] = inline if equals else ("" if value.startswith("--") else value)


def _run(
    file: str,
    line: int,
    block: dict[str, Any],
    told: dict[str, str],
    command: _Command,
    problems: list[str],
) -> Iterator[Run]:
    fields = Fields(block, f"{file}:{line}", problems)
    output = fields.number("Output token throughput (tok/s)")
    if output is None:
        problems.append(f"{file}:{line}: a block of results without an output token throughput")
        return
    sglang = "Backend" in block or "Traffic request rate" in block or "Mean E2E Latency (ms)" in block
    completed, duration = fields.count("Successful requests"), fields.number("Benchmark duration (s)")
    inputs, outputs = fields.number("Total input tokens"), fields.number("Total generated tokens")
    e2e = _latency(fields, "E2E Latency" if "Mean E2E Latency (ms)" in block else "E2EL")
    rate, cap = _load(fields, told)
    accepted = fields.number("Acceptance length", "Accept length")
    concurrency, notes = load_of(
        rate, cap, fields.number("Concurrency"), completed, ratio(completed, duration), e2e
    )
    if accepted:
        notes.append(f"acceptance length {accepted:.4g}")
    if failed := fields.count("Failed requests"):
        notes.append(f"{failed} requests failed")
    backend = fields.text("Backend")
    yield Run(
        where=fields.where,
        facts={
            "model": command.options.get("model") or None,
            "engine": "sglang" if sglang and backend in SGLANG_SERVERS else None,
            "spec_decode": "speculative" if accepted and accepted > 1 else None,
        },
        isl=ratio(inputs, completed),
        osl=ratio(outputs, completed),
        concurrency=concurrency,
        request_rate=rate,
        requests=completed,
        duration_s=duration,
        input_tokens=inputs,
        output_tokens=outputs,
        output_tps=output,
        total_tps=fields.number(
            "Total token throughput (tok/s)", "Total Token throughput (tok/s)", "Total throughput (tok/s)"
        ),
        ttft=_latency(fields, "TTFT"),
        tpot=_latency(fields, "TPOT"),
        e2e=e2e,
        notes=tuple(notes),
    )


def _load(fields: Fields, told: dict[str, str]) -> tuple[float | None, int | None]:
    """Return the request rate and the cap; a block with a cap and without a rate is a closed loop."""
    names = ("Traffic request rate", "Request rate configured (RPS)")
    rate = next((fields.rate(name) for name in names if name in fields.data), None)
    before = Fields(told, fields.where, fields.problems)
    rate = before.rate("Traffic request rate") if rate is None else rate
    cap = fields.count("Maximum request concurrency", "Max request concurrency", least=1)
    if cap is None and told.get("Maximum request concurrency") not in (None, "None"):
        cap = before.count("Maximum request concurrency", least=1)
    return (math.inf if rate is None and cap else rate), cap


def _latency(fields: Fields, name: str) -> Latency:
    return fields.latency(f"Mean {name} (ms)", f"Median {name} (ms)", f"P99 {name} (ms)")
