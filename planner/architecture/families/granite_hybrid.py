"""Granite 4.0 H: Mamba-2 with an attention every ten layers, and experts with a shared MLP in each layer.

Layout as in Hugging Face `GraniteMoeHybridForCausalLM`.
"""

from __future__ import annotations

from planner.architecture.blocks.gqa import GroupedQueryAttention
from planner.architecture.blocks.mamba import Mamba2
from planner.architecture.blocks.mlp import DenseMlp
from planner.architecture.blocks.moe import MixtureOfExperts
from planner.architecture.config import Config
from planner.architecture.families.common import decoder, head_dim, listed_kinds
from planner.architecture.model import Architecture, Block


def build(config: Config) -> Architecture:
    """Build a Granite 4.0 H model.

    Parameters
    ----------
    config : Config
        Its configuration.

    Returns
    -------
    Architecture
    """
    layers, width = config.size("num_hidden_layers"), head_dim(config)
    hidden = config.size("hidden_size")
    bias = config.flag("attention_bias")
    mixers: dict[str, Block] = {
        "attention": GroupedQueryAttention(
            hidden=hidden,
            q_heads=config.size("num_attention_heads"),
            kv_heads=config.size("num_key_value_heads"),
            key_dim=width,
            value_dim=width,
            qkv_bias=bias,
            out_bias=bias,
        ),
        "mamba": Mamba2(
            hidden=hidden,
            heads=config.size("mamba_n_heads"),
            head_dim=mamba_head_dim(config),
            groups=config.size("mamba_n_groups"),
            state=config.size("mamba_d_state"),
            kernel=config.size("mamba_d_conv"),
            conv_bias=config.flag("mamba_conv_bias", True),
            proj_bias=config.flag("mamba_proj_bias"),
        ),
    }
    return decoder(
        config,
        [(mixers[kind],) for kind in listed_kinds(config, "layer_types", mixers, layers)],
        [feed_forward(config)] * layers,
        family="granite_hybrid",
    )


def mamba_head_dim(config: Config) -> int:
    """Return the width of a Mamba head, from the field or from the expanded hidden width.

    Parameters
    ----------
    config : Config
        The configuration; its `mamba_d_head` may be ``auto``.

    Returns
    -------
    int
    """
    if config.values.get("mamba_d_head") not in (None, "auto"):
        return config.size("mamba_d_head")
    return config.size("mamba_expand") * config.size("hidden_size") // config.size("mamba_n_heads")


def feed_forward(config: Config) -> Block:
    """Return the experts of a layer, or its shared MLP alone where there are none.

    Parameters
    ----------
    config : Config
        The configuration.

    Returns
    -------
    Block
    """
    hidden, shared = config.size("hidden_size"), config.size("shared_intermediate_size")
    experts = config.count("num_local_experts")
    if not experts:
        return DenseMlp(hidden, shared, fused=True)
    return MixtureOfExperts(
        hidden=hidden,
        experts=experts,
        top_k=config.size("num_experts_per_tok"),
        intermediate=config.size("intermediate_size"),
        shared_intermediate=shared,
        fused=True,
        shared_fused=True,
    )
