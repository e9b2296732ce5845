"""Ling 3.0 (Bailing V3): Kimi Delta Attention, and gated latent attention in each group's last layer."""

from __future__ import annotations

from planner.architecture.blocks.kda import DeltaAttention
from planner.architecture.blocks.mlp import DenseMlp
from planner.architecture.config import Config
from planner.architecture.families.common import decoder
from planner.architecture.families.deepseek import latent_attention, routed_experts
from planner.architecture.model import Architecture

# Class defaults of BailingHybridConfig, for what configurations leave out.
CONV_KERNEL, DELTA_HEAD_DIM = 4, 128


def build(config: Config) -> Architecture:
    """Build a Ling 3.0 model, without its draft layer, whose weights are not published in any detail.

    Parameters
    ----------
    config : Config
        Its configuration.

    Returns
    -------
    Architecture
    """
    hidden, layers = config.size("hidden_size"), config.size("num_hidden_layers")
    heads, group = config.size("num_attention_heads"), config.size("layer_group_size")
    full = latent_attention(config, gate=heads)
    delta = DeltaAttention(
        hidden,
        heads,
        config.size("linear_head_dim", default=DELTA_HEAD_DIM),
        config.size("short_conv_kernel_size", default=CONV_KERNEL),
    )
    dense, experts = DenseMlp(hidden, config.size("intermediate_size")), routed_experts(config)
    first = config.count("first_k_dense_replace")
    return decoder(
        config,
        mixers=[(delta if (i + 1) % group else full,) for i in range(layers)],
        feeds=[dense if i < first else experts for i in range(layers)],
        family="bailing_v3",
    )
