"""DeepSeek-V4.1: compressed entries shared between layers, n-gram memory, a DSpark draft and a vision tower.

Four layers make compressed entries that the layers after them read too, and eight choose which are read.
Layout from the headers of the published checkpoint (revision dba1be0a) and vLLM's `deepseek_v4_1` models.
"""

from __future__ import annotations

from dataclasses import replace
from math import gcd

from planner.architecture.blocks.compressed import Compressor, LatentIndexer, Packed
from planner.architecture.blocks.engram import Engram
from planner.architecture.blocks.hyper import HyperConnection
from planner.architecture.blocks.mlp import DenseMlp
from planner.architecture.blocks.moe import MixtureOfExperts
from planner.architecture.blocks.tower import Tower
from planner.architecture.config import Config
from planner.architecture.families.common import embedding, lm_head
from planner.architecture.families.deepseek import routed_experts
from planner.architecture.families.deepseek_v4 import shared_vector_attention
from planner.architecture.families.vision import attention, linear, patch_embedding, table
from planner.architecture.model import Architecture, Block, Layer, Weights, draft_layer, norm
from planner.architecture.tensors import Split, Tensor
from planner.errors import InvalidInput

FP8_TILE = 32  # Cached values that share a one-byte scale.


def build(config: Config) -> Architecture:
    """Build a DeepSeek-V4.1 model.

    Parameters
    ----------
    config : Config
        Its configuration.

    Returns
    -------
    Architecture
    """
    text = config.part("text_config")
    hidden, vocab = text.size("hidden_size"), text.size("vocab_size")
    layers, experts = text.size("num_hidden_layers"), routed_experts(text)
    return Architecture(
        family="deepseek_v41",
        hidden_size=hidden,
        vocab_size=vocab,
        embedding=(embedding(vocab, hidden),),
        layers=tuple(
            Layer((*_engram(text, i), *_layer(text, _compression(text, i), experts, _compressor(text, i))))
            for i in range(layers)
        ),
        head=lm_head(vocab, hidden, tied=False),
        draft=_dspark(text, experts),
        towers=(_tower(config.part("vision_config"), hidden),) if "vision_config" in config else (),
        max_context=text.size("max_position_embeddings"),
    )


def _packed(text: Config, fp4: bool) -> Packed:
    """Return the bytes of an FP8 vector; windows stay in FP8 where compressed entries are in FP4."""
    width = text.size("head_dim")
    entry = width + width // FP8_TILE
    dtypes = ("fp8", "fp8_ds_mla") if fp4 else ("fp8", "fp8_ds_mla", "nvfp4")
    return tuple((dtype, entry) for dtype in dtypes)


def _layer(
    text: Config,
    beside: tuple[Block, ...],
    experts: MixtureOfExperts,
    source: Compressor | None = None,
) -> tuple[Block, ...]:
    hidden = text.size("hidden_size")
    mixing = HyperConnection(hidden, text.size("hc_mult"), stored_format="f32")
    packed = _packed(text, fp4=False)
    window = (
        shared_vector_attention(text, packed)
        if source is None
        else shared_vector_attention(text, packed, source.entries(), text.size("index_topk"))
    )
    # Tokens of images have a router correction of their own.
    correction = Tensor("router.vision_correction", "router_bias", experts.experts, fixed_format="f32")
    around = (mixing, norm(hidden))
    return (*around, window, *beside, *around, experts, Weights((correction,)))


def _compressor(text: Config, layer: int) -> Compressor | None:
    """Return the compressor whose entries a layer reads, whichever layer it stands in; None for none."""
    ratios = text.items("compress_ratios", int)
    if layer >= len(ratios) or ratios[layer] < 1:
        return None
    packed = _packed(text, fp4=True)
    return Compressor(text.size("hidden_size"), text.size("head_dim"), ratios[layer], packed, positions=False)


def _compression(text: Config, layer: int) -> tuple[Block, ...]:
    owns_keys = layer in text.items("kv_source_layer_ids", int)
    if layer not in text.items("index_source_layer_ids", int):
        if owns_keys:
            raise InvalidInput(f"{text.where}: kv_source_layer_ids has {layer}, index_source_layer_ids not")
        return ()
    compressor = _compressor(text, layer)
    if compressor is None:
        raise InvalidInput(f"{text.where}: compress_ratios gives layer {layer} no compressed entries")
    indexer = LatentIndexer(
        text.size("hidden_size"),
        text.size("q_lora_rank"),
        text.size("index_n_heads"),
        text.size("index_head_dim"),
        text.size("index_topk"),
        latent=compressor.head_dim,
        ratio=compressor.ratio,
        owns_keys=owns_keys,
    )
    return (compressor, indexer) if owns_keys else (indexer,)


def _engram(text: Config, layer: int) -> tuple[Block, ...]:
    layers = text.items("engram_layer_ids", int)
    rows = text.items("engram_num_embeddings", int, len(layers))
    if layer not in layers:
        return ()
    return (
        Engram(
            hidden=text.size("hidden_size"),
            streams=text.size("hc_mult"),
            rows=rows[layers.index(layer)],
            row_dim=text.size("engram_head_dim"),
            # From pairs to the longest n-gram, each under several hashes.
            lookups=(text.size("engram_max_ngram_size") - 1) * text.size("engram_n_heads"),
        ),
    )


def _dspark(text: Config, experts: MixtureOfExperts) -> tuple[Layer, ...]:
    """Return the draft: window layers with fewer experts, fed by several layers, and tables of successors."""
    hidden, vocab = text.size("hidden_size"), text.size("vocab_size")
    count, rank = text.count("num_nextn_predict_layers", default=0), text.size("dspark_markov_rank")
    inputs = len(text.items("dspark_target_layer_ids", int))
    fewer = replace(
        experts,
        experts=text.size("dspark_n_routed_experts"),
        top_k=text.size("dspark_num_experts_per_tok"),
    )
    blocks = _layer(text, (), fewer)
    own: tuple[Block, ...] = (
        Weights((Tensor("main_proj", "eh_proj", hidden, inputs * hidden),)),
        norm(hidden, hidden),
        Weights(
            (
                Tensor(
                    "markov_w1", "markov", vocab, rank, split=Split.VOCAB, quantisable=False, multiplied=False
                ),
                Tensor("markov_w2", "markov", vocab, rank, split=Split.VOCAB, quantisable=False),
                Tensor("confidence", "markov", 1, hidden + rank),
            )
        ),
    )
    return tuple(draft_layer(*(own if i == 0 else ()), *blocks) for i in range(count))


def _tower(config: Config, out: int) -> Tower:
    """Return the vision tower with its aligner (vLLM classes DeepseekV4ViT and DeepseekV4Aligner)."""
    hidden, heads = config.size("hidden_size"), config.size("num_attention_heads")
    intermediate, depth = config.size("intermediate_size"), config.size("num_hidden_layers")
    merged = hidden * config.size("downsample_ratio") ** 2
    return Tower(
        (
            (patch_embedding(config), 1),
            (norm(hidden, hidden), depth),
            (attention(hidden, heads), depth),
            (DenseMlp(hidden, intermediate), depth),
            (norm(hidden), 1),
            (linear("aligner.w1", out, merged), 1),
            (linear("aligner.w2", out, out), 1),
            # Learnt vectors at the start, at line ends and at the end of an image.
            (table("separators", 3, out), 1),
        ),
        divides=gcd(heads, intermediate),
    )
