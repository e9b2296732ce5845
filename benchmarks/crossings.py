"""Ask random questions that build on an answer, seeded, and hold their answers against each other.

python benchmarks/crossings.py --runs 2000

A launch line is read back as its engine would and fitted again, a break-even point is asked about on both of
its sides, a row of a sweep is predicted alone, and any answer is written, verified, and asked again by the
command line that it names, drawn on terminals of any width.
"""

from __future__ import annotations

import contextlib
import io
import json
import math
import os
import random
import shlex
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import yaml
from agreement import Asked, again
from scenarios import KINDS, USD, Drawing, ask_all, sometimes

import planner
from planner.catalogue import Catalogue, load_catalogue
from planner.cli.entry import INTERNAL_ERROR, run

CLOSE = 1e-6
"""Relative difference of two answers that must be one."""

BESIDE = 0.05
"""How far from a break-even point its two sides are asked about; they must not be on it."""

WIDTHS = ("1", "40", "57", "80", "100", "250")
"""Columns of terminals."""

MARK = "reproduction"

WEIGHTS = {
    "launch": 20,
    "breakeven": 12,
    "sweep": 12,
    "fit": 12,
    "predict": 12,
    "compare": 8,
    "simulate": 6,
    "frontier": 5,
    "plan": 2,
    "train": 5,
    "media": 8,
    "own": 4,
    "achieved": 1,
}
FORMS = ("command", "kubernetes", "compose", "json")
OVERS = ("price", "price", "utilisation", "volume", "isl", "osl", "context", "concurrency")
AXES = {
    "isl": ("1k", "1k,2k", [100, 4096], "256..1k", 1),
    "osl": (1, 128, "2,300", "64..256"),
    "concurrency": (1, "1..16", "7,64", [3]),
    "engine": ("vllm", "vllm,sglang", "sglang", "tensorrt-llm", "llama.cpp", "vllm==0.20.2"),
    "prefix_hit": (0.0, 0.5, [0, 0.9]),
    "kv_dtype": ("auto", "auto", "fp8", "auto,fp8"),
}


class Crossing(Drawing):
    """Draws questions that are likely to be answered, since nothing crosses a refusal."""

    weights = WEIGHTS
    odd_share = 0.0

    def disagreements(self, function: str, asked: Asked, report: Any, rng: random.Random) -> Iterator[str]:
        """Yield what an answer does not agree with, in whatever form it is written."""
        record = report.to_dict()
        if function in CHECKS:
            yield from CHECKS[function](self.book, asked, record, rng)
        yield from written_agrees(self.book, report, record, rng)

    def _asked(self, rng: random.Random, most: int = 3) -> Asked:
        """Return a plain question with few options."""
        drawn = super()._asked(rng, most)
        kept = rng.sample([name for name in drawn if name not in ALWAYS], 3)
        drawn = {name: value for name, value in drawn.items() if name in (*ALWAYS, *kept)}
        return drawn | {"tp": sometimes(rng)(0.6, (1, 2, 4, 8))}

    def _launch(self, rng: random.Random) -> Asked:
        some = sometimes(rng)
        asked = self._load(rng, self._asked(rng, 1))
        for name in ("price", "price_kind", "prefix_hit"):
            asked.pop(name, None)
        return asked | {
            "gpu": asked["gpu"].split(",")[0],
            "format": some(0.5, FORMS),
            "port": some(0.2, (80, 8080, 65535)),
            "replicas": some(0.2, (1, 2, 64)),
            "disaggregated": some(0.1, ((1, 1), (2, 4), (8, 16))),
        }

    def _breakeven(self, rng: random.Random) -> Asked:
        asked = self._load(rng, self._asked(rng, 1))
        asked.pop("request_rate", None)
        gpus = rng.sample(self._gpus, 2)
        priced = {name: rng.choice(USD) for name in gpus}
        over = rng.choice(OVERS)
        kinds = rng.choice((None, None, "on-demand,own", "on-demand,spot", "3y-rental,api"))
        return asked | {
            "over": over,
            "gpu": gpus[0] if kinds else ",".join(gpus),
            "price": priced if kinds is None else None,
            "price_kind": kinds,
            "mixed_kinds": True,
            "throughput": rng.choice(("simulated", "simulated", "auto")),
            "utilisation": sometimes(rng)(0.3, (0.1, 0.9, 1.0)),
        }

    def _sweep(self, rng: random.Random) -> Asked:
        asked = self._asked(rng, 2)
        models = rng.sample(self._models, rng.choice((1, 1, 2)))
        some = sometimes(rng)
        return {
            **{name: asked.get(name) for name in ("gpu", "context", "max_num_seqs", "text_only")},
            "model": ",".join(models),
            "tp": rng.choice((1, 2, 8, [1, 4])),
            **{name: rng.choice(values) for name, values in AXES.items()},
            "price": some(0.4, (2.5, [2, 3.5])),
            "price_kind": some(0.2, (*KINDS, "on-demand,spot")),
        }

    def _own(self, rng: random.Random) -> Asked:
        some = sometimes(rng)
        return {
            "gpu": self._gpu(rng),
            "capex": some(0.4, (1, 25_000.0, 1e7)),
            "kw": some(0.3, (0.1, 1.3, 20)),
            "life_years": some(0.3, (1, 4.5, 20)),
            "cost_of_capital": some(0.3, (0, 0.08, 0.5)),
            "resale": some(0.3, (0, 0.2, 0.99)),
            "electricity": some(0.2, (0, 0.1, 1)),
            "pue": some(0.2, (1, 1.25)),
        }

    def _achieved(self, rng: random.Random) -> Asked:
        return {"gpu": sometimes(rng)(0.5, self._gpus)}


ALWAYS = ("model", "gpu", "engine")


def written_agrees(book: Catalogue, report: Any, record: Asked, rng: random.Random) -> Iterator[str]:
    """An answer is written in every form, is verified, and its command line gives it again."""
    if not report.to_csv().strip() or not report.to_markdown().strip():
        yield "nothing in CSV or Markdown"
    with tempfile.TemporaryDirectory(prefix="crossing-") as folder:
        file = Path(folder) / rng.choice(("answer.json", "answer.html"))
        page = file.suffix == ".html"
        file.write_text(report.to_html() if page else json.dumps(record), encoding="utf-8")
        made = planner.verify(file, catalogue=book)
        for one in made.answers[0].differences[:3]:
            yield f"verified, {one.path} was {one.then!r} and is {one.now!r}"
        if report.reproduction.command and rng.random() < 0.7:
            yield from _command_agrees(report, record, Path(folder), rng)


def _command_agrees(report: Any, record: Asked, folder: Path, rng: random.Random) -> Iterator[str]:
    """The command line gives the same JSON, and is drawn with the same exit code."""
    words = shlex.split(report.reproduction.command)[1:]
    file = folder / "again.json"
    code, said = told([*words, "--out", str(file)])
    if not file.exists():
        yield f"its command ends with {code}: {said[-300:]!r}: {report.reproduction.command}"
        return
    again_said = json.loads(file.read_text(encoding="utf-8"))
    if differ := next(_differences(record, again_said, ""), None):
        yield f"its command differs: {differ}: {report.reproduction.command}"
    os.environ["COLUMNS"] = rng.choice(WIDTHS)
    drawn, said = told(words)
    if drawn != code or code == INTERNAL_ERROR or not said.strip() or "Traceback" in said:
        yield f"drawn in {os.environ['COLUMNS']} columns it ends with {drawn}, not {code}: {said[-300:]!r}"


def told(words: list[str]) -> tuple[int, str]:
    """Return the exit code of a command line and all that it says."""
    said = io.StringIO()
    with contextlib.redirect_stdout(said), contextlib.redirect_stderr(said):
        code = run(words)
    return code, said.getvalue()


def _differences(then: Any, now: Any, place: str) -> Iterator[str]:
    """Yield where two records differ, but for how they were asked."""
    if isinstance(then, dict) and isinstance(now, dict):
        for key in {**then, **now}:
            if key != MARK:
                yield from _differences(then.get(key), now.get(key), f"{place}.{key}")
    elif isinstance(then, list) and isinstance(now, list) and len(then) == len(now):
        for number, (one, other) in enumerate(zip(then, now, strict=True)):
            yield from _differences(one, other, f"{place}[{number}]")
    elif then != now and not _close(then, now):
        yield f"{place} is {str(now)[:120]!r}, not {str(then)[:120]!r}"


def _close(one: Any, other: Any) -> bool:
    numbers = isinstance(one, int | float) and isinstance(other, int | float)
    return numbers and math.isclose(one, other, rel_tol=CLOSE)


VLLM = {
    "--tensor-parallel-size": "tp",
    "--pipeline-parallel-size": "pp",
    "--data-parallel-size": "dp",
    "--decode-context-parallel-size": "dcp",
    "--max-model-len": "context",
    "--max-num-seqs": "max_num_seqs",
    "--max-num-batched-tokens": "max_num_batched_tokens",
    "--gpu-memory-utilization": "memory_fraction",
    "--block-size": "block_size",
}
SIZES = ("tp", "pp", "dp", "ep", "dcp")


def launch_agrees(book: Catalogue, asked: Asked, record: Asked, rng: random.Random) -> Iterator[str]:
    """Every form is read by its own parser, and vLLM's flags, read here anew, are the fit that was asked."""
    for form in ("kubernetes", "compose", "command"):
        text = planner.launch(catalogue=book, **(asked | {"format": form})).to_text()
        if form != "command":
            list(yaml.safe_load_all(text))
    words = record["servers"][0]["nodes"][0]["argv"]
    if words[:2] != ["vllm", "serve"]:
        return
    flags = dict(zip(words, [*words[1:], ""], strict=True))
    said = {name: _number(flags[flag]) for flag, name in VLLM.items() if flag in flags}
    if "--enable-expert-parallel" in flags:
        said["ep"] = said.get("tp", 1) * said.get("dp", 1)
    kept = {name: value for name, value in asked.items() if name not in (*SIZES, *LAUNCHED)}
    fit, tokens = again("fit", book, kept, **{"tp": 1, **said}), record["proof"]["kv_tokens"]
    if fit is None or not fit["fits"]:
        yield f"the flags {said} do not fit"
    elif fit["kv_tokens"] != tokens:
        yield f"the flags {said} hold {fit['kv_tokens']} tokens, not {tokens}"


def _number(text: str) -> int | float:
    return float(text) if "." in text else int(text)


LAUNCHED = ("format", "replicas", "port", "disaggregated", "draft", "isl", "osl", "request_rate")
"""What a launch is asked and a fit is not."""


def breakeven_agrees(book: Catalogue, asked: Asked, record: Asked, rng: random.Random) -> Iterator[str]:
    """Just below and just above each point the other option is cheaper."""
    over, flips = record["over"], record["flips"]
    if record["decided_by"] is None or not _fixed(asked):
        return
    for number, flip in enumerate(flips):
        least = flips[number - 1]["at"] * (1 + BESIDE) if number else 0.0
        most = flips[number + 1]["at"] * (1 - BESIDE) if number + 1 < len(flips) else math.inf
        for side, place in (("below", flip["at"] * (1 - BESIDE)), ("above", flip["at"] * (1 + BESIDE))):
            changed = _moved(over, place, asked, record)
            if changed is None or not least < place < most:
                continue
            other = again("breakeven", book, asked, **changed)
            cheaper = other and _cheaper(other)
            if cheaper and cheaper != flip[f"cheaper_{side}"]:
                yield f"{over} {place:g}, {side} {flip['at']:g}: {cheaper}, not {flip[f'cheaper_{side}']}"


def _fixed(asked: Asked) -> bool:
    """Return whether nothing but what varies may change the deployments."""
    return asked.get("tp") is not None and asked.get("throughput") == "simulated"


def _moved(over: str, place: float, asked: Asked, record: Asked) -> Asked | None:
    """Return what to ask so that the quantity that varies is in a place; None where it cannot be asked."""
    if over == "price":
        first, second = (one["usd_per_gpu_hour"] for one in record["options"])
        gpus = [one["gpu"] for one in record["options"]]
        if first is None or second is None or len(set(gpus)) < len(gpus):
            return None
        return {"price": {gpus[0]: place * second, gpus[1]: second}, "price_kind": None}
    if over in ("isl", "osl", "concurrency"):
        whole = round(place)
        return {over: whole} if whole > 100 else None  # rounding would move it across the point
    return None


def _cheaper(record: Asked) -> str | None:
    value = record["cost_ratio"] and record["cost_ratio"]["value"]
    if value is None or abs(math.log(value)) < CLOSE:
        return None
    names: list[str] = record["cost_ratio"]["of"]
    return names[0] if value < 1 else names[1]


ROW = ("tp", "pp", "ep", "dp", "dcp", "engine", "kv_dtype", "prefix_hit", "concurrency")
FIGURES = ("output_tps_total", "tps_per_user", "ttft_ms", "tpot_ms")


def sweep_agrees(book: Catalogue, asked: Asked, record: Asked, rng: random.Random) -> Iterator[str]:
    """A row is what predict says of it alone."""
    rows = planner.sweep(catalogue=book, **asked).to_records()
    if [row["row"] for row in rows] != list(range(record["rows"])):
        yield f"{len(rows)} rows of {record['rows']}"
    answered = [row for row in rows if row["state"] == "answered" and row["method"] == "exact"]
    for row in rng.sample(answered, min(2, len(answered))):
        load = {"isl": row["isl_tokens"], "osl": row["osl_tokens"]}
        longest = max(one["isl_tokens"] + one["osl_tokens"] for one in rows)
        options = {name: value for name, value in asked.items() if name not in SWEPT}
        alone = {
            **options,
            **{name: row[name] for name in ROW},
            **load,
            "model": row["model"],
            "gpu": row["gpu"],
            "weight_dtype": row["weight_dtype"],
            "context": asked.get("context", longest),
            "throughput": "simulated",
        }
        other = again("predict", book, alone)
        if other is None:
            yield f"row {row['row']} is refused alone: {alone}"
            continue
        for name in FIGURES:
            value = other[name] and other[name]["value"]
            if not _close(value, row[name]) and value != row[name]:
                yield f"row {row['row']}: {name} is {row[name]}, alone {value}: {alone}"


SWEPT = ("model", "gpu", "isl", "osl", "concurrency", "request_rate", "price", "price_kind", "weight_dtype")
"""What varies by row, and is not asked as the sweep asks it."""

CHECKS: dict[str, Callable[[Catalogue, Asked, Asked, random.Random], Iterator[str]]] = {
    "launch": launch_agrees,
    "breakeven": breakeven_agrees,
    "sweep": sweep_agrees,
}


if __name__ == "__main__":
    sys.exit(ask_all(Crossing(load_catalogue()), __doc__))
