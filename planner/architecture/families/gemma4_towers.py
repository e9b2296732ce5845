"""Gemma 4's vision and audio encoders, and the embedders of the model without encoders.

Layouts as in Hugging Face `Gemma4VisionModel`, `Gemma4AudioModel` and `Gemma4UnifiedVisionEmbedder`.
"""

from __future__ import annotations

from planner.architecture.blocks.gqa import GroupedQueryAttention
from planner.architecture.blocks.mlp import DenseMlp
from planner.architecture.blocks.tower import Tower
from planner.architecture.config import Config
from planner.architecture.families.vision import attention, linear, patch_embedding, table
from planner.architecture.model import Block, norm

# Class defaults, of which released configurations omit some.
VISION = {
    "hidden_size": 768,
    "intermediate_size": 3072,
    "num_hidden_layers": 16,
    "num_attention_heads": 12,
    "num_key_value_heads": 12,
    "head_dim": 64,
    "patch_size": 16,
    "position_embedding_size": 10240,
}
AUDIO = {
    "hidden_size": 1024,
    "num_hidden_layers": 12,
    "num_attention_heads": 8,
    "subsampling_conv_channels": [128, 32],
    "conv_kernel_size": 5,
    "output_proj_dims": 1536,
}
UNIFIED_VISION = {
    "patch_size": 16,
    "pooling_kernel_size": 3,
    "mm_embed_dim": 3840,
    "mm_posemb_size": 1120,
    "output_proj_dims": 3840,
}
UNIFIED_AUDIO = {"audio_embed_dim": 640}


def towers(config: Config, out: int) -> tuple[Block, ...]:
    """Return the towers of a Gemma 4 model.

    Parameters
    ----------
    config : Config
        The outer configuration; a part that is null or absent stands for no tower.
    out : int
        Width of the language model.

    Returns
    -------
    tuple of Block
    """
    unified = config.choice("model_type", ("gemma4", "gemma4_unified")) == "gemma4_unified"
    builders = (
        ("vision_config", unified_vision if unified else vision, UNIFIED_VISION if unified else VISION),
        ("audio_config", unified_audio if unified else audio, UNIFIED_AUDIO if unified else AUDIO),
    )
    return tuple(
        build(config.part(key, defaults=defaults), out) for key, build, defaults in builders if key in config
    )


def vision(config: Config, out: int) -> Tower:
    """Build the vision encoder with its projection.

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
    hidden, layers = config.size("hidden_size"), config.size("num_hidden_layers")
    width = config.size("head_dim")
    heads = GroupedQueryAttention(
        hidden,
        config.size("num_attention_heads"),
        config.size("num_key_value_heads"),
        width,
        width,
        qk_norm=2 * width,
    )
    return Tower(
        (
            (patch_embedding(config, bias=False), 1),
            # One table for rows and one for columns.
            (table("position_embedding", 2 * config.size("position_embedding_size"), hidden), 1),
            (norm(*[hidden] * 4), layers),
            (heads, layers),
            (DenseMlp(hidden, config.size("intermediate_size")), layers),
            (linear("embedding_projection", out, hidden, bias=False), 1),
        )
    )


def audio(config: Config, out: int) -> Tower:
    """Build the audio encoder (a Conformer) with its projection.

    Parameters
    ----------
    config : Config
        Its ``audio_config``.
    out : int
        Width of the language model.

    Returns
    -------
    Tower
    """
    hidden, layers = config.size("hidden_size"), config.size("num_hidden_layers")
    heads, dims = config.size("num_attention_heads"), config.size("output_proj_dims")
    wide, narrow = config.items("subsampling_conv_channels", int, 2)
    mlp = DenseMlp(hidden, 4 * hidden, gated=False)
    return Tower(
        (
            (table("subsample.conv0", wide, 9), 1),
            (table("subsample.conv1", narrow, 9 * wide), 1),
            (norm(wide, narrow), 1),
            (linear("subsample.input_proj", hidden, wide // 4 * narrow, bias=False), 1),
            # Two feed-forward blocks around attention and convolution; nine norms in all.
            (mlp, 2 * layers),
            (norm(*[hidden] * 9), layers),
            (attention(hidden, heads, bias=False), layers),
            (linear("relative_k_proj", hidden, hidden, bias=False), layers),
            (table("per_dim_scale", hidden // heads), layers),
            (linear("conv.start", 2 * hidden, hidden, bias=False), layers),
            (table("conv.depthwise", hidden, config.size("conv_kernel_size")), layers),
            (linear("conv.end", hidden, hidden, bias=False), layers),
            (linear("output_proj", dims, hidden), 1),
            (linear("embedding_projection", out, dims, bias=False), 1),
        )
    )


def unified_vision(config: Config, out: int) -> Tower:
    """Build the embedder of the model without encoders: pixels of merged patches, projected twice.

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
    width = config.size("mm_embed_dim")
    pixels = 3 * (config.size("patch_size") * config.size("pooling_kernel_size")) ** 2
    return Tower(
        (
            (norm(pixels, pixels), 1),
            (linear("patch_dense", width, pixels), 1),
            (norm(*[width] * 4), 1),
            (table("pos_embedding", 2 * config.size("mm_posemb_size"), width), 1),
            (linear("embedding_projection", out, config.size("output_proj_dims"), bias=False), 1),
        )
    )


def unified_audio(config: Config, out: int) -> Tower:
    """Build the audio embedder of the model without encoders.

    Parameters
    ----------
    config : Config
        Its ``audio_config``.
    out : int
        Width of the language model.

    Returns
    -------
    Tower
    """
    width = config.size("output_proj_dims", "audio_embed_dim")
    return Tower(((linear("embedding_projection", out, width, bias=False), 1),))
