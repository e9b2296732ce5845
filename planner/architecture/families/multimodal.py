"""Models that put a vision tower before a language model of another family."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from planner.architecture.blocks.tower import Tower
from planner.architecture.config import Config
from planner.architecture.families import build_model, vision
from planner.architecture.families.common import text_config
from planner.architecture.model import Architecture

TOWERS: dict[str, Callable[[Config], Tower]] = {
    "qwen2_5_vl": lambda config: vision.qwen2_5_vl(config.part("vision_config")),
    "qwen3_vl": lambda config: vision.qwen3_vl(config.part("vision_config")),
    "qwen3_vl_moe": lambda config: vision.qwen3_vl(config.part("vision_config")),
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
    tower = TOWERS[config.choice("model_type", TOWERS)](config)
    return replace(build_model(text_config(config)), towers=(tower,))
