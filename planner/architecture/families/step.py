"""Step-3 with one KV head and compressed queries, and Step-3.5 and 3.7 with sliding layers of more heads.

Layouts as in vLLM's `Step3TextForCausalLM`, `Step3p5ForCausalLM` and `Step3p5MTP`, and in Hugging Face
`Step3p7ForConditionalGeneration`.
"""

from __future__ import annotations

from planner.architecture.blocks.gqa import GroupedQueryAttention
from planner.architecture.blocks.mlp import DenseMlp
from planner.architecture.blocks.moe import MixtureOfExperts
from planner.architecture.blocks.tower import Tower
from planner.architecture.config import Config
from planner.architecture.families import vision
from planner.architecture.families.common import decoder, draft_entry, text_config, windows
from planner.architecture.model import Architecture, Block, Layer, Weights, draft_layer, norm
from planner.architecture.tensors import Split, Tensor
from planner.errors import InvalidInput
from planner.units import whole_number

# Class defaults of Step-3.7's vision configuration, which copies of the text configuration leave out.
VISION_DEFAULTS: dict[str, object] = {
    "hidden_size": 1536,
    "image_size": 728,
    "intermediate_size": 8960,
    "num_attention_heads": 16,
    "num_hidden_layers": 47,
    "patch_size": 14,
}


def build(config: Config) -> Architecture:
    """Build a Step-3, 3.5 or 3.7 model.

    Parameters
    ----------
    config : Config
        Its configuration.

    Returns
    -------
    Architecture
    """
    text = text_config(config) if "text_config" in config else config
    return step3(text) if "share_q_dim" in text else step3p5(config, text)


def step3(text: Config) -> Architecture:
    """Build the language model of Step-3; published configurations say nothing of its vision tower's size.

    Parameters
    ----------
    text : Config
        The text configuration.

    Returns
    -------
    Architecture
    """
    layers, width = text.size("num_hidden_layers"), text.size("head_dim")
    mixer = GroupedQueryAttention(
        hidden=text.size("hidden_size"),
        q_heads=text.size("num_attention_heads"),
        kv_heads=text.size("num_attention_groups"),
        key_dim=width,
        value_dim=width,
        q_lora=text.size("share_q_dim"),
    )
    return decoder(text, [(mixer,)] * layers, feed_forwards(text, layers, router_bias=False), family="step3")


def step3p5(config: Config, text: Config) -> Architecture:
    """Build Step-3.5 or 3.7.

    Parameters
    ----------
    config, text : Config
        The outer and the text configuration, which may be the same.

    Returns
    -------
    Architecture
    """
    layers, hidden = text.size("num_hidden_layers"), text.size("hidden_size")
    mixers = [attention(text, window) for window in windows(text, layers)]
    draft_blocks = (
        norm(hidden),
        attention(text, text.size("sliding_window")),
        norm(hidden),
        DenseMlp(hidden, text.size("intermediate_size")),
    )
    has_vision = config.items("architectures", str)[0] == "Step3p7ForConditionalGeneration"
    return decoder(
        text,
        [(mixer,) for mixer in mixers],
        feed_forwards(text, layers, router_bias=True),
        family="step3p5",
        draft=drafts(text, draft_blocks),
        towers=(tower(config, hidden),) if has_vision else (),
    )


def attention(text: Config, window: int | None) -> GroupedQueryAttention:
    """Return the attention of a layer of Step-3.5: sliding layers have more query heads.

    Parameters
    ----------
    text : Config
        The text configuration.
    window : int or None
        Tokens that the layer sees.

    Returns
    -------
    GroupedQueryAttention
    """
    heads, width = text.size("num_attention_heads"), text.size("head_dim")
    if window is not None:
        heads = text.size("num_sliding_attention_heads", "num_attention_heads")
    return GroupedQueryAttention(
        hidden=text.size("hidden_size"),
        q_heads=heads,
        kv_heads=text.size("num_key_value_heads", "num_attention_groups"),
        key_dim=width,
        value_dim=width,
        window=window,
        qkv_bias=text.flag("attention_bias"),
        qk_norm=2 * width,
        gate=heads,
    )


def feed_forwards(text: Config, layers: int, router_bias: bool) -> list[Block]:
    """Return the feed-forward block of each layer.

    Parameters
    ----------
    text : Config
        The text configuration.
    layers : int
        Number of layers.
    router_bias : bool
        Whether routers have a correction bias.

    Returns
    -------
    list of Block
    """
    hidden = text.size("hidden_size")
    dense = DenseMlp(hidden, text.size("intermediate_size"))
    sparse = MixtureOfExperts(
        hidden=hidden,
        experts=text.size("n_routed_experts", "moe_num_experts"),
        top_k=text.size("num_experts_per_tok", "moe_top_k"),
        intermediate=text.size("moe_intermediate_size"),
        shared_intermediate=text.size("share_expert_dim", "share_expert_dims"),
        router_bias=router_bias,
    )
    routed = expert_layers(text, layers)
    return [sparse if index in routed else dense for index in range(layers)]


def expert_layers(text: Config, layers: int) -> set[int]:
    """Return the numbers of the layers with experts.

    Parameters
    ----------
    text : Config
        The text configuration; its `moe_layers_enum` is a text of numbers and ranges such as ``4,5,8..10``.
    layers : int
        Number of layers.

    Returns
    -------
    set of int
        From layer 3 on where the field is missing, the class default.

    Raises
    ------
    InvalidInput
        When the field holds anything else.
    """
    if "moe_layers_enum" not in text:
        return set(range(3, layers))
    chosen: set[int] = set()
    for item in text.text("moe_layers_enum").split(","):
        ends = item.strip().split("..")
        numbers = [number for end in ends if (number := whole_number(end)) is not None]
        if len(numbers) != len(ends) or len(ends) > 2 or not numbers[0] <= numbers[-1] < layers:
            raise InvalidInput(
                f"{text.where}: moe_layers_enum has {item[:40]!r}; expected numbers of layers under {layers}"
            )
        chosen.update(range(numbers[0], numbers[-1] + 1))
    return chosen


def drafts(text: Config, blocks: tuple[Block, ...]) -> tuple[Layer, ...]:
    """Return the multi-token-prediction layers: dense, with sliding attention and a copy of the LM head each.

    Parameters
    ----------
    text : Config
        The text configuration.
    blocks : tuple of Block
        The blocks of such a layer.

    Returns
    -------
    tuple of Layer
        Three where the configuration does not count them, as released checkpoints hold.
    """
    hidden, vocab = text.size("hidden_size"), text.size("vocab_size")
    head = Tensor("shared_head", "copies", vocab, hidden, split=Split.VOCAB, quantisable=False)
    count = text.count("num_nextn_predict_layers", default=3)
    return (draft_layer(*draft_entry(hidden), Weights((head,)), *blocks),) * count


def tower(config: Config, text_hidden: int) -> Tower:
    """Build the vision tower of Step-3.7: two convolutions behind the encoder join sixteen patches.

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
    hidden, heads = own.size("hidden_size", "width"), own.size("num_attention_heads", "heads")
    depth = own.size("num_hidden_layers", "layers")
    positions = (own.size("image_size") // own.size("patch_size")) ** 2
    layer: tuple[Block, ...] = (
        norm(hidden, hidden),
        vision.attention(hidden, heads),
        norm(hidden, hidden),
        DenseMlp(hidden, own.size("intermediate_size"), gated=False, bias=True),
        vision.table("layer_scale", 2, hidden),
    )
    return Tower(
        (
            (vision.patch_embedding(own, bias=False), 1),
            (vision.table("position_embedding", positions, hidden), 1),
            (norm(hidden, hidden), 1),
            *((block, depth) for block in layer),
            *((downsampler(hidden * factor), 1) for factor in (1, 2)),
            (vision.linear("projector", text_hidden, 4 * hidden, bias=config.flag("projector_bias")), 1),
        ),
        divides=heads,
    )


def downsampler(channels: int) -> Weights:
    """Return a convolution over 3 x 3 patches that doubles the channels.

    Parameters
    ----------
    channels : int
        Input channels.

    Returns
    -------
    Weights
    """
    weight = vision.table("downsampler", 2 * channels, 9 * channels)
    return Weights((*weight.parts, Tensor("downsampler.bias", "vision", 2 * channels)))
