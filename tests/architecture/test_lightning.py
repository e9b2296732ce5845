"""Lightning attention: published sizes, shapes on each rank, state, legal sizes."""

from __future__ import annotations

import pytest

from planner.architecture.blocks.lightning import LightningAttention
from planner.architecture.formats import FORMATS
from planner.architecture.tensors import Sharding

MINIMAX = LightningAttention(6144, 64, 64, 128, fused=True)


def shapes(block, tp):
    return {t.name: t.rank_shape(Sharding(tp=tp))[1:] for t in block.tensors()}


def test_a_layer_of_minimax_m1_has_the_published_parameters():
    # Queries, keys, values, gate and output of 6144 x 8192 each: 17,616,076,800 in 70 layers.
    matrices = [t for t in MINIMAX.tensors() if t.group == "linear_attention"]
    assert sum(t.parameters for t in matrices) == 17_616_076_800 // 70
    assert [t.parameters for t in MINIMAX.tensors() if t.group == "norm"] == [8192]


@pytest.mark.parametrize("tp", [1, 4, 8, 64])
def test_fused_inputs_are_divided_like_apart_ones(tp):
    apart = shapes(LightningAttention(6144, 64, 64, 128), tp)
    rows = sum(apart[name][0] for name in ("q_proj", "k_proj", "v_proj"))
    assert shapes(MINIMAX, tp)["qkv_proj"] == (rows, 6144) == (24_576 // tp, 6144)
    assert shapes(MINIMAX, tp)["out_proj"] == (6144, 8192 // tp)


def test_one_fused_matrix_has_one_scale_of_a_tensor():
    apart = LightningAttention(6144, 64, 64, 128)
    static = FORMATS["fp8-tensor"]
    extra = [sum(t.checkpoint_bytes(static) for t in block.tensors()) for block in (apart, MINIMAX)]
    assert extra[0] - extra[1] == 2 * 8


def test_state_of_a_request_is_the_published_one():
    (state,) = MINIMAX.caches()
    assert 70 * state.request_bytes() == 293_601_280
    assert 70 * state.request_bytes(dtypes={"ssm": "bf16"}) == 146_800_640
    assert state.request_bytes(tp=8) * 8 == state.request_bytes()


def test_refusal_names_the_legal_sizes():
    assert MINIMAX.refusal(Sharding(tp=64)) is None
    assert MINIMAX.refusal(Sharding(tp=6)) == (
        "TP 6 does not divide the 64 heads of linear attention; legal: 1, 2, 4, 8, 16, 32, 64"
    )


def test_gate_and_norms_are_left_out_where_there_are_none():
    bare = LightningAttention(4096, 32, 32, 128, gate=False, output_norm=False)
    assert {t.name for t in bare.tensors()} == {"q_proj", "k_proj", "v_proj", "out_proj"}
    assert "qk_norm" in {t.name for t in LightningAttention(4096, 32, 32, 128, qk_norm=256).tensors()}
