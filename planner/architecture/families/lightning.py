"""Models of lightning attention and grouped-query attention in turn: MiniMax-Text-01 and M1, MiniCPM-SALA.

Layouts as in Hugging Face `MiniMaxForCausalLM` and vLLM's `MiniCPMSALAForCausalLM`.
"""

from __future__ import annotations

from planner.architecture.blocks.gqa import GroupedQueryAttention
from planner.architecture.blocks.lightning import LightningAttention
from planner.architecture.blocks.mlp import DenseMlp
from planner.architecture.blocks.moe import MixtureOfExperts
from planner.architecture.config import Config
from planner.architecture.families.common import decoder, listed_kinds
from planner.architecture.families.minimax import switches
from planner.architecture.model import Architecture, Block

MODELS = ("minimax_m1", "minimax_text_01", "minicpm_sala")
SALA_MIXERS = {"minicpm4": False, "lightning": True, "lightning_attn": True, "lightning-attn": True}
# Layers of the released MiniCPM-SALA with sparse attention, for configurations without `mixer_types`.
SALA_LAYERS, SALA_SPARSE = 32, (0, 9, 16, 17, 22, 29, 30, 31)


def build(config: Config) -> Architecture:
    """Build a MiniMax-M1 or MiniCPM-SALA model.

    Parameters
    ----------
    config : Config
        Its configuration.

    Returns
    -------
    Architecture
    """
    layers = config.size("num_hidden_layers")
    feed: Block
    if config.choice("model_type", MODELS) == "minicpm_sala":
        linear, mixers = sala_lightning_layers(config, layers), sala_mixers(config)
        feed = DenseMlp(config.size("hidden_size"), config.size("intermediate_size"))
    else:
        linear = [not full for full in switches(config, "attn_type_list", layers)]
        mixers, feed = minimax_mixers(config), minimax_experts(config)
    return decoder(
        config,
        [(mixers[kind],) for kind in linear],
        [feed] * layers,
        family="lightning",
    )


def minimax_mixers(config: Config) -> dict[bool, Block]:
    """Return MiniMax's linear attention (under True) and its full attention (under False).

    Parameters
    ----------
    config : Config
        The configuration.

    Returns
    -------
    dict of bool to Block
    """
    hidden, heads = config.size("hidden_size"), config.size("num_attention_heads")
    width = config.size("head_dim")
    return {
        True: LightningAttention(hidden, heads, heads, width, fused=True),
        False: GroupedQueryAttention(
            hidden=hidden,
            q_heads=heads,
            kv_heads=config.size("num_key_value_heads"),
            key_dim=width,
            value_dim=width,
        ),
    }


def minimax_experts(config: Config) -> MixtureOfExperts:
    """Return the experts of MiniMax-M1.

    Parameters
    ----------
    config : Config
        The configuration.

    Returns
    -------
    MixtureOfExperts
    """
    return MixtureOfExperts(
        hidden=config.size("hidden_size"),
        experts=config.size("num_local_experts"),
        top_k=config.size("num_experts_per_tok"),
        intermediate=config.size("intermediate_size"),
        shared_intermediate=config.count("shared_intermediate_size", default=0),
    )


def sala_lightning_layers(config: Config, layers: int) -> list[bool]:
    """Return for each layer of MiniCPM-SALA whether its attention is linear.

    Parameters
    ----------
    config : Config
        The configuration.
    layers : int
        Number of layers.

    Returns
    -------
    list of bool
    """
    if "mixer_types" not in config and layers == SALA_LAYERS:
        return [index not in SALA_SPARSE for index in range(layers)]
    return [SALA_MIXERS[kind] for kind in listed_kinds(config, "mixer_types", SALA_MIXERS, layers)]


def sala_mixers(config: Config) -> dict[bool, Block]:
    """Return MiniCPM-SALA's linear attention (under True) and its sparse attention (under False).

    Parameters
    ----------
    config : Config
        The configuration. Its flags of norms and gates are true by class default. The sparse attention picks
        blocks of keys without weights of its own.

    Returns
    -------
    dict of bool to Block
    """
    hidden, heads = config.size("hidden_size"), config.size("num_attention_heads")
    width, kv_heads = config.size("head_dim"), config.size("num_key_value_heads")
    linear_width = config.size("lightning_head_dim", "head_dim")
    return {
        True: LightningAttention(
            hidden=hidden,
            heads=config.size("lightning_nh", "num_attention_heads"),
            kv_heads=config.size("lightning_nkv", "num_key_value_heads"),
            head_dim=linear_width,
            qk_norm=2 * linear_width if config.flag("qk_norm", True) else 0,
            gate=config.flag("use_output_gate", True),
            output_norm=config.flag("use_output_norm", True),
        ),
        False: GroupedQueryAttention(
            hidden=hidden,
            q_heads=heads,
            kv_heads=kv_heads,
            key_dim=width,
            value_dim=width,
            qkv_bias=config.flag("attention_bias"),
            out_bias=config.flag("attention_bias"),
            gate=heads * width if config.flag("attn_use_output_gate", True) else 0,
        ),
    }
