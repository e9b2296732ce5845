"""Encoders: divided by their own heads where these allow it, whole on every rank elsewhere."""

from __future__ import annotations

import pytest

from planner.architecture import Sharding, build_architecture
from planner.architecture.blocks.mlp import DenseMlp
from planner.architecture.blocks.tower import Tower
from planner.architecture.formats import FORMATS

QWEN3_VL_8B = {
    "depth": 27,
    "hidden_size": 1152,
    "intermediate_size": 4304,
    "num_heads": 16,
    "num_position_embeddings": 2304,
    "deepstack_visual_indexes": [8, 16, 24],
    "out_hidden_size": 4096,
    "patch_size": 16,
    "spatial_merge_size": 2,
    "temporal_patch_size": 2,
}
TEXT = {
    "model_type": "qwen3_vl_text",
    "hidden_size": 4096,
    "intermediate_size": 12288,
    "num_hidden_layers": 36,
    "num_attention_heads": 32,
    "num_key_value_heads": 8,
    "head_dim": 128,
    "vocab_size": 151936,
    "max_position_embeddings": 262144,
}


def rank_bytes(tower, tp):
    return sum(t.rank_bytes(FORMATS["bf16"], Sharding(tp=tp)) for t in tower.tensors())


def qwen3_vl(**vision):
    config = {
        "architectures": ["Qwen3VLForConditionalGeneration"],
        "model_type": "qwen3_vl",
        "text_config": TEXT,
        "vision_config": {**QWEN3_VL_8B, **vision},
    }
    return build_architecture(config)


def test_qwen3_vl_tower_has_the_published_parameters():
    (tower,) = qwen3_vl().towers
    assert sum(t.parameters for t in tower.tensors()) == 576_388_336
    assert {t.group for t in tower.tensors()} == {"vision"}
    assert tower.caches() == ()


def test_deepstack_mergers_are_counted_each():
    plain = sum(t.parameters for t in qwen3_vl(deepstack_visual_indexes=[]).towers[0].tensors())
    assert 576_388_336 - plain == 3 * 40_125_952


@pytest.mark.parametrize(("tp", "whole"), [(2, False), (16, False), (3, True), (32, True)])
def test_ranks_share_a_tower_only_where_its_heads_allow(tp, whole):
    (tower,) = qwen3_vl().towers
    assert (rank_bytes(tower, tp) == rank_bytes(tower, 1)) == whole
    assert tower.refusal(Sharding(tp=tp)) is None


def test_a_tower_inside_keeps_its_own_division():
    inner = Tower(((DenseMlp(64, 256), 1),), divides=256)
    outer = Tower(((inner, 2), (DenseMlp(64, 250), 1)), divides=25)
    inside, outside = [t.rank_shape(Sharding(tp=2)) for t in outer.tensors() if t.name == "up_proj"]
    assert inside == (2, 128, 64)
    assert outside == (1, 250, 64)
