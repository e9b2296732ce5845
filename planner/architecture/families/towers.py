"""Vision towers of single families: InternVL, Muse Glimmer, Step3-VL and Granite Vision."""

from __future__ import annotations

from math import gcd

from planner.architecture.blocks.gqa import GroupedQueryAttention
from planner.architecture.blocks.mlp import DenseMlp
from planner.architecture.blocks.tower import Tower
from planner.architecture.config import Config, head_width
from planner.architecture.families.vision import (
    attention,
    encoder_layers,
    linear,
    patch_embedding,
    siglip,
    table,
)
from planner.architecture.model import Block, norm
from planner.architecture.tensors import Split


def intern_vit(config: Config, out: int) -> Tower:
    """Build the tower of InternVL3-78B: InternViT-6B with norms on queries and keys, and a projector.

    Parameters
    ----------
    config : Config
        Its ``vision_config``.
    out : int
        Width of the language model.

    Returns
    -------
    Tower
    """
    hidden, heads = config.size("hidden_size"), config.size("num_attention_heads")
    intermediate, layers = config.size("intermediate_size"), config.size("num_hidden_layers")
    positions = (config.size("image_size") // config.size("patch_size")) ** 2 + 1
    width = head_width(hidden, heads, config.where)
    heads_block = GroupedQueryAttention(hidden, heads, heads, width, width, out_bias=True, qk_norm=2 * hidden)
    merged = 4 * hidden
    # Ranks that the 25 heads do not divide hold all of attention, yet share the MLP.
    mlp = Tower(((DenseMlp(hidden, intermediate, gated=False, bias=True), layers),), divides=intermediate)
    return Tower(
        (
            (patch_embedding(config), 1),
            (table("class_embedding", hidden), 1),
            (table("position_embedding", positions, hidden), 1),
            # Two norms without bias, and a scale after each block.
            (norm(hidden, hidden), layers),
            (norm(hidden, hidden, name="layer_scale"), layers),
            (heads_block, layers),
            (mlp, 1),
            (norm(merged, merged), 1),
            (linear("mlp1.1", out, merged), 1),
            (linear("mlp1.3", out, out), 1),
        ),
        divides=heads,
    )


# Class defaults of MuseGlimmerVisionConfig and, below, of the projector in MuseGlimmerConfig.
MUSE = {
    "hidden_size": 1536,
    "intermediate_size": 8960,
    "num_attention_heads": 16,
    "num_hidden_layers": 50,
    "patch_size": 14,
    "patch_temporal": 2,
    "pos_emb_height": 32,
    "pos_emb_width": 32,
}


def muse(config: Config, out: int) -> Tower:
    """Build the tower of Muse Glimmer (Hugging Face class MuseGlimmerVisionModel).

    Parameters
    ----------
    config : Config
        The outer configuration, which also holds the widths of the projector.
    out : int
        Width of the language model.

    Returns
    -------
    Tower
    """
    tower = config.part("vision_config", defaults=MUSE)
    hidden, heads = tower.size("hidden_size"), tower.size("num_attention_heads")
    intermediate, layers = tower.size("intermediate_size"), tower.size("num_hidden_layers")
    merged = config.size("out_hidden_size", default=6144)
    projector = config.size("projector_hidden_size", default=4096)
    positions = tower.size("pos_emb_height") * tower.size("pos_emb_width")
    return Tower(
        (
            (patch_embedding(tower, tower.size("patch_temporal"), bias=False), 1),
            (table("position_embedding", positions, hidden), 1),
            (norm(*[hidden] * 4), 1),
            *encoder_layers(hidden, heads, intermediate, layers),
            (linear("adapter.fc1", projector, merged, Split.COLUMN, bias=False), 1),
            (linear("adapter.fc2", projector, projector, Split.ROW, bias=False), 1),
            (linear("projection", out, projector, Split.COLUMN, bias=False), 1),
        ),
        divides=gcd(heads, intermediate),
    )


# Class defaults of Step3p7VisionConfig: the perception encoder of Step3-VL and Step-3.7.
STEP3 = {
    "hidden_size": 1536,
    "intermediate_size": 8960,
    "num_attention_heads": 16,
    "num_hidden_layers": 47,
    "image_size": 728,
    "patch_size": 14,
}


def step3(config: Config, out: int) -> Tower:
    """Build the tower of Step3-VL and Step-3.7 (Hugging Face class Step3p7VisionModel).

    Parameters
    ----------
    config : Config
        The outer configuration.
    out : int
        Width of the language model.

    Returns
    -------
    Tower
    """
    tower = config.part("vision_config", defaults=STEP3)
    hidden, heads = tower.size("hidden_size"), tower.size("num_attention_heads")
    intermediate, layers = tower.size("intermediate_size"), tower.size("num_hidden_layers")
    positions = (tower.size("image_size") // tower.size("patch_size")) ** 2
    return Tower(
        (
            (patch_embedding(tower, bias=False), 1),
            (table("position_embedding", positions, hidden), 1),
            (norm(hidden, hidden), 1),
            *encoder_layers(hidden, heads, intermediate, layers),
            (norm(hidden, hidden, name="layer_scale"), layers),
            # Two convolutions of three by three that halve each side and double the width.
            (table("downsampler1", 2 * hidden, 9 * hidden + 1), 1),
            (table("downsampler2", 4 * hidden, 18 * hidden + 1), 1),
            (linear("projector", out, 4 * hidden, bias=config.flag("projector_bias")), 1),
        ),
        divides=gcd(heads, intermediate),
    )


# SigLIP2-so400m at 384 pixels, the encoder of the Granite Vision models.
SIGLIP_SO400M = {
    "hidden_size": 1152,
    "intermediate_size": 4304,
    "num_attention_heads": 16,
    "num_hidden_layers": 27,
    "image_size": 384,
    "patch_size": 14,
}
# The layers whose features Granite Vision puts side by side.
GRANITE_FEATURES = [-24, -20, -12, -1]


def granite_vision(config: Config, out: int) -> Tower:
    """Build the tower of Granite Vision: SigLIP with its pooling head, and LLaVA-NeXT's projector.

    Parameters
    ----------
    config : Config
        The outer configuration.
    out : int
        Width of the language model.

    Returns
    -------
    Tower
    """
    tower = config.part("vision_config", defaults={**SIGLIP_SO400M, "model_type": "siglip_vision_model"})
    tower.choice("model_type", ["siglip_vision_model"])
    hidden, heads = tower.size("hidden_size"), tower.size("num_attention_heads")
    intermediate = tower.size("intermediate_size")
    features = config.with_defaults({"vision_feature_layer": GRANITE_FEATURES})
    merged = hidden * len(features.items("vision_feature_layer", int))
    head: list[tuple[Block, int]] = [
        (table("head.probe", hidden), 1),
        (norm(hidden, hidden), 1),
        (attention(hidden, heads), 1),
        (DenseMlp(hidden, intermediate, gated=False, bias=True), 1),
    ]
    return Tower(
        (
            *siglip(tower),
            *(head if tower.flag("vision_use_head", True) else []),
            (linear("projector.linear_1", out, merged, Split.COLUMN), 1),
            (linear("projector.linear_2", out, out, Split.ROW), 1),
            (table("image_newline", out), 1),
        ),
        divides=gcd(heads, intermediate),
    )
