"""Qwen4-Exp (Qwen3.8-Flash-Next): Qwen3.5 with sparse attention, residual streams and an n-gram table.

Layout as in Hugging Face `Qwen4ExpForConditionalGeneration`.
"""

from __future__ import annotations

from itertools import count, islice
from math import isqrt

from planner.architecture.blocks.block_index import BlockIndexer
from planner.architecture.blocks.gated_residual import GatedResidual
from planner.architecture.blocks.short_conv import ShortConvolution
from planner.architecture.config import Config
from planner.architecture.families.common import draft_entry, embedding, listed_kinds, lm_head, text_config
from planner.architecture.families.qwen_next import (
    attention,
    feed_forward,
    linear_attention,
    mixer_kinds,
    towers,
)
from planner.architecture.model import Architecture, Block, Layer, Weights, draft_layer, norm
from planner.architecture.tensors import Split, Tensor
from planner.errors import InvalidInput

# All but the first are full attention with the index; the last is such a layer with an n-gram table.
KINDS = ("linear_attention", "full_attention", "deepseek_sparse_attention", "hybrid_indexed")


def build(config: Config) -> Architecture:
    """Build a Qwen4-Exp model.

    Parameters
    ----------
    config : Config
        Its configuration.

    Returns
    -------
    Architecture
    """
    text = text_config(config)
    hidden, vocab = text.size("hidden_size"), text.size("vocab_size")
    tied = text.flag("tie_word_embeddings")
    layers = tuple(
        Layer((*ngrams(text, index), *sub_layers(text, linear, index)))
        for index, linear in enumerate(linear_layers(text))
    )
    # The last mixing takes the place of the final norm.
    head = [block for block in lm_head(vocab, hidden, tied, norms=0) if block.tensors()]
    return Architecture(
        family="qwen4_exp",
        hidden_size=hidden,
        vocab_size=vocab,
        embedding=(embedding(vocab, hidden),),
        layers=layers,
        head=(residual(text, inject=False), *head),
        draft=drafts(text),
        towers=towers(config),
        tied_embeddings=tied,
        max_context=text.size("max_position_embeddings"),
    )


def linear_layers(text: Config) -> list[bool]:
    """Return for each layer whether its attention is linear.

    Parameters
    ----------
    text : Config
        The text configuration.

    Returns
    -------
    list of bool
    """
    if "layer_types" in text:
        kinds = listed_kinds(text, "layer_types", KINDS, text.size("num_hidden_layers"))
    else:
        kinds = mixer_kinds(text)
    return [kind == "linear_attention" for kind in kinds]


def residual(text: Config, inject: bool = True) -> GatedResidual:
    """Return the mixing of residual streams.

    Parameters
    ----------
    text : Config
        The text configuration.
    inject : bool
        Whether a sub-layer follows.

    Returns
    -------
    GatedResidual
    """
    # Class defaults: 4 streams, rank 320.
    streams, rank = text.size("hc_count", default=4), text.size("hc_lowrank", default=320)
    return GatedResidual(text.size("hidden_size"), streams, rank, inject)


def sub_layers(text: Config, linear: bool, index: int) -> tuple[Block, ...]:
    """Return attention and experts of a layer with the mixing around each.

    Parameters
    ----------
    text : Config
        The text configuration.
    linear : bool
        Whether its attention is linear.
    index : int
        Number of the layer, from 0.

    Returns
    -------
    tuple of Block
    """
    mixer: tuple[Block, ...] = (linear_attention(text),) if linear else (attention(text), indexer(text))
    return (residual(text), *mixer, residual(text), feed_forward(text, index))


def indexer(text: Config) -> BlockIndexer:
    """Return the index of the sparse attention, whose keys are averages of a few tokens.

    Parameters
    ----------
    text : Config
        The text configuration.

    Returns
    -------
    BlockIndexer

    Raises
    ------
    InvalidInput
        When it has more than one key head, which the class refuses.
    """
    if text.size("indexer_kv_heads") != 1:
        heads = text.size("indexer_kv_heads")
        raise InvalidInput(f"{text.where}: indexer_kv_heads is {heads}; expected 1")
    return BlockIndexer(
        hidden=text.size("hidden_size"),
        heads=text.size("indexer_n_heads"),
        head_dim=text.size("indexer_head_dim"),
        top_k=text.size("indexer_budget"),
        pool=text.size("indexer_compress_ratio"),
    )


def ngrams(text: Config, index: int) -> tuple[Block, ...]:
    """Return the n-gram embedding of a layer: a hashed table, two projections, three norms, a convolution.

    Parameters
    ----------
    text : Config
        The text configuration; `ple_layer_ids` counts layers from 1.
    index : int
        Number of the layer, from 0.

    Returns
    -------
    tuple of Block
        Nothing for most layers.
    """
    with_table = sorted(set(text.items("ple_layer_ids", int))) if "ple_layer_ids" in text else []
    if index + 1 not in with_table:
        return ()
    hidden = text.size("hidden_size")
    width, wide = text.size("ple_embed_dim", "hidden_size"), hidden * text.size("hc_count", default=4)
    # Class defaults that configurations may omit.
    order, kernel = text.size("ngram_size", default=3), text.size("ple_conv_kernel_size", default=4)
    heads = (order - 1) * text.size("heads_per_ngram", default=8)
    rows = table_rows(text, heads, with_table.index(index + 1))
    parts = (
        Tensor(
            "ngram_embedding",
            "ngram_embed",
            rows,
            width // heads,
            active=0,
            split=Split.VOCAB,
            quantisable=False,
        ),
        Tensor("key_proj", "ple", wide, width),
        Tensor("value_proj", "ple", hidden, width),
    )
    # The convolution skips from n-gram to n-gram, so it reaches back `order` times as far as its kernel.
    convolution = ShortConvolution(wide, kernel=kernel, kept=(kernel - 1) * order, heads=1)
    return (Weights(parts), norm(wide, wide, wide), convolution)


def table_rows(text: Config, heads: int, table: int) -> int:
    """Return the rows of an n-gram table: a distinct prime for each hash head, padded together.

    Parameters
    ----------
    text : Config
        The text configuration.
    heads : int
        Hash heads of one table.
    table : int
        Number of the table, from 0; each goes on where the primes of the one before end.

    Returns
    -------
    int
    """
    base = text.size("ngram_vocab_size_base", default=20_000_000)
    multiple = text.size("make_ngram_vocab_size_divisible_by", default=128)
    primes = islice(
        (number for number in count(base) if is_prime(number)), table * heads, (table + 1) * heads
    )
    return -(-sum(primes) // multiple) * multiple


def is_prime(number: int) -> bool:
    """Return whether a number is prime.

    Parameters
    ----------
    number : int
        At least 0.

    Returns
    -------
    bool
    """
    if number < 3 or number % 2 == 0:
        return number == 2
    return all(number % divisor for divisor in range(3, isqrt(number) + 1, 2))


def drafts(text: Config) -> tuple[Layer, ...]:
    """Return the multi-token-prediction layers, each with sparse attention and experts.

    Parameters
    ----------
    text : Config
        The text configuration.

    Returns
    -------
    tuple of Layer
        One where the configuration does not count them, as released checkpoints hold.
    """
    layers = text.count("mtp_num_hidden_layers", "num_nextn_predict_layers", default=1)
    entry = draft_entry(text.size("hidden_size"), Split.COLUMN)
    return (draft_layer(*entry, *sub_layers(text, linear=False, index=0)),) * layers
