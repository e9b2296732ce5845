"""From a Hugging Face configuration to an architecture, one file for each family of models."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any

from planner.architecture.blocks.legal import ImpossibleBlock
from planner.architecture.config import Config
from planner.architecture.model import Architecture
from planner.errors import InvalidInput, UnsupportedArchitecture, nearest_names

# Architecture name (`architectures[0]`) -> module of this package that builds it. A family is imported only
# when a model of it is asked for.
FAMILIES: dict[str, str] = {
    "BailingMoeV3ForCausalLM": "bailing_v3",
    "DeepseekOCR2ForCausalLM": "deepseek_ocr",
    "DeepseekOCRForCausalLM": "deepseek_ocr",
    "DeepseekV2ForCausalLM": "deepseek",
    "DeepseekV3ForCausalLM": "deepseek",
    "DeepseekV32ForCausalLM": "deepseek",
    "DeepseekV4ForCausalLM": "deepseek_v4",
    "DeepseekV41ForCausalLM": "deepseek_v41",
    "Glm4MoeLiteForCausalLM": "deepseek",
    "Glm5NextForConditionalGeneration": "glm5_next",
    "GlmMoeDsaForCausalLM": "deepseek",
    "Mistral4ForCausalLM": "deepseek",
    "MistralLarge3ForCausalLM": "deepseek",
    "KimiK25ForConditionalGeneration": "multimodal",
    "KimiK3ForConditionalGeneration": "kimi_linear",
    "KimiLinearForCausalLM": "kimi_linear",
    "KimiVLForConditionalGeneration": "multimodal",
    "LlamaForCausalLM": "llama",
    "Gemma4ForConditionalGeneration": "gemma4",
    "Gemma4UnifiedForConditionalGeneration": "gemma4",
    "BloomForCausalLM": "classic",
    "FalconForCausalLM": "classic",
    "GPTJForCausalLM": "classic",
    "OPTForCausalLM": "classic",
    "PhiForCausalLM": "classic",
    "MllamaForConditionalGeneration": "mllama",
    "StepVLForConditionalGeneration": "multimodal",
    "LlavaNextForConditionalGeneration": "multimodal",
    "Qwen3OmniMoeForConditionalGeneration": "qwen3_omni",
    "MistralForCausalLM": "llama",
    "GptOssForCausalLM": "gpt_oss",
    "Llama4ForConditionalGeneration": "llama4",
    "Gemma2ForCausalLM": "llama",
    "Gemma3ForCausalLM": "llama",
    "Gemma3ForConditionalGeneration": "multimodal",
    "Mistral3ForConditionalGeneration": "multimodal",
    "InternVLChatModel": "multimodal",
    "MuseGlimmerForCausalLM": "llama",
    "MuseGlimmerForConditionalGeneration": "multimodal",
    "Qwen2ForCausalLM": "llama",
    "Qwen2MoeForCausalLM": "llama",
    "Qwen3ForCausalLM": "llama",
    "Qwen3MoeForCausalLM": "llama",
    "MixtralForCausalLM": "llama",
    "Phi3ForCausalLM": "llama",
    "GraniteForCausalLM": "llama",
    "GemmaForCausalLM": "llama",
    "Olmo3ForCausalLM": "llama",
    "DeciLMForCausalLM": "llama",
    "Ministral3ForCausalLM": "llama",
    "Qwen2_5_VLForConditionalGeneration": "multimodal",
    "Qwen3VLForConditionalGeneration": "multimodal",
    "Qwen3VLMoeForConditionalGeneration": "multimodal",
    "Ernie4_5_MoeForCausalLM": "leading_dense",
    "Glm4MoeForCausalLM": "leading_dense",
    "HYV3ForCausalLM": "leading_dense",
    "GraniteMoeHybridForCausalLM": "granite_hybrid",
    "HunYuanForCausalLM": "hunyuan",
    "InklingForConditionalGeneration": "inkling",
    "LLaDA2MoeModelLM": "leading_dense",
    "MiMoV2FlashForCausalLM": "mimo",
    "Qwen4ExpForConditionalGeneration": "qwen4_exp",
    "Step3VLForConditionalGeneration": "step",
    "Step3p5ForCausalLM": "step",
    "Step3p7ForConditionalGeneration": "step",
    "Lfm2ForCausalLM": "lfm2",
    "MiniCPMSALAForCausalLM": "lightning",
    "MiniMaxM1ForCausalLM": "lightning",
    "MiniMaxText01ForCausalLM": "lightning",
    "MiniMaxM2ForCausalLM": "minimax",
    "MiniMaxM3ForCausalLM": "minimax",
    "MiniMaxM3VLForConditionalGeneration": "minimax",
    "NemotronHForCausalLM": "nemotron_h",
    "Qwen3NextForCausalLM": "qwen_next",
    "Qwen3_5ForCausalLM": "qwen_next",
    "Qwen3_5ForConditionalGeneration": "qwen_next",
    "Qwen3_5MoeForCausalLM": "qwen_next",
    "Qwen3_5MoeForConditionalGeneration": "qwen_next",
}

# Nested text configurations name no architecture, only their `model_type`.
ARCHITECTURE_OF: dict[str, str] = {
    "deepseek_v2": "DeepseekV2ForCausalLM",
    "deepseek_v3": "DeepseekV3ForCausalLM",
    "kimi_k2": "DeepseekV3ForCausalLM",
    "mistral4": "Mistral4ForCausalLM",
    "gemma3_text": "Gemma3ForCausalLM",
    "granite": "GraniteForCausalLM",
    "muse_glimmer_text": "MuseGlimmerForCausalLM",
    "ministral3": "Ministral3ForCausalLM",
    "mistral": "MistralForCausalLM",
    "qwen2": "Qwen2ForCausalLM",
    "qwen2_5_vl_text": "Qwen2ForCausalLM",
    "qwen3": "Qwen3ForCausalLM",
    "qwen3_moe": "Qwen3MoeForCausalLM",
    "qwen3_omni_moe_text": "Qwen3MoeForCausalLM",
    "qwen3_vl_moe_text": "Qwen3MoeForCausalLM",
    "qwen3_vl_text": "Qwen3ForCausalLM",
}


def build_architecture(config: Mapping[str, Any], where: str = "config.json") -> Architecture:
    """Build the architecture that a configuration describes.

    Parameters
    ----------
    config : mapping
        A decoded Hugging Face ``config.json``.
    where : str
        What error messages name.

    Returns
    -------
    Architecture

    Raises
    ------
    UnsupportedArchitecture
        When no family knows the architecture; nothing is guessed.
    InvalidInput
        When a field is missing or impossible.
    """
    try:
        return build_model(Config(config, where))
    except ImpossibleBlock as error:
        raise InvalidInput(f"{where}: {error}") from None


def build_model(config: Config) -> Architecture:
    """Build the architecture of a configuration, or of the text part of one.

    Parameters
    ----------
    config : Config
        With `architectures`, or with the `model_type` of a known text model.

    Returns
    -------
    Architecture

    Raises
    ------
    UnsupportedArchitecture
        When no family knows the architecture.
    """
    if "architectures" not in config and "model_type" in config:
        kind = config.text("model_type")
        name, what, known = ARCHITECTURE_OF.get(kind, kind), "model_type", [*ARCHITECTURE_OF]
    else:
        names = config.items("architectures", str)
        if not names:
            raise UnsupportedArchitecture(
                f"{config.where}: architectures is empty, so the model's parts are unknown"
            )
        name, what, known = names[0], "architecture", [*FAMILIES]
    module = FAMILIES.get(name)
    if module is None:
        near = nearest_names(name, known)
        hint = f"; nearest known: {', '.join(near)}" if near else ""
        raise UnsupportedArchitecture(
            f"{config.where}: {what} {name!r} is unknown: no family describes its blocks{hint}"
        )
    build: Callable[[Config], Architecture] = import_module(f"{__name__}.{module}").build
    return build(config)
