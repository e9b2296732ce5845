"""Runs inside the Python of an inference engine: starts it, times it, and writes each result as it comes.

Standard library and the engine only, and run as a file: the engine's environment need not hold planner.
`python inside.py JOB.json`; the job says what to start and what to time, and where results go as JSON lines.
"""

from __future__ import annotations

import asyncio
import importlib
import itertools
import json
import math
import platform
import random
import statistics
import sys
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from pathlib import Path
from typing import Any, Protocol

LATE = 8
"""Steps beyond those that a point needs, for requests that come in late."""
WARM_STEPS, WARM_TOKENS = 4, 128
"""A warm-up has the point's batch, with short prompts: kernels follow a step's tokens, not the context."""
LEAST_STEPS = 8
"""A window of fewer common steps is no measurement."""
AT_ONCE = 2**26
"""Numbers drawn at once: little memory is left beside an engine."""
SAMPLE = 1.0
"""Temperature: sampling takes part in every step, as it does in service."""


class Engine(Protocol):
    """An engine that was started."""

    versions: dict[str, str]
    settings: dict[str, Any]
    vocabulary: int

    async def prepare(self) -> int:
        """Make invented weights behave like real ones where that matters; return how many were set."""
        ...

    def stream(self, prompt: list[int], tokens: int, name: str) -> AsyncIterator[int]:
        """Yield how many tokens each message brought."""
        ...

    def stop(self) -> None:
        """End it."""
        ...


class VllmEngine:
    """vLLM through its own asynchronous interface: what its server calls, without HTTP."""

    def __init__(self, job: dict[str, Any]) -> None:
        engine_args = importlib.import_module("vllm.engine.arg_utils").AsyncEngineArgs
        asynchronous = importlib.import_module("vllm.v1.engine.async_llm").AsyncLLM
        context = importlib.import_module("vllm.usage.usage_lib").UsageContext
        sampling = importlib.import_module("vllm.sampling_params")
        arguments = engine_args(
            model=job["model_directory"],
            load_format="dummy",
            skip_tokenizer_init=True,
            enable_prefix_caching=False,
            disable_log_stats=True,
            **job["arguments"],
        )
        self._engine = asynchronous.from_engine_args(arguments, usage_context=context.OPENAI_API_SERVER)
        self._sampling, self._kind = sampling.SamplingParams, sampling.RequestOutputKind.DELTA
        self._parameters: dict[int, Any] = {}
        known = self._engine.vllm_config
        self.vocabulary = int(known.model_config.get_vocab_size())
        self.versions = {"engine": importlib.import_module("vllm").__version__, **library_versions()}
        self.settings = {
            "memory_fraction": known.cache_config.gpu_memory_utilization,
            "block_size": known.cache_config.block_size,
            "kv_cache_dtype": str(known.cache_config.cache_dtype),
            "max_model_len": known.model_config.max_model_len,
            "max_num_seqs": known.scheduler_config.max_num_seqs,
            "max_num_batched_tokens": known.scheduler_config.max_num_batched_tokens,
            "asynchronous_scheduling": known.scheduler_config.async_scheduling,
            "enforce_eager": known.model_config.enforce_eager,
            "quantization": known.model_config.quantization,
        }

    async def prepare(self) -> int:
        """Spread tokens over experts, see `spread_routing`.

        The function goes through several processes: by the name of its module, it is the same in all of them.
        """
        known = importlib.import_module(Path(__file__).stem)
        changed = await self._engine.collective_rpc("apply_model", args=(known.spread_routing,))
        return int(sum(changed))

    async def stream(self, prompt: list[int], tokens: int, name: str) -> AsyncIterator[int]:
        """Yield how many tokens each message brought."""
        if tokens not in self._parameters:
            self._parameters[tokens] = self._sampling(
                temperature=SAMPLE,
                max_tokens=tokens,
                ignore_eos=True,
                detokenize=False,
                output_kind=self._kind,
            )
        async for output in self._engine.generate(
            {"prompt_token_ids": prompt}, self._parameters[tokens], name
        ):
            count = len(output.outputs[0].token_ids)
            if count:
                yield count

    def stop(self) -> None:
        """End its processes."""
        self._engine.shutdown()


class SglangEngine:
    """SGLang through its offline engine."""

    def __init__(self, job: dict[str, Any]) -> None:
        sglang = importlib.import_module("sglang")
        self._engine = sglang.Engine(
            model_path=job["model_directory"],
            load_format="dummy",
            skip_tokenizer_init=True,
            disable_radix_cache=True,
            **job["arguments"],
        )
        told = self._engine.server_args
        self.vocabulary = int(job["vocabulary"])
        self.versions = {"engine": sglang.__version__, **library_versions()}
        self.settings = {
            "memory_fraction": told.mem_fraction_static,
            "block_size": told.page_size,
            "kv_cache_dtype": str(told.kv_cache_dtype),
            "max_model_len": told.context_length,
            "max_num_seqs": told.max_running_requests,
            "max_num_batched_tokens": told.chunked_prefill_size,
            "enforce_eager": told.disable_cuda_graph,
            "quantization": told.quantization,
        }

    async def prepare(self) -> int:
        """Change nothing: the engine gives no way to its weights, which decide what experts are chosen."""
        return 0

    async def stream(self, prompt: list[int], tokens: int, name: str) -> AsyncIterator[int]:
        """Yield how many tokens each message brought."""
        parameters = {"temperature": SAMPLE, "max_new_tokens": tokens, "ignore_eos": True}
        seen = 0
        async for output in await self._engine.async_generate(
            input_ids=prompt, sampling_params=parameters, stream=True
        ):
            together = int(output["meta_info"]["completion_tokens"])
            if together > seen:
                yield together - seen
                seen = together

    def stop(self) -> None:
        """End its processes."""
        self._engine.shutdown()


ENGINES: dict[str, Callable[[dict[str, Any]], Engine]] = {"vllm": VllmEngine, "sglang": SglangEngine}


def spread_routing(model: Any) -> int:
    """Make tokens differ, routers choose by them and FP8 weights differ from zero; return how many were set.

    Engines invent weights near zero. A router's scores are then equal but for rounding, or biases, which all
    tokens share, outweigh what tells tokens apart: most of them choose the same experts, and a step reads a
    few instead of all. So norms become one, biases nothing, and embeddings and routers random numbers of
    usual size. Each tensor's numbers follow from its name: ranks that hold copies of a router hold the same.
    Near zero, FP8 rounds nearly all weights to zero itself, by which products take less power than real ones.

    Runs inside of the engine's workers, so it imports what it needs itself.
    """
    import importlib
    import re
    import zlib

    torch = importlib.import_module("torch")
    router = re.compile(r"(?:^|\.)(?:gate|router)\.weight$")
    changed = 0
    for name, tensor in model.named_parameters():
        drawn = torch.Generator(device=tensor.device)
        drawn.manual_seed(zlib.crc32(name.encode()))
        if str(tensor.dtype).startswith("torch.float8_e4m3") and tensor.dim() > 1:
            row = max(tensor.numel() // len(tensor), 1)
            for piece in tensor.data.split(max(AT_ONCE // row, 1)):
                like = torch.empty(piece.shape, dtype=torch.float16, device=piece.device)
                piece.copy_(like.normal_(generator=drawn))
            changed += 1
            continue
        if not tensor.is_floating_point() or tensor.element_size() < 2:
            continue
        if router.search(name):
            tensor.data.normal_(0.0, tensor.shape[-1] ** -0.5, generator=drawn)
        elif re.search(r"embed\w*\.weight$", name):
            tensor.data.normal_(0.0, 1.0, generator=drawn)
        elif re.search(r"norm\w*\.weight$", name):
            tensor.data.fill_(1.0)
        elif re.search(r"bias$", name):
            tensor.data.zero_()
        else:
            continue
        changed += 1
    return changed


def library_versions() -> dict[str, str]:
    """Return the versions of what the engine runs on."""
    torch = importlib.import_module("torch")
    runtime = torch.version.hip or torch.version.cuda
    found = {
        "torch": str(torch.__version__),
        "runtime": f"{'ROCm' if torch.version.hip else 'CUDA'} {runtime}",
    }
    return {**found, "python": platform.python_version()}


class Clock:
    """Times requests of one engine.

    Parameters
    ----------
    engine : Engine
        What is timed.
    step_tokens : int
        Tokens of one engine step, at most.
    seed : int
        Of the prompts.
    """

    def __init__(self, engine: Engine, step_tokens: int, seed: int) -> None:
        self.engine, self.step_tokens = engine, step_tokens
        self._random = random.Random(seed)
        self._asked = 0

    def prompt(self, tokens: int) -> list[int]:
        """Return random tokens; no two prompts are alike, so nothing of them is cached."""
        return self._random.choices(range(16, self.engine.vocabulary - 16), k=tokens)

    async def request(self, prompt: list[int], osl: int) -> tuple[float, list[float]]:
        """Send one request and return when it was sent, and when each of its tokens came [s]."""
        self._asked += 1
        sent, times = time.perf_counter(), []
        async for count in self.engine.stream(prompt, osl, f"r{self._asked}"):
            times += [time.perf_counter()] * count
        return sent, times

    async def batch(self, requests: int, isl: int, osl: int) -> tuple[float, list[list[float]]]:
        """Send requests together; return when the first was sent and when the tokens of each came."""
        prompts = [self.prompt(isl) for _ in range(requests)]
        together = await asyncio.gather(*(self.request(prompt, osl) for prompt in prompts))
        return min(sent for sent, _ in together), [times for _, times in together]

    async def prefill(self, point: dict[str, Any]) -> dict[str, Any]:
        """Time a prompt alone, to its first token."""
        isl, repeats = int(point["isl"]), int(point.get("repeats", 3))
        seconds = []
        for _ in range(repeats + 1):  # the first one warms up
            sent, times = await self.request(self.prompt(isl), 1)
            seconds.append(times[0] - sent)
        return {"prefill_s": statistics.median(seconds[1:]), "all_s": seconds[1:], "warm_up_s": seconds[0]}

    async def decode(self, point: dict[str, Any]) -> dict[str, Any]:
        """Time the steps in which all requests of a batch decode."""
        batch, context, steps = (int(point[name]) for name in ("batch", "context", "steps"))
        await self.batch(batch, min(context, WARM_TOKENS), WARM_STEPS)
        filling = math.ceil(batch * context / max(self.step_tokens - batch, 1))
        osl = steps + filling + LATE
        start, tokens = await self.batch(batch, context, osl)
        return {**common_steps(start, tokens, context), "osl": osl}

    async def load(self, point: dict[str, Any]) -> dict[str, Any]:
        """Keep a number of requests in flight until so many have been served."""
        isl, osl, concurrency, requests = (
            int(point[name]) for name in ("isl", "osl", "concurrency", "requests")
        )
        await self.batch(concurrency, min(isl, WARM_TOKENS), WARM_STEPS)
        prompts = iter([self.prompt(isl) for _ in range(requests)])
        served: list[tuple[float, list[float]]] = []

        async def client() -> None:
            for prompt in prompts:
                served.append(await self.request(prompt, osl))

        start = time.perf_counter()
        await asyncio.gather(*(client() for _ in range(concurrency)))
        return load_figures(start, time.perf_counter(), served, isl)


def common_steps(start: float, tokens: Sequence[Sequence[float]], context: int) -> dict[str, Any]:
    """Return the time of a decode step from the steps that all requests of a batch have in common.

    Parameters
    ----------
    start : float
        When the batch was sent [s].
    tokens : sequence of sequence of float
        When each token of each request came [s].
    context : int
        Tokens of each prompt.

    Returns
    -------
    dict
        Mean and median step [ms], how many steps, the mean context in them, and when all had begun [s].
    """
    begun = max(times[0] for times in tokens)
    ended = min(times[-1] for times in tokens)
    last = max(tokens, key=lambda times: times[0])
    inside = [moment for moment in last if begun <= moment <= ended]
    if len(inside) <= LEAST_STEPS:
        raise RuntimeError(f"only {len(inside)} steps of the batch were common to all; ask for more steps")
    gaps = [after - before for before, after in itertools.pairwise(inside)]
    written = statistics.mean(sum(moment <= begun for moment in times) for times in tokens)
    return {
        "tpot_ms_mean": 1e3 * (inside[-1] - inside[0]) / len(gaps),
        "tpot_ms_median": 1e3 * statistics.median(gaps),
        "steps_timed": len(gaps),
        "mean_context": context + written + len(gaps) / 2,
        "prefill_s": begun - start,
        "total_s": max(times[-1] for times in tokens) - start,
    }


def load_figures(
    start: float, end: float, served: Sequence[tuple[float, Sequence[float]]], isl: int
) -> dict[str, Any]:
    """Return what a load generator reports of a run.

    Parameters
    ----------
    start, end : float
        Of the whole run [s].
    served : sequence of (float, sequence of float)
        Of each request when it was sent and when its tokens came [s].
    isl : int
        Input tokens of each.

    Returns
    -------
    dict
        Rates over the whole run [tok/s], and TTFT, TPOT [ms] and E2E [s] over requests.
    """
    duration = end - start
    first = [1e3 * (times[0] - sent) for sent, times in served]
    each = [1e3 * (times[-1] - times[0]) / (len(times) - 1) for _, times in served if len(times) > 1]
    output = sum(len(times) for _, times in served)
    return {
        "duration_s": duration,
        "requests": len(served),
        "output_tps_total": output / duration,
        "total_tps": (output + isl * len(served)) / duration,
        "ttft_ms_median": statistics.median(first),
        "ttft_ms_mean": statistics.mean(first),
        "ttft_ms_p99": quantile(first, 0.99),
        "tpot_ms_median": statistics.median(each),
        "tpot_ms_mean": statistics.mean(each),
        "tpot_ms_p99": quantile(each, 0.99),
        "e2e_s_median": statistics.median(times[-1] - sent for sent, times in served),
    }


def quantile(values: Sequence[float], share: float) -> float:
    """Return a quantile, linear between the two nearest values."""
    ordered = sorted(values)
    place = share * (len(ordered) - 1)
    low = math.floor(place)
    high = min(low + 1, len(ordered) - 1)
    return ordered[low] + (ordered[high] - ordered[low]) * (place - low)


async def prepared(engine: Engine) -> dict[str, Any]:
    """Prepare the weights, and say so, or why that could not be done."""
    try:
        return {"tensors_set": await engine.prepare()}
    except Exception as error:
        return {"tensors_set": 0, "not_set": f"{type(error).__name__}: {error}"[:400]}


async def run(job: dict[str, Any], emit: Callable[[dict[str, Any]], None]) -> None:
    """Start the engine of a job and time its points in order, until the time is up."""
    began = time.monotonic()
    engine = ENGINES[job["engine"]](job)
    try:
        known = {"versions": engine.versions, "settings": engine.settings}
        emit({"kind": "ready", "start_s": time.monotonic() - began, **known, **await prepared(engine)})
        clock = Clock(engine, int(engine.settings["max_num_batched_tokens"] or 8192), int(job["seed"]))
        timers: dict[str, Callable[[dict[str, Any]], Awaitable[dict[str, Any]]]] = {
            "prefill": clock.prefill,
            "decode": clock.decode,
            "load": clock.load,
        }
        await clock.batch(2, 64, WARM_STEPS)
        for point in job["points"]:
            left = job["seconds"] - (time.monotonic() - began)
            if left <= 0:
                emit({**point, "skipped": "the time of this run was up"})
                continue
            sent = time.monotonic()
            try:
                found = await asyncio.wait_for(timers[point["kind"]](point), timeout=left)
                emit({**point, **found, "took_s": time.monotonic() - sent, "ended_unix_s": time.time()})
            except TimeoutError:
                emit({**point, "skipped": "the time of this run was up while it ran"})
            except Exception as error:
                emit({**point, "failed": f"{type(error).__name__}: {error}"[:400]})
        emit({"kind": "done", "took_s": time.monotonic() - began})
    finally:
        engine.stop()


def main(path: str) -> None:
    """Run the job of a file."""
    with open(path, encoding="utf-8") as file:
        job = json.load(file)
    with open(job["results"], "a", encoding="utf-8") as results:

        def emit(record: dict[str, Any]) -> None:
            results.write(json.dumps(record) + "\n")
            results.flush()

        asyncio.run(run(job, emit))


if __name__ == "__main__":
    main(sys.argv[1])
