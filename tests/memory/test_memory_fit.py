"""Verdicts, limits and levers: published answers, and cases that users of such tools reported."""

from __future__ import annotations

import pytest

from planner.catalogue import Catalogue
from planner.catalogue.gpu import Node
from planner.errors import IllegalDeployment, InvalidInput, UnknownName
from planner.memory import fit_memory, smallest_deployment
from planner.scenario import Deployment, Workload
from tests.memory.asking import GIB, fit


@pytest.mark.parametrize(
    ("gpu", "sizes", "fits"),
    [
        ("b200-sxm", {"tp": 8}, False),
        ("b200-sxm", {"tp": 8, "pp": 2}, True),
        ("b300-sxm", {"tp": 8}, True),
        ("b300-sxm", {"tp": 4}, False),
        ("mi355x", {"tp": 8}, True),
    ],
)
def test_where_kimi_k3_fits(catalogue: Catalogue, gpu: str, sizes: dict[str, int], fits: bool) -> None:
    found = fit(catalogue, "kimi-k3", gpu, **sizes)
    assert found.fits is fits
    assert found.verdict == ("fits" if fits else "does not fit")
    if not fits:
        assert found.binding_limit.startswith("weights: ")
        assert "more GPUs" in " ".join(found.remedies)


def smallest(catalogue: Catalogue, model: str, gpu: str, context: int | None = None, **options: object):  # type: ignore[no-untyped-def]
    return smallest_deployment(
        model=catalogue.model(model),
        gpu=catalogue.gpu(gpu),
        workload=Workload(context=context),
        deployment=Deployment(**options),  # type: ignore[arg-type]
        catalogue=catalogue,
    )


@pytest.mark.parametrize(("gpu", "tp", "pp"), [("b200-sxm", 8, 2), ("b300-sxm", 8, 1), ("mi355x", 8, 1)])
def test_the_smallest_deployment_of_kimi_k3(catalogue: Catalogue, gpu: str, tp: int, pp: int) -> None:
    found = smallest(catalogue, "kimi-k3", gpu)
    assert (found.deployment.tp, found.deployment.pp) == (tp, pp)


def test_deepseek_r1_holds_nine_long_requests_on_eight_b200(catalogue: Catalogue) -> None:
    found = fit(catalogue, "deepseek-r1", "b200-sxm", 131072, tp=8, kv_dtype="bf16", engine="vllm")
    assert int(found.max_concurrency) == 9


def test_a_moe_of_550b_fits_one_node(catalogue: Catalogue) -> None:
    found = smallest(catalogue, "nemotron-3-ultra-550b-a55b", "h200-sxm", 16384, weight_dtype="fp8-static")
    assert found.deployment.gpus <= 8


def test_gpt_oss_needs_no_second_node(catalogue: Catalogue) -> None:
    for gpu in ("a100-sxm-80", "gb10"):
        assert smallest(catalogue, "gpt-oss-120b", gpu, 32768).deployment.gpus == 1
    checkpoint = catalogue.model("gpt-oss-120b").published.tensor_bytes
    assert checkpoint / GIB == pytest.approx(60.77, abs=0.01)


def test_gpt_oss_on_one_80_gb_card_is_tight_at_its_full_context(catalogue: Catalogue) -> None:
    found = fit(catalogue, "gpt-oss-120b", "h100-sxm", 131072)
    assert (found.fits, found.verdict) == (False, "tight")
    advice = " | ".join(found.remedies)
    assert "memory fraction of 0.95" in advice
    assert "1,024" in advice
    assert f"lower the context to {found.max_context:,}" in advice
    assert 8192 < found.max_context < 131072


def test_gpt_oss_of_an_old_version_leaves_nothing_at_the_default_fraction(catalogue: Catalogue) -> None:
    found = fit(catalogue, "gpt-oss-120b", "h100-sxm", 131072, engine="vllm==0.10.1", memory_fraction=0.9)
    assert not found.fits
    assert found.per_rank.available_bytes < 0  # Logged: -2.14 GiB.
    assert found.binding_limit.startswith("no memory for KV")


@pytest.mark.parametrize(("tp", "size"), [(1, 57_344), (2, 28_672), (4, 14_336)])
def test_kv_bytes_per_token_of_grouped_queries(catalogue: Catalogue, tp: int, size: int) -> None:
    assert fit(catalogue, "qwen2.5-7b", "h100-sxm", 32768, tp=tp).kv_bytes_per_token_per_rank == size


def test_a_pipeline_holds_what_its_smallest_stage_holds(catalogue: Catalogue) -> None:
    sizes = {"weight_dtype": "fp8", "engine": "vllm==0.15.2"}
    even = fit(catalogue, "qwen3-30b-a3b", "rtx-5090", 40960, pp=2, **sizes)
    uneven = fit(catalogue, "qwen3-30b-a3b", "rtx-5090", 40960, pp=2, pipeline_layers=(16, 32), **sizes)
    small, large = uneven.stages
    assert small.layers == (0, 15)
    assert large.layers == (16, 47)
    assert large.weights_bytes == pytest.approx(2 * small.weights_bytes, rel=0.05)
    assert uneven.per_rank is large
    # A stage pays for its own layers only: 32 of them, not 48.
    assert uneven.kv_bytes_per_token_per_rank == 32 * 2 * 4 * 128 * 2
    blocks = int(large.available_bytes // (16 * uneven.kv_bytes_per_token_per_rank))
    assert uneven.kv_blocks == blocks
    assert uneven.kv_tokens < even.kv_tokens


def test_dp_attention_multiplies_the_capacity_of_a_latent_cache(catalogue: Catalogue) -> None:
    options = {
        "engine": "vllm==0.25.0",
        "kv_dtype": "fp8",
        "memory_fraction": 0.95,
        "max_num_batched_tokens": 8192,
        "max_num_seqs": 256,
        "ep": 8,
    }
    tensor = fit(catalogue, "deepseek-v4-flash", "b200-sxm", 1048576, tp=8, **options)
    data = fit(catalogue, "deepseek-v4-flash", "b200-sxm", 1048576, tp=1, dp=8, **options)
    # Logged: 20.43 full-context requests at TP 8, 156.9 at DP 8.
    assert tensor.max_concurrency == pytest.approx(20.43, rel=0.04)
    assert data.max_concurrency == pytest.approx(156.9, rel=0.04)
    assert data.per_rank.weights_bytes > tensor.per_rank.weights_bytes
    assert any("DP attention" in warning for warning in tensor.warnings)


def test_more_tp_of_a_latent_cache_names_dp_attention_and_its_price(catalogue: Catalogue) -> None:
    found = fit(catalogue, "deepseek-r1", "h100-sxm", 131072, concurrency=8, tp=16)
    advice = next(text for text in found.remedies if "DP attention" in text)
    assert "GiB more weights" in advice
    assert any("decode-context parallel" in text for text in found.remedies)


def test_an_l4_holds_what_was_measured(catalogue: Catalogue) -> None:
    found = fit(catalogue, "qwen3.5-4b", "l4", 32768, engine="vllm==0.29.0")
    assert found.per_rank.available_bytes / GIB == pytest.approx(9.10, abs=0.3)
    assert found.kv_tokens == pytest.approx(267_842, rel=0.02)
    assert found.block_size == 528


def test_the_batch_that_is_assumed_decides_and_is_named(catalogue: Catalogue) -> None:
    sizes = {"tp": 8, "kv_dtype": "fp8", "engine": "vllm==0.28.0"}
    default = fit(catalogue, "deepseek-v4-pro", "mi300x", 1048576, **sizes)
    assumed = {item.name: item for item in default.assumptions}["max_num_batched_tokens"]
    assert assumed.value == 16384
    assert "wheel" in assumed.provenance
    assert not default.fits
    assert any("batch" in text for text in default.remedies)
    halved = fit(catalogue, "deepseek-v4-pro", "mi300x", 1048576, max_num_batched_tokens=8192, **sizes)
    assert halved.fits
    assert halved.per_rank.activation_bytes < 0.6 * default.per_rank.activation_bytes


def test_a_hybrid_names_its_blocks_and_a_safe_max_num_seqs(catalogue: Catalogue) -> None:
    found = fit(
        catalogue, "qwen3.6-27b", "h100-sxm", engine="vllm==0.20.0", weight_dtype="fp8", memory_fraction=0.95
    )
    # The engine's refusal printed 856 blocks.
    assert found.safe_max_num_seqs == found.kv_blocks == pytest.approx(856, rel=0.02)
    assert any(f"max_num_seqs to {found.safe_max_num_seqs:,} or less" in text for text in found.warnings)
    lowered = fit(
        catalogue,
        "qwen3.6-27b",
        "h100-sxm",
        engine="vllm==0.20.0",
        weight_dtype="fp8",
        memory_fraction=0.95,
        max_num_seqs=512,
    )
    assert not any("max_num_seqs" in text for text in lowered.warnings)


def test_all_parameters_count_and_not_the_active_ones(catalogue: Catalogue) -> None:
    for gpu in ("gb10", "h200-sxm"):
        assert not fit(catalogue, "deepseek-v3", gpu, 8192, weight_dtype="int4", engine="llama.cpp").fits
    found = fit(catalogue, "qwen3.5-122b-a10b", "rtx-4090-48", 8192, weight_dtype="int4", engine="llama.cpp")
    assert not found.fits
    assert 60 < found.per_rank.weights_bytes / 1e9 < 75


def test_concurrency_counts_as_asked(catalogue: Catalogue) -> None:
    one = fit(catalogue, "llama-3.1-8b", "h100-sxm", 131072)
    assert one.fits
    many = fit(catalogue, "llama-3.1-8b", "h100-sxm", 131072, concurrency=64)
    assert not many.fits
    assert "requests" in many.binding_limit
    assert f"at most {int(one.max_concurrency)} requests" in many.remedies[0]


def test_assumptions_are_named_and_resolved(catalogue: Catalogue) -> None:
    found = fit(catalogue, "llama-3.1-8b", "h100-sxm")
    names = {item.name for item in found.assumptions}
    assert {"context", "memory_fraction", "max_num_batched_tokens", "max_num_seqs", "kv_dtype"} <= names
    assert (found.deployment.memory_fraction, found.deployment.max_num_batched_tokens) == (0.92, 8192)
    assert (found.deployment.max_num_seqs, found.deployment.kv_dtype) == (1024, "bf16")
    assert found.context == 131072


@pytest.mark.parametrize(
    ("engine", "fraction"),
    [("vllm==0.19.0", 0.90), ("vllm==0.20.0", 0.92), ("vllm", 0.92), ("vllm==0.8.5", 0.90)],
)
def test_the_default_fraction_follows_the_version(catalogue: Catalogue, engine: str, fraction: float) -> None:
    found = fit(catalogue, "llama-3.1-8b", "h100-sxm", 8192, engine=engine)
    assert found.deployment.memory_fraction == fraction


def test_graphs_are_taken_off_by_version_or_by_hand(catalogue: Catalogue) -> None:
    old = fit(catalogue, "llama-3.1-8b", "h100-sxm", 8192, engine="vllm==0.19.0", memory_fraction=0.9)
    asked = fit(
        catalogue,
        "llama-3.1-8b",
        "h100-sxm",
        8192,
        engine="vllm==0.19.0",
        memory_fraction=0.9,
        deduct_graphs=True,
    )
    graphs = old.per_rank.graph_bytes
    assert graphs > 0
    assert old.per_rank.available_bytes - asked.per_rank.available_bytes == pytest.approx(graphs)
    eager = fit(catalogue, "llama-3.1-8b", "h100-sxm", 8192, enforce_eager=True)
    assert eager.per_rank.graph_bytes == 0


def test_a_card_of_two_devices_runs_two_ranks(catalogue: Catalogue) -> None:
    found = fit(catalogue, "llama-3.1-8b", "mi250", 8192, tp=4)
    assert found.per_rank.usable_bytes / GIB == pytest.approx(63.98, abs=0.01)
    assert any("2 devices" in text and "4 are 2 cards" in text for text in found.warnings)


def test_a_server_of_unknown_size_is_said(catalogue: Catalogue) -> None:
    part = catalogue.gpu("h100-sxm")
    bare = part.model_copy(update={"id": "mine", "node": Node()})
    asked = {
        "model": catalogue.model("llama-3.1-8b"),
        "workload": Workload(context=8192),
        "catalogue": catalogue,
    }
    assert not fit_memory(gpu=bare, deployment=Deployment(), **asked).warnings
    found = fit_memory(gpu=bare, deployment=Deployment(tp=2), **asked)
    assert found.warnings == (
        "node.gpus of mine is not given, so servers of 8 are assumed; add it to its entry",
    )


def test_deci_runs_with_the_heads_of_its_widest_layer(catalogue: Catalogue) -> None:
    found = fit(catalogue, "decilm-7b", "h100-sxm", 8192)
    # 32 layers x 4 heads x 256 x 2 B, where the checkpoint has 67 heads in all.
    assert found.kv_bytes_per_token_per_rank == 65_536
    stored = fit(catalogue, "decilm-7b", "h100-sxm", 8192, engine="llama.cpp")
    assert stored.kv_bytes_per_token_per_rank == 34_304
    assert found.per_rank.weights_bytes - stored.per_rank.weights_bytes == (128 - 67) * 2 * 128 * 4096 * 2


def test_impossible_questions_are_one_line(catalogue: Catalogue) -> None:
    with pytest.raises(IllegalDeployment, match="legal: 1, 2, 4"):
        fit(catalogue, "qwen2.5-7b", "h100-sxm", 8192, tp=8)
    with pytest.raises(InvalidInput, match="maximum of 131,072 tokens"):
        fit(catalogue, "llama-3.1-8b", "h100-sxm", 200_000)
    for engine in ("vllm==newest", "vllm==", "vllm==0.20.x"):
        with pytest.raises(InvalidInput, match=r"is no version; write it like vllm==0\.33\.0"):
            fit(catalogue, "llama-3.1-8b", "h100-sxm", 8192, engine=engine)
    with pytest.raises(UnknownName, match="unknown engine 'vlm'; nearest: vllm"):
        fit(catalogue, "llama-3.1-8b", "h100-sxm", 8192, engine="vlm")
    with pytest.raises(IllegalDeployment, match="EP 8: the model has no experts; legal: 1"):
        fit(catalogue, "llama-3.1-8b", "h100-sxm", 8192, tp=8, ep=8)


def test_a_version_newer_than_any_known_runs_by_the_newest_rules_and_says_so(catalogue: Catalogue) -> None:
    newer, newest = (
        fit(catalogue, "llama-3.1-8b", "h100-sxm", 8192, engine=f"vllm{v}") for v in ("==9.9", "")
    )
    assert newer.pool == newest.pool
    assumed = {item.name: item for item in newer.assumptions}["engine_version"]
    assert assumed.value == "0.33.0"
    assert "9.9 is newer" in assumed.provenance
    known = fit(catalogue, "llama-3.1-8b", "h100-sxm", 8192, engine="vllm==0.19.0")
    assert "engine_version" not in {item.name for item in known.assumptions}
