"""MoonViT, the vision tower of the Kimi models, with its projector."""

from __future__ import annotations

from math import gcd, prod

from planner.architecture.blocks.gqa import GroupedQueryAttention
from planner.architecture.blocks.mlp import DenseMlp
from planner.architecture.blocks.tower import Tower
from planner.architecture.config import Config, head_width
from planner.architecture.families.vision import linear, table
from planner.architecture.model import Block, norm

CHANNELS = 3


def moonvit(config: Config, text_hidden: int) -> Tower:
    """Build the tower (Hugging Face classes MoonViT3dPretrainedModel, PatchMergerMLP and PatchMergerMLPV2).

    Parameters
    ----------
    config : Config
        Its `vision_config`; Kimi-VL names the widths without the prefix of the later models.
    text_hidden : int
        Width of the language model.

    Returns
    -------
    Tower
    """
    hidden = config.size("vt_hidden_size", "hidden_size")
    heads = config.size("vt_num_attention_heads", "num_attention_heads")
    intermediate = config.size("vt_intermediate_size", "intermediate_size")
    depth = config.size("vt_num_hidden_layers", "num_hidden_layers")
    # Before Kimi K3 these fields did not exist: layer norms, biases everywhere, heads as wide as the stream.
    vectors = 1 if config.choice("norm_type", ("layernorm", "rmsnorm"), "layernorm") == "rmsnorm" else 2
    bias = config.flag("linear_bias", default=True)
    width = head_width(config.size("qkv_hidden_size", default=hidden), heads, config.where)
    stream_norm = norm(*[hidden] * vectors)
    qkv_bias = config.flag("attn_bias", default=True)
    attention = GroupedQueryAttention(
        hidden, heads, heads, width, width, qkv_bias=qkv_bias, out_bias=qkv_bias
    )
    layer: tuple[Block, ...] = (
        stream_norm,
        stream_norm,
        attention,
        DenseMlp(hidden, intermediate, gated=False, bias=bias),
    )
    pixels = CHANNELS * config.size("patch_size") ** 2
    positions = config.size("init_pos_emb_height") * config.size("init_pos_emb_width")
    patch_bias = config.flag("patch_embed_proj_bias", default=True)
    return Tower(
        (
            (table("patch_embed", hidden, pixels), 1),
            *(((norm(hidden, name="patch_embed.bias"), 1),) if patch_bias else ()),
            (table("pos_emb", positions, hidden), 1),
            *((block, depth) for block in layer),
            (stream_norm, 1),
            *((block, 1) for block in _projector(config, hidden, text_hidden)),
        ),
        divides=gcd(heads, intermediate),
    )


def _projector(config: Config, hidden: int, text_hidden: int) -> list[Block]:
    merged = hidden * prod(config.items("merge_kernel_size", int, 2))
    kind = config.choice("mm_projector_type", ("patchmerger", "patchmergerv2"), "patchmerger")
    if kind == "patchmergerv2":
        # A norm after the projection instead of one before it, and no biases.
        return [
            linear("linear_1", merged, merged, bias=False),
            linear("linear_2", text_hidden, merged, bias=False),
            norm(text_hidden),
        ]
    return [
        norm(hidden, hidden),
        linear("linear_1", merged, merged),
        linear("linear_2", text_hidden, merged),
    ]
