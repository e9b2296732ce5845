"""Kimi Linear and Kimi K3: Kimi Delta Attention in most layers, latent attention without rotation in some."""

from __future__ import annotations

from planner.architecture.blocks.kda import DeltaAttention
from planner.architecture.blocks.mlp import DenseMlp
from planner.architecture.config import Config
from planner.architecture.families.common import embedding, lm_head
from planner.architecture.families.deepseek import latent_attention, routed_experts, sparse_indexer
from planner.architecture.families.moonvit import moonvit
from planner.architecture.model import Architecture, Block, Layer, norm
from planner.errors import InvalidInput, UnsupportedArchitecture


def build(config: Config) -> Architecture:
    """Build a Kimi Linear model, or a Kimi K3 model with its vision tower.

    Parameters
    ----------
    config : Config
        Its configuration. Kimi K3.1 adds a ``dsa_config`` for an indexer beside the latent attention.

    Returns
    -------
    Architecture
    """
    outer = "text_config" in config
    text = config.part("text_config") if outer else config
    if text.count("num_nextn_predict_layers", default=0):
        raise UnsupportedArchitecture(f"{text.where}: draft layers of Kimi Linear models are not described")
    hidden, vocab = text.size("hidden_size"), text.size("vocab_size")
    kda = _delta_attention(text, fp32=outer)
    gate = text.size("num_attention_heads") * text.size("v_head_dim")
    attention = latent_attention(text, gate if text.flag("mla_use_output_gate") else 0)
    full: tuple[Block, ...] = (attention, *_indexer(config, text))
    dense, experts = DenseMlp(hidden, text.size("intermediate_size")), routed_experts(text)
    first, every = text.count("first_k_dense_replace"), text.size("moe_layer_freq", default=1)
    residual = _block_residual(text)
    layers = tuple(
        Layer(
            (
                *residual * 2,
                norm(hidden),
                *(full if is_full else (kda,)),
                norm(hidden),
                experts if i >= first and i % every == 0 else dense,
            )
        )
        for i, is_full in enumerate(_full_layers(text))
    )
    tied = text.flag("tie_word_embeddings")
    return Architecture(
        family="kimi_linear",
        hidden_size=hidden,
        vocab_size=vocab,
        embedding=(embedding(vocab, hidden),),
        layers=layers,
        head=(*residual, *lm_head(vocab, hidden, tied)),
        towers=(moonvit(config.part("vision_config"), hidden),) if "vision_config" in config else (),
        tied_embeddings=tied,
        max_context=text.size("max_position_embeddings", "model_max_length"),
    )


def _delta_attention(text: Config, fp32: bool) -> DeltaAttention:
    """Return the linear attention; Kimi K3's checkpoint keeps its small tensors in FP32."""
    linear = text.part("linear_attn_config")
    width = linear.size("head_dim")
    return DeltaAttention(
        hidden=text.size("hidden_size"),
        heads=linear.size("num_heads"),
        head_dim=width,
        conv_kernel=linear.size("short_conv_kernel_size"),
        decay_rank=width,
        gate_rank=0 if linear.flag("use_full_rank_gate") else width,
        small_format="f32" if fp32 else None,
        norm_group="linear_attention" if fp32 else "norm",
    )


def _indexer(config: Config, text: Config) -> tuple[Block, ...]:
    holder = next((c for c in (text, config) if "dsa_config" in c), None)
    if holder is None:
        return ()
    return (sparse_indexer(Config({**text.values, **holder.part("dsa_config").values}, text.where)),)


def _block_residual(text: Config) -> tuple[Block, ...]:
    """Return the norm and the projection to one value with which a sub-layer weighs earlier residuals."""
    if "attn_res_block_size" not in text:
        return ()
    return (norm(*[text.size("hidden_size")] * 2, name="attn_res", group="attn_res"),)


def _full_layers(text: Config) -> list[bool]:
    """Return of each layer whether it has latent attention; the lists count layers from 1."""
    linear, layers = text.part("linear_attn_config"), text.size("num_hidden_layers")
    everything = set(range(1, layers + 1))
    full = set(linear.items("full_attn_layers", int))
    delta = set(linear.items("kda_layers", int)) if "kda_layers" in linear else everything - full
    if full & delta or full | delta != everything:
        raise InvalidInput(
            f"{linear.where}: full_attn_layers and kda_layers must name each of the layers 1 to {layers} once"
        )
    return [i in full for i in sorted(everything)]
