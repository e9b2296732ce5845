"""Which deployments a model and an engine can run at all."""

from __future__ import annotations

from planner.architecture import Architecture
from planner.catalogue import Gpu
from planner.errors import IllegalDeployment, InvalidInput, shorten
from planner.scenario.records import Deployment, Workload

KV_DTYPES = {
    "vllm": (
        "auto",
        "bf16",
        "f16",
        "f32",
        "fp8",
        "fp8_e4m3",
        "fp8_e5m2",
        "fp8_ds_mla",
        "nvfp4",
        "nvfp4_ds_mla",
        "int8",
    ),
    "sglang": ("auto", "bf16", "f16", "fp8", "fp8_e4m3", "fp8_e5m2", "nvfp4", "fp8_ds_mla"),
    "tensorrt-llm": ("auto", "bf16", "f16", "fp8", "nvfp4", "int8"),
    "llama.cpp": ("auto", "bf16", "f16", "f32", "q8_0", "q4_0"),
    "mlc-llm": ("auto", "bf16", "f16"),
    "exllamav2": ("auto", "bf16", "f16", "fp8", "q8_0", "q4_0"),
}
"""KV dtypes that each engine takes."""

MOST_REASONS = 3
"""A size that cuts one matrix badly cuts many; a line names the first."""

ONE_SERVER = ("llama.cpp", "mlc-llm", "exllamav2")
"""Engines of one process that divides layers or matrices, and nothing else: no expert parallelism, no copies
of attention, no shared context, no pool of their own for prefill."""

WHOLE_SLOTS = ("llama.cpp", "exllamav2")
"""Engines that are started with a number of slots, each with room for the whole context from the start."""

SIZES = (1, 2, 4, 8, 16, 32, 64, 128)
"""Sizes that messages offer."""


def check_legal(
    *,
    architecture: Architecture,
    deployment: Deployment,
    workload: Workload,
    gpu: Gpu,
    engine: str,
) -> None:
    """Refuse what the model or the engine cannot run, naming what would be legal.

    Parameters
    ----------
    architecture : Architecture
        The model.
    deployment : Deployment
        How it is to run.
    workload : Workload
        What it is to carry.
    gpu : Gpu
        The accelerator.
    engine : str
        Id of the engine's stack.

    Raises
    ------
    IllegalDeployment
        For sizes (heads, experts, columns, layers, DCP), and for too few requests at once.
    InvalidInput
        For a KV dtype that the engine does not have, and for a context over the model's maximum or under the
        lengths asked for.
    """
    reasons = [
        *architecture.refusals(deployment.sharding),
        *_one_server(deployment, engine),
        *_expert_parallel(architecture, deployment),
        *_context_parallel(architecture, deployment),
        *_requests_at_once(deployment, workload),
        *_tokens_of_a_step(deployment, engine),
    ]
    if reasons:
        more = len(reasons) - MOST_REASONS
        rest = [f"and {more} more of the kind"] if more > 0 else []
        raise IllegalDeployment("; ".join([*reasons[:MOST_REASONS], *rest]))
    longest = architecture.max_context
    lengths = (workload.isl or 0) + (workload.osl or 0)
    if workload.context is not None and lengths > workload.context:
        raise InvalidInput(
            f"isl + osl = {lengths:,} is over the context of {workload.context:,} tokens; "
            f"the context must be {lengths:,} or more"
        )
    asked = workload.context or lengths
    if longest is not None and asked > longest:
        what = "context" if workload.context else "isl + osl ="
        raise InvalidInput(f"{what} {asked:,} is over the model's maximum of {longest:,} tokens")
    known = KV_DTYPES.get(engine)
    if known is not None and deployment.kv_dtype.lower() not in known:
        asked_dtype = shorten(deployment.kv_dtype)
        raise InvalidInput(f"{engine} has no KV dtype {asked_dtype}; it has: {', '.join(known)}")


def can_disaggregate(engine: str) -> bool:
    """Return whether an engine hands the cache of a request from a prefilling server to a decoding one."""
    return engine not in ONE_SERVER


def _one_server(deployment: Deployment, engine: str) -> list[str]:
    """Return which sizes an engine of one process does not have."""
    if engine not in ONE_SERVER:
        return []
    asked = [(name.upper(), size) for name in ("ep", "dp", "dcp") if (size := getattr(deployment, name)) > 1]
    return [f"{name} {size}: {engine} has tp and pp only; legal: 1" for name, size in asked]


def _expert_parallel(architecture: Architecture, deployment: Deployment) -> list[str]:
    """Return why EP is impossible: there is nothing that it could divide."""
    if deployment.ep == 1 or any(tensor.expert for tensor, _ in architecture.counted_tensors()):
        return []
    return [f"EP {deployment.ep}: the model has no experts; legal: 1"]


def _requests_at_once(deployment: Deployment, workload: Workload) -> list[str]:
    """Return why the engine does not run as many requests at once as are asked for."""
    most, asked = deployment.max_num_seqs, workload.concurrency
    if most is None or asked is None or asked <= most * deployment.dp:
        return []
    needed = -(-asked // deployment.dp)
    copies = f" on each of {deployment.dp} copies" if deployment.dp > 1 else ""
    return [f"max_num_seqs {most:,}{copies} is under the concurrency of {asked:,}; legal: {needed:,} or more"]


def _tokens_of_a_step(deployment: Deployment, engine: str) -> list[str]:
    """Return why vLLM does not start: a step must have a token for each request that may run.

    A number of requests that was not given is lowered to the tokens instead (vllm/engine/arg_utils.py and
    SchedulerConfig, 2026-11). TensorRT-LLM runs fewer requests, and SGLang's chunks bound prompts alone.
    """
    tokens, most = deployment.max_num_batched_tokens, deployment.max_num_seqs
    if engine != "vllm" or tokens is None or most is None or tokens >= most:
        return []
    return [
        f"max_num_batched_tokens {tokens:,} is under max_num_seqs {most:,}, and vLLM does not start; "
        f"legal: {most:,} or more"
    ]


def _context_parallel(architecture: Architecture, deployment: Deployment) -> list[str]:
    """Return why DCP is impossible: it divides the ranks that hold the same KV."""
    dcp, tp = deployment.dcp, deployment.tp
    if dcp == 1:
        return []
    if any(cache.window is not None for cache in architecture.token_caches()):
        return [f"DCP {dcp}: layers with a window cannot share their tokens; legal: 1"]
    copies = context_copies(architecture, tp)
    if copies % dcp == 0:
        return []
    legal = ", ".join(str(size) for size in SIZES if copies % size == 0)
    return [f"DCP {dcp} does not divide the {copies} ranks of TP {tp} that hold the same KV; legal: {legal}"]


def context_copies(architecture: Architecture, tp: int) -> int:
    """Return how many tensor-parallel ranks hold the same cache, so that DCP may divide it among them.

    Parameters
    ----------
    architecture : Architecture
        The model.
    tp : int
        Tensor-parallel size.

    Returns
    -------
    int
        1 where no cache is held twice, and where layers with a window rule DCP out.
    """
    caches = list(architecture.token_caches())
    if any(cache.window is not None for cache in caches):
        return 1
    return max((tp if cache.replicated else max(1, tp // cache.heads) for cache in caches), default=1)
