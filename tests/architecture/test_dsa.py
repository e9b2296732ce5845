"""The indexer of sparse attention: its keys, its layers, and that every rank holds it."""

from __future__ import annotations

import pytest

from planner.architecture import Sharding, build_architecture
from planner.architecture.blocks.dsa import SparseIndexer
from planner.architecture.caches import TokenCache
from planner.architecture.formats import weight_format
from planner.architecture.quantisation import WeightScheme
from planner.architecture.totals import kv_bytes_per_token, parameters_by_group
from planner.errors import InvalidInput

V32 = SparseIndexer(7168, 1536, heads=64, head_dim=128, top_k=2048)


def test_weights_of_deepseek_v32():
    scheme = WeightScheme("native", "bf16", {"indexer": "fp8-block128"})
    # 13,500,416 parameters in FP8, and 459,008 (weights_proj and k_norm) in BF16, in each of 61 layers.
    assert sum(t.parameters for t in V32.tensors()) == 851_524_864 // 61
    assert sum(t.checkpoint_bytes(scheme.format_of(t)) for t in V32.tensors()) * 61 == 879_725_408


@pytest.mark.parametrize("tp", [2, 8, 16])
def test_every_rank_holds_it(tp):
    bf16 = weight_format("bf16")
    for tensor in V32.tensors():
        assert tensor.rank_bytes(bf16, Sharding(tp=tp)) == tensor.checkpoint_bytes(bf16)
    assert V32.refusal(Sharding(tp=tp)) is None


@pytest.mark.parametrize("dtype", ["bf16", "fp8", "fp8_ds_mla"])
def test_keys_do_not_follow_the_kv_dtype(dtype):
    (keys,) = V32.caches()
    assert keys.entry_bytes(dtype, tp=8) == 132


def test_pooled_keys():
    (keys,) = SparseIndexer(4096, 1536, heads=32, head_dim=128, top_k=2048, pool=16).caches()
    assert isinstance(keys, TokenCache)
    assert keys.entry_bytes("fp8") / keys.stride == 16
    assert keys.entries(100) == 6


def test_shared_layers_have_nothing():
    shared = SparseIndexer(6144, 2048, heads=32, head_dim=128, top_k=2048, shared=True)
    assert shared.tensors() == shared.caches() == ()


def test_glm_52_owns_21_indexers(catalogue):
    config = catalogue.model("glm-5.2").config
    architecture = build_architecture(config)
    assert parameters_by_group(architecture)["indexer"] == 21 * 9_371_904
    assert kv_bytes_per_token(architecture, "fp8_ds_mla") == 53_940
    # Without the list, each of the 78 layers has its own.
    every = {key: value for key, value in config.items() if key != "indexer_types"}
    assert parameters_by_group(build_architecture(every))["indexer"] == 78 * 9_371_904


def test_unknown_indexer_type(catalogue):
    config = {**catalogue.model("glm-5.2").config}
    config["indexer_types"] = ["full"] * 77 + ["half"]
    with pytest.raises(InvalidInput, match="indexer_types has 'half'; expected full or shared"):
        build_architecture(config)
