"""Gated DeltaNet: published sizes, shapes on each rank, state, legal sizes."""

from __future__ import annotations

import pytest

from planner.architecture.blocks.gdn import GatedDeltaNet
from planner.architecture.tensors import Sharding

# One layer of Qwen3-Next-80B-A3B and one of Qwen3.5-397B-A17B.
NEXT = GatedDeltaNet(2048, 16, 32, 128, 128, 4, fused_inputs=True)
LARGE = GatedDeltaNet(4096, 16, 64, 128, 128, 4)


def shapes(block, tp):
    return {t.name: t.rank_shape(Sharding(tp=tp))[1:] for t in block.tensors()}


def test_a_layer_of_qwen3_next_has_the_published_parameters():
    # 2048 x (2 x 2048 + 2 x 4096) inputs, 2048 x 64 of beta and alpha, 8192 x 4 of convolution, 2 x 32 of
    # decay, 128 of norm, 4096 x 2048 of output: 1,213,864,704 in 36 layers.
    assert sum(t.parameters for t in NEXT.tensors()) == 1_213_864_704 // 36


def test_four_input_matrices_hold_as_much_as_two():
    apart = GatedDeltaNet(2048, 16, 32, 128, 128, 4)
    assert len(apart.tensors()) == len(NEXT.tensors()) + 2
    assert sum(t.parameters for t in apart.tensors()) == sum(t.parameters for t in NEXT.tensors())


@pytest.mark.parametrize("tp", [1, 2, 4, 8, 16])
def test_every_projection_is_divided_by_heads_and_the_norm_is_not(tp):
    rank = shapes(LARGE, tp)
    assert rank["in_proj_qkv"] == (12_288 // tp, 4096)
    assert rank["in_proj_z"] == (8192 // tp, 4096)
    assert rank["in_proj_b"] == (64 // tp, 4096)
    assert rank["conv1d"] == (12_288 // tp, 4)
    assert rank["out_proj"] == (4096, 8192 // tp)
    assert rank["gated_norm"] == (128, 1)


def test_state_of_a_request_is_the_published_one_and_shrinks_with_tp():
    (state,) = LARGE.caches()
    # 45 layers: 192,061,440 bytes with an FP32 state, 97,689,600 with a BF16 one.
    assert 45 * state.request_bytes() == 192_061_440
    assert 45 * state.request_bytes(dtypes={"ssm": "bf16"}) == 97_689_600
    assert state.request_bytes(tp=8) * 8 == state.request_bytes()


def test_ranks_beyond_the_key_heads_are_refused_with_the_legal_sizes():
    assert LARGE.refusal(Sharding(tp=16)) is None
    refusal = LARGE.refusal(Sharding(tp=32))
    assert refusal == "TP 32 does not divide the 16 key heads of linear attention; legal: 1, 2, 4, 8, 16"


def test_no_quantisation_touches_convolution_and_vectors():
    matrices = {t.name for t in LARGE.tensors() if t.is_matrix}
    assert matrices == {"in_proj_qkv", "in_proj_z", "in_proj_b", "in_proj_a", "out_proj"}
