"""The load test that belongs to a launch, and the commands that take its result into planner."""

from __future__ import annotations

import math
from dataclasses import dataclass

from planner.errors import Unsupported
from planner.scenario import Workload
from planner.serving.engines.base import Flag, given, words_of
from planner.serving.flags import flags_of, missing_flags
from planner.serving.launching import ROUTER_PORT, Launch

LEAST_PROMPTS, WAVES, RATE_SECONDS = 50, 10, 60
READY_SECONDS = 1800
"""How long the client waits for the server, which may still load its weights [s]."""
RESULT = "result.json"
SEED = 0


@dataclass(frozen=True, slots=True)
class LoadTest:
    """Commands of a load test.

    Parameters
    ----------
    bench : tuple of str
        The engine's own client, whose result `importing` reads.
    importing : tuple of str
        `planner import` of that result, with what a result does not say.
    measuring : tuple of str
        planner's own client instead.
    """

    bench: tuple[str, ...]
    importing: tuple[str, ...]
    measuring: tuple[str, ...]


def load_test(launch: Launch, workload: Workload) -> LoadTest | None:
    """Return the load test for the lengths and the load of a launch.

    Parameters
    ----------
    launch : Launch
        The servers.
    workload : Workload
        With input and output lengths.

    Returns
    -------
    LoadTest or None
        None where lengths are not stated.
    """
    if workload.isl is None or workload.osl is None:
        return None
    wanted = launch.wanted
    url = f"http://localhost:{wanted.port if wanted.pools is None else ROUTER_PORT}"
    program = wanted.book.bench
    flags = (_vllm if program == "vllm-bench" else _sglang)(launch, workload, url)
    version = wanted.version if wanted.stack.id == program.removesuffix("-bench") else None
    missing = missing_flags((name for name, _ in flags), flags_of(program, version))
    if missing:
        raise Unsupported(
            f"the load test of {wanted.stack.name} {wanted.version_text} has no {', '.join(missing)}"
        )
    begin = (
        ["vllm", "bench", "serve"] if program == "vllm-bench" else ["python3", "-m", "sglang.bench_serving"]
    )
    told = words_of(_told(launch))
    load = words_of(_load(workload, "--concurrency", "--rate"))
    lengths = ["--isl", str(workload.isl), "--osl", str(workload.osl)]
    return LoadTest(
        (*begin, *words_of(flags)),
        ("planner", "import", RESULT, *told),
        ("planner", "measure", "endpoint", url, *load, *lengths, *told),
    )


def _load(workload: Workload, concurrency: str, rate: str) -> list[Flag]:
    if workload.request_rate is not None:
        return given((rate, workload.request_rate))
    return given((concurrency, workload.concurrency or 1))


def _prompts(workload: Workload) -> int:
    if workload.request_rate is not None:
        return max(LEAST_PROMPTS, math.ceil(workload.request_rate * RATE_SECONDS))
    return max(LEAST_PROMPTS, WAVES * (workload.concurrency or 1))


def _vllm(launch: Launch, workload: Workload, url: str) -> list[Flag]:
    model = launch.wanted.checkpoint
    gguf = launch.wanted.stack.id == "llama.cpp" or model.endswith(".gguf")
    return [
        *given(
            ("--backend", "openai"),
            ("--base-url", url),
            ("--model", model),
            ("--tokenizer", launch.wanted.model.hf_repo if gguf else None),
            ("--trust-remote-code", launch.wanted.recipe.remote_code),
            ("--dataset-name", "random"),
            ("--random-input-len", workload.isl),
            ("--random-output-len", workload.osl),
            ("--num-prompts", _prompts(workload)),
        ),
        *_load(workload, "--max-concurrency", "--request-rate"),
        *given(
            ("--ignore-eos", True),
            ("--seed", str(SEED)),
            ("--ready-check-timeout-sec", READY_SECONDS),
            ("--percentile-metrics", "ttft,tpot,itl,e2el"),
            ("--save-result", True),
            ("--result-filename", RESULT),
        ),
    ]


def _sglang(launch: Launch, workload: Workload, url: str) -> list[Flag]:
    return [
        *given(
            ("--backend", "sglang"),
            ("--base-url", url),
            ("--model", launch.wanted.checkpoint),
            ("--dataset-name", "random-ids"),
            ("--random-input-len", workload.isl),
            ("--random-output-len", workload.osl),
            ("--random-range-ratio", 1.0),  # without it lengths are drawn from 1 on
            ("--num-prompts", _prompts(workload)),
        ),
        *_load(workload, "--max-concurrency", "--request-rate"),
        *given(("--seed", str(SEED)), ("--output-file", RESULT)),
    ]


def _told(launch: Launch) -> list[Flag]:
    """Return what no result says: the set-up, as `planner import` and `planner measure` take it."""
    wanted, made = launch.wanted, launch.wanted.deployment
    sizes = [
        (f"--{name}", size)
        for name in ("tp", "pp", "ep", "dp")
        if (size := getattr(made, name)) > 1 or name == "tp"
    ]
    version = f"=={wanted.version_text}" if wanted.version_text else ""
    return given(
        ("--model", wanted.model.id),
        ("--gpu", wanted.gpu.id),
        (
            "--gpus",
            sum(server.copies for server in launch.servers) * made.gpus if wanted.pools else made.gpus,
        ),
        *sizes,
        ("--engine", f"{wanted.stack.id}{version}"),
        ("--weight-dtype", made.weight_dtype or wanted.model.published_format),
        ("--kv-dtype", wanted.asked.kv_dtype if wanted.asked.kv_dtype != "auto" else None),
        ("--spec-decode", f"{wanted.draft.kind} {made.speculative_tokens}" if wanted.draft else None),
    )
