"""LFM2: gated short convolutions with a grouped-query attention every few layers.

Layout as in Hugging Face `Lfm2ForCausalLM`.
"""

from __future__ import annotations

from planner.architecture.blocks.gqa import GroupedQueryAttention
from planner.architecture.blocks.mlp import DenseMlp
from planner.architecture.blocks.short_conv import ShortConvolution
from planner.architecture.config import Config
from planner.architecture.families.common import decoder, head_dim, listed_kinds
from planner.architecture.model import Architecture, Block


def build(config: Config) -> Architecture:
    """Build an LFM2 model.

    Parameters
    ----------
    config : Config
        Its configuration.

    Returns
    -------
    Architecture
    """
    hidden, layers, width = config.size("hidden_size"), config.size("num_hidden_layers"), head_dim(config)
    span = config.size("conv_L_cache")
    mixers: dict[str, Block] = {
        # The cache holds as many tokens as the kernel spans, the newest with them.
        "conv": ShortConvolution(
            hidden, kernel=span, kept=span, projections=True, bias=config.flag("conv_bias")
        ),
        "full_attention": GroupedQueryAttention(
            hidden=hidden,
            q_heads=config.size("num_attention_heads"),
            kv_heads=config.size("num_key_value_heads"),
            key_dim=width,
            value_dim=width,
            qk_norm=2 * width,
        ),
    }
    feed = DenseMlp(hidden, feed_forward_width(config))
    return decoder(
        config,
        [(mixers[kind],) for kind in listed_kinds(config, "layer_types", mixers, layers)],
        [feed] * layers,
        family="lfm2",
        tied=True,
    )


def feed_forward_width(config: Config) -> int:
    """Return the width of the MLP, two thirds of the stated one and rounded up where the class adjusts it.

    Parameters
    ----------
    config : Config
        The configuration.

    Returns
    -------
    int
    """
    width = config.size("block_ff_dim", "intermediate_size")
    if not config.flag("block_auto_adjust_ff_dim", True):
        return width
    multiple = config.size("block_multiple_of", default=256)
    return -(-(2 * width // 3) // multiple) * multiple
