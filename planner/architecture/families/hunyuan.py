"""Hunyuan-Large: experts in each layer, and layers that read the keys and values of the layer before.

Cross-layer attention as in Brandon et al., 2024 (arXiv 2405.12981); layout as in vLLM's
`HunYuanMoEV1ForCausalLM`.
"""

from __future__ import annotations

from planner.architecture.blocks.gqa import GroupedQueryAttention
from planner.architecture.blocks.moe import MixtureOfExperts
from planner.architecture.config import Config
from planner.architecture.families.common import decoder, head_dim
from planner.architecture.model import Architecture


def build(config: Config) -> Architecture:
    """Build a Hunyuan-Large model.

    Parameters
    ----------
    config : Config
        Its configuration.

    Returns
    -------
    Architecture
    """
    layers = config.size("num_hidden_layers")
    share = config.size("cla_share_factor") if config.flag("use_cla") else 1
    width = config.size("moe_intermediate_size", "intermediate_size")
    shared = config.size("num_shared_expert") if config.flag("use_mixed_mlp_moe") else 0
    experts = MixtureOfExperts(
        hidden=config.size("hidden_size"),
        experts=config.size("num_experts"),
        top_k=config.size("moe_topk"),
        intermediate=width,
        shared_intermediate=shared * width,
    )
    return decoder(
        config,
        [(attention(config, stores_cache=index % share == 0),) for index in range(layers)],
        [experts] * layers,
        family="hunyuan",
    )


def attention(config: Config, stores_cache: bool) -> GroupedQueryAttention:
    """Return the attention of a layer.

    Parameters
    ----------
    config : Config
        The configuration.
    stores_cache : bool
        Whether the layer has keys and values of its own; else it normalises queries alone.

    Returns
    -------
    GroupedQueryAttention
    """
    width = head_dim(config)
    return GroupedQueryAttention(
        hidden=config.size("hidden_size"),
        q_heads=config.size("num_attention_heads"),
        kv_heads=config.size("num_key_value_heads"),
        key_dim=width,
        value_dim=width,
        qkv_bias=config.flag("attention_bias"),
        out_bias=config.flag("attention_bias"),
        qk_norm=(2 if stores_cache else 1) * width if config.flag("use_qk_norm") else 0,
        stores_cache=stores_cache,
    )
