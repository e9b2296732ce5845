"""Models that put a vision tower before a language model of another family."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from planner.architecture.blocks.tower import Tower
from planner.architecture.config import Config
from planner.architecture.families import build_model, towers, vision
from planner.architecture.families.common import text_config
from planner.architecture.families.moonvit import moonvit
from planner.architecture.model import Architecture

# The largest SigLIP without pooling head, which Gemma 3 configurations give only in part.
GEMMA3_VISION = {
    "hidden_size": 1152,
    "intermediate_size": 4304,
    "num_attention_heads": 16,
    "num_hidden_layers": 27,
    "image_size": 896,
    "patch_size": 14,
}


def gemma3(config: Config, hidden: int) -> Tower:
    """Build Gemma 3's tower.

    Parameters
    ----------
    config : Config
        The outer configuration.
    hidden : int
        Width of the language model.

    Returns
    -------
    Tower
    """
    return vision.gemma3(config.part("vision_config", defaults=GEMMA3_VISION), hidden)


def mistral3(config: Config, hidden: int) -> Tower:
    """Build Mistral 3's tower.

    Parameters
    ----------
    config : Config
        The outer configuration, which says how many patches become one.
    hidden : int
        Width of the language model.

    Returns
    -------
    Tower
    """
    return vision.pixtral(config.part("vision_config"), hidden, config.size("spatial_merge_size", default=2))


@dataclass(frozen=True, slots=True)
class Wrapper:
    """How a multimodal model type is put together.

    Parameters
    ----------
    text_type : str
        Model type of the language model where its part names none.
    tower : callable
        Builds the tower from the outer configuration and the width of the language model.
    """

    text_type: str
    tower: Callable[[Config, int], Tower]


WRAPPERS = {
    "gemma3": Wrapper("gemma3_text", gemma3),
    "internvl_chat": Wrapper("qwen2", lambda c, hidden: towers.intern_vit(c.part("vision_config"), hidden)),
    "kimi_k25": Wrapper("kimi_k2", lambda c, hidden: moonvit(c.part("vision_config"), hidden)),
    "kimi_vl": Wrapper("deepseek_v3", lambda c, hidden: moonvit(c.part("vision_config"), hidden)),
    "llava_next": Wrapper("granite", towers.granite_vision),
    "mistral3": Wrapper("mistral", mistral3),
    "muse_glimmer": Wrapper("muse_glimmer_text", towers.muse),
    "qwen2_5_vl": Wrapper("qwen2_5_vl_text", lambda c, _: vision.qwen2_5_vl(c.part("vision_config"))),
    "qwen3_vl": Wrapper("qwen3_vl_text", lambda c, _: vision.qwen3_vl(c.part("vision_config"))),
    "qwen3_vl_moe": Wrapper("qwen3_vl_moe_text", lambda c, _: vision.qwen3_vl(c.part("vision_config"))),
    "step3_vl": Wrapper("qwen3", towers.step3),
}


def build(config: Config) -> Architecture:
    """Build a language model with its vision tower.

    Parameters
    ----------
    config : Config
        Configuration with ``text_config`` (or ``llm_config``) and ``vision_config``.

    Returns
    -------
    Architecture
    """
    wrapper = WRAPPERS[config.choice("model_type", WRAPPERS)]
    model = build_model(text_config(config).with_defaults({"model_type": wrapper.text_type}))
    return replace(model, towers=(wrapper.tower(config, model.hidden_size),))
