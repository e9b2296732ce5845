"""Qwen3-Omni: a thinker that sees and hears, and a talker that speaks what the thinker writes.

Layouts as in Hugging Face `Qwen3OmniMoeForConditionalGeneration`. Engines that serve text load the thinker
alone; the talker has a weight group of its own.
"""

from __future__ import annotations

from dataclasses import replace
from math import gcd

from planner.architecture.blocks.gqa import GroupedQueryAttention
from planner.architecture.blocks.mlp import DenseMlp
from planner.architecture.blocks.moe import MixtureOfExperts
from planner.architecture.blocks.tower import Tower
from planner.architecture.config import Config, head_width
from planner.architecture.families import build_model
from planner.architecture.families.vision import encoder_layers, linear, qwen3_vl, table
from planner.architecture.model import Architecture, Block, norm
from planner.architecture.tensors import Split

Parts = list[tuple[Block, int]]

# Values of the released 30B-A3B models, for configurations that leave a part out.
VISION = {
    "depth": 27,
    "hidden_size": 1152,
    "intermediate_size": 4304,
    "num_heads": 16,
    "num_position_embeddings": 2304,
    "deepstack_visual_indexes": [8, 16, 24],
    "patch_size": 16,
    "spatial_merge_size": 2,
    "temporal_patch_size": 2,
}
AUDIO = {
    "d_model": 1280,
    "encoder_layers": 32,
    "encoder_attention_heads": 20,
    "encoder_ffn_dim": 5120,
    "num_mel_bins": 128,
    "downsample_hidden_size": 480,
}
TALKER = {
    "vocab_size": 3072,
    "hidden_size": 1024,
    "intermediate_size": 2048,
    "num_hidden_layers": 20,
    "num_attention_heads": 16,
    "num_key_value_heads": 2,
    "head_dim": 128,
    "num_experts": 128,
    "num_experts_per_tok": 6,
    "moe_intermediate_size": 384,
    "shared_expert_intermediate_size": 768,
}
PREDICTOR = {
    "vocab_size": 2048,
    "hidden_size": 1024,
    "intermediate_size": 3072,
    "num_hidden_layers": 5,
    "num_attention_heads": 16,
    "num_key_value_heads": 8,
    "head_dim": 128,
    "num_code_groups": 16,
}
CODE2WAV = {
    "codebook_size": 2048,
    "num_quantizers": 16,
    "hidden_size": 1024,
    "intermediate_size": 3072,
    "num_hidden_layers": 8,
    "num_attention_heads": 16,
    "decoder_dim": 1536,
    "upsample_rates": [8, 5, 4, 3],
    "upsampling_ratios": [2, 2],
}


def build(config: Config) -> Architecture:
    """Build a Qwen3-Omni model.

    Parameters
    ----------
    config : Config
        Its configuration, with ``thinker_config``, or the thinker's parts at the top.

    Returns
    -------
    Architecture
    """
    thinker = config.part("thinker_config") if "thinker_config" in config else config
    text = thinker.part("text_config", "thinker_text").with_defaults({"model_type": "qwen3_omni_moe_text"})
    model = build_model(text)
    width = model.hidden_size
    vision = thinker.part("vision_config", defaults={**VISION, "out_hidden_size": width})
    audio = thinker.part("audio_config", defaults={**AUDIO, "output_dim": width})
    speaks = config.flag("enable_audio_output", True)
    return replace(
        model,
        towers=(qwen3_vl(vision), audio_tower(audio), *([talker_tower(config, width)] if speaks else [])),
    )


def audio_tower(config: Config) -> Tower:
    """Build the audio encoder: three strided convolutions, transformer layers and two projections.

    Parameters
    ----------
    config : Config
        Its ``audio_config``.

    Returns
    -------
    Tower
    """
    hidden, heads = config.size("d_model"), config.size("encoder_attention_heads")
    intermediate, channels = config.size("encoder_ffn_dim"), config.size("downsample_hidden_size")
    bins = config.size("num_mel_bins")
    for _ in range(3):
        bins = (bins + 1) // 2
    return Tower(
        (
            (table("conv2d1", channels, 9), 1),
            (table("conv2d", channels, 9 * channels), 2),
            (table("conv2d.bias", channels), 3),
            (linear("conv_out", hidden, channels * bins, bias=False), 1),
            *encoder_layers(hidden, heads, intermediate, config.size("encoder_layers")),
            (norm(hidden, hidden), 1),
            (linear("proj1", hidden, hidden), 1),
            (linear("proj2", config.size("output_dim"), hidden), 1),
        ),
        divides=gcd(heads, intermediate),
    )


def talker_tower(config: Config, thinker_hidden: int) -> Tower:
    """Build the talker: a small decoder with experts, its code predictor and the decoder of sound.

    Parameters
    ----------
    config : Config
        The outer configuration.
    thinker_hidden : int
        Width of the thinker.

    Returns
    -------
    Tower
    """
    outer = config.part("talker_config", defaults={})
    text = outer.part("text_config", defaults=TALKER)
    hidden, vocab, width = text.size("hidden_size"), text.size("vocab_size"), text.size("intermediate_size")
    layers, moe_width = text.size("num_hidden_layers"), text.size("moe_intermediate_size")
    experts = MixtureOfExperts(
        hidden=hidden,
        experts=text.size("num_experts"),
        top_k=text.size("num_experts_per_tok"),
        intermediate=moe_width,
        shared_intermediate=text.size("shared_expert_intermediate_size"),
        shared_gate=True,
    )
    parts: Parts = [
        (table("codec_embedding", vocab, hidden), 1),
        # From the thinker's embeddings and from its hidden states.
        (linear("resize.fc1", width, thinker_hidden, Split.COLUMN), 2),
        (linear("resize.fc2", hidden, width, Split.ROW), 2),
        (norm(hidden, hidden), layers),
        (attention(text), layers),
        (experts, layers),
        (norm(hidden), 1),
        (linear("codec_head", vocab, hidden, bias=False), 1),
        *predictor(outer.part("code_predictor_config", defaults=PREDICTOR)),
        *code2wav(config.part("code2wav_config", defaults=CODE2WAV)),
    ]
    return Tower(tuple(parts), divides=gcd(text.size("num_attention_heads"), moe_width), group="talker")


def attention(config: Config) -> GroupedQueryAttention:
    """Return attention with a norm on each query and key head.

    Parameters
    ----------
    config : Config
        The configuration of the talker or of its predictor.

    Returns
    -------
    GroupedQueryAttention
    """
    width = config.size("head_dim")
    return GroupedQueryAttention(
        hidden=config.size("hidden_size"),
        q_heads=config.size("num_attention_heads"),
        kv_heads=config.size("num_key_value_heads"),
        key_dim=width,
        value_dim=width,
        qk_norm=2 * width,
    )


def predictor(config: Config) -> Parts:
    """Return the code predictor: a small decoder with a table and a head for each code group but the first.

    Parameters
    ----------
    config : Config
        Its configuration.

    Returns
    -------
    list of (Block, int)
    """
    hidden, vocab = config.size("hidden_size"), config.size("vocab_size")
    layers, groups = config.size("num_hidden_layers"), config.size("num_code_groups") - 1
    return [
        (table("predictor.codec_embedding", vocab, hidden), groups),
        (norm(hidden, hidden), layers),
        (attention(config), layers),
        (DenseMlp(hidden, config.size("intermediate_size")), layers),
        (norm(hidden), 1),
        (linear("predictor.lm_head", vocab, hidden, bias=False), groups),
    ]


def code2wav(config: Config) -> Parts:
    """Return the decoder of sound: a transformer over codes, then convolutions that raise the rate.

    Parameters
    ----------
    config : Config
        Its configuration.

    Returns
    -------
    list of (Block, int)
    """
    hidden, layers = config.size("hidden_size"), config.size("num_hidden_layers")
    heads, decoder = config.size("num_attention_heads"), config.size("decoder_dim")
    width = head_width(hidden, heads, config.where)
    codes = config.size("codebook_size") * config.size("num_quantizers")
    parts: Parts = [
        (table("code_embedding", codes, hidden), 1),
        # Two norms and two layer scales.
        (norm(*[hidden] * 4), layers),
        (GroupedQueryAttention(hidden, heads, heads, width, width), layers),
        (DenseMlp(hidden, config.size("intermediate_size")), layers),
        (norm(hidden), 1),
        (convolution(decoder, hidden, 7), 1),
    ]
    for factor in config.items("upsampling_ratios", int):
        parts += [
            (convolution(hidden, hidden, factor), 1),
            (convolution(hidden, 1, 7), 1),
            (norm(*[hidden] * 3), 1),
            (linear("pwconv1", 4 * hidden, hidden), 1),
            (linear("pwconv2", hidden, 4 * hidden), 1),
        ]
    channels = decoder
    for rate in config.items("upsample_rates", int):
        parts += [(table("snake", 2 * channels), 1), (convolution(channels // 2, channels, 2 * rate), 1)]
        channels //= 2
        # Three residual units: two activations and two convolutions each.
        parts += [(table("snake", 2 * channels), 6)]
        parts += [(convolution(channels, channels, 7), 3), (convolution(channels, channels, 1), 3)]
    return [*parts, (table("snake", 2 * channels), 1), (convolution(1, channels, 7), 1)]


def convolution(rows: int, cols: int, kernel: int) -> Block:
    """Return a one-dimensional convolution with its bias.

    Parameters
    ----------
    rows, cols : int
        Output channels, and input channels of one group.
    kernel : int
        Taps.

    Returns
    -------
    Block
    """
    return table("conv", rows, cols * kernel + 1)
