"""Qwen3-Next and Qwen3.5 to 3.8: three Gated DeltaNet layers for each gated full attention, dense or experts.

Layouts as in Hugging Face `Qwen3NextForCausalLM`, `Qwen3_5ForConditionalGeneration` and
`Qwen3_5MoeForConditionalGeneration`; drafts as in vLLM's `Qwen3NextMTP` and `Qwen3_5MTP`.
"""

from __future__ import annotations

from planner.architecture.blocks.gdn import GatedDeltaNet
from planner.architecture.blocks.gqa import GroupedQueryAttention
from planner.architecture.blocks.mlp import DenseMlp
from planner.architecture.blocks.moe import MixtureOfExperts
from planner.architecture.config import Config
from planner.architecture.families.common import (
    draft_entry,
    embedding,
    listed_kinds,
    lm_head,
    state_dtype,
    text_config,
)
from planner.architecture.families.vision import qwen3_vl
from planner.architecture.model import Architecture, Block, Layer, draft_layer, norm
from planner.architecture.tensors import Split

# Class defaults of the vision configuration, which some configurations leave out.
VISION_DEFAULTS: dict[str, object] = {
    "deepstack_visual_indexes": [],
    "depth": 27,
    "hidden_size": 1152,
    "intermediate_size": 4304,
    "num_heads": 16,
    "num_position_embeddings": 2304,
    "out_hidden_size": 3584,
    "patch_size": 16,
    "spatial_merge_size": 2,
    "temporal_patch_size": 2,
}


def build(config: Config) -> Architecture:
    """Build a Qwen3-Next or Qwen3.5 model.

    Parameters
    ----------
    config : Config
        Its configuration.

    Returns
    -------
    Architecture
    """
    text = text_config(config) if "text_config" in config else config
    hidden, vocab = text.size("hidden_size"), text.size("vocab_size")
    kinds = mixer_kinds(text)
    feed = [feed_forward(text, index) for index in range(len(kinds))]
    mixers: dict[str, Block] = {
        "full_attention": attention(text),
        "linear_attention": linear_attention(text),
    }
    tied = text.flag("tie_word_embeddings")
    return Architecture(
        family="qwen_next",
        hidden_size=hidden,
        vocab_size=vocab,
        embedding=(embedding(vocab, hidden),),
        layers=tuple(
            Layer((norm(hidden), mixers[kind], norm(hidden), block))
            for kind, block in zip(kinds, feed, strict=True)
        ),
        head=lm_head(vocab, hidden, tied),
        draft=drafts(text, (norm(hidden), attention(text), norm(hidden), feed[-1])),
        towers=towers(config),
        tied_embeddings=tied,
        max_context=text.size("max_position_embeddings"),
        state_dtype=state_dtype(text),
    )


def mixer_kinds(text: Config) -> list[str]:
    """Return the kind of attention of each layer: listed, or full attention at every fourth by class default.

    Parameters
    ----------
    text : Config
        The text configuration.

    Returns
    -------
    list of str
        ``linear_attention`` or ``full_attention``.
    """
    layers = text.size("num_hidden_layers")
    if "layer_types" in text:
        return listed_kinds(text, "layer_types", ("linear_attention", "full_attention"), layers)
    every = text.size("full_attention_interval", default=4)
    return ["linear_attention" if (index + 1) % every else "full_attention" for index in range(layers)]


def attention(text: Config) -> GroupedQueryAttention:
    """Return the full attention with its output gate.

    Parameters
    ----------
    text : Config
        The text configuration.

    Returns
    -------
    GroupedQueryAttention
    """
    heads, width = text.size("num_attention_heads"), text.size("head_dim")
    return GroupedQueryAttention(
        hidden=text.size("hidden_size"),
        q_heads=heads,
        kv_heads=text.size("num_key_value_heads"),
        key_dim=width,
        value_dim=width,
        qkv_bias=text.flag("attention_bias"),
        out_bias=text.flag("attention_bias"),
        qk_norm=2 * width,
        # The classes always gate; only configurations of Qwen3.5 name it.
        gate=heads * width if text.flag("attn_output_gate", True) else 0,
        fused_gate=True,
    )


def linear_attention(text: Config) -> GatedDeltaNet:
    """Return the Gated DeltaNet block.

    Parameters
    ----------
    text : Config
        The text configuration.

    Returns
    -------
    GatedDeltaNet
    """
    return GatedDeltaNet(
        hidden=text.size("hidden_size"),
        key_heads=text.size("linear_num_key_heads"),
        value_heads=text.size("linear_num_value_heads"),
        key_dim=text.size("linear_key_head_dim"),
        value_dim=text.size("linear_value_head_dim"),
        kernel=text.size("linear_conv_kernel_dim"),
        state_dtype=state_dtype(text) or "f32",
        fused_inputs=text.text("model_type") == "qwen3_next",
    )


def feed_forward(text: Config, index: int) -> Block:
    """Return the feed-forward block of a layer: experts where there are any, unless listed as dense.

    Parameters
    ----------
    text : Config
        The text configuration.
    index : int
        Number of the layer, from 0.

    Returns
    -------
    Block
    """
    hidden = text.size("hidden_size")
    dense = text.items("mlp_only_layers", int) if "mlp_only_layers" in text else []
    sparse = (index + 1) % text.size("decoder_sparse_step", default=1) == 0 and index not in dense
    if "num_experts" not in text or not sparse:
        return DenseMlp(hidden, text.size("intermediate_size"))
    return MixtureOfExperts(
        hidden=hidden,
        experts=text.size("num_experts"),
        top_k=text.size("num_experts_per_tok"),
        intermediate=text.size("moe_intermediate_size"),
        shared_intermediate=text.size("shared_expert_intermediate_size"),
        shared_gate=True,
        fused=text.text("model_type") != "qwen3_next",
    )


def drafts(text: Config, blocks: tuple[Block, ...]) -> tuple[Layer, ...]:
    """Return the multi-token-prediction layers, which share embedding and head with the model.

    Parameters
    ----------
    text : Config
        The text configuration.
    blocks : tuple of Block
        The blocks of one draft layer.

    Returns
    -------
    tuple of Layer
        The first holds the projection of hidden state and embedding, with the three norms of its own.
    """
    hidden = text.size("hidden_size")
    # Checkpoints ship one draft layer whether or not the configuration names it (vLLM's default).
    count = text.count("mtp_num_hidden_layers", "num_nextn_predict_layers", default=1)
    plain = draft_layer(*blocks)
    entry = draft_layer(*draft_entry(hidden, Split.COLUMN), *blocks)
    return (entry, *[plain] * (count - 1)) if count else ()


def towers(config: Config) -> tuple[Block, ...]:
    """Return the vision tower, where the configuration is that of the multimodal model.

    Parameters
    ----------
    config : Config
        The outer configuration.

    Returns
    -------
    tuple of Block
    """
    if "text_config" not in config:
        return ()
    given = config.part("vision_config").values if "vision_config" in config else {}
    return (qwen3_vl(Config({**VISION_DEFAULTS, **given}, f"{config.where}: vision_config")),)
