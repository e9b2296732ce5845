"""Gemma 4: sliding and full attention with heads of their own, per-layer embeddings, experts beside the MLP.

Layouts as in Hugging Face `Gemma4ForConditionalGeneration` and `Gemma4UnifiedForConditionalGeneration`. vLLM
runs the vision and audio towers undivided, so every rank holds them whole.
"""

from __future__ import annotations

from planner.architecture.blocks.gqa import GroupedQueryAttention
from planner.architecture.blocks.mlp import DenseMlp
from planner.architecture.blocks.moe import MixtureOfExperts
from planner.architecture.config import Config
from planner.architecture.families import gemma4_towers as towers
from planner.architecture.families.common import embedding, lm_head, text_config, windows
from planner.architecture.model import Architecture, Block, Layer, Weights, norm
from planner.architecture.tensors import Split, Tensor


def build(config: Config) -> Architecture:
    """Build a Gemma 4 model.

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
    tied = text.flag("tie_word_embeddings", True)
    return Architecture(
        family="gemma4",
        hidden_size=hidden,
        vocab_size=vocab,
        embedding=(embedding(vocab, hidden), *per_layer_tables(text)),
        layers=layers(text),
        head=lm_head(vocab, hidden, tied),
        towers=towers.towers(config, hidden),
        tied_embeddings=tied,
        max_context=text.size("max_position_embeddings"),
    )


def per_layer_width(text: Config) -> int:
    """Return the width of the embedding that each layer gets of its own, 0 for none.

    Parameters
    ----------
    text : Config
        The text configuration.

    Returns
    -------
    int
    """
    return text.count("hidden_size_per_layer_input", default=0)


def per_layer_tables(text: Config) -> tuple[Block, ...]:
    """Return the table of per-layer embeddings with its projection, where the model has them.

    Parameters
    ----------
    text : Config
        The text configuration.

    Returns
    -------
    tuple of Block
    """
    width = per_layer_width(text)
    if not width:
        return ()
    columns = text.size("num_hidden_layers") * width
    rows = text.size("vocab_size_per_layer_input")
    table = Tensor(
        "embed_tokens_per_layer", "ple", rows, columns, active=0, split=Split.VOCAB, quantisable=False
    )
    projection = Tensor(
        "per_layer_model_projection", "ple", columns, text.size("hidden_size"), split=Split.COLUMN
    )
    return (Weights((table, projection)), norm(width))


def layers(text: Config) -> tuple[Layer, ...]:
    """Return the layers; the last ones may read the keys and values of earlier ones.

    Parameters
    ----------
    text : Config
        The text configuration.

    Returns
    -------
    tuple of Layer
    """
    count = text.size("num_hidden_layers")
    hidden, per_layer = text.size("hidden_size"), per_layer_width(text)
    first_shared = count - text.count("num_kv_shared_layers", default=0)
    kinds = windows(text, count, full_every=6)
    kinds[-1] = None  # The class makes the last layer full, whatever the list says.
    mlp, experts = text.size("intermediate_size"), experts_of(text)
    wide = 2 if text.flag("use_double_wide_mlp") else 1
    extra: tuple[Block, ...] = ()
    if per_layer:
        gate = Tensor("per_layer_input_gate", "ple", per_layer, hidden)
        extra = (Weights((gate, Tensor("per_layer_projection", "ple", hidden, per_layer))), norm(hidden))
    return tuple(
        Layer(
            (
                norm(*[hidden] * 4),
                attention(text, window, stores_cache=index < first_shared),
                DenseMlp(hidden, mlp * (1 if index < first_shared else wide)),
                *experts,
                *extra,
            )
        )
        for index, window in enumerate(kinds)
    )


def attention(text: Config, window: int | None, stores_cache: bool) -> GroupedQueryAttention:
    """Return the attention of a layer: full layers have wider heads, and their keys may serve as values.

    Parameters
    ----------
    text : Config
        The text configuration.
    window : int or None
        Tokens that it sees, None for all.
    stores_cache : bool
        Whether it has keys and values of its own.

    Returns
    -------
    GroupedQueryAttention
    """
    width, kv_heads = text.size("head_dim"), text.size("num_key_value_heads")
    shared = text.flag("attention_k_eq_v")
    if window is None:
        width = text.size("global_head_dim", default=512)
        if shared:
            kv_heads = text.size("num_global_key_value_heads", default=kv_heads)
    bias = text.flag("attention_bias")
    return GroupedQueryAttention(
        hidden=text.size("hidden_size"),
        q_heads=text.size("num_attention_heads"),
        kv_heads=kv_heads,
        key_dim=width,
        value_dim=width,
        window=window,
        qkv_bias=bias,
        out_bias=bias,
        qk_norm=2 * width if stores_cache else width,
        value_projection=window is not None or not shared,
        stores_cache=stores_cache,
    )


def experts_of(text: Config) -> tuple[Block, ...]:
    """Return the experts that run beside the MLP, with their three norms, where the model has them.

    Parameters
    ----------
    text : Config
        The text configuration.

    Returns
    -------
    tuple of Block
    """
    if not text.flag("enable_moe_block"):
        return ()
    hidden, experts = text.size("hidden_size"), text.size("num_experts")
    moe = MixtureOfExperts(
        hidden=hidden,
        experts=experts,
        top_k=text.size("top_k_experts"),
        intermediate=text.size("moe_intermediate_size"),
        router_scales=hidden + experts,
        fused=True,
    )
    return (norm(hidden, hidden, hidden), moe)
