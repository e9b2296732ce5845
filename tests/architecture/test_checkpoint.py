"""Formats read from a checkpoint's `quantization_config`."""

from __future__ import annotations

import pytest

from planner.architecture import build_architecture
from planner.architecture.checkpoint import base_format, formats_from_config
from planner.catalogue import load_catalogue
from planner.errors import InvalidInput, UnsupportedArchitecture

CATALOGUE = load_catalogue()
STATED = [model.id for model in CATALOGUE.models() if model.weights]
# Their formats stand in no field of their configuration.
UNSTATED = {"mistral-large-3", "kimi-k2.7-code", "deepseek-v4.1-flash"}
# The list of modules left alone in the configuration is not what the checkpoint holds (o_proj is BF16).
WRONG_LIST = {"mimo-v2-flash"}


def formats(config, key="llama-3.1-8b"):
    base = CATALOGUE.model(key).config
    merged = {**base, "quantization_config": config}
    return formats_from_config(merged, build_architecture(base, key), key)


@pytest.mark.parametrize("key", [key for key in STATED if key not in UNSTATED | WRONG_LIST])
def test_the_configuration_says_what_the_checkpoint_holds(key):
    model = CATALOGUE.model(key)
    assert formats_from_config(model.config, build_architecture(model.config, key), key) == model.weights


DENSE = {"attention", "dense_mlp"}


@pytest.mark.parametrize(
    ("config", "fmt"),
    [
        ({"quant_method": "fp8", "weight_block_size": [128, 128]}, "fp8-block128"),
        ({"quant_method": "fp8"}, "fp8-tensor"),
        ({"quant_method": "awq", "bits": 4, "group_size": 128}, "int4-awq-g128"),
        ({"quant_method": "gptq", "bits": 4, "group_size": 128, "sym": True}, "int4-g128"),
        ({"quant_method": "gptq", "bits": 4, "group_size": 128, "sym": False}, "int4-awq-g128"),
        ({"quant_method": "modelopt", "quant_algo": "NVFP4"}, "nvfp4"),
        ({"quant_method": "fbgemm_fp8"}, "fp8-channel"),
        (
            {
                "quant_method": "compressed-tensors",
                "config_groups": {"g": {"weights": {"num_bits": 8, "type": "int", "strategy": "channel"}}},
                "ignore": ["lm_head"],
            },
            "int8-channel",
        ),
    ],
)
def test_each_method_gives_its_format_to_all_projections(config, fmt):
    assert formats(config) == dict.fromkeys(DENSE, fmt)


def test_a_list_of_modules_may_leave_out_a_group_or_a_tensor():
    base = {"quant_method": "fp8"}
    assert formats({**base, "modules_to_not_convert": ["self_attn"]}) == {"dense_mlp": "fp8-tensor"}
    assert formats({**base, "ignore": ["re:.*mlp.*"]}) == {"attention": "fp8-tensor"}
    only_o = formats({**base, "ignore": ["re:.*o_proj$"]})
    assert only_o["attention/q_proj"] == "fp8-tensor"
    assert "attention/o_proj" not in only_o
    # "gate" names the router, not gate_proj.
    assert formats({**base, "modules_to_not_convert": ["gate"]}) == dict.fromkeys(DENSE, "fp8-tensor")


def test_no_quantisation_means_no_rules():
    model = CATALOGUE.model("llama-3.1-8b")
    assert formats_from_config(model.config, build_architecture(model.config), "x") == {}


@pytest.mark.parametrize(
    ("config", "error", "says"),
    [
        ({"quant_method": "aqlm"}, UnsupportedArchitecture, "unknown quant_method 'aqlm'; known: awq"),
        ({"quant_method": "modelopt", "quant_algo": "W4A8"}, UnsupportedArchitecture, "unknown quant_algo"),
        ({"quant_method": "awq", "bits": 3, "group_size": 64}, UnsupportedArchitecture, "3 bits by 64"),
        ({"quant_method": "fp8", "weight_block_size": [64, 64]}, InvalidInput, r"known: \[128, 128\]"),
        ({}, InvalidInput, "quant_method is missing"),
        ({"quant_method": "fp8", "ignore": ["re:(a+)+$"]}, InvalidInput, "too complex"),
        ({"quant_method": "fp8", "ignore": ["re:("]}, InvalidInput, "not a regular expression"),
        ({"quant_method": "fp8", "ignore": "lm_head"}, InvalidInput, "not a list of str"),
        (
            {"quant_method": "compressed-tensors", "config_groups": {}},
            UnsupportedArchitecture,
            "0 weight formats",
        ),
    ],
)
def test_what_cannot_be_read_is_refused_by_name(config, error, says):
    with pytest.raises(error, match=says):
        formats(config)


@pytest.mark.parametrize(
    ("config", "fmt"),
    [
        ({"torch_dtype": "float16"}, "f16"),
        ({"dtype": "torch.float32"}, "f32"),
        ({"text_config": {"dtype": "float16"}}, "f16"),
        ({}, "bf16"),
    ],
)
def test_weights_that_are_not_quantised_have_the_dtype_of_the_configuration(config, fmt):
    assert base_format(config, "config.json") == fmt


def test_an_unknown_dtype_is_named():
    with pytest.raises(InvalidInput, match="dtype 'float8' is unknown; known: bfloat16"):
        base_format({"torch_dtype": "float8"}, "config.json")
