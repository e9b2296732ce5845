"""Give every argument of every function what it may not be: each is answered or refused in one line.

python benchmarks/odd_arguments.py
python benchmarks/odd_arguments.py --function plan --function sweep

One argument of a plain question at a time is replaced by each of `ODD`: numbers out of range, texts of no
meaning, containers of the wrong kind, and records of nothing.
"""

from __future__ import annotations

import argparse
import inspect
import math
import sys
import time
import traceback
from collections.abc import Iterator
from typing import Any

from fuzz import refusal_faults

import planner
from planner.catalogue import Catalogue, load_catalogue
from planner.economics import OWNING_ARGUMENTS
from planner.errors import PlannerError
from planner.scenario import Deployment
from planner.scenario.media_options import MEDIA_OPTIONS

LONGEST_S = 10.0
"""Time of the processor for one question [s]."""

SMALL, LARGE = 1e-320, 10**30
ODD: tuple[Any, ...] = (
    *(0, -1, 1.5, True, False, LARGE, SMALL, math.nan, math.inf, -math.inf, complex(1, 2)),
    *("", "x", ",", "a,b", "1e9999", "\0", "١", "\ud800", "-1", "8k", "nan", "1..", "..", "1..1e99", b"x"),
    *([], [[]], [{}], [None], [math.nan], [1, "x", None], [0.5, 2], [LARGE], ("x",), (1, 2, 3)),
    *({}, {"a": 1}, {1: 2}, {"h100": "x"}, {"h100": {}}, {"h100": math.nan}, {"h100": -1}, {"h100": [1, []]}),
    *(set(), range(3), None, object()),
)

ON = {"model": "llama-3.1-8b", "gpu": "h100"}
LOAD = {"isl": 1000, "osl": 100}
TWO = {"gpu": "h100,mi300x", "tp": 1}
PLAIN: dict[str, dict[str, Any]] = {
    "fit": ON,
    "predict": {**ON, **LOAD, "tp": 1},
    "simulate": {**ON, **LOAD, "concurrency": 2, "requests": 5, "tp": 1},
    "compare": {**ON, **LOAD, **TWO},
    "breakeven": {**ON, **LOAD, **TWO},
    "frontier": {**ON, **LOAD, "tp": 1, "pp": 1},
    "plan": {**ON, **LOAD, "request_rate": 1.0, "slo_ttft_s": 2.0, "requests": 20, "tp": 1},
    "launch": {**ON, **LOAD},
    "sweep": {**ON, **LOAD},
    "train": {**ON, "gpus": 8, "tp": 1, "pp": 1},
    "own": {"gpu": "h100"},
    "achieved": {},
    "validate": {"path": "missing.csv"},
}
"""A question to each function that it answers at once."""

MEDIA = {"model": "flux.1-dev", "gpu": "h100"}
WORKING = {"catalogue", "executor", "processes", "progress", "out", "restart"}
"""Arguments that are no part of a question."""


def arguments(function: str) -> list[str]:
    """Return the names of all arguments that a function takes, options included, and one that none has."""
    taken = inspect.signature(getattr(planner, function)).parameters.values()
    names = [one.name for one in taken if one.kind is not one.VAR_KEYWORD and one.name not in WORKING]
    if any(one.kind is one.VAR_KEYWORD for one in taken):
        names += [*Deployment.model_fields, *OWNING_ARGUMENTS, *MEDIA_OPTIONS, "kw", "nonsense"]
    return list(dict.fromkeys(names))


def faults(function: str, asked: dict[str, Any], book: Catalogue) -> Iterator[str]:
    """Yield what is wrong with the outcome of one question."""
    began = time.process_time()
    try:
        report = getattr(planner, function)(catalogue=book, **asked)
        report.to_dict()
        if not report.sentence:
            yield "no sentence"
    except PlannerError as refusal:
        yield from refusal_faults(str(refusal))
    except Exception:
        yield traceback.format_exc(limit=-3)
    if (took := time.process_time() - began) > LONGEST_S:
        yield f"took {took:.0f} s"


def questions(function: str, odd: tuple[Any, ...] = ODD) -> Iterator[dict[str, Any]]:
    """Yield the plain questions of a function, each with one odd argument."""
    media = [MEDIA | PLAIN[function] | MEDIA] if function in ("fit", "predict", "plan", "compare") else []
    for plain in (PLAIN[function], *media):
        for name in arguments(function):
            for value in odd:
                yield {**plain, name: value}


def main() -> int:
    """Ask everything and report."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--function", action="append", choices=list(PLAIN), help="one or several; all without"
    )
    named = parser.parse_args().function or PLAIN
    book, failures = load_catalogue(), 0
    for function in named:
        began, count, bad = time.perf_counter(), 0, 0
        for asked in questions(function):
            count += 1
            for line in faults(function, asked, book):
                bad += 1
                print(f"{function}({asked}): {line}", flush=True)
        seconds = time.perf_counter() - began
        print(f"{function}: {count:,} questions, {bad} failures; {seconds:.0f} s", flush=True)
        failures += bad
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
