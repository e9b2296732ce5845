"""MiMo-V2: sliding attention with sinks and full attention in turn, keys wider than values, and experts.

Layout as in vLLM's `MiMoV2FlashForCausalLM` and `MiMoV2MTP`.
"""

from __future__ import annotations

from planner.architecture.blocks.gqa import GroupedQueryAttention
from planner.architecture.blocks.mlp import DenseMlp
from planner.architecture.blocks.moe import MixtureOfExperts
from planner.architecture.config import Config
from planner.architecture.families.common import decoder, draft_entry
from planner.architecture.families.minimax import switches
from planner.architecture.model import Architecture, Block, Layer, Weights, draft_layer, norm
from planner.architecture.tensors import Split, Tensor


def build(config: Config) -> Architecture:
    """Build a MiMo-V2 model.

    Parameters
    ----------
    config : Config
        Its configuration.

    Returns
    -------
    Architecture
    """
    layers, hidden = config.size("num_hidden_layers"), config.size("hidden_size")
    sliding, full = attention(config, "swa_"), attention(config, "")
    dense = DenseMlp(hidden, config.size("intermediate_size"))
    sparse = MixtureOfExperts(
        hidden=hidden,
        experts=config.size("n_routed_experts"),
        top_k=config.size("num_experts_per_tok"),
        intermediate=config.size("moe_intermediate_size"),
        shared_intermediate=config.count("n_shared_experts", default=0)
        * config.size("moe_intermediate_size"),
        router_bias=config.choice("topk_method", ("noaux_tc", "greedy")) == "noaux_tc",
    )
    return decoder(
        config,
        [sliding if slides else full for slides in switches(config, "hybrid_layer_pattern", layers)],
        [sparse if routed else dense for routed in switches(config, "moe_layer_freq", layers)],
        family="mimo_v2",
        draft=drafts(config, (norm(hidden), *sliding, norm(hidden), dense)),
    )


def attention(config: Config, prefix: str) -> tuple[Block, ...]:
    """Return the attention of one kind of layer, with its sinks where it has them.

    Parameters
    ----------
    config : Config
        The configuration.
    prefix : str
        Of its fields: ``swa_`` for sliding layers, nothing for full ones.

    Returns
    -------
    tuple of Block
    """
    heads = config.size(f"{prefix}num_attention_heads")
    block = GroupedQueryAttention(
        hidden=config.size("hidden_size"),
        q_heads=heads,
        kv_heads=config.size(f"{prefix}num_key_value_heads"),
        key_dim=config.size(f"{prefix}head_dim"),
        value_dim=config.size(f"{prefix}v_head_dim"),
        window=config.size("sliding_window") if prefix else None,
        qkv_bias=config.flag("attention_bias"),
    )
    if not config.flag(f"add_{prefix or 'full_'}attention_sink_bias"):
        return (block,)
    return (block, Weights((Tensor("attention_sink_bias", "bias", heads, split=Split.COLUMN),)))


def drafts(config: Config, blocks: tuple[Block, ...]) -> tuple[Layer, ...]:
    """Return the multi-token-prediction layers, each a dense layer with sliding attention.

    Parameters
    ----------
    config : Config
        The configuration.
    blocks : tuple of Block
        The blocks of such a layer.

    Returns
    -------
    tuple of Layer
        Three where the configuration does not count them, as released checkpoints hold.
    """
    count = config.count("num_nextn_predict_layers", default=3)
    return (draft_layer(*draft_entry(config.size("hidden_size")), *blocks),) * count
