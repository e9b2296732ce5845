"""Vision towers: patch embedding, encoder layers and the projector into the language model."""

from __future__ import annotations

from math import gcd

from planner.architecture.blocks.gqa import GroupedQueryAttention
from planner.architecture.blocks.mlp import DenseMlp
from planner.architecture.blocks.tower import Tower
from planner.architecture.config import Config, head_width
from planner.architecture.model import Block, Weights, norm
from planner.architecture.tensors import Split, Tensor


def table(name: str, rows: int, cols: int = 1) -> Weights:
    """Return a table or convolution that every rank holds whole.

    Parameters
    ----------
    name : str
        Its name in the checkpoint.
    rows, cols : int
        Shape.

    Returns
    -------
    Weights
    """
    return Weights((Tensor(name, "vision", rows, cols, quantisable=False),))


def linear(name: str, rows: int, cols: int, split: Split = Split.REPLICATED, bias: bool = True) -> Weights:
    """Return a linear layer.

    Parameters
    ----------
    name : str
        Its name in the checkpoint.
    rows, cols : int
        Output and input features.
    split : Split
        How ranks share it.
    bias : bool
        Whether it has a bias.

    Returns
    -------
    Weights
    """
    weight = Tensor(name, "vision", rows, cols, split=split)
    if not bias:
        return Weights((weight,))
    bias_split = Split.COLUMN if split is Split.COLUMN else Split.REPLICATED
    return Weights((weight, Tensor(f"{name}.bias", "vision", rows, split=bias_split)))


def patch_embedding(config: Config, frames: int = 1, bias: bool = True) -> Weights:
    """Return the convolution that turns patches of pixels into vectors.

    Parameters
    ----------
    config : Config
        The vision configuration, with `hidden_size`, `patch_size` and perhaps the number of channels (3).
    frames : int
        Video frames of one patch.
    bias : bool
        Whether it has a bias.

    Returns
    -------
    Weights
    """
    hidden, side = config.size("hidden_size"), config.size("patch_size")
    pixels = config.size("in_channels", "num_channels", default=3) * frames * side**2
    weights = table("patch_embed", hidden, pixels)
    return Weights((*weights.parts, Tensor("patch_embed.bias", "vision", hidden))) if bias else weights


def attention(hidden: int, heads: int, bias: bool = True) -> GroupedQueryAttention:
    """Return full attention whose heads make up the hidden width, as encoders have it.

    Parameters
    ----------
    hidden, heads : int
        Width of the stream, and attention heads.
    bias : bool
        Whether the four projections have biases.

    Returns
    -------
    GroupedQueryAttention
    """
    width = head_width(hidden, heads, "vision or audio encoder")
    return GroupedQueryAttention(hidden, heads, heads, width, width, qkv_bias=bias, out_bias=bias)


def encoder_layers(
    hidden: int, heads: int, intermediate: int, layers: int, bias: bool = True
) -> list[tuple[Block, int]]:
    """Return the layers of a plain vision transformer: two norms with bias, attention, a two-matrix MLP.

    Parameters
    ----------
    hidden, heads, intermediate : int
        Width of the stream, attention heads, and width of the MLP.
    layers : int
        Number of layers.
    bias : bool
        Whether attention has biases; the MLP always has.

    Returns
    -------
    list of (Block, int)
    """
    return [
        (norm(*[hidden] * 4), layers),
        (attention(hidden, heads, bias), layers),
        (DenseMlp(hidden, intermediate, gated=False, bias=True), layers),
    ]


def patch_merger(name: str, width: int, out: int, norm_width: int, norms: int = 2) -> list[tuple[Block, int]]:
    """Return the projector of the Qwen-VL models: neighbouring patches side by side through two layers.

    Parameters
    ----------
    name : str
        Its name in the checkpoint.
    width, out : int
        Width of merged patches, and of the language model.
    norm_width, norms : int
        Width of the norm, and its vectors (2 with a bias).

    Returns
    -------
    list of (Block, int)
    """
    return [
        (norm(*[norm_width] * norms), 1),
        (linear(f"{name}.fc1", width, width, Split.COLUMN), 1),
        (linear(f"{name}.fc2", out, width, Split.ROW), 1),
    ]


def qwen3_vl(config: Config) -> Tower:
    """Build the tower of Qwen3-VL and Qwen3.5 (Hugging Face class Qwen3VLVisionModel).

    Parameters
    ----------
    config : Config
        Its `vision_config`. Each DeepStack index adds a merger of its own.

    Returns
    -------
    Tower
    """
    hidden, heads = config.size("hidden_size"), config.size("num_heads")
    intermediate, out = config.size("intermediate_size"), config.size("out_hidden_size")
    merged = hidden * config.size("spatial_merge_size") ** 2
    depth = config.size("depth")
    parts: list[tuple[Block, int]] = [
        (patch_embedding(config, config.size("temporal_patch_size")), 1),
        (table("pos_embed", config.size("num_position_embeddings"), hidden), 1),
        *encoder_layers(hidden, heads, intermediate, depth),
        *patch_merger("merger", merged, out, hidden),
    ]
    deepstack = len(config.items("deepstack_visual_indexes", int))
    if deepstack:
        parts += [(block, deepstack) for block, _ in patch_merger("deepstack_merger", merged, out, merged)]
    return Tower(tuple(parts), divides=gcd(heads, intermediate))


def qwen2_5_vl(config: Config) -> Tower:
    """Build the tower of Qwen2.5-VL (Hugging Face class Qwen2_5_VisionTransformerPretrainedModel).

    Parameters
    ----------
    config : Config
        Its `vision_config`.

    Returns
    -------
    Tower
    """
    hidden, heads = config.size("hidden_size"), config.size("num_heads")
    intermediate, depth = config.size("intermediate_size"), config.size("depth")
    merged = hidden * config.size("spatial_merge_size") ** 2
    return Tower(
        (
            (patch_embedding(config, config.size("temporal_patch_size"), bias=False), 1),
            (norm(hidden, hidden), depth),
            (attention(hidden, heads), depth),
            (DenseMlp(hidden, intermediate, bias=True), depth),
            *patch_merger("merger", merged, config.size("out_hidden_size"), hidden, norms=1),
        ),
        divides=gcd(heads, intermediate),
    )


def siglip(config: Config) -> list[tuple[Block, int]]:
    """Return the parts of a SigLIP encoder without pooling head (Hugging Face class SiglipVisionTransformer).

    Parameters
    ----------
    config : Config
        Its configuration.

    Returns
    -------
    list of (Block, int)
    """
    hidden, heads = config.size("hidden_size"), config.size("num_attention_heads")
    positions = (config.size("image_size") // config.size("patch_size")) ** 2
    layers = config.size("num_hidden_layers")
    return [
        (patch_embedding(config), 1),
        (table("position_embedding", positions, hidden), 1),
        *encoder_layers(hidden, heads, config.size("intermediate_size"), layers),
        (norm(hidden, hidden), 1),
    ]


def gemma3(config: Config, out: int) -> Tower:
    """Build the tower of Gemma 3: SigLIP, then a norm and one projection.

    Parameters
    ----------
    config : Config
        Its ``vision_config``.
    out : int
        Width of the language model.

    Returns
    -------
    Tower
    """
    hidden = config.size("hidden_size")
    projection = linear("mm_input_projection", out, hidden, bias=False)
    return Tower(
        (*siglip(config), (norm(hidden), 1), (projection, 1)),
        divides=gcd(config.size("num_attention_heads"), config.size("intermediate_size")),
    )


def pixtral(config: Config, out: int, merge: int) -> Tower:
    """Build the tower of Mistral 3 (Hugging Face classes PixtralVisionModel, Mistral3MultiModalProjector).

    Parameters
    ----------
    config : Config
        Its ``vision_config``.
    out : int
        Width of the language model.
    merge : int
        Patches along each side that become one.

    Returns
    -------
    Tower
    """
    hidden, heads = config.size("hidden_size"), config.size("num_attention_heads")
    intermediate, layers = config.size("intermediate_size"), config.size("num_hidden_layers")
    return Tower(
        (
            (patch_embedding(config, bias=False), 1),
            (norm(hidden), 1),
            (norm(hidden, hidden), layers),
            (attention(hidden, heads, bias=False), layers),
            (DenseMlp(hidden, intermediate), layers),
            (norm(hidden), 1),
            (linear("patch_merger", hidden, hidden * merge**2, bias=False), 1),
            (linear("projector.linear_1", out, hidden, Split.COLUMN, bias=False), 1),
            (linear("projector.linear_2", out, out, Split.ROW, bias=False), 1),
        ),
        divides=gcd(heads, intermediate),
    )
