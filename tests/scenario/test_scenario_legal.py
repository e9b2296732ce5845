"""What a model or an engine cannot run is refused with the sizes that it can."""

from __future__ import annotations

import pytest

from planner.architecture import build_architecture
from planner.catalogue import Catalogue
from planner.errors import IllegalDeployment, InvalidInput
from planner.scenario import Deployment, Workload, check_legal
from planner.scenario.legal import can_disaggregate, context_copies


def check(
    catalogue: Catalogue,
    model: str,
    *,
    engine: str = "vllm",
    context: int | None = None,
    gpu: str = "h100-sxm",
    **sizes: object,
) -> None:
    record = catalogue.model(model)
    architecture = build_architecture(record.config, model)
    check_legal(
        architecture=architecture,
        deployment=Deployment(**sizes),  # type: ignore[arg-type]
        workload=Workload(context=context),
        gpu=catalogue.gpu(gpu),
        engine=engine,
    )


@pytest.mark.parametrize(
    ("model", "sizes"),
    [
        ("llama-3.1-8b", {"tp": 8}),
        ("qwen2.5-7b", {"tp": 4}),
        ("qwen3-235b-a22b", {"tp": 8}),
        ("deepseek-r1", {"tp": 8, "ep": 8}),
        ("deepseek-r1", {"tp": 8, "dcp": 8}),
        ("qwen3-235b-a22b", {"tp": 8, "dcp": 2}),
        ("kimi-k3", {"tp": 8, "pp": 2}),
    ],
)
def test_what_runs_is_let_through(catalogue: Catalogue, model: str, sizes: dict[str, int]) -> None:
    check(catalogue, model, **sizes)


@pytest.mark.parametrize(
    ("model", "sizes", "message"),
    [
        ("qwen2.5-7b", {"tp": 8}, "TP 8 does not divide the 28 attention heads; legal: 1, 2, 4, 7, 14, 28"),
        ("deepseek-r1", {"tp": 8, "ep": 3}, "EP 3 does not divide the 8 ranks"),
        ("gemma-3-27b", {"tp": 2, "dcp": 2}, "DCP 2: layers with a window cannot share their tokens"),
        (
            "llama-3.1-8b",
            {"tp": 8, "dcp": 2},
            "DCP 2 does not divide the 1 ranks of TP 8 that hold the same KV",
        ),
        ("qwen3-235b-a22b", {"tp": 8, "dcp": 4}, "DCP 4 does not divide the 2 ranks .* legal: 1, 2"),
    ],
)
def test_illegal_sizes_name_the_legal_ones(
    catalogue: Catalogue, model: str, sizes: dict[str, int], message: str
) -> None:
    with pytest.raises(IllegalDeployment, match=message):
        check(catalogue, model, **sizes)


def test_vllm_has_a_token_for_each_request_of_a_step(catalogue: Catalogue) -> None:
    options = {"max_num_batched_tokens": 16, "max_num_seqs": 64}
    with pytest.raises(
        IllegalDeployment, match=r"max_num_batched_tokens 16 is under max_num_seqs 64, .*; legal: 64"
    ):
        check(catalogue, "llama-3.1-8b", engine="vllm", **options)
    check(catalogue, "llama-3.1-8b", engine="vllm", max_num_batched_tokens=64, max_num_seqs=64)
    check(catalogue, "llama-3.1-8b", engine="vllm", max_num_batched_tokens=16)
    for engine in ("sglang", "tensorrt-llm"):
        check(catalogue, "llama-3.1-8b", engine=engine, **options)


def test_the_context_ends_at_the_model_maximum(catalogue: Catalogue) -> None:
    check(catalogue, "llama-3.1-8b", context=131072)
    with pytest.raises(InvalidInput, match="context 131,073 is over the model's maximum of 131,072"):
        check(catalogue, "llama-3.1-8b", context=131073)


def test_kv_dtypes_are_those_of_the_engine(catalogue: Catalogue) -> None:
    check(catalogue, "llama-3.1-8b", engine="llama.cpp", kv_dtype="q8_0")
    with pytest.raises(InvalidInput, match="vllm has no KV dtype 'q8_0'; it has: auto, bf16"):
        check(catalogue, "llama-3.1-8b", engine="vllm", kv_dtype="q8_0")


@pytest.mark.parametrize("sizes", [{"dp": 2}, {"ep": 2, "tp": 2}, {"dcp": 2, "tp": 8}])
def test_an_engine_of_one_process_divides_layers_and_matrices_only(
    catalogue: Catalogue, sizes: dict[str, int]
) -> None:
    name, size = next(iter(sizes.items()))
    check(catalogue, "qwen3-235b-a22b", **sizes)
    check(catalogue, "qwen3-235b-a22b", engine="llama.cpp", tp=2, pp=2)
    with pytest.raises(IllegalDeployment, match=f"{name.upper()} {size}: llama.cpp has tp and pp only"):
        check(catalogue, "qwen3-235b-a22b", engine="llama.cpp", **sizes)
    assert can_disaggregate("vllm")
    assert not can_disaggregate("llama.cpp")


@pytest.mark.parametrize(
    ("model", "tp", "copies"),
    [("deepseek-r1", 8, 8), ("llama-3.1-8b", 8, 1), ("llama-3.1-8b", 16, 2), ("gpt-oss-120b", 16, 1)],
)
def test_ranks_that_hold_the_same_cache(catalogue: Catalogue, model: str, tp: int, copies: int) -> None:
    architecture = build_architecture(catalogue.model(model).config, model)
    assert context_copies(architecture, tp) == copies
    for dcp in (1, copies):
        check(catalogue, model, tp=tp, dcp=dcp)


@pytest.mark.parametrize(
    ("sizes", "layout"),
    [
        ({}, "TP1"),
        ({"tp": 8, "pp": 2}, "TP8 PP2"),
        ({"dp": 8, "ep": 8}, "DP8 EP8"),
        ({"tp": 8, "dcp": 4}, "TP8 DCP4"),
    ],
)
def test_layouts_are_called_by_their_sizes(sizes: dict[str, int], layout: str) -> None:
    assert Deployment(**sizes).layout == layout
