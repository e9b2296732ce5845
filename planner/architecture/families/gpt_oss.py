"""gpt-oss: sliding and full attention in turn with sinks, and experts with biases.

Layout as in Hugging Face `GptOssForCausalLM`.
"""

from __future__ import annotations

from planner.architecture.blocks.gqa import GroupedQueryAttention
from planner.architecture.blocks.moe import MixtureOfExperts
from planner.architecture.config import Config
from planner.architecture.families.common import embedding, lm_head, windows
from planner.architecture.model import Architecture, Layer, norm


def build(config: Config) -> Architecture:
    """Build a gpt-oss model.

    Parameters
    ----------
    config : Config
        Its configuration.

    Returns
    -------
    Architecture
    """
    hidden, vocab = config.size("hidden_size"), config.size("vocab_size")
    experts = MixtureOfExperts(
        hidden=hidden,
        experts=config.size("num_local_experts"),
        top_k=config.size("num_experts_per_tok", "experts_per_token"),
        intermediate=config.size("intermediate_size"),
        expert_bias=True,
        router_linear_bias=True,
    )
    tied = config.flag("tie_word_embeddings")
    return Architecture(
        family="gpt_oss",
        hidden_size=hidden,
        vocab_size=vocab,
        embedding=(embedding(vocab, hidden),),
        # The class starts with a sliding layer and makes every second one full.
        layers=tuple(
            Layer((norm(hidden, hidden), attention(config, window), experts))
            for window in windows(config, config.size("num_hidden_layers"), full_every=2)
        ),
        head=lm_head(vocab, hidden, tied),
        tied_embeddings=tied,
        max_context=config.size("max_position_embeddings"),
    )


def attention(config: Config, window: int | None) -> GroupedQueryAttention:
    """Return the attention of a layer.

    Parameters
    ----------
    config : Config
        The configuration.
    window : int or None
        Tokens that it sees, None for all.

    Returns
    -------
    GroupedQueryAttention
    """
    width = config.size("head_dim", default=64)
    bias = config.flag("attention_bias", True)
    return GroupedQueryAttention(
        hidden=config.size("hidden_size"),
        q_heads=config.size("num_attention_heads"),
        kv_heads=config.size("num_key_value_heads"),
        key_dim=width,
        value_dim=width,
        window=window,
        qkv_bias=bias,
        out_bias=bias,
        sinks=True,
    )
