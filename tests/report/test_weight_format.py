"""The format of the weights in force, in words."""

from __future__ import annotations

import pytest

import planner
from planner.architecture.formats import FORMATS
from planner.report.weight_format import WORDS, weight_format


def test_every_format_has_words():
    assert set(WORDS) == set(FORMATS)


def test_every_variant_of_every_model_has_words(catalogue):
    for model in catalogue.models():
        assert weight_format(model, None).variant == ""
        for name in model.quantisations:
            assert weight_format(model, name).text


@pytest.mark.parametrize(
    ("model", "weight_dtype", "text", "variant"),
    [
        ("deepseek-v3", None, "FP8 in 128x128 blocks, rest BF16 (checkpoint as published)", ""),
        ("deepseek-v3", "fp8", "FP8 in 128x128 blocks, rest BF16 (checkpoint as published)", ""),
        ("deepseek-v3", "nvfp4", "NVFP4, rest BF16 (quantised variant nvfp4)", "nvfp4"),
        ("kimi-k3", None, "MXFP4 (routed experts), rest BF16 (checkpoint as published)", ""),
        ("kimi-k3", "bf16", "BF16 (cast when it is loaded)", "bf16"),
        ("llama-3.1-8b", None, "BF16 (checkpoint as published)", ""),
    ],
)
def test_the_format_in_force(catalogue, model, weight_dtype, text, variant):
    found = weight_format(catalogue.model(model), weight_dtype)
    assert (found.text, found.variant) == (text, variant)


def test_a_variant_is_named_in_the_first_sentence_and_an_alias_that_implied_it_too(catalogue):
    asked = planner.fit(model="deepseek-v3", gpu="b200", weight_dtype="nvfp4", catalogue=catalogue).answer
    assert asked.sentence.startswith("DeepSeek-V3 (nvfp4) fits on ")
    implied = planner.fit(model="nvidia/DeepSeek-R1-NVFP4", gpu="b200", catalogue=catalogue).answer
    assert implied.sentence.startswith("DeepSeek-R1 (nvfp4")
    assert "implied by the name nvidia/DeepSeek-R1-NVFP4" in implied.to_dict()["weight_format"]
    native = planner.fit(model="deepseek-v3", gpu="b200", catalogue=catalogue).answer
    assert native.sentence.startswith("DeepSeek-V3 fits on ")
    assert native.to_dict()["weight_dtype"] is None
