"""Kimi Delta Attention: weights with full and with low-rank projections, state, rank shapes, layer lists."""

from __future__ import annotations

import pytest

from planner.architecture import Sharding, build_architecture
from planner.architecture.blocks.kda import DeltaAttention
from planner.errors import InvalidInput, UnsupportedArchitecture

KIMI_LINEAR = DeltaAttention(2304, 32, 128, conv_kernel=4, decay_rank=128, gate_rank=128)
KIMI_K3 = DeltaAttention(
    7168, 96, 128, conv_kernel=4, decay_rank=128, small_format="f32", norm_group="linear_attention"
)
LING = DeltaAttention(2560, 32, 128, conv_kernel=4)


def total(block, **wanted):
    return sum(
        t.parameters
        for t in block.tensors()
        if all(getattr(t, key) == value for key, value in wanted.items())
    )


@pytest.mark.parametrize(
    ("block", "expected"),
    [
        (KIMI_LINEAR, 790_282_880 // 20),
        (LING, 2_206_741_600 // 35),
        (KIMI_K3, (30_607_048_704 + 11_040_000) // 69),
    ],
)
def test_published_parameters(block, expected):
    assert total(block, group="linear_attention") == expected


def test_small_tensors_of_k3_are_fp32():
    assert total(KIMI_K3, fixed_format="f32") == 160_000
    assert total(KIMI_LINEAR, fixed_format="f32") == 0


def test_k3_stores_the_decay_of_128_heads():
    (decay,) = (t for t in KIMI_K3.tensors() if t.name == "A_log")
    assert decay.rows == 128


@pytest.mark.parametrize("tp", [1, 8, 32])
def test_rank_shapes(tp):
    shapes = {t.name: t.rank_shape(Sharding(tp=tp))[1:] for t in KIMI_K3.tensors()}
    width = 96 // tp * 128
    assert shapes["q_proj"] == shapes["g_proj"] == (width, 7168)
    assert shapes["o_proj"] == (7168, width)
    assert shapes["f_a_proj"] == (128, 7168)  # replicated
    assert shapes["f_b_proj"] == (width, 128)
    assert shapes["b_proj"] == (96 // tp, 7168)
    assert shapes["k_conv1d"] == (width, 4)
    assert shapes["o_norm"] == (128, 1)


def test_state():
    (state,) = KIMI_K3.caches()
    assert state.request_bytes() == 96 * 128 * 128 * 4 + 3 * 36_864 * 2
    assert state.request_bytes(tp=8) * 8 == state.request_bytes()
    assert state.request_bytes(dtypes={"ssm": "bf16"}) == 96 * 128 * 128 * 2 + 3 * 36_864 * 2


def test_refusal_names_legal_sizes():
    assert (
        LING.refusal(Sharding(tp=12))
        == "TP 12 does not divide the 32 linear-attention heads; legal: 1, 2, 4, 8, 16, 32"
    )


def kimi_linear(catalogue, **linear):
    config = catalogue.model("kimi-linear-48b-a3b").config
    return {**config, "linear_attn_config": {**config["linear_attn_config"], **linear}}


def test_layer_lists_must_cover_every_layer_once(catalogue):
    for wrong in ({"kda_layers": [1, 2, 3]}, {"full_attn_layers": [28]}, {"kda_layers": list(range(1, 28))}):
        with pytest.raises(InvalidInput, match="each of the layers 1 to 27 once"):
            build_architecture(kimi_linear(catalogue, **wrong))


def test_unknown_draft_layers_are_not_guessed(catalogue):
    config = {**catalogue.model("kimi-linear-48b-a3b").config, "num_nextn_predict_layers": 1}
    with pytest.raises(UnsupportedArchitecture, match="draft layers"):
        build_architecture(config)
