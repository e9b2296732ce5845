"""How long a full search takes: every deployment of a model on one GPU type, up to 16 GPUs, on one core.

python benchmarks/search.py [--every]
"""

from __future__ import annotations

import sys
import time

from planner.catalogue import Catalogue, load_catalogue
from planner.planning.question import question
from planner.planning.search import SearchSpace, search
from planner.planning.search.result import SearchResult

USUAL = SearchSpace()
FORMATS = SearchSpace(kv_dtypes=("auto", "fp8"))
BOTH = SearchSpace(weight_dtypes=("fp8", "nvfp4"), kv_dtypes=("auto", "fp8"), disaggregated=True)
CASES = (
    ("deepseek-r1", "b200", "vllm", USUAL, "as published"),
    ("deepseek-r1", "b200", "vllm", FORMATS, "2 KV dtypes"),
    ("deepseek-r1", "b200", "vllm", BOTH, "2 weight and 2 KV dtypes, prefill apart"),
    ("deepseek-r1", "b200", "tensorrt-llm", FORMATS, "2 KV dtypes, prefill apart"),
    ("kimi-k3", "b200", "vllm", FORMATS, "2 KV dtypes"),
    ("kimi-k3", "mi355x", "vllm", FORMATS, "2 KV dtypes"),
    ("llama-3.1-8b", "b200", "vllm", FORMATS, "2 KV dtypes"),
    ("gpt-oss-120b", "mi355x", "sglang", FORMATS, "2 KV dtypes"),
)
EVERY = SearchSpace(kv_dtypes=("auto", "fp8"), every_layout=True)
RUNS = 3


def run(catalogue: Catalogue, model: str, gpu: str, engine: str, space: SearchSpace) -> SearchResult:
    """Search once, to the frontier."""
    load = {"isl": 8192, "osl": 1024}
    asked = question(model=model, gpu=gpu, load=load, options={"engine": engine}, catalogue=catalogue)
    found = search(asked, asked.gpus[0], space=space)
    found.frontier()
    return found


def main() -> None:
    """Print candidates, points and seconds of each case."""
    catalogue = load_catalogue()
    cases = CASES
    if "--every" in sys.argv:
        cases += (("deepseek-r1", "b200", "vllm", EVERY, "2 KV dtypes, every layout"),)
    print(
        f"{'model':14} {'GPU':7} {'engine':13} {'candidates':>10} {'points':>7} {'first s':>8} {'then s':>7}"
    )
    for model, gpu, engine, space, what in cases:
        times = []
        for _ in range(RUNS):
            start = time.process_time()
            found = run(catalogue, model, gpu, engine, space)
            times.append(time.process_time() - start)
        print(
            f"{model:14} {gpu:7} {engine:13} {found.candidates:>10,} {len(found.found.option):>7,} "
            f"{times[0]:>8.2f} {min(times[1:]):>7.2f}  {what}"
        )


if __name__ == "__main__":
    main()
