"""Families of hybrid, sparse and many-headed models: what a configuration says, and what it must not."""

from __future__ import annotations

from copy import deepcopy
from math import isqrt

import pytest

from planner.architecture import Sharding, build_architecture
from planner.architecture.config import Config
from planner.architecture.families.lfm2 import feed_forward_width
from planner.architecture.families.qwen4_exp import is_prime
from planner.architecture.families.step import expert_layers
from planner.architecture.totals import kv_bytes_per_token, parameters_by_group, state_bytes
from planner.errors import InvalidInput, Unsupported

NEMOTRON = {
    "architectures": ["NemotronHForCausalLM"],
    "hidden_size": 256,
    "vocab_size": 1024,
    "hybrid_override_pattern": "M-M*E",
    "mamba_num_heads": 8,
    "mamba_head_dim": 32,
    "n_groups": 2,
    "ssm_state_size": 16,
    "conv_kernel": 4,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "head_dim": 64,
    "intermediate_size": 512,
    "n_routed_experts": 8,
    "n_shared_experts": 1,
    "num_experts_per_tok": 2,
    "moe_intermediate_size": 128,
    "moe_shared_expert_intermediate_size": 128,
    "max_position_embeddings": 4096,
    "tie_word_embeddings": False,
}
QWEN = {
    "architectures": ["Qwen3NextForCausalLM"],
    "model_type": "qwen3_next",
    "hidden_size": 256,
    "num_hidden_layers": 8,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "head_dim": 64,
    "linear_conv_kernel_dim": 4,
    "linear_key_head_dim": 32,
    "linear_value_head_dim": 32,
    "linear_num_key_heads": 4,
    "linear_num_value_heads": 8,
    "num_experts": 8,
    "num_experts_per_tok": 2,
    "moe_intermediate_size": 64,
    "shared_expert_intermediate_size": 64,
    "vocab_size": 1024,
    "max_position_embeddings": 4096,
}
MINIMAX = {
    "architectures": ["MiniMaxM2ForCausalLM"],
    "model_type": "minimax_m2",
    "num_hidden_layers": 4,
    "hidden_size": 256,
    "num_attention_heads": 8,
    "num_key_value_heads": 2,
    "head_dim": 32,
    "intermediate_size": 128,
    "vocab_size": 1024,
    "num_experts_per_tok": 2,
    "num_local_experts": 8,
    "max_position_embeddings": 4096,
    "qk_norm_type": "per_layer",
}
HUNYUAN = {
    "architectures": ["HunYuanForCausalLM"],
    "hidden_size": 640,
    "intermediate_size": 256,
    "num_hidden_layers": 4,
    "num_attention_heads": 8,
    "num_key_value_heads": 2,
    "num_experts": 4,
    "num_shared_expert": 1,
    "moe_topk": 1,
    "use_mixed_mlp_moe": True,
    "use_cla": True,
    "cla_share_factor": 2,
    "vocab_size": 1024,
    "max_position_embeddings": 4096,
    "tie_word_embeddings": True,
}


def changed(config, **fields):
    return {**deepcopy(config), **fields}


def test_letters_and_names_of_mixers_mean_the_same():
    listed = changed(NEMOTRON, layers_block_type=["mamba", "mlp", "mamba", "attention", "moe"])
    assert build_architecture(listed) == build_architecture(NEMOTRON)


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"hybrid_override_pattern": "M-X"}, "hybrid_override_pattern has 'X'; expected M * - E"),
        ({"layers_block_type": ["mamba", "rwkv"]}, "layers_block_type has 'rwkv'; expected mamba or"),
        ({"num_hidden_layers": 6}, "5 layers are listed; num_hidden_layers is 6"),
        ({"mamba_ssm_cache_dtype": "float8"}, "recurrent state dtype 'float8'; expected float32 or bfloat16"),
    ],
)
def test_unknown_mixers_and_dtypes_are_refused(fields, message):
    with pytest.raises(InvalidInput, match=message.replace("*", r"\*")):
        build_architecture(changed(NEMOTRON, **fields))


def test_refusals_of_every_block_reach_the_architecture():
    reasons = build_architecture(NEMOTRON).refusals(Sharding(tp=8))
    assert reasons == ["TP 8 does not divide the 4 attention heads; legal: 1, 2, 4"]
    assert build_architecture(NEMOTRON).refusals(Sharding(tp=4)) == []


def test_every_fourth_layer_of_qwen_is_full_unless_listed():
    assert kv_bytes_per_token(build_architecture(QWEN), "bf16") == 2 * 2 * (64 + 64) * 2
    kinds = ["linear_attention"] * 7 + ["full_attention"]
    listed = build_architecture(changed(QWEN, layer_types=kinds))
    assert kv_bytes_per_token(listed, "bf16") == 2 * (64 + 64) * 2
    with pytest.raises(InvalidInput, match="layer_types has 'chunked'; expected linear_attention or"):
        build_architecture(changed(QWEN, layer_types=["chunked"] * 8))
    with pytest.raises(InvalidInput, match="layer_types has 7 items; expected 8"):
        build_architecture(changed(QWEN, layer_types=kinds[1:]))


def test_the_state_takes_the_dtype_that_the_configuration_names():
    # Six layers, each with 3 x (2 x 128 + 256) of window in BF16 and 8 x 32 x 32 of state.
    window, state = 3 * 512 * 2, 8 * 32 * 32
    assert state_bytes(build_architecture(QWEN)) == 6 * (window + state * 4)
    narrow = build_architecture(changed(QWEN, mamba_ssm_dtype="bfloat16"))
    assert state_bytes(narrow) == 6 * (window + state * 2)
    assert narrow.state_dtype == "bf16"
    assert build_architecture(QWEN).state_dtype is None


def test_layers_listed_as_dense_have_no_experts():
    model = build_architecture(changed(QWEN, mlp_only_layers=[0, 1], intermediate_size=512))
    assert parameters_by_group(model)["dense_mlp"] == 2 * 3 * 256 * 512


def test_minimax_normalises_by_layer_or_by_head_and_nothing_else():
    def norms(kind):
        model = build_architecture(changed(MINIMAX, qk_norm_type=kind))
        return parameters_by_group(model)["norm"] - (2 * 4 + 1) * 256

    assert norms("per_layer") == 4 * (8 + 2) * 32
    assert norms("per_head") == 4 * 2 * 32
    with pytest.raises(InvalidInput, match="qk_norm_type is 'per_group'"):
        norms("per_group")
    with pytest.raises(Unsupported, match="attention_output_gate"):
        build_architecture(changed(MINIMAX, attention_output_gate=True))


def test_layers_that_share_keys_and_values_halve_the_cache_and_have_no_projections_for_them():
    shared, alone = build_architecture(HUNYUAN), build_architecture(changed(HUNYUAN, use_cla=False))
    assert 2 * kv_bytes_per_token(shared, "bf16") == kv_bytes_per_token(alone, "bf16")
    spared = parameters_by_group(alone)["attention"] - parameters_by_group(shared)["attention"]
    assert spared == 2 * 2 * (2 * 80) * 640


def test_layers_with_experts_are_listed_by_number_or_range():
    def listed(text):
        return expert_layers(Config({"moe_layers_enum": text}), 12)

    assert listed("4,5,6") == {4, 5, 6}
    assert listed("2, 4..6,11") == {2, 4, 5, 6, 11}
    assert expert_layers(Config({}), 5) == {3, 4}
    for wrong in ("", "4;5", "4..", "6..4", "1..2..3", "-1", "12", "3..12"):
        with pytest.raises(InvalidInput, match="moe_layers_enum has"):
            listed(wrong)


def test_the_width_of_an_lfm2_mlp_is_adjusted_as_its_class_does():
    assert (
        feed_forward_width(Config({"intermediate_size": 10752, "block_auto_adjust_ff_dim": False})) == 10752
    )
    # Two thirds of 12,288 are 8,192, a multiple of 256.
    assert feed_forward_width(Config({"block_ff_dim": 12288})) == 8192
    assert feed_forward_width(Config({"block_ff_dim": 12289, "block_multiple_of": 1000})) == 9000


def test_primes_are_those_that_no_smaller_number_divides():
    small = [n for n in range(2, 400) if all(n % d for d in range(2, isqrt(n) + 1))]
    assert [n for n in range(400) if is_prime(n)] == small
