"""Llama and the models that share its layer: pre-norm grouped-query attention and a gated MLP."""

from __future__ import annotations

from planner.architecture.blocks.gqa import GroupedQueryAttention
from planner.architecture.blocks.mlp import DenseMlp
from planner.architecture.config import Config
from planner.architecture.families.common import embedding, head_dim, lm_head
from planner.architecture.model import Architecture, Layer, norm


def build(config: Config) -> Architecture:
    """Build a Llama-like model.

    Parameters
    ----------
    config : Config
        Its configuration.

    Returns
    -------
    Architecture
    """
    hidden, vocab = config.size("hidden_size"), config.size("vocab_size")
    heads, width = config.size("num_attention_heads"), head_dim(config)
    attention = GroupedQueryAttention(
        hidden=hidden,
        q_heads=heads,
        kv_heads=config.size("num_key_value_heads", default=heads),
        key_dim=width,
        value_dim=width,
        window=config.size("sliding_window") if "sliding_window" in config else None,
        qkv_bias=config.flag("attention_bias"),
        out_bias=config.flag("attention_bias"),
    )
    mlp = DenseMlp(hidden, config.size("intermediate_size"), bias=config.flag("mlp_bias"))
    layer = Layer((norm(hidden), attention, norm(hidden), mlp))
    tied = config.flag("tie_word_embeddings")
    return Architecture(
        family="llama",
        hidden_size=hidden,
        vocab_size=vocab,
        embedding=(embedding(vocab, hidden),),
        layers=(layer,) * config.size("num_hidden_layers"),
        head=lm_head(vocab, hidden, tied),
        tied_embeddings=tied,
        max_context=config.size("max_position_embeddings"),
    )
