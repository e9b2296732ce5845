"""What users of such tools reported, and what is right: one test for each case, asked as a user would."""

from __future__ import annotations

import planner
from planner.memory.records import MemoryFit

GIB = 2**30


def ask(model: str, gpu: str, **how: object) -> MemoryFit:
    """Return the memory of one deployment."""
    return planner.fit(model=model, gpu=gpu, **how).answer.memory  # type: ignore[arg-type]


def test_1_a_mixture_of_experts_is_sized_by_all_its_parameters() -> None:
    # AlexsJones/llmfit#230: Q4_K_M of a 125.1B model is 70 to 75 GB, not the 33 GB of its active part.
    found = ask(
        "qwen3.5-122b-a10b", "rtx-6000-ada", gpus=1, engine="llama.cpp", weight_dtype="Q4_K_M", context=4096
    )
    assert not found.fits
    assert 70e9 < found.per_rank.weights_bytes < 76e9


def test_2_deepseek_v3_never_fits_128_gb() -> None:
    # AlexsJones/llmfit#497: about 390 GB at 4 bits.
    found = ask("deepseek-v3", "gb10", gpus=1, weight_dtype="int4-awq-g128", context=4096)
    assert not found.fits
    assert 340e9 < found.per_rank.weights_bytes < 400e9


def test_3_one_node_of_h200_holds_nemotron_ultra_in_fp8() -> None:
    # redhat-performance/configiq#89: eleven nodes were recommended.
    name = "nvidia/NVIDIA-Nemotron-3-Ultra-550B-A55B-FP8"
    assert ask(name, "h200", tp=8, context=8192, engine="vllm==0.24.0").fits
    assert planner.fit(model=name, gpu="h200", context=8192, engine="vllm==0.24.0").answer.nodes == 1


def test_4_gpt_oss_fits_one_card_and_nemotron_nano_needs_two() -> None:
    # kaito-project/kaito#2302 and #2308.
    assert 60 * GIB < ask("gpt-oss-120b", "gb10", gpus=1, context=8192).per_rank.weights_bytes < 67 * GIB
    assert ask("gpt-oss-120b", "gb10", gpus=1, context=8192).fits
    assert ask("gpt-oss-120b", "h100", gpus=1, context=8192).fits
    assert planner.fit(model="nemotron-nano-9b-v2", gpu="a10").answer.smallest.deployment.gpus == 2


def test_5_a_full_context_of_gpt_oss_on_one_80_gb_card_is_not_promised() -> None:
    # vllm-project/vllm#23278, #27508, #33155: it hangs on the memory fraction, the batch and the context.
    found = ask("gpt-oss-120b", "h100", gpus=1, context=131_072)
    assert found.verdict != "fits"
    levers = " ".join(found.remedies)
    assert "0.95" in levers
    assert "1,024" in levers
    assert "context" in levers


def test_6_bytes_of_a_token_of_grouped_query_attention() -> None:
    # vllm-project/vllm#22291: 2 x 28 layers x 4 heads x 128 x 2 bytes.
    assert ask("qwen2.5-7b", "h100", tp=1, context=4096).kv_bytes_per_token_per_rank == 57_344
    assert ask("qwen2.5-7b", "h100", tp=4, context=4096).kv_bytes_per_token_per_rank == 14_336


def test_7_each_stage_holds_the_cache_of_its_own_layers() -> None:
    # vllm-project/vllm#34076: the whole model's cache was charged to the smaller stage.
    found = ask(
        "Qwen/Qwen3-Coder-30B-A3B-Instruct-FP8", "rtx-5090", pp=2, pipeline_layers=(16, 32), context=8192
    )
    assert [len(range(stage.layers[0], stage.layers[1] + 1)) for stage in found.stages] == [16, 32]
    small, large = (stage.weights_by_group["attention"] for stage in found.stages)
    assert large == 2 * small
    assert found.kv_tokens < min(stage.kv_pool_bytes for stage in found.stages) / (16 * 2048 / 2)


def test_8_an_80_gb_card_is_not_80_gib() -> None:
    # alvarobartt/hf-mem#33: units of memory.
    found = ask("llama-3.1-8b", "h100", tp=1, context=4096)
    assert 79 * GIB < found.per_rank.usable_bytes < 79.7 * GIB
    assert "GiB" in planner.fit(model="llama-3.1-70b", gpu="h100", gpus=1, context=4096).answer.sentence


def test_9_copies_of_attention_multiply_the_capacity_of_latents() -> None:
    # vllm-project/recipes#762, vllm#51454: 156.9 against 20.43 requests of a million tokens.
    how = {"context": 1_048_576, "kv_dtype": "fp8", "engine": "vllm==0.25.0", "memory_fraction": 0.95}
    whole = ask("deepseek-v4-flash", "b200", tp=8, ep=8, **how)
    copies = ask("deepseek-v4-flash", "b200", tp=1, dp=8, ep=8, **how)
    assert 7 < copies.max_concurrency / whole.max_concurrency < 8.5
    assert copies.per_rank.weights_bytes > whole.per_rank.weights_bytes


def test_10_only_attention_layers_of_a_hybrid_keep_tokens() -> None:
    # ai-dynamo/aisimulate#176: all 88 layers were counted, 8 have attention.
    found = ask("nemotron-3-super-120b-a12b", "h200", tp=2, context=8192)
    assert found.kv_bytes_per_token_per_rank == 8 * 2 * 128 * 2
    assert found.per_rank.state_bytes > 0


def test_11_a_small_hybrid_on_an_l4() -> None:
    # Measured with vLLM 0.29: 9.10 GiB and 267,842 tokens.
    found = ask("qwen3.5-4b", "l4", gpus=1, context=32_768, engine="vllm==0.29.0")
    assert abs(found.per_rank.kv_pool_bytes / GIB - 9.10) < 0.3
    assert abs(found.kv_tokens / 267_842 - 1) < 0.035


def test_12_the_default_batch_decides_whether_a_million_tokens_fit() -> None:
    # vllm-project/vllm#53961: a tier meant for newer cards doubled the batch and the activation on MI300X.
    how = {"tp": 8, "context": 1_048_576, "kv_dtype": "fp8", "engine": "vllm==0.29.0"}
    default = ask("deepseek-v4-pro", "mi300x", **how)
    smaller = ask("deepseek-v4-pro", "mi300x", max_num_batched_tokens=8192, **how)
    assert smaller.per_rank.activation_bytes < default.per_rank.activation_bytes
    assert smaller.max_concurrency > default.max_concurrency
    assert any(a.name == "max_num_batched_tokens" and a.value == 16_384 for a in default.assumptions)


def test_13_more_requests_than_state_blocks_do_not_start() -> None:
    # vllm-project/vllm#49064: "max_num_seqs (1024) exceeds available Mamba cache blocks (614)".
    found = ask("qwen3.5-27b", "h100", gpus=1, context=8192, max_num_seqs=1024)
    assert found.kv_blocks is not None
    assert found.safe_max_num_seqs == found.kv_blocks < 1024
    assert not found.fits
