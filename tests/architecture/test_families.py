"""Families: what configurations leave out, layer patterns, and clear words on what is unknown."""

from __future__ import annotations

import pytest

from planner.architecture import build_architecture
from planner.architecture.blocks.gdn import GatedDeltaNet
from planner.architecture.blocks.lightning import LightningAttention
from planner.architecture.blocks.mamba import Mamba2
from planner.architecture.families.vision import encoder_layers
from planner.architecture.totals import active_parameters, kv_bytes_per_token, parameters
from planner.errors import InvalidInput, UnsupportedArchitecture

QWEN3 = {
    "architectures": ["Qwen3ForCausalLM"],
    "model_type": "qwen3",
    "hidden_size": 64,
    "intermediate_size": 128,
    "num_hidden_layers": 4,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "head_dim": 32,
    "vocab_size": 100,
    "max_position_embeddings": 1024,
}
GPT_OSS = {
    "architectures": ["GptOssForCausalLM"],
    "model_type": "gpt_oss",
    "hidden_size": 64,
    "intermediate_size": 64,
    "num_hidden_layers": 4,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "head_dim": 16,
    "num_local_experts": 4,
    "num_experts_per_tok": 2,
    "sliding_window": 128,
    "vocab_size": 100,
    "max_position_embeddings": 1024,
}


def windows(config):
    architecture = build_architecture(config)
    return [cache.window for layer in architecture.layers for cache in layer.caches()]


def test_a_small_qwen3_by_hand():
    architecture = build_architecture(QWEN3)
    layer = 64 * 128 * 2 + 64 * 64 * 2 + 3 * 64 * 128 + 2 * 64 + 2 * 32
    assert parameters(architecture) == 4 * layer + 2 * 6400 + 64
    assert active_parameters(architecture) == 4 * layer + 6400 + 64
    assert kv_bytes_per_token(architecture, "bf16") == 4 * 2 * 64 * 2


def test_tied_embeddings_are_stored_once_and_multiplied_once():
    apart, tied = build_architecture(QWEN3), build_architecture({**QWEN3, "tie_word_embeddings": True})
    assert parameters(apart) - parameters(tied) == 6400
    assert active_parameters(apart) == active_parameters(tied)


def test_qwen_uses_its_window_only_when_told_to():
    window = {"sliding_window": 256, "max_window_layers": 3}
    assert windows({**QWEN3, **window}) == [None] * 4
    assert windows({**QWEN3, **window, "use_sliding_window": True}) == [None, None, None, 256]


def test_mistral_slides_in_every_layer():
    config = {**QWEN3, "architectures": ["MistralForCausalLM"], "model_type": "mistral"}
    assert windows({**config, "sliding_window": 256}) == [256] * 4


@pytest.mark.parametrize(
    ("architecture", "kind", "expected"),
    [
        ("Gemma2ForCausalLM", "gemma2", [256, None, 256, None]),
        ("Gemma3ForCausalLM", "gemma3_text", [256] * 4),
        ("Olmo3ForCausalLM", "olmo3", [256, 256, 256, None]),
    ],
)
def test_layer_patterns_by_class(architecture, kind, expected):
    config = {**QWEN3, "architectures": [architecture], "model_type": kind, "sliding_window": 256}
    assert windows(config) == expected


def test_gpt_oss_alternates_from_a_sliding_layer():
    assert windows(GPT_OSS) == [128, None, 128, None]
    listed = ["full_attention", "full_attention", "sliding_attention", "full_attention"]
    assert windows({**GPT_OSS, "layer_types": listed}) == [None, None, 128, None]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"layer_types": ["full_attention"] * 3 + ["magic"]}, "layer_types has 'magic'; expected full_att"),
        ({"layer_types": ["full_attention"]}, "layer_types has 1 items; expected 4"),
        ({"num_local_experts": None}, "num_local_experts is missing"),
        ({"sliding_window": -1}, "sliding_window is -1; expected an integer"),
    ],
)
def test_unknown_values_are_named_and_never_guessed(change, message):
    with pytest.raises(InvalidInput, match=message):
        build_architecture({**GPT_OSS, **change})


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (
            {"num_attention_heads": 40, "num_key_value_heads": 7},
            "mine: 7 KV heads do not divide 40 attention",
        ),
        ({"num_key_value_heads": 3}, "nearest possible: 2 or 4"),
        (
            {"num_attention_heads": 3, "head_dim": None},
            "num_attention_heads is 3, which does not divide hidden",
        ),
        ({"hidden_size": "64"}, r'hidden_size is "64"; expected an integer'),
        ({"hidden_size": True}, "hidden_size is true; expected an integer"),
        ({"model_type": 3}, "model_type is 3; expected a text"),
    ],
)
def test_sizes_that_no_model_has_are_refused(change, message):
    with pytest.raises(InvalidInput, match=message):
        build_architecture({**QWEN3, **change}, "mine")


def test_other_heads_and_experts_that_cannot_be():
    with pytest.raises(InvalidInput, match="a token uses 5 experts, but there are 4"):
        build_architecture({**GPT_OSS, "num_experts_per_tok": 5})
    with pytest.raises(InvalidInput, match="3 key heads of linear attention do not divide 8 value heads"):
        GatedDeltaNet(64, key_heads=3, value_heads=8, key_dim=16, value_dim=16, kernel=4)
    with pytest.raises(InvalidInput, match="3 Mamba groups do not divide 8 Mamba heads"):
        Mamba2(64, heads=8, head_dim=16, groups=3, state=16, kernel=4)
    with pytest.raises(InvalidInput, match="3 KV heads do not divide 8 attention heads"):
        LightningAttention(64, heads=8, kv_heads=3, head_dim=16)


def test_heads_of_an_encoder_divide_its_width():
    with pytest.raises(InvalidInput, match="encoder: num_attention_heads is 5, which does not divide"):
        encoder_layers(64, 5, 128, 2)


def test_unknown_model_type_of_a_known_architecture():
    with pytest.raises(InvalidInput, match="model_type is 'qwen9'; expected one of: deci, gemma"):
        build_architecture({**QWEN3, "model_type": "qwen9"})


def test_unknown_text_model_inside_a_multimodal_one():
    config = {
        "architectures": ["Mistral3ForConditionalGeneration"],
        "model_type": "mistral3",
        "text_config": {"model_type": "mystral"},
        "vision_config": {},
    }
    with pytest.raises(
        UnsupportedArchitecture, match=r"model_type 'mystral' is unknown.*nearest known: mistral"
    ):
        build_architecture(config)


def test_kv_heads_by_layer():
    config = {**QWEN3, "architectures": ["DeciLMForCausalLM"], "model_type": "deci"}
    config["num_key_value_heads_per_layer"] = [4, 2, 1, 1]
    assert kv_bytes_per_token(build_architecture(config), "fp8") == 8 * 64
    with pytest.raises(InvalidInput, match="num_key_value_heads_per_layer has 0; expected 1 or more"):
        build_architecture({**config, "num_key_value_heads_per_layer": [4, 2, 1, 0]})


def test_dense_layers_among_qwen_experts():
    config = {
        **QWEN3,
        "architectures": ["Qwen3MoeForCausalLM"],
        "model_type": "qwen3_moe",
        "num_experts": 8,
        "num_experts_per_tok": 2,
        "moe_intermediate_size": 16,
        "mlp_only_layers": [0],
        "decoder_sparse_step": 2,
    }
    sparse = [any(t.expert for t in layer.tensors()) for layer in build_architecture(config).layers]
    assert sparse == [False, True, False, True]


def test_falcon_has_one_kv_head_by_default():
    config = {
        "architectures": ["FalconForCausalLM"],
        "model_type": "falcon",
        "hidden_size": 4544,
        "num_hidden_layers": 32,
        "num_attention_heads": 71,
        "vocab_size": 65024,
    }
    architecture = build_architecture(config)
    assert parameters(architecture) == 6_921_720_704
    assert kv_bytes_per_token(architecture, "bf16") == 8192


def test_gemma_4_shares_keys_in_its_last_layers_and_doubles_their_mlp():
    config = {
        "architectures": ["Gemma4ForConditionalGeneration"],
        "model_type": "gemma4",
        "text_config": {
            **QWEN3,
            "num_kv_shared_layers": 2,
            "use_double_wide_mlp": True,
            "hidden_size_per_layer_input": 16,
            "vocab_size_per_layer_input": 100,
            "global_head_dim": 64,
            "sliding_window": 128,
            "layer_types": ["sliding_attention", "full_attention"] * 2,
        },
    }
    architecture = build_architecture(config)
    assert [len(list(layer.caches())) for layer in architecture.layers] == [1, 1, 0, 0]
    widths = [t.rows for layer in architecture.layers for t in layer.tensors() if t.name == "up_proj"]
    assert widths == [128, 128, 256, 256]
    # The table of per-layer embeddings is looked up, not multiplied.
    table = 100 * 4 * 16
    assert parameters(architecture) - active_parameters(architecture) == table
    assert architecture.towers == ()
