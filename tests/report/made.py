"""Fit answers made by hand, so that tests of reports do not depend on any prediction."""

from __future__ import annotations

from collections import Counter

from planner.economics import PricePerHour
from planner.measurement.measured_output import PEAK, MeasuredOutput
from planner.measurement.serving import load_serving, measured_rates, serving_directory
from planner.memory.records import Assumption, MemoryFit, Pool, StageMemory
from planner.report.fit import FitAnswer, FitReport
from planner.scenario import Deployment

GIB = 2**30
CONTEXT = 131_072


def stage(*, number: int = 0, weights_gib: float = 100.0, usable_gib: float = 160.0) -> StageMemory:
    """Return a GPU with 10 % reserve, 6 GiB of overheads, and the rest for the KV pool."""
    budget_gib = usable_gib * 0.9
    available_gib = budget_gib - weights_gib - 6
    return StageMemory(
        stage=number,
        layers=(30 * number, 30 * number + 29),
        usable_bytes=usable_gib * GIB,
        budget_bytes=budget_gib * GIB,
        weights_bytes=weights_gib * GIB,
        weights_by_group=Counter(
            routed_experts=round(weights_gib * 0.75) * GIB,
            attention=round(weights_gib * 0.125) * GIB,
            lm_head=2 * GIB,
            norm=1,
        ),
        activation_bytes=4.0 * GIB,
        graph_bytes=1.0 * GIB,
        non_torch_bytes=1.0 * GIB,
        kv_pool_bytes=max(0.0, available_gib) * GIB,
        state_bytes=0.5 * GIB,
        available_bytes=available_gib * GIB,
    )


def memory(*, gpu: str = "b200-sxm", weights_gib: float = 100.0, tp: int = 8, pp: int = 1) -> MemoryFit:
    """Return a memory answer: it fits while weights and 6 GiB stay below 144 GiB."""
    stages = tuple(stage(number=number, weights_gib=weights_gib) for number in range(pp))
    rank = stages[0]
    fits = rank.available_bytes > 0
    tokens = int(rank.kv_pool_bytes // 65_536)
    return MemoryFit(
        model="made-1t",
        gpu=gpu,
        deployment=Deployment(tp=tp, pp=pp, kv_dtype="fp8"),
        context=CONTEXT,
        concurrency=1,
        request_tokens=CONTEXT,
        fits=fits,
        verdict="fits" if fits else "does not fit",
        binding_limit="KV pool" if fits else "weights: too large",
        remedies=() if fits else ("more GPUs", "a quantised checkpoint"),
        stages=stages,
        per_rank=rank,
        kv_bytes_per_token_per_rank=65_536.0,
        pool=Pool(
            available_bytes=rank.available_bytes,
            bytes=rank.kv_pool_bytes,
            blocks=tokens // 16,
            block_size=16,
            tokens=tokens,
            max_concurrency=tokens / CONTEXT,
            request_bytes=8.0 * GIB,
            state_bytes=0.5 * GIB,
            max_context=CONTEXT if fits else 0,
        ),
        margin_bytes=rank.available_bytes - 8.0 * GIB,
        uncertainty_bytes=1.0 * GIB,
        warnings=("the batch is assumed",),
        assumptions=(
            Assumption("memory_fraction", 0.9, "", "published: engine source (2026-11), since 0.20.0"),
            Assumption("max_num_batched_tokens", 8192, "", "published: engine source (2026-11)"),
            Assumption("context", CONTEXT, "tokens", "published: the model's maximum"),
            Assumption("workspace", 256 * 2**20, "bytes", "assumed: typical"),
            Assumption("prefix_caching", True, "", "published: engine source (2026-11)"),
        ),
    )


def answer(*, gpu: str = "b200-sxm", small: bool = False, price: float | None = None) -> FitAnswer:
    """Return an answer; with `small`, one node is too small and two nodes are not."""
    one_node = memory(gpu=gpu, weights_gib=190.0 if small else 100.0)
    fitting = memory(gpu=gpu, weights_gib=95.0, pp=2) if small else one_node
    name = gpu.partition("-")[0].upper()
    points = load_serving(serving_directory() / "wafer_kimi_k3.csv")
    rates = measured_rates(point for point in points if point.gpu == name)
    return FitAnswer(
        model="made-1t",
        model_name="Made 1T",
        config_status="inferred",
        gpu=gpu,
        gpu_name=f"{name} accelerator",
        node_gpus=8,
        sized=False,
        memory=fitting,
        one_node=one_node,
        smallest=fitting,
        catalogue_digest="0123456789abcdef",
        weight_format="MXFP4 (routed experts), rest BF16 (checkpoint as published)",
        price=None if price is None else PricePerHour(price, "given", "given by you"),
        measured=None if price is None else MeasuredOutput(PEAK, (rates.peak,), rates.single_stream, 2),
        notes=("the configuration of Made 1T is inferred: from its paper",),
    )


def judged(*, weights_gib: float) -> FitAnswer:
    """Return an answer about sizes that were given."""
    return FitAnswer(
        model="made-1t",
        model_name="Made 1T",
        config_status="published",
        gpu="b200-sxm",
        gpu_name="B200 accelerator",
        node_gpus=8,
        sized=True,
        memory=memory(weights_gib=weights_gib),
        one_node=None,
        smallest=memory(weights_gib=95.0, pp=2),
        catalogue_digest="0123456789abcdef",
    )


def report(*answers: FitAnswer) -> FitReport:
    """Return a report of some answers."""
    return FitReport(answers)
