"""DeepSeek-V4.1-Flash to the byte: the published index, the sizes by subsystem, the cache."""

from __future__ import annotations

import pytest

from planner.architecture import Sharding, build_architecture
from planner.architecture.checkpoint import formats_from_config
from planner.architecture.quantisation import WeightScheme
from planner.architecture.totals import active_parameters, kv_bytes_per_token, weight_bytes_by_group
from planner.errors import InvalidInput

# config.json of revision dba1be0a, without the fields that no size follows from.
TEXT = {
    "compress_ratios": [0] * 2 + [2] * 18 + [1] * 20 + [0] * 3,
    "dspark_markov_rank": 256,
    "dspark_n_routed_experts": 128,
    "dspark_num_experts_per_tok": 3,
    "dspark_target_layer_ids": [37, 38, 39],
    "engram_head_dim": 256,
    "engram_layer_ids": [1, 14],
    "engram_max_ngram_size": 4,
    "engram_n_heads": 8,
    "engram_num_embeddings": [384006168, 384016682],
    "hc_mult": 4,
    "head_dim": 512,
    "hidden_size": 5120,
    "index_head_dim": 128,
    "index_n_heads": 32,
    "index_source_layer_ids": [2, 8, 14, 20, 24, 28, 32, 36],
    "index_topk": 512,
    "kv_source_layer_ids": [2, 8, 14, 20],
    "max_position_embeddings": 1048576,
    "moe_intermediate_size": 2304,
    "n_routed_experts": 384,
    "n_shared_experts": 1,
    "num_attention_heads": 64,
    "num_experts_per_tok": 6,
    "num_hidden_layers": 40,
    "num_nextn_predict_layers": 3,
    "o_groups": 8,
    "o_lora_rank": 1024,
    "q_lora_rank": 1280,
    "qk_rope_head_dim": 64,
    "sliding_window": 128,
    "vocab_size": 129280,
}
CONFIG = {
    "architectures": ["DeepseekV41ForCausalLM"],
    "model_type": "deepseek_v41",
    "quantization_config": {
        "quant_method": "fp8",
        "weight_block_size": [32, 32],
        "scale_fmt": "ue8m0",
        "expert_dtype": "fp4",
    },
    "text_config": TEXT,
    "vision_config": {
        "downsample_ratio": 3,
        "hidden_size": 1024,
        "intermediate_size": 2816,
        "num_attention_heads": 16,
        "num_hidden_layers": 32,
        "patch_size": 14,
    },
}


@pytest.fixture(scope="module")
def v41():
    return build_architecture(CONFIG)


def test_published_bytes(v41):
    # The index of the checkpoint says 510,286,023,000; the parts are sums over its 96,085 headers.
    scheme = WeightScheme("native", "bf16", formats_from_config(CONFIG, v41, "config.json"))
    groups = weight_bytes_by_group(v41, scheme)
    assert groups.total() == 510_286_023_000
    assert groups["routed_experts"] == 288_777_830_400
    assert groups["shared_experts"] == 1_416_960_000
    assert groups["router"] + groups["router_bias"] == 157_409_280
    assert groups["hyper_connection"] + groups["mtp_hyper_connection"] == 169_092_168
    assert groups["mtp_routed_experts"] == 7_219_445_760
    assert groups["vision"] == 970_506_240 + 3 * 5120 * 2
    # The norms of the tables' keys and queries are stored with them, but are norms here.
    assert groups["ngram_embed"] + groups["ngram_proj"] + 4 * 4 * 5120 * 2 == 203_073_076_240


def test_active_parameters(v41):
    assert active_parameters(v41) == pytest.approx(16e9, rel=0.01)  # published: 16B in decode


def test_published_cache(v41):
    # 890 B for each token: 2.5 entries of 288 B and 2.5 index keys of 68 B.
    assert kv_bytes_per_token(v41, "nvfp4") == 890
    assert kv_bytes_per_token(v41, "fp8") == 2.5 * (528 + 132)


def test_only_sources_keep_entries(v41):
    kinds = [{cache.kind for cache in layer.caches()} for layer in v41.layers]
    assert [i for i, kind in enumerate(kinds) if "compressed" in kind] == [2, 8, 14, 20]
    assert [i for i, kind in enumerate(kinds) if "index" in kind] == [2, 8, 14, 20]
    assert all("window" in kind for kind in kinds)


def test_groups_limit_tensor_parallelism(v41):
    assert v41.refusals(Sharding(tp=8)) == []
    assert v41.refusals(Sharding(tp=16)) == [
        "TP 16 does not divide the 8 groups of the output; legal: 1, 2, 4, 8"
    ]


def test_table_is_shared_by_ranks(v41):
    (table,) = {t for t, _ in v41.counted_tensors() if t.name == "engram.embed" and t.rows == 384_006_168}
    assert table.rank_shape(Sharding(tp=8)) == (1, 48_000_771, 256)


@pytest.mark.parametrize(
    ("field", "value", "message"),
    [
        ("index_source_layer_ids", [8, 14, 20], "kv_source_layer_ids has 2, index_source_layer_ids not"),
        ("compress_ratios", [0] * 43, "compress_ratios gives layer 2 no compressed entries"),
        ("engram_num_embeddings", [1], "engram_num_embeddings has 1 items; expected 2"),
    ],
)
def test_contradictions_are_named(field, value, message):
    with pytest.raises(InvalidInput, match=message):
        build_architecture({**CONFIG, "text_config": {**TEXT, field: value}})
