"""Nemotron-H: one mixer for each layer, which is Mamba-2, attention, an MLP or (latent) experts.

Layout as in Hugging Face `NemotronHForCausalLM` and its remote code; drafts as in vLLM's `NemotronHMTP`.
"""

from __future__ import annotations

from planner.architecture.blocks.gqa import GroupedQueryAttention
from planner.architecture.blocks.mamba import Mamba2
from planner.architecture.blocks.mlp import DenseMlp
from planner.architecture.blocks.moe import MixtureOfExperts
from planner.architecture.config import Config
from planner.architecture.families.common import (
    draft_entry,
    embedding,
    listed_kinds,
    lm_head,
    state_dtype,
    stated_encoders,
)
from planner.architecture.model import Architecture, Block, Layer, draft_layer, norm
from planner.errors import InvalidInput

LETTERS = {"M": "mamba", "*": "attention", "-": "mlp", "E": "moe"}


def build(config: Config) -> Architecture:
    """Build a Nemotron-H model.

    Parameters
    ----------
    config : Config
        Its configuration.

    Returns
    -------
    Architecture
    """
    hidden, vocab = config.size("hidden_size"), config.size("vocab_size")
    kinds = mixer_kinds(config, "layers_block_type", "hybrid_override_pattern")
    if "num_hidden_layers" in config and config.size("num_hidden_layers") != len(kinds):
        layers = config.size("num_hidden_layers")
        raise InvalidInput(f"{config.where}: {len(kinds)} layers are listed; num_hidden_layers is {layers}")
    mixers = {kind: Layer((norm(hidden), mixer(config, kind))) for kind in set(kinds)}
    tied = config.flag("tie_word_embeddings")
    return Architecture(
        family="nemotron_h",
        hidden_size=hidden,
        vocab_size=vocab,
        embedding=(embedding(vocab, hidden),),
        layers=tuple(mixers[kind] for kind in kinds),
        head=lm_head(vocab, hidden, tied),
        draft=drafts(config),
        towers=stated_encoders(config),
        tied_embeddings=tied,
        max_context=config.size("max_position_embeddings"),
        state_dtype=state_dtype(config),
    )


def mixer_kinds(config: Config, listed: str, pattern: str) -> list[str]:
    """Return the mixer of each layer, from a list of names or from a pattern of letters.

    Parameters
    ----------
    config : Config
        The configuration.
    listed, pattern : str
        The field that holds the list, and the one that holds the letters.

    Returns
    -------
    list of str
        ``mamba``, ``attention``, ``mlp`` or ``moe``.

    Raises
    ------
    InvalidInput
        When neither is there, or one of them names an unknown mixer.
    """
    if listed in config:
        return listed_kinds(config, listed, LETTERS.values())
    letters = config.text(pattern)
    unknown = sorted(set(letters) - set(LETTERS))
    if unknown:
        raise InvalidInput(f"{config.where}: {pattern} has {unknown[0]!r}; expected {' '.join(LETTERS)}")
    return [LETTERS[letter] for letter in letters]


def mixer(config: Config, kind: str) -> Block:
    """Return the block of one kind of layer.

    Parameters
    ----------
    config : Config
        The configuration.
    kind : str
        A value of `LETTERS`.

    Returns
    -------
    Block
    """
    hidden = config.size("hidden_size")
    if kind == "mamba":
        return Mamba2(
            hidden=hidden,
            heads=config.size("mamba_num_heads"),
            head_dim=config.size("mamba_head_dim"),
            groups=config.size("n_groups"),
            state=config.size("ssm_state_size"),
            kernel=config.size("conv_kernel"),
            conv_bias=config.flag("use_conv_bias", True),
            proj_bias=config.flag("mamba_proj_bias"),
            state_dtype=state_dtype(config) or "f32",
        )
    if kind == "attention":
        width = config.size("head_dim", "attention_head_dim")
        return GroupedQueryAttention(
            hidden=hidden,
            q_heads=config.size("num_attention_heads"),
            kv_heads=config.size("num_key_value_heads"),
            key_dim=width,
            value_dim=width,
            qkv_bias=config.flag("attention_bias"),
            out_bias=config.flag("attention_bias"),
        )
    if kind == "mlp":
        width = config.size("intermediate_size")
        return DenseMlp(hidden, width, gated=False, bias=config.flag("mlp_bias"))
    return MixtureOfExperts(
        hidden=hidden,
        experts=config.size("n_routed_experts"),
        top_k=config.size("num_experts_per_tok"),
        intermediate=config.size("moe_intermediate_size"),
        shared_intermediate=config.size("n_shared_experts")
        * config.size("moe_shared_expert_intermediate_size"),
        latent=config.count("moe_latent_size", default=0),
        gated=False,
    )


def drafts(config: Config) -> tuple[Layer, ...]:
    """Return the multi-token-prediction layers: each a sequence of mixers with an entry and a last norm.

    Parameters
    ----------
    config : Config
        The configuration.

    Returns
    -------
    tuple of Layer
    """
    count = config.count("num_nextn_predict_layers", default=0)
    if not count:
        return ()
    hidden = config.size("hidden_size")
    blocks: list[Block] = [*draft_entry(hidden)]
    for kind in mixer_kinds(config, "mtp_layers_block_type", "mtp_hybrid_override_pattern"):
        blocks += [norm(hidden), mixer(config, kind)]
    return (draft_layer(*blocks),) * count
