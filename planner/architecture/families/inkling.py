"""Inkling: sliding and full attention with short convolutions behind keys, values and both sub-layers.

Layout as in Hugging Face `InklingForConditionalGeneration`, the language model alone: vision and audio towers
and drafts are not described, since published configurations do not give their sizes.
"""

from __future__ import annotations

from dataclasses import replace

from planner.architecture.blocks.gqa import GroupedQueryAttention
from planner.architecture.blocks.mlp import DenseMlp
from planner.architecture.blocks.moe import MixtureOfExperts
from planner.architecture.blocks.short_conv import ShortConvolution
from planner.architecture.config import Config
from planner.architecture.families.common import decoder, listed_kinds, lm_head
from planner.architecture.model import Architecture, Block, Layer, Weights
from planner.architecture.tensors import Split, Tensor

KINDS = ("hybrid", "hybrid_sliding")


def build(config: Config) -> Architecture:
    """Build the language model of Inkling.

    Parameters
    ----------
    config : Config
        Its configuration.

    Returns
    -------
    Architecture
    """
    text = config.part("text_config")
    hidden, layers = text.size("hidden_size"), text.size("num_hidden_layers")
    model = decoder(
        text,
        [mixer(text, kind == "hybrid_sliding") for kind in layer_kinds(text, layers)],
        [feed_forward(text, routed) for routed in expert_layers(text, layers)],
        family="inkling",
    )
    # The embedding is looked up and then normalised, and the LM head may have fewer rows.
    table_norm = Tensor("embed_norm", "embed", hidden, active=0, quantisable=False)
    scale = Weights((Tensor("global_scale", "bias", 1),))
    return replace(
        model,
        embedding=(*model.embedding, Weights((table_norm,))),
        layers=tuple(Layer((*layer.blocks, scale)) for layer in model.layers),
        head=lm_head(text.size("unpadded_vocab_size", "vocab_size"), hidden, tied=False),
    )


def layer_kinds(text: Config, layers: int) -> list[str]:
    """Return the kind of each layer: listed, or full at every sixth by class default.

    Parameters
    ----------
    text : Config
        The text configuration.
    layers : int
        Number of layers.

    Returns
    -------
    list of str
    """
    if "layer_types" in text:
        return listed_kinds(text, "layer_types", KINDS, layers)
    local = [index for index in range(layers) if (index + 1) % 6]
    if "local_layer_ids" in text:
        local = text.items("local_layer_ids", int)
    return [KINDS[index in local] for index in range(layers)]


def expert_layers(text: Config, layers: int) -> list[bool]:
    """Return for each layer whether it has experts: all, by class default.

    Parameters
    ----------
    text : Config
        The text configuration.
    layers : int
        Number of layers.

    Returns
    -------
    list of bool
    """
    if "mlp_layer_types" in text:
        kinds = listed_kinds(text, "mlp_layer_types", ("dense", "sparse"), layers)
        return [kind == "sparse" for kind in kinds]
    return [index >= text.count("dense_mlp_idx", default=0) for index in range(layers)]


def mixer(text: Config, sliding: bool) -> tuple[Block, ...]:
    """Return the attention of a layer with its relative positions and all four convolutions of the layer.

    Parameters
    ----------
    text : Config
        The text configuration.
    sliding : bool
        Whether the layer has a window.

    Returns
    -------
    tuple of Block
    """
    prefix = "swa_" if sliding else ""
    hidden, heads = text.size("hidden_size"), text.size(f"{prefix}num_attention_heads")
    kv_heads, width = text.size(f"{prefix}num_key_value_heads"), text.size(f"{prefix}head_dim")
    window = text.size("sliding_window_size") if sliding else None
    attention = GroupedQueryAttention(
        hidden=hidden,
        q_heads=heads,
        kv_heads=kv_heads,
        key_dim=width,
        value_dim=width,
        window=window,
        qk_norm=2 * width,
    )
    # Class defaults that configurations omit.
    relative, extent = text.size("d_rel", default=16), window or text.size("rel_extent", default=1024)
    positions = Weights(
        (
            Tensor("r_proj", "attention", heads * relative, hidden, split=Split.COLUMN, units=heads),
            Tensor("rel_logits_proj", "attention", relative, extent, quantisable=False),
        )
    )
    span = text.size("conv_kernel_size", "sconv_kernel_size")
    of_heads = ShortConvolution(kv_heads * width, kernel=span, kept=span - 1, heads=kv_heads)
    of_stream = ShortConvolution(hidden, kernel=span, kept=span - 1, heads=1)
    return (attention, positions, of_heads, of_heads, of_stream, of_stream)


def feed_forward(text: Config, routed: bool) -> Block:
    """Return the experts of a layer, or its MLP.

    Parameters
    ----------
    text : Config
        The text configuration.
    routed : bool
        Whether the layer has experts.

    Returns
    -------
    Block
    """
    hidden, width = text.size("hidden_size"), text.size("moe_intermediate_size")
    if not routed:
        return DenseMlp(hidden, text.size("dense_intermediate_size", "intermediate_size"))
    shared = text.size("n_shared_experts")
    return MixtureOfExperts(
        hidden=hidden,
        experts=text.size("n_routed_experts"),
        top_k=text.size("num_experts_per_tok"),
        intermediate=width,
        shared_intermediate=shared * width,
        fused=True,
        # The router scores shared experts too.
        extra_logits=shared if text.flag("shared_expert_sink", True) else 0,
    )
