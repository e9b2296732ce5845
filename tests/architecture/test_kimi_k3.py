"""Kimi K3 to the byte: the published header census, the caches, and what each rank holds."""

from __future__ import annotations

import pytest

from planner.architecture import Sharding, build_architecture
from planner.architecture.caches import StateCache
from planner.architecture.quantisation import WeightScheme
from planner.architecture.totals import (
    active_parameters,
    kv_bytes_per_token,
    parameters,
    parameters_by_group,
    state_bytes,
    weight_bytes,
    weight_bytes_by_group,
)

NATIVE = WeightScheme("native", "bf16", {"routed_experts": "mxfp4"})

# Parameters and bytes of revision 9f62e4e9, summed over the headers of its 96 files.
CENSUS = {
    "embed": (1_174_405_120, 2_348_810_240),
    "lm_head": (1_174_405_120, 2_348_810_240),
    "norm": (1_719_296, 3_438_592),
    "linear_attention": (30_607_048_704 + 11_040_000, 61_214_097_408 + 44_160_000),
    "attention": (5_572_657_152, 11_145_314_304),
    "routed_experts": (2_722_740_830_208, 1_446_456_066_048),
    "router": (590_872_576, 1_181_745_152),
    "router_bias": (82_432, 329_728),
    "shared_experts": (12_155_092_992, 24_310_185_984),
    "latent_proj": (4_726_980_608, 9_453_961_216),
    "dense_mlp": (726_663_168, 1_453_326_336),
    "attn_res": (2_680_832, 5_361_664),
    "vision": (401_214_464 + 46_144_512, 802_428_928 + 92_289_024),
}


@pytest.fixture(scope="module")
def k3(catalogue):
    return build_architecture(catalogue.model("kimi-k3").config)


def rank_bytes(architecture, group_wanted, **sizes):
    sharding = Sharding(**sizes)
    return sum(
        layers * tensor.rank_bytes(NATIVE.format_of(tensor), sharding)
        for tensor, layers in architecture.counted_tensors()
        if group_wanted(tensor.group)
    )


def test_parameters(k3):
    assert parameters(k3) == 2_779_931_837_184
    assert active_parameters(k3) == 104_189_614_848


def test_census_by_group(k3):
    counts, sizes = parameters_by_group(k3), weight_bytes_by_group(k3, NATIVE)
    assert {group: (counts[group], sizes[group]) for group in counts} == CENSUS
    assert weight_bytes(k3, NATIVE) == 1_560_860_324_864


def test_fp32_parameters(k3):
    fp32 = sum(t.parameters * n for t, n in k3.counted_tensors() if t.fixed_format == "f32")
    assert fp32 == 11_040_000 + 82_432


def test_only_24_layers_keep_tokens(k3):
    assert sum(k3.token_caches().values()) == 24
    assert kv_bytes_per_token(k3, "bf16") == 24 * 576 * 2
    assert kv_bytes_per_token(k3, "fp8") == 24 * 576
    assert kv_bytes_per_token(k3, "fp8_ds_mla") == 24 * 656


@pytest.mark.parametrize("tp", [1, 2, 8, 32, 96])
def test_latent_is_whole_on_every_rank(k3, tp):
    assert kv_bytes_per_token(k3, "bf16", tp) == 27_648


def test_state(k3):
    assert state_bytes(k3) == 449_372_160
    assert state_bytes(k3, tp=8) == 56_171_520
    states = [c for layer in k3.layers for c in layer.caches() if isinstance(c, StateCache)]
    assert len(states) == 69
    assert sum(state.request_bytes(dtypes={"ssm": "bf16"}) for state in states) == 232_316_928


@pytest.mark.parametrize(("tp", "gigabytes"), [(8, 205.1), (16, 108.3), (32, 59.9)])
def test_text_weights_of_a_rank(k3, tp, gigabytes):
    held = rank_bytes(k3, lambda group: group != "vision", tp=tp)
    assert held == pytest.approx(gigabytes * 1e9, abs=0.05e9)


def test_replicated_weights(k3):
    # Held by rank at TP t: replicated + divided / t; two sizes give both.
    at_8, at_16 = (rank_bytes(k3, lambda group: group != "vision", tp=tp) for tp in (8, 16))
    # Also 35,328 B of output norms of the linear layers, which have one vector for all heads.
    assert 2 * at_16 - at_8 == pytest.approx(11_498_115_072 + 35_328, abs=2_000)


@pytest.mark.parametrize(
    ("tp", "held"), [(1, 894_717_952), (8, 894_717_952), (16, 894_717_952), (32, 894_717_952)]
)
def test_12_vision_heads_are_replicated(k3, tp, held):
    assert rank_bytes(k3, lambda group: group == "vision", tp=tp) == held


def test_vision_is_divided_where_its_heads_allow(k3):
    assert rank_bytes(k3, lambda group: group == "vision", tp=4) < 894_717_952 / 2


def test_shared_experts_over_four_ranks(k3):
    # vLLM's pull request 50912 measured 16.98 GiB saved on each GPU by dividing them over TP4.
    whole, divided = (rank_bytes(k3, lambda g: g == "shared_experts", tp=tp) for tp in (1, 4))
    assert (whole - divided) / 2**30 == pytest.approx(16.98, abs=0.005)


@pytest.mark.parametrize("tp", [1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 96])
def test_legal_tensor_parallel_sizes(k3, tp):
    assert k3.refusals(Sharding(tp=tp)) == []


def test_refused_sizes(k3):
    reasons = k3.refusals(Sharding(tp=5))
    assert (
        "TP 5 does not divide the 96 attention heads; legal: 1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48" in reasons
    )
    (reason,) = k3.refusals(Sharding(tp=24, ep=24))
    assert reason.startswith("EP 24 does not divide the 896 routed experts; legal: 1, 2, 4, 7, 8, 14, 16")


def test_experts_over_ranks(k3):
    def is_expert(group):
        return group == "routed_experts"

    assert rank_bytes(k3, is_expert, tp=8, ep=8) == rank_bytes(k3, is_expert, tp=8) == 1_446_456_066_048 // 8


def test_k31_adds_an_indexer(catalogue):
    config = dict(catalogue.model("kimi-k3").config)
    config["dsa_config"] = {"index_n_heads": 32, "index_head_dim": 128, "index_topk": 2048}
    k31 = build_architecture(config)
    assert parameters_by_group(k31)["indexer"] == 24 * (4096 * 1536 + 128 * 7168 + 32 * 7168 + 256)
    assert kv_bytes_per_token(k31, "bf16") == 30_816
    assert kv_bytes_per_token(k31, "fp8") == 16_992
