"""The vision towers of the Kimi models and of DeepSeek-OCR, against published parameter counts."""

from __future__ import annotations

import pytest

from planner.architecture import build_architecture
from planner.architecture.config import Config
from planner.architecture.families.moonvit import moonvit
from planner.architecture.totals import parameters, parameters_by_group
from planner.errors import InvalidInput

# Kimi-VL's vision_config; the language model is as wide as Moonlight's.
KIMI_VL = {
    "hidden_size": 1152,
    "init_pos_emb_height": 64,
    "init_pos_emb_width": 64,
    "intermediate_size": 4304,
    "merge_kernel_size": [2, 2],
    "model_type": "moonvit",
    "num_attention_heads": 16,
    "num_hidden_layers": 27,
    "patch_size": 14,
}


def test_kimi_vl(catalogue):
    moonlight = catalogue.model("moonlight-16b-a3b").config
    text = {key: value for key, value in moonlight.items() if key != "architectures"}
    architecture = build_architecture(
        {
            "architectures": ["KimiVLForConditionalGeneration"],
            "model_type": "kimi_vl",
            "text_config": text,
            "vision_config": KIMI_VL,
        }
    )
    assert parameters_by_group(architecture)["vision"] == 447_545_840
    assert parameters(architecture) == 16_407_656_048


def test_kimi_k25(catalogue):
    architecture = build_architecture(catalogue.model("kimi-k2.5").config)
    assert parameters_by_group(architecture)["vision"] == 471_143_920


def test_unknown_projector():
    config = Config({**KIMI_VL, "mm_projector_type": "qformer"})
    with pytest.raises(InvalidInput, match="mm_projector_type is 'qformer'; expected one of: patchmerger"):
        moonvit(config, 2048)


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        # The index of the published checkpoint: 6,672,212,480 bytes in BF16.
        ("DeepseekOCRForCausalLM", 3_336_106_240),
        ("DeepseekOCR2ForCausalLM", 3_389_119_360),
    ],
)
def test_deepseek_ocr(catalogue, name, expected):
    config = {**catalogue.model("deepseek-ocr").config, "architectures": [name]}
    assert parameters(build_architecture(config)) == expected
