"""Ask random scenarios, seeded: no exception but a clear refusal, and answers that agree with each other.

python benchmarks/scenarios.py --runs 100000

A scenario is a function of the front door, a model, accelerators, a layout, dtypes, an engine, a load, prices
and limits, all drawn at random, some odd. Scenario N of a seed is the same wherever it runs, so that
`--start N --runs 1` asks a failing one again.
"""

from __future__ import annotations

import argparse
import math
import random
import sys
import time
import traceback
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from agreement import AGREE, Asked, faults, nothing

import planner
from planner.catalogue import Catalogue, load_catalogue
from planner.errors import PlannerError

WEIGHTS = {
    "fit": 40,
    "predict": 30,
    "train": 8,
    "media": 8,
    "compare": 5,
    "simulate": 5,
    "frontier": 2,
    "plan": 2,
}
"""How often each function is asked; those that search or simulate take longer and are asked less."""

LONGEST_S = 60.0
"""Of the processor; no scenario may take longer."""

LONGEST_LINE = 2000
"""Characters of a refusal, at most."""

ODD: tuple[Any, ...] = (
    0,
    -1,
    1.5,
    True,
    "",
    "x",
    "1e9999",
    math.nan,
    math.inf,
    10**30,
    [],
    {},
    None,
    "\0",
    "١",
)
"""What no argument may be; it must be refused in one line."""

SIZES = (1, 1, 1, 2, 2, 3, 4, 4, 5, 8, 8, 12, 16, 32, 64, 4096)
LENGTHS = (1, 2, 16, 100, 128, 400, 1000, 1024, 4096, "8k", "32Ki", 131072, 1_000_000)
LOADS = (1, 1, 2, 4, 7, 16, 64, 256, 1024, 100_000)
DTYPES = ("bf16", "fp8", "fp8-block128", "mxfp4", "nvfp4", "int8", "int4", "q4_k_m", "fp16")
ENGINES = (
    "vllm",
    "vllm",
    "vllm==0.20.2",
    "vllm==0.9.0",
    "sglang",
    "tensorrt-llm",
    "llama.cpp",
    "mlc-llm",
    "exllamav2",
    "vllm==99",
)
RATES = (0.01, 0.3, 1.0, 10.0, 500.0)
USD = (0.01, 0.8, 2.0, 4.25, 12.5, 1000.0)
KINDS = ("on-demand", "spot", "reserved", "3y-rental", "own")


@dataclass(slots=True)
class Outcome:
    """What became of one scenario.

    Parameters
    ----------
    function : str
        Which was asked.
    asked : dict
        Its arguments.
    state : str
        "answered", "refused" or "failed".
    wrong : list of str
        What is wrong with it.
    seconds : float
        Time of the processor that it took [s].
    """

    function: str
    asked: Asked
    state: str = "answered"
    wrong: list[str] = field(default_factory=list)
    seconds: float = 0.0


class Drawing:
    """Draws scenarios.

    Parameters
    ----------
    book : Catalogue
        Whose models and accelerators are asked about.
    """

    weights: Mapping[str, int] = WEIGHTS
    odd_share = 0.15

    def __init__(self, book: Catalogue) -> None:
        self.book = book
        self._models, self._gpus = book.model_ids(), book.gpu_ids()
        self._media_models = book.ids("media_models")
        self._names, self._weights = list(self.weights), list(self.weights.values())

    def disagreements(self, function: str, asked: Asked, report: Any, rng: random.Random) -> Iterator[str]:
        """Yield what an answer does not agree with."""
        yield from AGREE.get(function, nothing)(self.book, asked, report.to_dict(), rng)

    def draw(self, rng: random.Random) -> tuple[str, Asked]:
        """Return a function and its arguments."""
        kind = rng.choices(self._names, self._weights)[0]
        asked: Asked = getattr(self, f"_{kind}")(rng)
        asked = {name: value for name, value in asked.items() if value is not None}
        if rng.random() < self.odd_share:
            asked[rng.choice(list(asked))] = rng.choice(ODD)
        return (rng.choice(("fit", "predict", "compare", "plan")) if kind == "media" else kind), asked

    def _gpu(self, rng: random.Random, most: int = 3) -> str:
        return ",".join(rng.sample(self._gpus, rng.choice((1, 1, 1, min(2, most), most))))

    def _asked(self, rng: random.Random, most: int = 3) -> Asked:
        some = sometimes(rng)
        gpu = self._gpu(rng, most)
        priced = {name: rng.choice(USD) for name in gpu.split(",")}
        model = rng.choice(self._models)
        formats = [*self.book.model(model).quantisations, *DTYPES]
        return {
            "model": model,
            "gpu": gpu,
            "tp": some(0.5, SIZES),
            "pp": some(0.15, SIZES),
            "dp": some(0.15, SIZES),
            "ep": some(0.15, SIZES),
            "dcp": some(0.1, SIZES),
            "weight_dtype": some(0.35, formats),
            "kv_dtype": some(0.3, ("auto", "bf16", "fp8", "fp8_e4m3", "int8")),
            "engine": some(0.7, ENGINES),
            "context": some(0.3, LENGTHS),
            "memory_fraction": some(0.1, (0.1, 0.5, 0.95, 1.0)),
            "max_num_seqs": some(0.1, (1, 64, 4096)),
            "max_num_batched_tokens": some(0.1, (1, 2048, 65536)),
            "speculative_tokens": some(0.1, (1, 3, 64)),
            "text_only": some(0.1, (True, False)),
            "price": rng.choice((priced, rng.choice(USD))) if rng.random() < 0.4 else None,
            "price_kind": some(0.2, KINDS),
        }

    def _load(self, rng: random.Random, asked: Asked) -> Asked:
        some = sometimes(rng)
        load = (
            {"concurrency": rng.choice(LOADS)} if rng.random() < 0.7 else {"request_rate": rng.choice(RATES)}
        )
        lengths = {"isl": rng.choice(LENGTHS), "osl": rng.choice(LENGTHS[:10])}
        return asked | lengths | load | {"prefix_hit": some(0.2, (0.0, 0.5, 0.999))}

    def _fit(self, rng: random.Random) -> Asked:
        return self._asked(rng) | {"concurrency": sometimes(rng)(0.3, LOADS)}

    def _predict(self, rng: random.Random) -> Asked:
        throughput = rng.choice(("simulated", "simulated", "auto", "measured"))
        return self._load(rng, self._asked(rng, 2)) | {"throughput": throughput}

    def _compare(self, rng: random.Random) -> Asked:
        limits = {"slo_tpot_s": sometimes(rng)(0.3, (0.005, 0.05, 1.0))}
        return self._load(rng, self._asked(rng)) | limits | {"mixed_kinds": True}

    def _simulate(self, rng: random.Random) -> Asked:
        asked = self._load(rng, self._asked(rng, 1)) | {"requests": rng.choice((1, 20, 200)), "seed": 1}
        asked["isl"], asked["osl"] = rng.choice(LENGTHS[:9]), rng.choice(LENGTHS[:7])
        return asked | {"gpu": asked["gpu"].split(",")[0], "lengths": rng.choice(("fixed", "lognormal"))}

    def _frontier(self, rng: random.Random) -> Asked:
        asked = self._load(rng, self._asked(rng, 1))
        for name in ("concurrency", "request_rate"):
            asked.pop(name, None)
        return asked | {"slo_ttft_s": sometimes(rng)(0.5, (0.1, 2.0))}

    def _plan(self, rng: random.Random) -> Asked:
        asked = self._load(rng, self._asked(rng, 1)) | {"request_rate": rng.choice(RATES[:4])}
        asked.pop("concurrency", None)
        asked["isl"], asked["osl"] = rng.choice(LENGTHS[4:9]), rng.choice(LENGTHS[2:7])
        return asked | {"slo_ttft_s": rng.choice((0.2, 2.0)), "requests": 100, "slo_tpot_s": 0.1}

    def _train(self, rng: random.Random) -> Asked:
        some = sometimes(rng)
        return {
            "model": rng.choice(self._models),
            "gpu": self._gpu(rng, 2),
            "gpus": some(0.5, SIZES),
            "tp": some(0.3, SIZES),
            "pp": some(0.3, SIZES),
            "dp": some(0.2, SIZES),
            "fsdp": some(0.2, (0, 1, 2, 3)),
            "micro_batch": some(0.3, (1, 2, 16)),
            "global_batch": some(0.3, (1, 64, 1024, "4k")),
            "seq_len": some(0.5, LENGTHS),
            "recompute": some(0.3, ("none", "selective", "full")),
            "dtype": some(0.3, ("bf16", "fp8")),
            "method": some(0.5, ("full", "lora", "qlora")),
            "tokens": some(0.3, (1, "1T")),
            "price": some(0.4, USD),
        }

    def _media(self, rng: random.Random) -> Asked:
        some = sometimes(rng)
        return {
            "model": rng.choice(self._media_models),
            "gpu": self._gpu(rng),
            "gpus": some(0.2, SIZES),
            "size": some(0.4, ("512x512", "1024x1024", "16384x16384", "1x1", "0x0", "x")),
            "frames": some(0.2, (1, 81, 10_000)),
            "latents": some(0.2, (1, 4096)),
            "octree": some(0.2, (8, 384, 2048)),
            "steps": some(0.4, (1, 28, 1000)),
            "guidance": some(0.3, (0, 1.0, 7.5, 100)),
            "offload": some(0.3, (True, False)),
            "weight_dtype": some(0.3, DTYPES),
            "request_rate": some(0.4, RATES),
            "price": some(0.4, USD),
        }


def sometimes(rng: random.Random) -> Callable[[float, Any], Any]:
    """Return what draws one of several with a probability, and None otherwise."""
    return lambda share, of: rng.choice(of) if rng.random() < share else None


def run_one(drawing: Drawing, seed: int, number: int) -> Outcome:
    """Ask one scenario.

    Parameters
    ----------
    drawing : Drawing
        What draws it.
    seed, number : int
        Which one.

    Returns
    -------
    Outcome
    """
    rng = random.Random(f"{seed}:{number}")
    function, asked = drawing.draw(rng)
    made = Outcome(function, asked)
    began = time.process_time()
    try:
        report = getattr(planner, function)(catalogue=drawing.book, **asked)
        made.seconds = time.process_time() - began
        if made.seconds > LONGEST_S:
            made.wrong.append(f"took {made.seconds:.0f} s")
        record = report.to_dict()
        made.wrong += list(faults(record))
        if not report.sentence or "nan" in report.sentence.lower().split():
            made.wrong.append(f"a sentence that says nothing: {report.sentence[:80]!r}")
        made.wrong += list(drawing.disagreements(function, asked, report, rng))
    except PlannerError as refusal:
        made.state = "refused"
        made.seconds = time.process_time() - began
        line = str(refusal)
        if not line.strip() or "\n" in line or len(line) > LONGEST_LINE:
            made.wrong.append(f"a refusal that is not one line: {line[:100]!r}")
    except Exception:
        made.seconds = time.process_time() - began
        made.wrong.append(traceback.format_exc(limit=-4))
    if made.wrong:
        made.state = "failed"
    return made


def ask_all(drawing: Drawing, description: str | None) -> int:
    """Ask the scenarios that the command line names, and report."""
    parser = argparse.ArgumentParser(
        description=description, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--runs", type=int, default=100_000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--start", type=int, default=0, help="number of the first scenario")
    parser.add_argument("--seconds", type=float, default=math.inf, help="stop after this time")
    asked = parser.parse_args()
    states: Counter[str] = Counter()
    slowest: dict[str, tuple[float, int]] = {}
    began = time.perf_counter()
    failures = done = 0
    for number in range(asked.start, asked.start + asked.runs):
        if time.perf_counter() - began > asked.seconds:
            break
        made = run_one(drawing, asked.seed, number)
        done += 1
        states[f"{made.function} {made.state}"] += 1
        slowest[made.function] = max(slowest.get(made.function, (0.0, 0)), (made.seconds, number))
        if made.wrong:
            failures += 1
            print(f"{number} {made.function}({made.asked}): {made.wrong[0]}", flush=True)
    seconds = time.perf_counter() - began
    for name, count in sorted(states.items()):
        print(f"{count:>8,} {name}")
    for name, (longest, number) in sorted(slowest.items()):
        print(f"slowest {name}: {longest:.2f} s (scenario {number})")
    print(f"{done:,} scenarios, seed {asked.seed}: {failures} failures; {seconds:.0f} s")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(ask_all(Drawing(load_catalogue()), __doc__))
