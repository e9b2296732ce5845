"""Latent attention: shapes per rank, the packed cache and its limits, refusals."""

from __future__ import annotations

import pytest

from planner.architecture import Sharding, build_architecture
from planner.architecture.blocks.mla import LatentAttention
from planner.architecture.totals import kv_bytes_per_token

V3 = LatentAttention(7168, 128, kv_lora=512, nope_dim=128, rope_dim=64, value_dim=128, q_lora=1536)


def shapes(block, tp):
    return {t.name: t.rank_shape(Sharding(tp=tp))[1:] for t in block.tensors()}


def count(block, group):
    return sum(t.parameters for t in block.tensors() if t.group == group)


def test_parameters_of_deepseek_v3():
    # DeepSeek-V3: 61 layers with 11,413,422,080 attention parameters.
    assert count(V3, "attention") == 11_413_422_080 // 61
    assert count(V3, "norm") == 1536 + 512


def test_direct_queries():
    lite = LatentAttention(2048, 16, kv_lora=512, nope_dim=128, rope_dim=64, value_dim=128)
    assert count(lite, "attention") == 371_589_120 // 27
    assert "q_proj" in shapes(lite, 1)


@pytest.mark.parametrize("tp", [1, 4, 8, 128])
def test_rank_shapes(tp):
    heads = 128 // tp
    assert shapes(V3, tp) == {
        "q_a_proj": (1536, 7168),
        "q_a_proj.norm": (1536, 1),
        "q_b_proj": (heads * 192, 1536),
        "kv_a_proj_with_mqa": (576, 7168),
        "kv_a_proj_with_mqa.norm": (512, 1),
        "kv_b_proj": (heads * 256, 512),
        "o_proj": (7168, heads * 128),
    }


@pytest.mark.parametrize(("rows", "at_8"), [(32, 4), (32 * 128, 512)])
def test_gate_by_head_or_by_channel(rows, at_8):
    block = LatentAttention(2560, 32, 512, 128, 64, 128, gate=rows)
    assert shapes(block, 8)["g_proj"] == (at_8, 2560)


def test_biases_stay_whole():
    block = LatentAttention(2560, 32, 512, 128, 64, 128, q_lora=1536, bias=True)
    assert count(block, "bias") == 1536 + 576 + 2560


def test_packed_cache():
    (cache,) = V3.caches()
    assert [cache.entry_bytes(dtype, tp=8) for dtype in ("bf16", "fp8", "fp8_ds_mla")] == [1152, 576, 656]


def test_packed_cache_needs_its_widths():
    # Mistral Small 4: a latent of 256 has no packed layout, so plain FP8 is kept.
    (cache,) = LatentAttention(4096, 32, 256, 64, 64, 128, q_lora=1024).caches()
    assert cache.entry_bytes("fp8_ds_mla") == 320


def test_refusal_names_legal_sizes():
    glm_flash = LatentAttention(2048, 20, 512, 192, 64, 256, q_lora=768)
    assert (
        glm_flash.refusal(Sharding(tp=8))
        == "TP 8 does not divide the 20 attention heads; legal: 1, 2, 4, 5, 10, 20"
    )
    assert glm_flash.refusal(Sharding(tp=10)) is None


def test_published_cache_of_deepseek_v3(catalogue):
    # 70.272 KB for each token in BF16: ISCA 2025, arXiv 2505.09343, table 1.
    architecture = build_architecture(catalogue.model("deepseek-v3").config)
    assert kv_bytes_per_token(architecture, "bf16") == 70_272
    assert kv_bytes_per_token(architecture, "bf16", draft=True) == 70_272 + 1152
