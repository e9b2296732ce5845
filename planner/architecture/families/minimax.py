"""MiniMax-M2 and M3: grouped-query attention with experts, in M3 with block-sparse attention and vision.

Layouts as in Hugging Face `MiniMaxM2ForCausalLM` and `MiniMaxM3VLForConditionalGeneration`. Configurations
name multi-token-prediction modules; no class describes them, and none is counted.
"""

from __future__ import annotations

from planner.architecture.blocks.block_index import BlockIndexer
from planner.architecture.blocks.gqa import GroupedQueryAttention
from planner.architecture.blocks.mlp import DenseMlp
from planner.architecture.blocks.moe import MixtureOfExperts
from planner.architecture.blocks.tower import Tower
from planner.architecture.config import Config
from planner.architecture.families import vision
from planner.architecture.families.common import decoder, text_config
from planner.architecture.model import Architecture, Block, norm
from planner.architecture.tensors import Split
from planner.errors import Unsupported

# Class defaults of M3's vision configuration, which copies of the text configuration leave out.
VISION_DEFAULTS: dict[str, object] = {
    "hidden_size": 1280,
    "intermediate_size": 5120,
    "num_attention_heads": 16,
    "num_hidden_layers": 32,
    "patch_size": 14,
    "spatial_merge_size": 2,
    "temporal_patch_size": 2,
}


def build(config: Config) -> Architecture:
    """Build a MiniMax-M2 or M3 model.

    Parameters
    ----------
    config : Config
        Its configuration.

    Returns
    -------
    Architecture
    """
    text = text_config(config) if "text_config" in config else config
    layers = text.size("num_hidden_layers")
    mixer, sparse = attention(text), experts(text)
    indexed, routed = [False] * layers, [True] * layers
    towers: tuple[Block, ...] = ()
    if "sparse_attention_config" in text:
        indexed = switches(text.part("sparse_attention_config"), "sparse_attention_freq", layers)
        towers = (tower(config, text.size("hidden_size")),)
    if "moe_layer_freq" in text:
        routed = switches(text, "moe_layer_freq", layers)
    return decoder(
        text,
        [(mixer, indexer(text)) if index else (mixer,) for index in indexed],
        [sparse if choose else dense(text) for choose in routed],
        family="minimax",
        towers=towers,
    )


def switches(config: Config, key: str, layers: int) -> list[bool]:
    """Return a list of zeros and ones, one for each layer.

    Parameters
    ----------
    config : Config
        The configuration that holds it.
    key : str
        The field.
    layers : int
        Number of layers.

    Returns
    -------
    list of bool
    """
    return [value != 0 for value in config.items(key, int, layers)]


def attention(text: Config) -> GroupedQueryAttention:
    """Return the attention of a layer.

    Parameters
    ----------
    text : Config
        The text configuration.

    Returns
    -------
    GroupedQueryAttention

    Raises
    ------
    Unsupported
        When the configuration asks for an output gate, whose layout no released model shows.
    """
    heads, kv_heads = text.size("num_attention_heads"), text.size("num_key_value_heads")
    width = text.size("head_dim")
    if text.flag("attention_output_gate"):
        raise Unsupported(f"{text.where}: attention_output_gate is true; no block describes that gate")
    # M2 normalises all heads side by side, M3 each head by the same vector.
    by_layer = text.choice("qk_norm_type", ("per_layer", "per_head")) == "per_layer"
    return GroupedQueryAttention(
        hidden=text.size("hidden_size"),
        q_heads=heads,
        kv_heads=kv_heads,
        key_dim=width,
        value_dim=width,
        qk_norm=((heads + kv_heads) if by_layer else 2) * width if text.flag("use_qk_norm", True) else 0,
    )


def indexer(text: Config) -> BlockIndexer:
    """Return the index that picks blocks of keys.

    Parameters
    ----------
    text : Config
        The text configuration.

    Returns
    -------
    BlockIndexer
    """
    sparse = text.part("sparse_attention_config")
    return BlockIndexer(
        hidden=text.size("hidden_size"),
        heads=sparse.size("sparse_num_index_heads"),
        head_dim=sparse.size("sparse_index_dim"),
        top_k=sparse.size("sparse_topk_blocks") * sparse.size("sparse_block_size"),
    )


def experts(text: Config) -> MixtureOfExperts:
    """Return the experts of a layer.

    Parameters
    ----------
    text : Config
        The text configuration.

    Returns
    -------
    MixtureOfExperts
    """
    return MixtureOfExperts(
        hidden=text.size("hidden_size"),
        experts=text.size("num_local_experts"),
        top_k=text.size("num_experts_per_tok"),
        intermediate=text.size("intermediate_size"),
        shared_intermediate=text.count("shared_intermediate_size", default=0)
        * text.count("n_shared_experts", default=1),
        router_bias=text.flag("use_routing_bias", True),
    )


def dense(text: Config) -> DenseMlp:
    """Return the feed-forward block of a layer without experts.

    Parameters
    ----------
    text : Config
        The text configuration.

    Returns
    -------
    DenseMlp
    """
    return DenseMlp(text.size("hidden_size"), text.size("dense_intermediate_size"))


def tower(config: Config, text_hidden: int) -> Tower:
    """Build the vision tower of M3 with its projector and patch merger.

    Parameters
    ----------
    config : Config
        The outer configuration.
    text_hidden : int
        Width of the language model.

    Returns
    -------
    Tower
    """
    given = config.part("vision_config").values if "vision_config" in config else {}
    own = Config({**VISION_DEFAULTS, **given}, f"{config.where}: vision_config")
    hidden, heads = own.size("hidden_size"), own.size("num_attention_heads")
    depth = own.size("num_hidden_layers")
    projected = config.size("projector_hidden_size", default=text_hidden)
    merged = projected * own.size("spatial_merge_size") ** 2
    layer: tuple[Block, ...] = (
        norm(hidden, hidden),
        vision.attention(hidden, heads),
        norm(hidden, hidden),
        DenseMlp(hidden, own.size("intermediate_size"), gated=False, bias=True),
    )
    return Tower(
        (
            (vision.patch_embedding(own, own.size("temporal_patch_size"), bias=False), 1),
            (norm(hidden, hidden), 1),
            *((block, depth) for block in layer),
            (vision.linear("projector.fc1", projected, hidden, Split.COLUMN), 1),
            (vision.linear("projector.fc2", projected, projected, Split.ROW), 1),
            (vision.linear("merger.fc1", text_hidden, merged, Split.COLUMN), 1),
            (vision.linear("merger.fc2", text_hidden, text_hidden, Split.ROW), 1),
        ),
        divides=heads,
    )
