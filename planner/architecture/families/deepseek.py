"""DeepSeek-V2, V3 and V3.2, and the models that share their layer: latent attention before experts.

GLM-4.7-Flash, GLM-5, Kimi K2, Mistral Large 3 and Mistral Small 4 differ in widths and in small traits only.
"""

from __future__ import annotations

from dataclasses import dataclass

from planner.architecture.blocks.dsa import SparseIndexer
from planner.architecture.blocks.gqa import GroupedQueryAttention
from planner.architecture.blocks.mla import LatentAttention
from planner.architecture.blocks.mlp import DenseMlp
from planner.architecture.blocks.moe import MixtureOfExperts
from planner.architecture.config import Config
from planner.architecture.families import ARCHITECTURE_OF
from planner.architecture.families.common import (
    decoder,
    draft_copies,
    draft_entry,
    head_dim,
    listed_kinds,
)
from planner.architecture.families.vision import pixtral
from planner.architecture.model import Architecture, Block, draft_layer, norm


@dataclass(frozen=True, slots=True)
class Traits:
    """What a configuration of this family does not say.

    Parameters
    ----------
    router_bias : bool
        Whether the router has a correction bias.
    indexer : bool
        Whether the attention is sparse.
    draft_copies : bool
        Whether draft layers store embedding and LM head once more.
    dense_layers : int or None
        Layers before the first experts where the configuration does not say.
    """

    router_bias: bool = True
    indexer: bool = False
    draft_copies: bool = False
    dense_layers: int | None = None


TRAITS = {
    "DeepseekV2ForCausalLM": Traits(router_bias=False),
    "DeepseekV3ForCausalLM": Traits(draft_copies=True),
    "DeepseekV32ForCausalLM": Traits(indexer=True, draft_copies=True),
    "Glm4MoeLiteForCausalLM": Traits(draft_copies=True),
    "GlmMoeDsaForCausalLM": Traits(indexer=True),
    "MistralLarge3ForCausalLM": Traits(),
    # Hugging Face class default of Mistral4Config: experts in every layer.
    "Mistral4ForCausalLM": Traits(router_bias=False, dense_layers=0),
}


def build(config: Config) -> Architecture:
    """Build a model of this family.

    Parameters
    ----------
    config : Config
        Its configuration, or the text part of one.

    Returns
    -------
    Architecture
    """
    named = "architectures" in config
    name = config.items("architectures", str)[0] if named else ARCHITECTURE_OF[config.text("model_type")]
    traits = TRAITS[name]
    hidden = config.size("hidden_size")
    attention, experts = _attention(config), routed_experts(config, traits.router_bias)
    dense = DenseMlp(hidden, config.size("intermediate_size"))
    indexers = _indexers(config, traits)
    # The draft of a sparse model has an indexer of its own.
    draft = (*draft_entry(hidden), norm(hidden), attention, *indexers[0], norm(hidden), experts)
    if traits.draft_copies:
        draft = (*draft, draft_copies(config.size("vocab_size"), hidden))
    return decoder(
        config,
        mixers=[(attention, *indexer) for indexer in indexers],
        feeds=[experts if sparse else dense for sparse in _sparse_layers(config, traits)],
        family="deepseek",
        draft=(draft_layer(*draft),) * config.count("num_nextn_predict_layers", default=0),
        towers=_towers(config),
    )


def _attention(config: Config) -> Block:
    """Return latent attention, or plain attention where the configuration says so (DeepSeek-OCR)."""
    if config.flag("use_mla", default=True):
        return latent_attention(config)
    heads, width = config.size("num_attention_heads"), head_dim(config)
    kv_heads = config.size("num_key_value_heads", default=heads)
    return GroupedQueryAttention(config.size("hidden_size"), heads, kv_heads, width, width)


def _towers(config: Config) -> tuple[Block, ...]:
    """Return the vision tower of Mistral Large 3, whose text fields stand beside it."""
    if "vision_config" not in config:
        return ()
    vision = config.part("vision_config")
    return (pixtral(vision, config.size("hidden_size"), vision.size("spatial_merge_size", default=1)),)


def latent_attention(config: Config, gate: int = 0) -> LatentAttention:
    """Return the attention that the usual fields describe.

    Parameters
    ----------
    config : Config
        The text configuration.
    gate : int
        Rows of an output gate, 0 for none.

    Returns
    -------
    LatentAttention
    """
    return LatentAttention(
        hidden=config.size("hidden_size"),
        heads=config.size("num_attention_heads"),
        kv_lora=config.size("kv_lora_rank"),
        nope_dim=config.size("qk_nope_head_dim"),
        rope_dim=config.count("qk_rope_head_dim"),
        value_dim=config.size("v_head_dim"),
        # Null where queries are not compressed.
        q_lora=config.count("q_lora_rank", default=0),
        gate=gate,
        bias=config.flag("attention_bias"),
    )


def routed_experts(config: Config, router_bias: bool = True) -> MixtureOfExperts:
    """Return the experts that the usual fields describe; shared experts are as wide as routed ones.

    Parameters
    ----------
    config : Config
        The text configuration.
    router_bias : bool
        Whether the router has a correction bias.

    Returns
    -------
    MixtureOfExperts
    """
    width = config.size("moe_intermediate_size")
    return MixtureOfExperts(
        hidden=config.size("hidden_size"),
        experts=config.size("n_routed_experts", "num_experts"),
        top_k=config.size("num_experts_per_tok", "num_experts_per_token"),
        intermediate=width,
        shared_intermediate=width * config.count("n_shared_experts", "num_shared_experts", default=0),
        # Routed experts of Kimi K3 work on a narrower stream. Its projections ship in BF16, though the list
        # of modules left alone omits them.
        latent=config.count("routed_expert_hidden_size", default=0),
        latent_norm=config.flag("latent_moe_use_norm"),
        latent_quantisable=False,
        router_bias=router_bias,
    )


def sparse_indexer(config: Config, shared: bool = False) -> SparseIndexer:
    """Return the indexer that the usual fields describe.

    Parameters
    ----------
    config : Config
        The text configuration.
    shared : bool
        Whether the layer reuses the choice of an earlier layer.

    Returns
    -------
    SparseIndexer
    """
    return SparseIndexer(
        hidden=config.size("hidden_size"),
        q_lora=config.size("q_lora_rank"),
        heads=config.size("index_n_heads"),
        head_dim=config.size("index_head_dim"),
        top_k=config.size("index_topk"),
        pool=config.size("index_kpool", default=1),
        shared=shared,
    )


def _sparse_layers(config: Config, traits: Traits) -> list[bool]:
    """Return of each layer whether it has experts."""
    layers = config.size("num_hidden_layers")
    if "mlp_layer_types" in config:
        kinds = listed_kinds(config, "mlp_layer_types", ("dense", "sparse"), layers)
        return [kind == "sparse" for kind in kinds]
    first = config.count("first_k_dense_replace", default=traits.dense_layers)
    every = config.size("moe_layer_freq", default=1)
    return [i >= first and i % every == 0 for i in range(layers)]


def _indexers(config: Config, traits: Traits) -> list[tuple[Block, ...]]:
    layers = config.size("num_hidden_layers")
    if not traits.indexer:
        return [()] * layers
    kinds = ["full"] * layers
    if "indexer_types" in config:
        kinds = listed_kinds(config, "indexer_types", ("full", "shared"), layers)
    return [(sparse_indexer(config, kind == "shared"),) for kind in kinds]
