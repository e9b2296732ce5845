"""GLM-5.3-Flash: Kimi Delta Attention, sparse latent attention every fourth layer, hyper-connections."""

from __future__ import annotations

from math import gcd

from planner.architecture.blocks.gqa import GroupedQueryAttention
from planner.architecture.blocks.hyper import HyperConnection
from planner.architecture.blocks.kda import DeltaAttention
from planner.architecture.blocks.mlp import DenseMlp
from planner.architecture.blocks.tower import Tower
from planner.architecture.config import Config, head_width
from planner.architecture.families.common import draft_entry, embedding, listed_kinds, lm_head
from planner.architecture.families.deepseek import latent_attention, routed_experts, sparse_indexer
from planner.architecture.families.vision import linear, patch_embedding, table
from planner.architecture.model import Architecture, Block, Layer, draft_layer, norm

# Class defaults of Glm5NextTextConfig and Glm5NextVisionConfig, for what configurations leave out.
DENSE_LAYERS, FULL_EVERY = 3, 4
VISION = {
    "depth": 24,
    "hidden_size": 1024,
    "intermediate_size": 4096,
    "num_heads": 16,
    "patch_size": 14,
    "temporal_patch_size": 2,
    "spatial_merge_size": 2,
    "out_hidden_size": 1536,
    "projection_intermediate_size": 10240,
}
LINEAR, FULL = "linear_attention", ("full_attention", "indexed_attention")


def build(config: Config) -> Architecture:
    """Build a GLM-5.3-Flash model with its vision tower.

    Parameters
    ----------
    config : Config
        Its configuration.

    Returns
    -------
    Architecture
    """
    text = config.part("text_config") if "text_config" in config else config
    hidden, vocab = text.size("hidden_size"), text.size("vocab_size")
    tied = config.flag("tie_word_embeddings")
    experts, dense = routed_experts(text), DenseMlp(hidden, text.size("intermediate_size"))
    full: tuple[Block, ...] = (latent_attention(text), sparse_indexer(text))
    delta: tuple[Block, ...] = (_delta_attention(text),)
    around: tuple[Block, ...] = (HyperConnection(hidden, text.size("hc_mult")), norm(hidden))
    layers = tuple(
        Layer((*around, *(delta if kind == LINEAR else full), *around, experts if sparse else dense))
        for kind, sparse in zip(_attention_kinds(text), _sparse_layers(text), strict=True)
    )
    # One draft layer, which the configuration does not count.
    drafts = text.count("num_nextn_predict_layers", default=1)
    return Architecture(
        family="glm5_next",
        hidden_size=hidden,
        vocab_size=vocab,
        embedding=(embedding(vocab, hidden),),
        layers=layers,
        head=lm_head(vocab, hidden, tied),
        draft=(draft_layer(*draft_entry(hidden), *around, *full, *around, experts),) * drafts,
        towers=(_tower(config.part("vision_config", defaults=VISION)),),
        tied_embeddings=tied,
        max_context=text.size("max_position_embeddings"),
    )


def _delta_attention(text: Config) -> DeltaAttention:
    width = text.size("linear_head_dim")
    return DeltaAttention(
        hidden=text.size("hidden_size"),
        heads=text.size("linear_num_heads"),
        head_dim=width,
        conv_kernel=text.size("linear_conv_kernel_dim"),
        decay_rank=width,
        gate_rank=width,
    )


def _attention_kinds(text: Config) -> list[str]:
    layers = text.size("num_hidden_layers")
    if "layer_types" in text:
        return listed_kinds(text, "layer_types", (LINEAR, *FULL), layers)
    return [LINEAR if (i + 1) % FULL_EVERY else FULL[0] for i in range(layers)]


def _sparse_layers(text: Config) -> list[bool]:
    layers = text.size("num_hidden_layers")
    if "mlp_layer_types" in text:
        kinds = listed_kinds(text, "mlp_layer_types", ("dense", "sparse"), layers)
        return [kind == "sparse" for kind in kinds]
    return [i >= DENSE_LAYERS for i in range(layers)]


def _tower(config: Config) -> Tower:
    """Return the vision tower (Hugging Face class Glm5NextVisionModel)."""
    hidden, heads, depth = config.size("hidden_size"), config.size("num_heads"), config.size("depth")
    intermediate, out = config.size("intermediate_size"), config.size("out_hidden_size")
    width = head_width(hidden, heads, config.where)
    attention = GroupedQueryAttention(
        hidden, heads, heads, width, width, qkv_bias=True, out_bias=True, qk_norm=2 * width
    )
    return Tower(
        (
            (patch_embedding(config, config.size("temporal_patch_size")), 1),
            (norm(hidden, hidden), depth),
            (attention, depth),
            (DenseMlp(hidden, intermediate, bias=True), depth),
            (norm(hidden), 1),
            (table("downsample", out, hidden * config.size("spatial_merge_size") ** 2), 1),
            (norm(out, name="downsample.bias"), 1),
            (linear("merger.proj", out, out, bias=False), 1),
            (norm(out, out), 1),
            (DenseMlp(out, config.size("projection_intermediate_size")), 1),
        ),
        divides=gcd(heads, intermediate),
    )
