"""Llama and the models that share its layer: grouped-query attention, then a gated MLP or experts.

Layouts as in the Hugging Face classes of the model types in `TRAITS`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from planner.architecture.blocks.gqa import GroupedQueryAttention
from planner.architecture.blocks.mlp import DenseMlp
from planner.architecture.blocks.moe import MixtureOfExperts
from planner.architecture.config import Config
from planner.architecture.families.common import embedding, head_dim, lm_head, windows
from planner.architecture.model import Architecture, Block, Layer, norm
from planner.errors import InvalidInput


def dense(config: Config, index: int) -> Block:
    """Return the gated MLP of a layer.

    Parameters
    ----------
    config : Config
        The text configuration.
    index : int
        Number of the layer, from 0; all are equal.

    Returns
    -------
    Block
    """
    hidden, width = config.size("hidden_size"), config.size("intermediate_size")
    return DenseMlp(hidden, width, bias=config.flag("mlp_bias"))


def phi(config: Config, index: int) -> Block:
    """Return Phi-3's MLP, whose gate and up are one matrix.

    Parameters
    ----------
    config : Config
        The text configuration.
    index : int
        Number of the layer, from 0; all are equal.

    Returns
    -------
    Block
    """
    return DenseMlp(config.size("hidden_size"), config.size("intermediate_size"), fused=True)


def mixtral(config: Config, index: int) -> Block:
    """Return Mixtral's experts, as wide as `intermediate_size`.

    Parameters
    ----------
    config : Config
        The text configuration.
    index : int
        Number of the layer, from 0; all are equal.

    Returns
    -------
    Block
    """
    return MixtureOfExperts(
        hidden=config.size("hidden_size"),
        experts=config.size("num_local_experts"),
        top_k=config.size("num_experts_per_tok"),
        intermediate=config.size("intermediate_size"),
    )


def qwen_experts(config: Config, index: int) -> Block:
    """Return the experts of a Qwen layer, or the MLP of a layer that the configuration keeps dense.

    Parameters
    ----------
    config : Config
        The text configuration.
    index : int
        Number of the layer, from 0.

    Returns
    -------
    Block
    """
    dense_layers = config.items("mlp_only_layers", int) if "mlp_only_layers" in config else []
    if index in dense_layers or (index + 1) % config.size("decoder_sparse_step", default=1):
        return dense(config, index)
    shared = config.count("shared_expert_intermediate_size", default=0)
    return MixtureOfExperts(
        hidden=config.size("hidden_size"),
        experts=config.size("num_experts"),
        top_k=config.size("num_experts_per_tok"),
        intermediate=config.size("moe_intermediate_size"),
        shared_intermediate=shared,
        shared_gate=shared > 0,
        fused=config.text("model_type") == "qwen3_vl_moe_text",
    )


@dataclass(frozen=True, slots=True)
class Traits:
    """What a model type has by its class, whether or not its configuration says so.

    Parameters
    ----------
    norms : int
        Norms of a layer: 2, or 4 where the blocks' outputs are normalised too.
    qkv_bias : bool
        Queries, keys and values have a bias.
    fused_qkv : bool
        The checkpoint stores them in one matrix.
    head_norm, wide_norm : bool
        Queries and keys are normalised: each head by the same vector, or all heads side by side.
    gate : bool
        Attention has an output gate for each element.
    optional_window : bool
        `sliding_window` counts only where `use_sliding_window` is set.
    full_every : int
        All layers slide where there is a window (0), or all but one in this many.
    tied : bool
        Embeddings are tied by default.
    feed_forward : callable
        Builds the feed-forward block of a layer.
    defaults : tuple of (str, int)
        Values of fields that published configurations omit.
    """

    norms: int = 2
    qkv_bias: bool = False
    fused_qkv: bool = False
    head_norm: bool = False
    wide_norm: bool = False
    gate: bool = False
    optional_window: bool = False
    full_every: int = 0
    tied: bool = False
    feed_forward: Callable[[Config, int], Block] = dense
    defaults: tuple[tuple[str, int], ...] = ()


LLAMA = Traits()
QWEN2 = Traits(qkv_bias=True, optional_window=True)
QWEN3 = Traits(head_norm=True, optional_window=True)
QWEN3_MOE = Traits(head_norm=True, optional_window=True, feed_forward=qwen_experts)
GEMMA3 = (
    ("num_attention_heads", 8),
    ("num_key_value_heads", 4),
    ("head_dim", 256),
    ("vocab_size", 262208),
    ("max_position_embeddings", 131072),
)
TRAITS = {
    "deci": LLAMA,
    "gemma": Traits(tied=True),
    "gemma2": Traits(norms=4, full_every=2, tied=True),
    "gemma3_text": Traits(norms=4, head_norm=True, full_every=6, tied=True, defaults=GEMMA3),
    "granite": LLAMA,
    "llama": LLAMA,
    "ministral3": LLAMA,
    "mistral": LLAMA,
    "mixtral": Traits(feed_forward=mixtral),
    "muse_glimmer_text": Traits(norms=4, gate=True, full_every=4),
    "olmo3": Traits(wide_norm=True, full_every=4),
    "phi3": Traits(fused_qkv=True, feed_forward=phi),
    "qwen2": QWEN2,
    "qwen2_5_vl_text": QWEN2,
    "qwen2_moe": Traits(qkv_bias=True, optional_window=True, feed_forward=qwen_experts),
    "qwen3": QWEN3,
    "qwen3_moe": QWEN3_MOE,
    "qwen3_omni_moe_text": QWEN3_MOE,
    "qwen3_vl_moe_text": QWEN3_MOE,
    "qwen3_vl_text": QWEN3,
}


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
    traits = TRAITS[config.choice("model_type", TRAITS)]
    config = config.with_defaults(dict(traits.defaults))
    hidden, vocab = config.size("hidden_size"), config.size("vocab_size")
    layers = config.size("num_hidden_layers")
    tied = config.flag("tie_word_embeddings", traits.tied)
    # Where a norm stands (before its block, after it, or both) changes no count.
    norms = norm(*[hidden] * traits.norms)
    per_layer = zip(kv_heads(config, layers), layer_windows(config, traits, layers), strict=True)
    return Architecture(
        family="llama",
        hidden_size=hidden,
        vocab_size=vocab,
        embedding=(embedding(vocab, hidden),),
        layers=tuple(
            Layer((norms, attention(config, traits, heads, window), traits.feed_forward(config, index)))
            for index, (heads, window) in enumerate(per_layer)
        ),
        head=lm_head(vocab, hidden, tied),
        tied_embeddings=tied,
        max_context=config.size("max_position_embeddings"),
    )


def kv_heads(config: Config, layers: int) -> list[int]:
    """Return the KV heads of each layer.

    Parameters
    ----------
    config : Config
        The text configuration. DeciLM lists them by layer; the query heads are the default.
    layers : int
        Number of layers.

    Returns
    -------
    list of int
    """
    if "num_key_value_heads_per_layer" in config:
        listed: list[int] = config.items("num_key_value_heads_per_layer", int, layers)
        if min(listed) < 1:
            raise InvalidInput(
                f"{config.where}: num_key_value_heads_per_layer has {min(listed)}; expected 1 or more"
            )
        return listed
    return [config.size("num_key_value_heads", default=config.size("num_attention_heads"))] * layers


def layer_windows(config: Config, traits: Traits, layers: int) -> list[int | None]:
    """Return the window of each layer, None where it sees everything.

    Parameters
    ----------
    config : Config
        The text configuration.
    traits : Traits
        What its model type has.
    layers : int
        Number of layers.

    Returns
    -------
    list of int or None
    """
    if "layer_types" in config or traits.full_every:
        every = config.size("sliding_window_pattern", default=traits.full_every or 1)
        return windows(config, layers, every)
    if "sliding_window" not in config or (traits.optional_window and not config.flag("use_sliding_window")):
        return [None] * layers
    # Qwen's first `max_window_layers` layers see everything even where the window is in use.
    full = config.count("max_window_layers") if traits.optional_window else 0
    return [None if index < full else config.size("sliding_window") for index in range(layers)]


def attention(config: Config, traits: Traits, heads: int, window: int | None) -> GroupedQueryAttention:
    """Return the attention of a layer.

    Parameters
    ----------
    config : Config
        The text configuration.
    traits : Traits
        What its model type has.
    heads : int
        KV heads of the layer.
    window : int or None
        Tokens that it sees, None for all.

    Returns
    -------
    GroupedQueryAttention
    """
    q_heads, width = config.size("num_attention_heads"), head_dim(config)
    normalised = 2 * width if traits.head_norm else (q_heads + heads) * width if traits.wide_norm else 0
    return GroupedQueryAttention(
        hidden=config.size("hidden_size"),
        q_heads=q_heads,
        kv_heads=heads,
        key_dim=width,
        value_dim=width,
        window=window,
        qkv_bias=traits.qkv_bias or config.flag("attention_bias"),
        out_bias=config.flag("attention_bias"),
        qk_norm=normalised,
        gate=q_heads * width if traits.gate else 0,
        fused=traits.fused_qkv,
    )
