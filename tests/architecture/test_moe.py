"""Mixture of experts: shapes on each rank, active parameters, legal sizes."""

from __future__ import annotations

import pytest

from planner.architecture.blocks.moe import MixtureOfExperts
from planner.architecture.tensors import Sharding

QWEN3_30B = MixtureOfExperts(hidden=2048, experts=128, top_k=8, intermediate=768)


def by_name(block):
    return {t.name: t for t in block.tensors()}


def test_a_token_uses_its_experts_only():
    expert = 3 * 2048 * 768
    routed = [t for t in QWEN3_30B.tensors() if t.group == "routed_experts"]
    assert sum(t.parameters for t in routed) == 128 * expert == 603_979_776
    assert sum(t.active_parameters for t in routed) == 8 * expert


@pytest.mark.parametrize(
    ("sharding", "shape"),
    [
        (Sharding(), (128, 768, 2048)),
        (Sharding(tp=8), (128, 96, 2048)),
        (Sharding(tp=8, ep=8), (16, 768, 2048)),
        (Sharding(tp=4, dp=2, ep=4), (32, 384, 2048)),
    ],
)
def test_experts_are_spread_or_divided(sharding, shape):
    assert by_name(QWEN3_30B)["experts.up_proj"].rank_shape(sharding) == shape


def test_routers_are_whole_on_every_rank():
    assert by_name(QWEN3_30B)["router"].rank_shape(Sharding(tp=8, ep=8)) == (1, 128, 2048)


def test_biases_of_gpt_oss():
    block = MixtureOfExperts(2880, 32, 4, 2880, expert_bias=True, router_linear_bias=True)
    tensors = by_name(block)
    assert sum(t.parameters for t in tensors.values() if t.group == "router") == 32 * 2881
    biases = [t for name, t in tensors.items() if name.startswith("experts") and name.endswith("bias")]
    assert sum(t.parameters for t in biases) == 32 * 3 * 2880
    assert not any(t.is_matrix for t in biases)
    assert tensors["experts.down_proj.bias"].rank_shape(Sharding(tp=2)) == (32, 2880, 1)


def test_fused_experts_have_the_same_weights_on_each_rank():
    fused = MixtureOfExperts(2048, 128, 8, 768, fused=True)
    gate_up = by_name(fused)["experts.gate_up_proj"]
    assert gate_up.parameters == 2 * by_name(QWEN3_30B)["experts.up_proj"].parameters
    assert gate_up.rank_shape(Sharding(tp=4)) == (128, 384, 2048)


def test_shared_experts_are_divided_by_tp_and_their_gate_is_whole():
    block = MixtureOfExperts(2048, 60, 4, 1408, shared_intermediate=5632, shared_gate=True)
    tensors = by_name(block)
    assert tensors["up_proj"].rank_shape(Sharding(tp=4)) == (1, 1408, 2048)
    assert tensors["shared_gate"].rank_shape(Sharding(tp=4)) == (1, 1, 2048)
    assert tensors["up_proj"].group == "shared_experts"


@pytest.mark.parametrize(
    ("sharding", "reason"),
    [
        (Sharding(tp=8, ep=3), "EP 3 does not divide the 8 ranks (TP x DP) of experts; legal: 1, 2, 4, 8"),
        (Sharding(tp=8, dp=32, ep=256), "EP 256 does not divide the 128 routed experts; legal: 1, 2, 4"),
        (Sharding(tp=5), "TP/EP 5 does not divide the 768 columns of an expert; legal: 1, 2, 3, 4, 6"),
        (Sharding(tp=8), None),
    ],
)
def test_refusal_names_the_legal_sizes(sharding, reason):
    refusal = QWEN3_30B.refusal(sharding)
    assert refusal is None if reason is None else refusal.startswith(reason)


def test_shared_experts_refuse_too():
    block = MixtureOfExperts(2048, 64, 4, 1408, shared_intermediate=100)
    assert "100 columns of shared_experts" in block.refusal(Sharding(tp=8, ep=8))
