"""Results of llama.cpp's `llama-bench`: JSON, lines of JSON, CSV, SQL and the Markdown table.

A test processes a prompt (pp), generates tokens (tg) or does both (pp+tg), for one request alone; rates are
tokens of that test per second. So pp rows are prefill alone and tg rows decode alone, perhaps behind a
context of `n_depth` tokens.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from planner.measurement.importers.runs import Fields, Latency, Run, as_date
from planner.measurement.importers.sources import csv_lines

OWN = ("n_prompt", "n_gen", "model_type", "avg_ns", "avg_ts")
"""Fields that each of its versions writes; tables that others made of them may call the context otherwise."""

INSERT = re.compile(r"INSERT INTO (?:llama_bench|test) \(([^()]*)\) VALUES \((.*)\);?\s*$")
_TEST = re.compile(
    r"(?:pp\s?(?P<pp>\d{1,9}))?\+?(?:tg\s?(?P<tg>\d{1,9}))?(?:\s*@\s*d(?P<depth>\d{1,9}))?", re.ASCII
)
_SQL_VALUE = re.compile(r"'((?:[^']|'')*)'|([^,']+)")
_BUILD = re.compile(r"build:\s*([0-9a-f]+)\s*\((\d+)\)")
_QUANTISATION = re.compile(r"\b(I?Q\d\w*|BF16|F16|F32|MXFP4\w*)\b", re.IGNORECASE)


def is_test(data: Mapping[str, Any]) -> bool:
    """Return whether an object is one test."""
    return all(name in data for name in OWN)


def is_csv(header: Sequence[str]) -> bool:
    """Return whether a header is that of the CSV."""
    return all(name in header for name in OWN)


def is_table(header: str) -> bool:
    """Return whether a line heads the Markdown table."""
    return bool(re.match(r"\|\s*model\s*\|.*\|\s*test\s*\|\s*t/s\s*\|", header.strip()))


def read_test(fields: Fields) -> Run | None:
    """Return the run of one test, or None where it used no GPU or has no rate."""
    number, commit = fields.count("build_number"), fields.text("build_commit")
    gpus = [name.strip() for name in (fields.text("gpu_info") or "").split(",") if name.strip()]
    alone = fields.text("split_mode") == "none"
    if len(set(gpus)) > 1:
        fields.problems.append(f"{fields.where}: several kinds of GPU ({', '.join(gpus)}); one is needed")
        return None
    return _run(
        fields,
        {
            "model": _model(fields),
            "gpu": gpus[0] if gpus else None,
            "n_gpus": (1 if alone else len(gpus)) if gpus else None,
            "weight_dtype": _quantisation(fields.text("model_type"), fields.text("model_filename")),
            "kv_dtype": fields.text("type_k"),
            "engine_version": f"b{number}" if number is not None else commit,
            "date": as_date(fields.data.get("test_time")),
        },
        (fields.count("n_prompt"), fields.count("n_gen"), fields.count("n_depth")),
        fields.number("avg_ts"),
        fields.text("backends", "backend"),
        fields.count("n_gpu_layers", least=-1),
    )


def read_csv_tests(file: str, text: str, problems: list[str]) -> Iterator[Run]:
    """Yield the run of each row of the CSV."""
    rows = csv_lines(file, text)
    header = rows[0][1]
    for line, values in rows[1:]:
        if len(values) != len(header):
            problems.append(f"{file}:{line}: {len(values)} values, but the header has {len(header)} columns")
        elif run := read_test(Fields(dict(zip(header, values, strict=True)), f"{file}:{line}", problems)):
            yield run


def read_sql(file: str, lines: Iterable[tuple[int, str]], problems: list[str]) -> Iterator[Run]:
    """Yield the run of each INSERT."""
    for number, line in lines:
        match = INSERT.match(line.strip())
        if not match:
            continue
        names = [name.strip() for name in match[1].split(",")]
        values = [
            (a or b).strip().replace("''", "'") for a, b in _SQL_VALUE.findall(match[2]) if (a or b).strip()
        ]
        where = f"{file}:{number}"
        if len(names) != len(values):
            problems.append(f"{where}: {len(values)} values for {len(names)} columns")
        elif run := read_test(Fields(dict(zip(names, values, strict=True)), where, problems)):
            yield run


def read_table(file: str, lines: Iterable[tuple[int, str]], problems: list[str]) -> Iterator[Run]:
    """Yield the run of each row of the Markdown tables."""
    header: list[str] = []
    devices: list[str] = []
    found: list[tuple[int, dict[str, str]]] = []
    build: re.Match[str] | None = None
    for number, line in lines:
        text = line.strip()
        if match := re.match(r"Device \d+: ([^,]+),", text):
            devices.append(match[1])
        build = _BUILD.match(text) or build
        cells = [cell.strip() for cell in text.strip("|").split("|")]
        if is_table(text):
            header = cells
        elif header and text.startswith("|") and not set(text) <= set("|-: "):
            if len(cells) == len(header):
                found.append((number, dict(zip(header, cells, strict=True))))
            else:
                problems.append(f"{file}:{number}: {len(cells)} cells, but the header has {len(header)}")
    for number, row in found:
        fields = Fields(row, f"{file}:{number}", problems)
        test = _TEST.fullmatch(row["test"])
        mean = row["t/s"].partition("±")[0].strip()
        if test is None or not (test["pp"] or test["tg"]):
            problems.append(
                f"{file}:{number}: the test is {row['test'][:40]!r}; one like pp512 or tg128 is needed"
            )
            continue
        kinds = set(devices)
        facts = {
            "model": None,
            "gpu": kinds.pop() if len(kinds) == 1 else None,
            "n_gpus": len(devices) or None,
            "weight_dtype": _quantisation(row["model"], None),
            "engine_version": f"b{build[2]}" if build else None,
        }
        lengths = tuple(int(test[name]) if test[name] else 0 for name in ("pp", "tg", "depth"))
        rate = Fields({"t/s": mean}, fields.where, problems).number("t/s")
        run = _run(fields, facts, lengths, rate, row.get("backend"), fields.count("ngl", least=-1))
        if run:
            yield run


def _run(
    fields: Fields,
    facts: Mapping[str, Any],
    lengths: tuple[int | None, ...],
    rate: float | None,
    backend: str | None,
    layers: int | None,
) -> Run | None:
    prompt, generated, depth = (length or 0 for length in lengths)
    if backend in ("CPU", "BLAS") or layers == 0:
        fields.problems.append(f"{fields.where}: ran without a GPU, so it is not imported")
        return None
    if not rate or prompt + generated == 0:
        fields.problems.append(f"{fields.where}: no rate of tokens")
        return None
    notes = ["llama-bench", *([f"behind a context of {depth} tokens"] if depth else [])]
    shared: dict[str, Any] = {
        "where": fields.where,
        "facts": {"engine": "llama.cpp", "spec_decode": "none", **facts},
        "concurrency": 1.0,
    }
    if prompt and generated:
        return Run(
            **shared,
            isl=float(prompt + depth),
            osl=float(generated),
            output_tps=rate * generated / (prompt + generated),
            total_tps=rate,
            notes=(*notes, "rate of prompt and generated tokens together"),
        )
    if prompt:
        ttft = Latency(mean=1000 * prompt / rate)
        return Run(
            **shared, isl=float(prompt), osl=0.0, total_tps=rate, ttft=ttft, notes=("PREFILL only", *notes)
        )
    tpot = Latency(mean=1000 / rate)
    return Run(
        **shared,
        isl=float(depth),
        osl=float(generated),
        output_tps=rate,
        tpot=tpot,
        notes=("DECODE only", *notes),
    )


def _model(fields: Fields) -> str | None:
    """Return the name of the GGUF file, which is more than `llama 7B Q4_0`."""
    path = fields.text("model_filename")
    if not path:
        return None
    name = re.sub(r"-\d{5}-of-\d{5}$", "", re.split(r"[/\\]", path)[-1].removesuffix(".gguf"))
    # Unsloth puts UD before the quantisation where it differs by layer.
    return re.sub(rf"(?:[-._]UD)?[-._]{_QUANTISATION.pattern[2:]}$", "", name, flags=re.IGNORECASE) or None


def _quantisation(kind: str | None, file: str | None) -> str | None:
    """Return the type of the weights: of the file's name, else of the description (`Q4_K - Medium`)."""
    kind = re.sub(r"_K - ([SML])\w+$", r"_K_\1", kind) if kind else None
    for text in (file, kind):
        if text and (match := _QUANTISATION.search(re.sub(r"[-.]", " ", text))):
            return match[1].upper()
    return None
