"""Llama 4: chunked local and full attention, experts in every layer or every second one, a vision tower.

Layout as in Hugging Face `Llama4ForConditionalGeneration`.
"""

from __future__ import annotations

from math import gcd

from planner.architecture.blocks.gqa import GroupedQueryAttention
from planner.architecture.blocks.mlp import DenseMlp
from planner.architecture.blocks.moe import MixtureOfExperts
from planner.architecture.blocks.tower import Tower
from planner.architecture.config import Config
from planner.architecture.families import vision
from planner.architecture.families.common import embedding, listed_kinds, lm_head, text_config
from planner.architecture.model import Architecture, Block, Layer, norm
from planner.architecture.tensors import Split

# The tower of all released Llama 4 models, for configurations that leave it out.
VISION = {
    "hidden_size": 1408,
    "intermediate_size": 5632,
    "num_attention_heads": 16,
    "num_hidden_layers": 34,
    "image_size": 336,
    "patch_size": 14,
    "projector_input_dim": 4096,
    "projector_output_dim": 4096,
    "pixel_shuffle_ratio": 0.5,
}


def build(config: Config) -> Architecture:
    """Build a Llama 4 model.

    Parameters
    ----------
    config : Config
        Its configuration, with ``text_config``.

    Returns
    -------
    Architecture
    """
    text = text_config(config)
    hidden, vocab = text.size("hidden_size"), text.size("vocab_size")
    layers = text.size("num_hidden_layers")
    tied = text.flag("tie_word_embeddings")
    return Architecture(
        family="llama4",
        hidden_size=hidden,
        vocab_size=vocab,
        embedding=(embedding(vocab, hidden),),
        layers=tuple(
            Layer((norm(hidden, hidden), attention(text, chunk), feed_forward(text, index)))
            for index, chunk in enumerate(chunks(text, layers))
        ),
        head=lm_head(vocab, hidden, tied),
        towers=(tower(config.part("vision_config", defaults=VISION), hidden),),
        tied_embeddings=tied,
        max_context=text.size("max_position_embeddings"),
    )


def chunks(text: Config, layers: int) -> list[int | None]:
    """Return the chunk that each layer's attention stays in, None for layers that see everything.

    Parameters
    ----------
    text : Config
        The text configuration. By class default every fourth layer is full and has no rotary positions.
    layers : int
        Number of layers.

    Returns
    -------
    list of int or None
        Tokens.
    """
    every = text.size("no_rope_layer_interval", default=4)
    kinds = ["chunked_attention" if (index + 1) % every else "full_attention" for index in range(layers)]
    if "layer_types" in text:
        kinds = listed_kinds(text, "layer_types", ("chunked_attention", "full_attention"), layers)
    elif text.values.get("no_rope_layers"):
        # 1 for layers with rotary positions, which are the chunked ones.
        rotary = text.items("no_rope_layers", int, layers)
        kinds = ["chunked_attention" if flag else "full_attention" for flag in rotary]
    size = text.size("attention_chunk_size", default=8192)
    return [size if kind == "chunked_attention" else None for kind in kinds]


def attention(text: Config, chunk: int | None) -> GroupedQueryAttention:
    """Return the attention of a layer; its query and key norm has no parameters.

    Parameters
    ----------
    text : Config
        The text configuration.
    chunk : int or None
        Tokens of the chunk that it sees, None for all.

    Returns
    -------
    GroupedQueryAttention
    """
    width, bias = text.size("head_dim"), text.flag("attention_bias")
    return GroupedQueryAttention(
        hidden=text.size("hidden_size"),
        q_heads=text.size("num_attention_heads"),
        kv_heads=text.size("num_key_value_heads"),
        key_dim=width,
        value_dim=width,
        window=chunk,
        chunked=chunk is not None,
        qkv_bias=bias,
        out_bias=bias,
    )


def feed_forward(text: Config, index: int) -> Block:
    """Return the feed-forward block of a layer: routed experts beside a shared one, or an MLP.

    Parameters
    ----------
    text : Config
        The text configuration.
    index : int
        Number of the layer, from 0.

    Returns
    -------
    Block
    """
    hidden, width = text.size("hidden_size"), text.size("intermediate_size")
    step = text.size("interleave_moe_layer_step", default=1)
    sparse = index in text.items("moe_layers", int) if "moe_layers" in text else (index + 1) % step == 0
    if not sparse:
        return DenseMlp(hidden, text.size("intermediate_size_mlp"))
    return MixtureOfExperts(
        hidden=hidden,
        experts=text.size("num_local_experts"),
        top_k=text.size("num_experts_per_tok"),
        intermediate=width,
        shared_intermediate=width,
    )


def tower(config: Config, out: int) -> Tower:
    """Build the vision tower with its pixel shuffle and projector.

    Parameters
    ----------
    config : Config
        Its ``vision_config``.
    out : int
        Width of the language model.

    Returns
    -------
    Tower
    """
    hidden, heads = config.size("hidden_size"), config.size("num_attention_heads")
    intermediate, layers = config.size("intermediate_size"), config.size("num_hidden_layers")
    shuffled = config.size("projector_input_dim"), config.size("projector_output_dim")
    positions = (config.size("image_size") // config.size("patch_size")) ** 2 + 1
    return Tower(
        (
            (vision.patch_embedding(config, bias=False), 1),
            (vision.table("class_embedding", hidden), 1),
            (vision.table("positional_embedding", positions, hidden), 1),
            (norm(*[hidden] * 4), 1),
            *vision.encoder_layers(hidden, heads, intermediate, layers),
            # Four neighbouring patches become one of a quarter of the positions and the MLP's width.
            (vision.linear("adapter.fc1", shuffled[0], intermediate, Split.COLUMN, bias=False), 1),
            (vision.linear("adapter.fc2", shuffled[1], shuffled[1], Split.ROW, bias=False), 1),
            (vision.linear("projector", out, shuffled[1], Split.COLUMN, bias=False), 1),
        ),
        divides=gcd(heads, intermediate),
    )
