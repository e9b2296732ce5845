"""The memory rules of SGLang, TensorRT-LLM and llama.cpp against logged figures."""

from __future__ import annotations

import pytest

from planner.catalogue import Catalogue
from tests.memory.asking import GIB, fit, pool

MIB = 2.0**20


def test_sglang_pool_is_the_static_share_minus_weights(catalogue: Catalogue) -> None:
    # DeepSeek-R1 on H200, TP 8: 0.82 x 137.96 - 79.80 = 33.33 GiB, logged 33.32.
    found = fit(
        catalogue, "deepseek-r1", "h200-sxm", 163840, tp=8, engine="sglang==0.5.12", memory_fraction=0.82
    )
    stage = found.per_rank
    free = stage.usable_bytes - stage.non_torch_bytes
    assert stage.available_bytes == pytest.approx(0.82 * free - stage.weights_bytes)
    assert stage.available_bytes / GIB == pytest.approx(33.32, rel=0.03)
    assert stage.activation_bytes == stage.graph_bytes == 0  # They live in the rest.


def test_sglang_identity_of_a_logged_start(catalogue: Catalogue) -> None:
    # Kimi-K2.5 NVFP4 on GB300, TP 4: 134.42 free after loading - 274.4 x (1 - 0.827) = 86.9 GiB.
    free_before, fraction, weights = 274.4, 0.827, 274.4 - 134.42
    assert fraction * free_before - weights == pytest.approx(86.9, abs=0.06)
    sizes = {"tp": 4, "engine": "sglang", "weight_dtype": "nvfp4", "block_size": 64}
    found = pool(catalogue, "kimi-k2.5", "gb300-nvl72", 86.90, 262144, **sizes)
    assert found.tokens == 2_655_616


@pytest.mark.parametrize(
    ("model", "sizes", "gib", "tokens"),
    [
        ("deepseek-r1", {"tp": 8, "kv_dtype": "bf16"}, 33.32, 509_157),
        ("qwen3-235b-a22b", {"tp": 4}, 16.46, 367_404),
    ],
)
def test_sglang_tokens(
    catalogue: Catalogue, model: str, sizes: dict[str, object], gib: float, tokens: int
) -> None:
    found = pool(catalogue, model, "h200-sxm", gib, engine="sglang", **sizes)
    assert found.tokens == pytest.approx(tokens, rel=6e-4)


def test_sglang_splits_the_rest_between_states_and_tokens(catalogue: Catalogue) -> None:
    found = pool(catalogue, "qwen3-next-80b-a3b", "h200-sxm", 20.0, 32768, engine="sglang", tp=2)
    assert found.slots is not None
    states = found.slots * found.state_bytes
    assert states / (20.0 * GIB) == pytest.approx(0.9 / 1.9, abs=1e-3)
    assert found.tokens * 12 * 1024 == pytest.approx(20.0 * GIB - states, rel=1e-3)


def test_sglang_default_fraction_leaves_its_own_reserve(catalogue: Catalogue) -> None:
    found = fit(catalogue, "llama-3.1-8b", "h100-sxm", 8192, engine="sglang")
    # 512 + 1.5 x 8192 + 1 / 8 x 1024 + 2 x 256 + 400 MiB of 79.18 GiB.
    total = 79.18 * 1024
    fraction = round((total - (512 + 1.5 * 8192 + 128 + 512 + 400)) / total, 3)
    assert found.deployment.memory_fraction == fraction


def test_tensorrt_llm_takes_a_share_of_free_memory(catalogue: Catalogue) -> None:
    found = fit(catalogue, "llama-2-7b", "a100-sxm-80", 4096, engine="tensorrt-llm", weight_dtype="int8-w8a8")
    stage = found.per_rank
    used = stage.weights_bytes + stage.activation_bytes + stage.graph_bytes + stage.non_torch_bytes
    assert stage.available_bytes == pytest.approx(0.9 * (stage.usable_bytes - used))
    assert stage.available_bytes / GIB == pytest.approx(64.75, rel=0.03)


def test_tensorrt_llm_counts_whole_blocks(catalogue: Catalogue) -> None:
    # Llama-2-7B: 69,524,783,104 bytes give 1,036 blocks of 128 tokens.
    found = pool(
        catalogue,
        "llama-2-7b",
        "a100-sxm-80",
        69_524_783_104 / GIB,
        4096,
        engine="tensorrt-llm",
        block_size=128,
    )
    assert (found.blocks, found.tokens) == (1036, 132_608)


@pytest.mark.parametrize(
    ("model", "context", "sequences", "options", "mib"),
    [
        ("llama-3-8b", 8192, 1, {"kv_dtype": "f16"}, 1024.0),
        ("deepseek-v3", 32768, 1, {"kv_dtype": "f16"}, 2196.0),
        ("deepseek-r1", 32768, 1, {"kv_dtype": "q8_0"}, 1166.62),
        # 16 attention layers of 262,144 cells and 598.5 MiB of states, for four sequences.
        ("qwen3.6-27b", 65536, 4, {"kv_dtype": "f16"}, 16384 + 598.5),
        # 18 full layers, and 18 windows of 128 + 1,024 cells rounded to 1,280.
        ("gpt-oss-120b", 131072, 2, {"kv_dtype": "f16", "max_num_batched_tokens": 1024}, 9216.0 + 90.0),
    ],
)
def test_llama_cpp_allocates_the_whole_context(
    catalogue: Catalogue, model: str, context: int, sequences: int, options: dict[str, object], mib: float
) -> None:
    found = pool(catalogue, model, "h200-sxm", 100.0, context, sequences, engine="llama.cpp", **options)
    assert found.bytes / MIB == pytest.approx(mib, abs=0.01)


def test_llama_cpp_splits_by_whole_layers(catalogue: Catalogue) -> None:
    two = fit(catalogue, "llama-2-13b", "rtx-3090", 512, engine="llama.cpp", weight_dtype="f16", pp=2)
    assert two.fits
    assert [stage.layers for stage in two.stages] == [(0, 19), (20, 39)]
    one = fit(catalogue, "llama-2-13b", "rtx-3090", 512, engine="llama.cpp", weight_dtype="f16")
    assert not one.fits
    assert one.binding_limit.startswith("weights")


def test_a_gguf_average_covers_the_whole_file(catalogue: Catalogue) -> None:
    found = fit(catalogue, "llama-3-8b", "rtx-3070", 8192, engine="llama.cpp", weight_dtype="gguf-q4_k_m")
    assert found.per_rank.weights_bytes / GIB == pytest.approx(4.58, rel=0.01)
