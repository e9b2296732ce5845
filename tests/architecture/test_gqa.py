"""Grouped-query attention: shapes on each rank, caches, legal sizes."""

from __future__ import annotations

import pytest

from planner.architecture.blocks.gqa import GroupedQueryAttention
from planner.architecture.caches import TokenCache
from planner.architecture.tensors import Sharding

LLAMA_70B = GroupedQueryAttention(hidden=8192, q_heads=64, kv_heads=8, key_dim=128, value_dim=128)


def shapes(block, tp):
    return {t.name: t.rank_shape(Sharding(tp=tp))[1:] for t in block.tensors()}


def parameters(block, group="attention"):
    return sum(t.parameters for t in block.tensors() if t.group == group)


def test_llama_70b_attention_has_the_published_parameters():
    # 2 x 8192^2 for queries and output, 2 x 1024 x 8192 for keys and values.
    assert parameters(LLAMA_70B) == 150_994_944


@pytest.mark.parametrize(
    ("tp", "queries", "keys"), [(1, 8192, 1024), (4, 2048, 256), (8, 1024, 128), (16, 512, 128)]
)
def test_heads_are_divided_and_too_few_kv_heads_are_replicated(tp, queries, keys):
    rank = shapes(LLAMA_70B, tp)
    assert rank["q_proj"] == (queries, 8192)
    assert rank["k_proj"] == rank["v_proj"] == (keys, 8192)
    assert rank["o_proj"] == (8192, queries)


@pytest.mark.parametrize("tp", [1, 2, 8, 16])
def test_one_fused_matrix_is_divided_like_three(tp):
    fused = GroupedQueryAttention(8192, 64, 8, 128, 128, fused=True)
    apart = shapes(LLAMA_70B, tp)
    rows = sum(apart[name][0] for name in ("q_proj", "k_proj", "v_proj"))
    assert shapes(fused, tp)["qkv_proj"] == (rows, 8192)
    assert parameters(fused) == parameters(LLAMA_70B)


def test_biases_norms_sinks_and_gate_are_counted_in_their_groups():
    block = GroupedQueryAttention(
        2880, 64, 8, 64, 64, qkv_bias=True, out_bias=True, sinks=True, qk_norm=128, gate=4096
    )
    assert parameters(block, "bias") == 4096 + 512 + 512 + 2880
    assert parameters(block, "norm") == 128
    plain = GroupedQueryAttention(2880, 64, 8, 64, 64)
    assert parameters(block) - parameters(plain) == 64 + 4096 * 2880


def test_cache_holds_keys_and_values_of_every_head():
    (cache,) = LLAMA_70B.caches()
    assert cache == TokenCache("full", heads=8, width=256)
    assert cache.entry_bytes("bf16") == 4096
    assert cache.entry_bytes("bf16", tp=16) == 512


def test_a_window_stops_growing():
    (cache,) = GroupedQueryAttention(2880, 64, 8, 64, 64, window=128).caches()
    assert (cache.kind, cache.window, cache.grows) == ("window", 128, False)


def test_keys_that_serve_as_values_save_the_projection_but_not_the_cache():
    block = GroupedQueryAttention(5376, 32, 4, 512, 512, value_projection=False)
    assert "v_proj" not in shapes(block, 1)
    assert block.caches()[0].width == 1024


def test_a_layer_that_reads_anothers_keys_has_neither_projections_nor_cache():
    block = GroupedQueryAttention(1536, 8, 1, 256, 256, stores_cache=False)
    assert set(shapes(block, 1)) == {"q_proj", "o_proj"}
    assert block.caches() == ()


def test_cross_attention_keeps_nothing_for_text_tokens():
    block = GroupedQueryAttention(4096, 32, 8, 128, 128, cross=True)
    assert block.caches() == ()
    assert "k_proj" in shapes(block, 1)


@pytest.mark.parametrize(
    ("heads", "tp", "reason"),
    [
        ((28, 4), 8, "TP 8 does not divide the 28 attention heads; legal: 1, 2, 4, 7, 14, 28"),
        ((40, 10), 4, "TP 4 fits no whole share of the 10 KV heads; legal: 1, 2, 5, 10, 20, 40"),
        ((71, 1), 2, "TP 2 does not divide the 71 attention heads; legal: 1"),
        ((64, 8), 16, None),
    ],
)
def test_refusal_names_the_legal_sizes(heads, tp, reason):
    block = GroupedQueryAttention(4096, *heads, 128, 128)
    refusal = block.refusal(Sharding(tp=tp))
    assert refusal is None if reason is None else refusal.startswith(reason)
