"""DeepSeek-V4: windows and compressed entries instead of a full cache, hyper-connections, FP4 experts."""

from __future__ import annotations

from planner.architecture.blocks.compressed import (
    CompressedIndexer,
    Compressor,
    Packed,
    SharedVectorAttention,
    packed_entry,
)
from planner.architecture.blocks.hyper import HyperConnection
from planner.architecture.caches import TokenCache
from planner.architecture.config import Config
from planner.architecture.families.common import draft_entry, embedding, lm_head
from planner.architecture.families.deepseek import routed_experts
from planner.architecture.model import Architecture, Block, Layer, draft_layer, norm
from planner.errors import InvalidInput

# Tokens of one compressed entry: 4 overlaps its neighbour and has an indexer (CSA), 128 does not (HCA).
WINDOW_ONLY, SPARSE, HEAVY = 0, 4, 128


def build(config: Config) -> Architecture:
    """Build a DeepSeek-V4 model.

    The tables of fixed experts that its first `num_hash_layers` layers look up are not counted.

    Parameters
    ----------
    config : Config
        Its configuration.

    Returns
    -------
    Architecture
    """
    hidden, vocab = config.size("hidden_size"), config.size("vocab_size")
    layers, drafts = config.size("num_hidden_layers"), config.count("num_nextn_predict_layers", default=0)
    ratios = config.items("compress_ratios", int, layers + drafts)
    blocks = {ratio: _blocks(config, ratio) for ratio in set(ratios)}
    tied = config.flag("tie_word_embeddings")
    return Architecture(
        family="deepseek_v4",
        hidden_size=hidden,
        vocab_size=vocab,
        embedding=(embedding(vocab, hidden),),
        layers=tuple(Layer(blocks[ratio]) for ratio in ratios[:layers]),
        head=(_hyper(config, head=True), *lm_head(vocab, hidden, tied)),
        draft=tuple(draft_layer(*draft_entry(hidden), *blocks[ratio]) for ratio in ratios[layers:]),
        tied_embeddings=tied,
        max_context=config.size("max_position_embeddings"),
    )


def _blocks(config: Config, ratio: int) -> tuple[Block, ...]:
    if ratio not in (WINDOW_ONLY, SPARSE, HEAVY):
        raise InvalidInput(f"{config.where}: compress_ratios has {ratio}; expected 0, 4 or 128")
    hidden, width, overlap = config.size("hidden_size"), config.size("head_dim"), ratio == SPARSE
    packed = packed_entry(width, config.size("qk_rope_head_dim"))
    if ratio == WINDOW_ONLY:
        attention: list[Block] = [shared_vector_attention(config, packed)]
    else:
        compressor = Compressor(hidden, width, ratio, packed, overlap)
        top_k = config.size("index_topk") if ratio == SPARSE else None
        attention = [shared_vector_attention(config, packed, compressor.entries(), top_k), compressor]
    if ratio == SPARSE:
        keys = Compressor(hidden, config.size("index_head_dim"), ratio, overlap=overlap, index=True)
        attention.append(
            CompressedIndexer(
                hidden,
                config.size("q_lora_rank"),
                config.size("index_n_heads"),
                config.size("index_topk"),
                keys,
            )
        )
    around: tuple[Block, ...] = (_hyper(config), norm(hidden))
    return (*around, *attention, *around, routed_experts(config))


def shared_vector_attention(
    config: Config, packed: Packed, compressed: TokenCache | None = None, top_k: int | None = None
) -> SharedVectorAttention:
    """Return the attention that the usual fields describe.

    Parameters
    ----------
    config : Config
        The text configuration.
    packed : tuple of (str, int)
        Bytes of a cached vector by KV dtype, where they are not those of its values.
    compressed : TokenCache, optional
        The compressed entries that the layer reads.
    top_k : int, optional
        How many of them at most.

    Returns
    -------
    SharedVectorAttention
    """
    return SharedVectorAttention(
        hidden=config.size("hidden_size"),
        heads=config.size("num_attention_heads"),
        head_dim=config.size("head_dim"),
        q_lora=config.size("q_lora_rank"),
        out_groups=config.size("o_groups"),
        out_lora=config.size("o_lora_rank"),
        window=config.size("sliding_window"),
        packed=packed,
        compressed=compressed,
        top_k=top_k,
    )


def _hyper(config: Config, head: bool = False) -> HyperConnection:
    return HyperConnection(config.size("hidden_size"), config.size("hc_mult"), head, stored_format="f32")
