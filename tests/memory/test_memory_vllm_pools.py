"""vLLM's pools against what its logs print for the logged memory, to the last digit the log allows."""

from __future__ import annotations

import pytest

from planner.catalogue import Catalogue
from tests.memory.asking import GIB, pool

# model, gpu, available GiB, context, deployment, blocks, tokens, concurrency; from public start-up logs.
EXACT = [
    (
        "qwen3-next-80b-a3b",
        "h200-sxm",
        44.59,
        262144,
        {"tp": 2, "engine": "vllm==0.10.2"},
        7162,
        973760,
        14.77,
    ),
    ("qwen3.5-4b", "l4", 9.1, 32768, {"engine": "vllm==0.29.0"}, 564, 267842, 8.17),
    ("qwen3.8-27b", "h100-sxm", 19.54, 262144, {"engine": "vllm==0.29.0"}, 408, 313650, 1.20),
    ("qwen3.8-27b", "rx-7900-xt", 3.86, 122633, {"tp": 2, "engine": "vllm==0.23.1"}, 161, 123399, 1.01),
    (
        "deepseek-r1",
        "h200-sxm",
        21.43,
        128000,
        {"tp": 8, "engine": "vllm==0.7.3", "max_num_batched_tokens": 32000},
        18418,
        294688,
        2.30,
    ),
]


@pytest.mark.parametrize(
    ("model", "gpu", "gib", "context", "deployment", "blocks", "tokens", "concurrency"), EXACT
)
def test_blocks_tokens_and_concurrency_equal_the_log(
    catalogue: Catalogue,
    model: str,
    gpu: str,
    gib: float,
    context: int,
    deployment: dict[str, object],
    blocks: int,
    tokens: int,
    concurrency: float,
) -> None:
    found = pool(catalogue, model, gpu, gib, context, **deployment)
    assert found.blocks == blocks
    assert found.tokens == tokens
    assert found.max_concurrency == pytest.approx(concurrency, abs=0.005)


def test_window_groups_of_gpt_oss_give_the_logged_concurrency(catalogue: Catalogue) -> None:
    found = pool(catalogue, "gpt-oss-120b", "h200-sxm", 114.84, 2068, tp=8, engine="vllm==0.22.1")
    # 130 full blocks and 130 + 1 of the window, of 16 tokens x 1 head x 64 x 2 x 2 B x 18 layers.
    assert found.request_bytes == 261 * 16 * 64 * 2 * 2 * 18
    assert round(found.max_concurrency) == 6408


def test_the_longest_context_of_a_hybrid_equals_the_logged_estimate(catalogue: Catalogue) -> None:
    found = pool(catalogue, "qwen3.8-27b", "rx-7900-xt", 3.86, 132000, tp=2, engine="vllm==0.23.1")
    assert found.max_context == 123872


@pytest.mark.parametrize(
    ("model", "gib", "deployment", "bytes_per_token"),
    [
        ("deepseek-v2-lite", 43.61, {"engine": "vllm==0.19.0"}, 31_104),
        (
            "glm-5.1",
            18.51,
            {"tp": 8, "engine": "vllm==0.20.2", "kv_dtype": "fp8", "speculative_tokens": 1},
            62_252,
        ),
        ("deepseek-r1", 21.43, {"tp": 8, "engine": "vllm==0.7.3"}, 78_080),
        ("deepseek-r1", 21.43, {"tp": 8, "engine": "vllm==0.9.2"}, 70_272),
        ("qwen3-235b-a22b", 10.0, {"tp": 4, "engine": "vllm==0.19.0"}, 48_128),
        ("qwen3-235b-a22b", 10.0, {"tp": 8, "engine": "vllm==0.19.0"}, 48_128),
    ],
)
def test_bytes_of_one_block_per_token(
    catalogue: Catalogue, model: str, gib: float, deployment: dict[str, object], bytes_per_token: int
) -> None:
    found = pool(catalogue, model, "h100-sxm", gib, 8192, **deployment)
    assert found.blocks is not None
    assert found.block_size is not None
    assert found.bytes / (found.blocks * found.block_size) == bytes_per_token


def test_sparse_latents_are_plain_fp8_on_datacentre_blackwell(catalogue: Catalogue) -> None:
    sizes = {"tp": 4, "engine": "vllm==0.25.0", "kv_dtype": "fp8"}
    blackwell = pool(catalogue, "glm-5.2", "gb200-nvl72", 50.62, 819200, **sizes)
    assert blackwell.tokens == 1_139_456
    hopper = pool(catalogue, "glm-5.2", "h200-sxm", 50.62, 819200, **sizes)
    assert hopper.tokens == pytest.approx(blackwell.tokens * 47_700 / 53_940, rel=1e-3)


@pytest.mark.parametrize(("dcp", "tokens"), [(1, 341_504), (2, 680_192), (4, 1_360_384), (8, 2_720_768)])
def test_decode_context_parallel_multiplies_the_tokens_of_a_latent_cache(
    catalogue: Catalogue, dcp: int, tokens: int
) -> None:
    available = 19.55 if dcp == 1 else 19.47
    found = pool(
        catalogue,
        "glm-5.1",
        "rtx-pro-6000",
        available,
        202752,
        tp=8,
        dcp=dcp,
        engine="vllm==0.20.2",
        kv_dtype="fp8",
    )
    assert found.tokens == tokens


def test_printed_tokens_follow_the_version(catalogue: Catalogue) -> None:
    # The same pool: blocks // groups * block up to 0.20.0, concurrency * max_model_len from 0.20.1.
    old = pool(catalogue, "gemma-2-27b", "h100-sxm", 20.59, 8192, engine="vllm==0.19.0")
    new = pool(catalogue, "gemma-2-27b", "h100-sxm", 20.59, 8192, engine="vllm==0.20.1")
    assert old.blocks == new.blocks
    assert old.tokens == old.blocks // 2 * 16
    assert new.tokens == int(new.max_concurrency * 8192)
    last = pool(catalogue, "gemma-2-27b", "h100-sxm", 20.59, 8192, engine="vllm==0.20.0")
    assert last.tokens == old.tokens


@pytest.mark.parametrize(
    ("gib", "tokens", "concurrency"), [(58.58, 1_391_671, 37.75), (47.0, 1_116_450, 30.29)]
)
def test_tokens_of_gpt_oss_as_measured_on_h200(
    catalogue: Catalogue, gib: float, tokens: int, concurrency: float
) -> None:
    found = pool(catalogue, "gpt-oss-120b", "h200-sxm", gib, 36_864, engine="vllm==0.20.2")
    assert found.tokens == pytest.approx(tokens, rel=0.0002)
    assert found.max_concurrency == pytest.approx(concurrency, abs=0.01)


def test_a_window_saves_nothing_when_the_batch_is_as_long_as_the_context(catalogue: Catalogue) -> None:
    sizes = {"engine": "vllm==0.19.0", "max_num_batched_tokens": 8192}
    short = pool(catalogue, "gemma-3-12b", "h100-sxm", 47.72, 8192, **sizes)
    # 8 full layers, and 40 windows in 5 groups that each need one block more.
    assert short.request_bytes == (512 + 5 * 513) * 16 * 8 * 512 * 2 * 8
    assert short.max_concurrency == pytest.approx(15.88, abs=0.005)


def test_prefix_caching_keeps_a_second_page_of_each_state(catalogue: Catalogue) -> None:
    sizes = {"tp": 2, "engine": "vllm==0.23.1"}
    without = pool(catalogue, "qwen3.8-27b", "rtx-3090", 3.86, 122633, prefix_caching=False, **sizes)
    cached = pool(catalogue, "qwen3.8-27b", "rtx-3090", 3.86, 122633, prefix_caching=True, **sizes)
    assert cached.state_bytes == 2 * without.state_bytes
    assert cached.request_bytes - without.request_bytes == without.state_bytes


def test_fp8_doubles_the_block_of_a_hybrid_and_not_its_states(catalogue: Catalogue) -> None:
    wide = pool(catalogue, "qwen3.8-27b", "h100-sxm", 19.54, 262144, engine="vllm==0.29.0")
    narrow = pool(catalogue, "qwen3.8-27b", "h100-sxm", 19.54, 262144, engine="vllm==0.29.0", kv_dtype="fp8")
    assert (wide.block_size, narrow.block_size) == (784, 1568)
    assert narrow.state_bytes == wide.state_bytes


def test_pages_of_two_head_widths_are_made_equal(catalogue: Catalogue) -> None:
    # Gemma 4: full layers of 4 x 512, windows of 16 x 256: the full page takes 32 tokens for 16.
    found = pool(catalogue, "gemma-4-31b", "gb10", 22.46, 8192, engine="vllm==0.22.1")
    assert found.max_concurrency == pytest.approx(7.53, abs=0.01)


def test_compressed_attention_packs_five_groups(catalogue: Catalogue) -> None:
    sizes = {"tp": 8, "engine": "vllm==0.25.0", "kv_dtype": "fp8", "max_num_batched_tokens": 8192}
    found = pool(catalogue, "deepseek-v4-flash", "b200-sxm", 145.0, 1048576, **sizes)
    # Slots of a block: 22 pages of 37,440 B, 21 of 8,640 (index keys) and 20 of 1,728 (128 tokens an entry).
    block_bytes = 22 * 37_440 + 21 * 8_640 + 20 * 1_728
    blocks = 4096 + 2 * (130 + 1) + (2050 + 1) + (1040 + 1)
    assert found.request_bytes == block_bytes * blocks
    assert found.block_size == 256


@pytest.mark.parametrize(
    ("tp", "available", "context", "blocks", "of_a_request"),
    # Logged tokens are 7,228,559 and 3,511,589: blocks / (205 + 9) and blocks / (911 + 9) times the context.
    [(8, 81.79, 131072, 11802, 214), (4, 38.43, 1048576, 3081, 920)],
)
def test_a_pooled_index_lies_beside_its_latents_and_keeps_a_tail(
    catalogue: Catalogue, tp: int, available: float, context: int, blocks: int, of_a_request: int
) -> None:
    found = pool(catalogue, "glm-5.3-flash", "h200-sxm", available, context, tp=tp, engine="vllm==0.28.0")
    assert found.blocks == pytest.approx(blocks, abs=1)  # The memory is logged to 0.01 GiB.
    assert found.blocks / found.max_concurrency == pytest.approx(of_a_request)


def test_a_pool_set_by_hand_is_taken_as_it_is(catalogue: Catalogue) -> None:
    from tests.memory.asking import fit

    found = fit(catalogue, "llama-3.1-8b", "h100-sxm", 8192, kv_cache_memory_bytes=int(10 * GIB))
    assert found.per_rank.available_bytes == 10 * GIB
    assert found.kv_blocks == int(10 * GIB) // (16 * 131072)
