"""Llama 3.2 Vision: Llama layers with cross-attention to image features between them, and a two-part encoder.

Layout as in Hugging Face `MllamaForConditionalGeneration`.
"""

from __future__ import annotations

from math import gcd

from planner.architecture.blocks.gqa import GroupedQueryAttention
from planner.architecture.blocks.mlp import DenseMlp
from planner.architecture.blocks.tower import Tower
from planner.architecture.config import Config
from planner.architecture.families import vision
from planner.architecture.families.common import embedding, head_dim, lm_head, text_config
from planner.architecture.model import Architecture, Layer, Weights, norm
from planner.architecture.tensors import Tensor

EXTRA_TOKENS = 8  # rows that only the embedding has, for image tokens
# Class defaults of MllamaVisionConfig.
VISION = {
    "hidden_size": 1280,
    "intermediate_size": 5120,
    "attention_heads": 16,
    "num_hidden_layers": 32,
    "num_global_layers": 8,
    "vision_output_dim": 7680,
    "image_size": 448,
    "patch_size": 14,
    "max_num_tiles": 4,
    "supported_aspect_ratios": [[1, 1], [1, 2], [1, 3], [1, 4], [2, 1], [2, 2], [3, 1], [4, 1]],
}


def build(config: Config) -> Architecture:
    """Build a Llama 3.2 Vision model.

    Parameters
    ----------
    config : Config
        Its configuration, with ``text_config``.

    Returns
    -------
    Architecture
    """
    text = text_config(config)
    hidden, vocab = text.size("hidden_size"), text.size("vocab_size")
    crossed = set(text.items("cross_attention_layers", int))
    tied = text.flag("tie_word_embeddings")
    return Architecture(
        family="mllama",
        hidden_size=hidden,
        vocab_size=vocab,
        embedding=(embedding(vocab + EXTRA_TOKENS, hidden),),
        layers=tuple(layer(text, index in crossed) for index in range(text.size("num_hidden_layers"))),
        head=lm_head(vocab, hidden, tied),
        towers=(tower(config.part("vision_config", defaults=VISION), hidden),),
        tied_embeddings=tied,
        max_context=text.size("max_position_embeddings"),
    )


def layer(text: Config, cross: bool) -> Layer:
    """Return a layer, with self-attention or with gated cross-attention.

    Parameters
    ----------
    text : Config
        The text configuration.
    cross : bool
        Whether keys and values come from the image.

    Returns
    -------
    Layer
    """
    hidden, width = text.size("hidden_size"), head_dim(text)
    attention = GroupedQueryAttention(
        hidden=hidden,
        q_heads=text.size("num_attention_heads"),
        kv_heads=text.size("num_key_value_heads"),
        key_dim=width,
        value_dim=width,
        qk_norm=2 * width if cross else 0,
        cross=cross,
    )
    mlp = DenseMlp(hidden, text.size("intermediate_size"))
    # One scalar for attention and one for the MLP.
    gates = (Weights((Tensor("cross_attn_gates", "bias", 2),)),) if cross else ()
    return Layer((norm(hidden, hidden), attention, mlp, *gates))


def tower(config: Config, out: int) -> Tower:
    """Build the vision encoder: local layers, gated global ones, tables for tiles, and the projector.

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
    hidden, heads = config.size("hidden_size"), config.size("attention_heads")
    intermediate, layers = config.size("intermediate_size"), config.size("num_hidden_layers")
    gated = config.size("num_global_layers")
    tiles = config.size("max_num_tiles")
    ratios = len(config.items("supported_aspect_ratios", list)) + 1
    positions = (config.size("image_size") // config.size("patch_size")) ** 2 + 1
    return Tower(
        (
            (vision.patch_embedding(config, bias=False), 1),
            (vision.table("class_embedding", hidden), 1),
            (vision.table("position_embedding", positions, hidden), 1),
            (vision.table("tile_embedding", ratios, tiles * positions * hidden), 1),
            (vision.table("tile_position_embedding", ratios, tiles * hidden), 2),
            (vision.table("gates", 3), 1),
            (norm(*[hidden] * 4), 1),
            *vision.encoder_layers(hidden, heads, intermediate, layers + gated, bias=False),
            (vision.table("layer_gates", 2), gated),
            (vision.linear("projector", out, config.size("vision_output_dim")), 1),
        ),
        divides=gcd(heads, intermediate),
    )
