"""Decoders from before Llama's layer became the rule: LayerNorm with bias, an MLP of two matrices.

Layouts as in Hugging Face `GPTJForCausalLM`, `OPTForCausalLM`, `BloomForCausalLM`, `FalconForCausalLM` and
`PhiForCausalLM`.
"""

from __future__ import annotations

from dataclasses import dataclass

from planner.architecture.blocks.gqa import GroupedQueryAttention
from planner.architecture.blocks.mlp import DenseMlp
from planner.architecture.config import Config, head_width
from planner.architecture.families.common import embedding, lm_head
from planner.architecture.model import Architecture, Block, Layer, Weights, norm
from planner.architecture.tensors import Split, Tensor

# OPT's table of positions starts two rows early.
OPT_OFFSET = 2


@dataclass(frozen=True, slots=True)
class Traits:
    """What a model type has by its class.

    Parameters
    ----------
    norms : int
        LayerNorms of a layer; 1 where attention and MLP run side by side behind the same one.
    attention_bias, mlp_bias, head_bias : bool
        Which projections have a bias.
    fused_qkv : bool
        Queries, keys and values are one matrix.
    embedding_norm : bool
        The embedding is normalised.
    positions : bool
        Positions are a learnt table.
    tied : bool
        Embeddings are tied by default.
    """

    norms: int = 2
    attention_bias: bool = True
    mlp_bias: bool = True
    head_bias: bool = False
    fused_qkv: bool = False
    embedding_norm: bool = False
    positions: bool = False
    tied: bool = True


TRAITS = {
    "bloom": Traits(fused_qkv=True, embedding_norm=True),
    "falcon": Traits(attention_bias=False, mlp_bias=False, fused_qkv=True),
    "gptj": Traits(norms=1, attention_bias=False, head_bias=True, tied=False),
    "opt": Traits(positions=True),
    "phi": Traits(norms=1, head_bias=True, tied=False),
}


def build(config: Config) -> Architecture:
    """Build a model of one of these types.

    Parameters
    ----------
    config : Config
        Its configuration.

    Returns
    -------
    Architecture
    """
    kind = config.choice("model_type", TRAITS)
    traits = TRAITS[kind]
    hidden, vocab = config.size("hidden_size", "n_embd", "n_embed"), config.size("vocab_size")
    heads = config.size("num_attention_heads", "n_head")
    width_of_head = head_width(hidden, heads, config.where)
    bias = traits.attention_bias or config.flag("bias")
    attention = GroupedQueryAttention(
        hidden=hidden,
        q_heads=heads,
        kv_heads=falcon_kv_heads(config, heads) if kind == "falcon" else heads,
        key_dim=width_of_head,
        value_dim=width_of_head,
        qkv_bias=bias,
        out_bias=bias,
        fused=traits.fused_qkv,
    )
    width = config.size("intermediate_size", "ffn_dim", "ffn_hidden_size", "n_inner", default=4 * hidden)
    mlp = DenseMlp(hidden, width, gated=False, bias=traits.mlp_bias or config.flag("bias"))
    norms = falcon_norms(config) if kind == "falcon" else traits.norms
    tied = config.flag("tie_word_embeddings", traits.tied)
    context = config.count("max_position_embeddings", "n_positions", "seq_length", default=0)
    return Architecture(
        family="classic",
        hidden_size=hidden,
        vocab_size=vocab,
        embedding=(embedding(vocab, hidden), *tables(traits, hidden, context)),
        layers=(Layer((norm(*[hidden] * 2 * norms), attention, mlp)),)
        * config.size("num_hidden_layers", "n_layer"),
        head=(*lm_head(vocab, hidden, tied, norms=2), *head_bias(traits, vocab)),
        tied_embeddings=tied,
        max_context=context or None,
    )


def falcon_kv_heads(config: Config, heads: int) -> int:
    """Return Falcon's KV heads: one by class default, a number of their own in the newer decoder.

    Parameters
    ----------
    config : Config
        The configuration.
    heads : int
        Query heads.

    Returns
    -------
    int
    """
    if config.flag("new_decoder_architecture"):
        return config.size("num_kv_heads", default=heads)
    return 1 if config.flag("multi_query", True) else heads


def falcon_norms(config: Config) -> int:
    """Return how many LayerNorms a Falcon layer has.

    Parameters
    ----------
    config : Config
        The configuration.

    Returns
    -------
    int
        Two in the newer decoder and where attention and MLP follow one another, else one.
    """
    if config.flag("new_decoder_architecture"):
        return config.size("num_ln_in_parallel_attn", default=2)
    return 1 if config.flag("parallel_attn", True) else 2


def tables(traits: Traits, hidden: int, context: int) -> tuple[Block, ...]:
    """Return what stands beside the embedding: its norm, or the table of positions.

    Parameters
    ----------
    traits : Traits
        What the model type has.
    hidden, context : int
        Width of the stream, and positions.

    Returns
    -------
    tuple of Block
    """
    parts: list[Block] = []
    if traits.embedding_norm:
        parts.append(norm(hidden, hidden, name="embedding_norm"))
    if traits.positions:
        rows = context + OPT_OFFSET
        parts.append(
            Weights((Tensor("embed_positions", "embed", rows, hidden, quantisable=False, multiplied=False),))
        )
    return tuple(parts)


def head_bias(traits: Traits, vocab: int) -> tuple[Block, ...]:
    """Return the bias of the LM head, where there is one.

    Parameters
    ----------
    traits : Traits
        What the model type has.
    vocab : int
        Rows of the head.

    Returns
    -------
    tuple of Block
    """
    if not traits.head_bias:
        return ()
    return (Weights((Tensor("lm_head.bias", "bias", vocab, split=Split.VOCAB),)),)
