"""Ling 3.0 (Bailing V3): Kimi Delta Attention, and latent attention with a gate in each group's last layer."""

from __future__ import annotations

from planner.architecture.blocks.kda import DeltaAttention
from planner.architecture.blocks.mlp import DenseMlp
from planner.architecture.config import Config
from planner.architecture.families.common import embedding, lm_head
from planner.architecture.families.deepseek import latent_attention, routed_experts
from planner.architecture.model import Architecture, Layer, norm

# Class defaults of BailingHybridConfig, for what configurations leave out.
CONV_KERNEL, DELTA_HEAD_DIM = 4, 128


def build(config: Config) -> Architecture:
    """Build a Ling 3.0 model.

    Parameters
    ----------
    config : Config
        Its configuration.

    Returns
    -------
    Architecture
    """
    hidden, vocab = config.size("hidden_size"), config.size("vocab_size")
    heads, group = config.size("num_attention_heads"), config.size("layer_group_size")
    full = latent_attention(config, gate=heads)
    delta = DeltaAttention(
        hidden, heads, DELTA_HEAD_DIM, config.size("short_conv_kernel_size", default=CONV_KERNEL)
    )
    dense, experts = DenseMlp(hidden, config.size("intermediate_size")), routed_experts(config)
    first = config.count("first_k_dense_replace")
    layers = tuple(
        Layer(
            (
                norm(hidden),
                delta if (i + 1) % group else full,
                norm(hidden),
                dense if i < first else experts,
            )
        )
        for i in range(config.size("num_hidden_layers"))
    )
    tied = config.flag("tie_word_embeddings")
    return Architecture(
        family="bailing_v3",
        hidden_size=hidden,
        vocab_size=vocab,
        embedding=(embedding(vocab, hidden),),
        layers=layers,
        head=lm_head(vocab, hidden, tied),
        tied_embeddings=tied,
        max_context=config.size("max_position_embeddings"),
    )
