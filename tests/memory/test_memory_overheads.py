"""Activations, graphs and buffers against what start-ups logged."""

from __future__ import annotations

from typing import Any

import pytest

from planner.architecture import Sharding, build_architecture
from planner.catalogue import Catalogue
from planner.memory.page_rules import latent_workspace_bytes
from planner.memory.preparing import prepare
from planner.memory.setup import Setup
from planner.memory.widths import step_widths
from planner.scenario import Deployment, Workload
from tests.memory.asking import GIB, fit

H100_019 = {"engine": "vllm==0.19.0", "memory_fraction": 0.95}


# Peak activation [GiB] of a profile step of 8,192 tokens and 1,024 sequences on H100, vLLM 0.19.0.
@pytest.mark.parametrize(
    ("model", "logged"),
    [
        ("llama-3.1-8b", 1.89),
        ("qwen2.5-7b", 2.21),
        ("qwen3-8b", 2.21),
        ("phi-4", 1.52),
        ("codellama-7b", 0.77),
        ("granite-3.1-2b", 0.75),
        ("gemma-2-27b", 3.66),
        ("deepseek-v2-lite", 1.93),
    ],
)
def test_activation_of_a_profile_step(catalogue: Catalogue, model: str, logged: float) -> None:
    found = fit(catalogue, model, "h100-sxm", 4096, **H100_019)
    assert found.per_rank.activation_bytes / GIB == pytest.approx(logged, abs=0.1)


@pytest.mark.parametrize(("version", "logged"), [("0.11.0", 5.64), ("0.17.0", 2.23)])
def test_the_sampler_took_less_from_0_17(catalogue: Catalogue, version: str, logged: float) -> None:
    found = fit(catalogue, "qwen3-14b", "h100-sxm", 4096, engine=f"vllm=={version}")
    assert found.per_rank.activation_bytes / GIB == pytest.approx(logged, abs=0.1)


@pytest.mark.parametrize(("context", "logged"), [(20000, 2.07), (29000, 2.99)])
def test_v0_profiles_the_whole_context(catalogue: Catalogue, context: int, logged: float) -> None:
    found = fit(catalogue, "llama-3.1-8b", "rtx-3090", context, engine="vllm==0.6.4")
    assert found.per_rank.activation_bytes / GIB == pytest.approx(logged, abs=0.02)


def test_v1_profiles_the_batch(catalogue: Catalogue) -> None:
    short, long = (fit(catalogue, "llama-3.1-8b", "h100-sxm", length, **H100_019) for length in (2048, 32768))
    assert short.per_rank == long.per_rank
    half = fit(catalogue, "llama-3.1-8b", "h100-sxm", 2048, max_num_batched_tokens=4096, **H100_019)
    assert half.per_rank.activation_bytes < short.per_rank.activation_bytes


def test_only_the_last_stage_samples(catalogue: Catalogue) -> None:
    first, last = fit(catalogue, "llama-3.1-8b", "h100-sxm", 8192, pp=2, **H100_019).stages
    assert first.activation_bytes / GIB == pytest.approx(1.10, abs=0.1)
    assert last.activation_bytes > first.activation_bytes


@pytest.mark.parametrize(("tp", "logged"), [(1, 0.25), (2, 2.07), (4, 2.13)])
def test_buffers_outside_the_allocator(catalogue: Catalogue, tp: int, logged: float) -> None:
    found = fit(catalogue, "llama-3.1-8b", "h100-sxm", 8192, tp=tp, **H100_019)
    assert found.per_rank.non_torch_bytes / GIB == pytest.approx(logged, abs=0.1)


@pytest.mark.parametrize(
    ("model", "options", "logged"),
    [
        ("llama-3.1-8b", {}, 0.84),
        ("llama-3.3-70b", {"tp": 4, "weight_dtype": "fp8-dynamic"}, 1.70),
        ("kimi-vl-a3b", {}, 1.19),
        ("gpt-oss-20b", {}, 1.09),
    ],
)
def test_graphs_follow_the_matrices_of_the_layers(
    catalogue: Catalogue, model: str, options: dict[str, object], logged: float
) -> None:
    found = fit(catalogue, model, "h100-sxm", 4096, **{**H100_019, **options})
    assert found.per_rank.graph_bytes / GIB == pytest.approx(logged, rel=0.4)


def test_widths_of_a_layer_by_hand(catalogue: Catalogue) -> None:
    dense = build_architecture(catalogue.model("llama-3.1-8b").config)
    assert step_widths(dense, Sharding()).inner == 3 * 14336
    assert step_widths(dense, Sharding(tp=4)).inner == 3 * 14336 // 4
    moe = build_architecture(catalogue.model("mixtral-8x7b").config)
    # Two experts: the wider of 2 x 7,168 and 4,096, and 7,168 between the products.
    assert step_widths(moe, Sharding(tp=2)).experts == 2 * (2 * 7168 + 7168)


@pytest.mark.parametrize(
    ("model", "gpu", "options", "logged"),
    [
        ("llama-3.1-8b", "h100-sxm", {"engine": "vllm==0.11.0"}, 51.38),
        ("llama-3.1-8b", "h100-sxm", {"engine": "vllm==0.19.0", "memory_fraction": 0.95}, 58.11),
        ("qwen3-32b", "h100-sxm", {"engine": "vllm==0.11.0", "tp": 2}, 34.49),
        ("mixtral-8x7b", "h100-sxm", {"engine": "vllm==0.19.0", "tp": 2, "memory_fraction": 0.95}, 28.44),
        ("gpt-oss-20b", "h100-sxm", {"engine": "vllm==0.19.0", "tp": 2, "memory_fraction": 0.9}, 59.32),
        (
            "llama-3.1-8b",
            "h200-sxm",
            {
                "engine": "vllm==0.20.2",
                "memory_fraction": 0.9,
                "max_num_batched_tokens": 16384,
                "max_num_seqs": 256,
            },
            108.46,
        ),
        ("qwen3-next-80b-a3b", "h200-sxm", {"engine": "vllm==0.10.2", "tp": 2}, 44.59),
    ],
)
def test_the_pool_predicted_from_nothing_but_the_set_up(
    catalogue: Catalogue, model: str, gpu: str, options: dict[str, object], logged: float
) -> None:
    found = fit(catalogue, model, gpu, 8192, **options)
    assert found.per_rank.available_bytes / GIB == pytest.approx(logged, rel=0.02)


def test_what_is_needed_after_the_pool_is_cut_must_fit_outside_it(catalogue: Catalogue) -> None:
    options = {"engine": "vllm==0.19.0", "max_num_seqs": 256}
    roomy = fit(catalogue, "llama-3.1-8b", "l40s", 8192, memory_fraction=0.95, **options)
    full = fit(catalogue, "llama-3.1-8b", "l40s", 8192, memory_fraction=0.98, **options)
    assert (roomy.verdict, full.verdict) == ("fits", "tight")
    assert full.fits
    (said,) = [text for text in full.warnings if text.startswith("tight: after the KV pool is cut")]
    needed = full.per_rank.graph_bytes + 4 * 256 * 128_256
    assert needed > full.per_rank.reserve_bytes
    assert f"take {needed / GIB * 1024:,.2f} MiB" in said or f"take {needed / GIB:.2f} GiB" in said
    # Where graphs are taken off before the pool, only the logits are left.
    newer = fit(
        catalogue, "llama-3.1-8b", "l40s", 8192, memory_fraction=0.98, max_num_seqs=256, engine="vllm"
    )
    assert newer.verdict == "fits"


# Kimi-Linear-48B on one H200 under 0.20.2: blocks of 1,888 tokens, 32 heads of 128 + 128.
@pytest.mark.parametrize(("sequences", "gib"), [(1024, 29.5), (512, 14.75), (128, 3.6875), (16, 1.0)])
def test_latents_that_a_profile_step_expands(catalogue: Catalogue, sequences: int, gib: float) -> None:
    found = latent_workspace_bytes(_kimi_linear(catalogue, "vllm==0.20.2"), sequences)
    assert found / GIB == gib


@pytest.mark.parametrize(
    ("version", "tokens"),
    [("0.10.2", 0), ("0.11.0", 1024 * 1888), ("0.27.1", 1024 * 1888), ("0.28.0", 66_080)],
)
def test_latents_are_set_aside_by_version(catalogue: Catalogue, version: str, tokens: int) -> None:
    found = latent_workspace_bytes(_kimi_linear(catalogue, f"vllm=={version}"), 1024)
    assert found == tokens * 32 * 256 * 2


@pytest.mark.parametrize(
    ("model", "options", "expected"),
    [
        ("deepseek-r1", {"tp": 8}, 65_536 * 16 * 256 * 2),
        ("deepseek-r1", {"dp": 8}, 65_536 * 128 * 256 * 2),
        ("deepseek-v3.2", {"tp": 8, "engine": "vllm==0.12.0"}, 0),
        ("deepseek-v3.2", {"tp": 8, "engine": "vllm==0.20.2"}, 65_536 * 16 * 256 * 2),
        ("deepseek-v3.2", {"tp": 8, "engine": "vllm==0.33.0"}, 0),
        ("kimi-k3", {"tp": 8}, 0),
        ("llama-3.1-8b", {}, 0),
    ],
)
def test_latents_are_set_aside_by_the_heads_of_a_rank(
    catalogue: Catalogue, model: str, options: dict[str, Any], expected: int
) -> None:
    setup = _setup(catalogue, model, "h200-sxm", 131_072, **options)
    assert latent_workspace_bytes(setup) == expected


def _kimi_linear(catalogue: Catalogue, engine: str) -> Setup:
    return _setup(catalogue, "kimi-linear-48b-a3b", "h200-sxm", 36_864, engine=engine)


def _setup(catalogue: Catalogue, model: str, gpu: str, context: int, **options: Any) -> Setup:
    return prepare(
        model=catalogue.model(model),
        gpu=catalogue.gpu(gpu),
        deployment=Deployment(**options),
        workload=Workload(context=context),
        catalogue=catalogue,
    )
