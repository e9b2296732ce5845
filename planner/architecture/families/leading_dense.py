"""Grouped-query attention with experts, after a few layers whose feed-forward block is dense.

GLM-4.5 to 4.7, Hy3, LLaDA 2 and ERNIE 4.5 (Hugging Face's `Glm4MoeForCausalLM`, `HYV3ForCausalLM` and
`Ernie4_5_MoeForCausalLM`; LLaDA 2 has the layout of `BailingMoeV2ForCausalLM`). Drafts as in vLLM's
`Glm4MoeMTP` and `HYV3MTP`.
"""

from __future__ import annotations

from dataclasses import dataclass

from planner.architecture.blocks.gqa import GroupedQueryAttention
from planner.architecture.blocks.mlp import DenseMlp
from planner.architecture.blocks.moe import MixtureOfExperts
from planner.architecture.config import Config
from planner.architecture.families.common import decoder, draft_copies, draft_entry, head_dim
from planner.architecture.model import Architecture, Block, Layer, draft_layer, norm


@dataclass(frozen=True, slots=True)
class Traits:
    """What a model type has by its class, whether or not its configuration says so.

    Parameters
    ----------
    head_norm : bool
        Each head of queries and keys is normalised, unless `use_qk_norm` says otherwise.
    leading : int
        Dense layers where the configuration does not count them.
    drafts : int
        Multi-token-prediction layers where the configuration does not count them.
    draft_copies : bool
        Each draft layer stores embedding and LM head once more.
    tied : bool
        Embeddings are tied by default.
    """

    head_norm: bool
    leading: int = 0
    drafts: int = 0
    draft_copies: bool = False
    tied: bool = False


TRAITS = {
    "ernie4_5_moe": Traits(head_norm=False, leading=1, tied=True),
    "glm4_moe": Traits(head_norm=False, leading=1, draft_copies=True),
    "hy_v3": Traits(head_norm=True, leading=1, drafts=1),
    "llada2_moe": Traits(head_norm=True),
}


def build(config: Config) -> Architecture:
    """Build a model whose first layers are dense.

    Parameters
    ----------
    config : Config
        Its configuration.

    Returns
    -------
    Architecture
    """
    traits = TRAITS[config.choice("model_type", TRAITS)]
    hidden, layers = config.size("hidden_size"), config.size("num_hidden_layers")
    mixer, sparse = attention(config, traits), experts(config)
    dense = DenseMlp(hidden, config.size("intermediate_size"))
    return decoder(
        config,
        [(mixer,)] * layers,
        [sparse if has_experts(config, traits, index) else dense for index in range(layers)],
        family=config.text("model_type"),
        draft=drafts(config, traits, (norm(hidden), mixer, norm(hidden), sparse)),
        tied=traits.tied,
    )


def has_experts(config: Config, traits: Traits, index: int) -> bool:
    """Return whether a layer has experts.

    Parameters
    ----------
    config : Config
        The configuration.
    traits : Traits
        Those of its model type.
    index : int
        Number of the layer, from 0.

    Returns
    -------
    bool
    """
    first = config.count("first_k_dense_replace", "moe_layer_start_index", default=traits.leading)
    # Of ERNIE alone; -1 is its default and means the last layer.
    end = config.values.get("moe_layer_end_index", -1)
    last = index if end == -1 else config.count("moe_layer_end_index")
    every = config.size("moe_layer_interval", default=1)
    return first <= index <= last and (index + 1) % every == 0


def attention(config: Config, traits: Traits) -> GroupedQueryAttention:
    """Return the attention of a layer.

    Parameters
    ----------
    config : Config
        The configuration.
    traits : Traits
        Those of its model type.

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
        qkv_bias=config.flag("attention_bias") or config.flag("use_qkv_bias"),
        qk_norm=2 * width if config.flag("use_qk_norm", traits.head_norm) else 0,
    )


def experts(config: Config) -> MixtureOfExperts:
    """Return the experts of a layer; the router has a correction bias in all of these models.

    Parameters
    ----------
    config : Config
        The configuration.

    Returns
    -------
    MixtureOfExperts
    """
    width = config.size("moe_intermediate_size")
    shared = config.count("n_shared_experts", "num_shared_experts", "moe_num_shared_experts", default=0)
    return MixtureOfExperts(
        hidden=config.size("hidden_size"),
        experts=config.size("n_routed_experts", "num_experts", "moe_num_experts"),
        top_k=config.size("num_experts_per_tok", "moe_k"),
        intermediate=width,
        shared_intermediate=shared * width,
        router_bias=True,
    )


def drafts(config: Config, traits: Traits, blocks: tuple[Block, ...]) -> tuple[Layer, ...]:
    """Return the multi-token-prediction layers, each with the blocks of a layer with experts.

    Parameters
    ----------
    config : Config
        The configuration.
    traits : Traits
        Those of its model type.
    blocks : tuple of Block
        The blocks of one decoder layer.

    Returns
    -------
    tuple of Layer
    """
    hidden = config.size("hidden_size")
    count = config.count("num_nextn_predict_layers", default=traits.drafts)
    copies = (draft_copies(config.size("vocab_size"), hidden),) if traits.draft_copies else ()
    return (draft_layer(*draft_entry(hidden), *copies, *blocks),) * count
