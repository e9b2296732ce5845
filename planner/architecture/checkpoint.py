"""The formats of a checkpoint's weights, as the `quantization_config` of its `config.json` states them.

A configuration names a method and the modules that it leaves alone, by pattern. The patterns are tried on the
module names that each tensor has in published checkpoints, so a rule may hold for a whole weight group or for
single tensors of it. Routers, embeddings and towers stay as they are, whatever a list says or leaves out.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Mapping
from fnmatch import fnmatchcase

from planner.architecture.config import Config
from planner.architecture.model import Architecture
from planner.architecture.tensors import Tensor
from planner.errors import InvalidInput, UnsupportedArchitecture

# Never quantised by the methods below, in any published checkpoint of the catalogue.
_LEFT_ALONE = {
    "embed",
    "lm_head",
    "norm",
    "bias",
    "router",
    "router_bias",
    "vision",
    "mtp_router",
}
_LEFT_ALONE |= {"mtp_copies", "mtp_norm", "ple", "ngram_embed", "hyper_connection", "attn_res"}

# Where a group's modules sit below a layer, as the families of models name them.
_PLACES = {
    "attention": ("self_attn", "attention", "mixer"),
    "linear_attention": ("linear_attn", "self_attn"),
    "mamba": ("mixer", "mamba"),
    "indexer": ("self_attn.indexer",),
    "dense_mlp": ("mlp", "feed_forward"),
    "routed_experts": (
        "mlp.experts.0",
        "block_sparse_moe.experts.0",
        "mixer.experts.0",
        "feed_forward.experts",
    ),
    "shared_experts": ("mlp.shared_experts", "mlp.shared_expert", "mixer.shared_experts"),
    "latent_proj": ("mlp", "mixer"),
}
_PREFIXES = ("model.layers", "language_model.model.layers", "model.language_model.layers", "backbone.layers")

# A repeated group with a repetition inside makes matching exponential.
_EXPLOSIVE = re.compile(r"[+*}][^()]*\)[+*{]")
_LONGEST_PATTERN = 300

Rules = dict[str, str]

DTYPES = {"bfloat16": "bf16", "float16": "f16", "float32": "f32"}
"""The formats of weights that are not quantised, by their names in a configuration."""


def base_format(config: Mapping[str, object], where: str) -> str:
    """Return the format of the weights that a checkpoint does not quantise.

    Parameters
    ----------
    config : mapping
        A decoded Hugging Face ``config.json``.
    where : str
        What error messages name.

    Returns
    -------
    str
        BF16 where the configuration names no dtype, as nearly all checkpoints are.

    Raises
    ------
    InvalidInput
        When it names an unknown dtype.
    """
    for holder in _holders(Config(config, where)):
        name = holder.text("torch_dtype", "dtype", default="").removeprefix("torch.")
        if name and name not in DTYPES:
            raise InvalidInput(f"{holder.where}: dtype {name[:40]!r} is unknown; known: {', '.join(DTYPES)}")
        if name:
            return DTYPES[name]
    return "bf16"


def formats_from_config(config: Mapping[str, object], architecture: Architecture, where: str) -> Rules:
    """Return the formats of a checkpoint's weight groups.

    Parameters
    ----------
    config : mapping
        A decoded Hugging Face ``config.json``.
    architecture : Architecture
        What was built from it.
    where : str
        What error messages name.

    Returns
    -------
    dict
        Format by weight group, or by ``group/tensor`` where tensors of a group differ; BF16 is left out.

    Raises
    ------
    UnsupportedArchitecture
        When the quantisation method is unknown.
    InvalidInput
        When a field is impossible.
    """
    view = Config(config, where)
    holder = next((c for c in _holders(view) if "quantization_config" in c), None)
    if holder is None:
        return {}
    quantisation = holder.part("quantization_config")
    # DeepSeek-V4 names the format of experts beside the quantisation, DeepSeek-V4.1 inside.
    expert_dtype = next((c.text("expert_dtype") for c in (holder, quantisation) if "expert_dtype" in c), "")
    packed_experts = bool(expert_dtype)
    fmt = _format(quantisation, packed_experts)
    # DeepSeek-V3 ships the projection in front of its draft layer in BF16, DeepSeek-V4 in FP8.
    left_alone = _LEFT_ALONE if packed_experts else _LEFT_ALONE | {"mtp_eh_proj"}
    patterns = _patterns(quantisation)
    only_experts = quantisation.text("quant_method") == "mxfp4"
    formats: defaultdict[str, Rules] = defaultdict(dict)
    middle = len(architecture.layers) // 2
    for tensor, _ in architecture.counted_tensors():
        alone = tensor.group in left_alone or (only_experts and tensor.group != "routed_experts")
        skip = alone or any(_matches(p, name) for name in _names(tensor, middle) for p in patterns)
        if tensor.is_matrix and tensor.fixed_format is None:
            formats[tensor.group][tensor.name] = "bf16" if skip else fmt
    if expert_dtype == "fp4":
        for group in ("routed_experts", "mtp_routed_experts"):
            formats[group] = dict.fromkeys(formats[group], "mxfp4")
    return _by_group(formats)


def _holders(view: Config) -> list[Config]:
    nested = [view.part(key) for key in ("text_config", "llm_config", "language_config") if key in view]
    return [view, *nested]


def _by_group(formats: Mapping[str, Rules]) -> Rules:
    rules: Rules = {}
    for group, by_name in formats.items():
        uniform = len(set(by_name.values())) == 1
        rules |= {group if uniform else f"{group}/{name}": fmt for name, fmt in by_name.items()}
    return {key: fmt for key, fmt in rules.items() if fmt != "bf16"}


def _format(quantisation: Config, packed_experts: bool) -> str:
    method = quantisation.text("quant_method")
    if method == "fp8":
        if "weight_block_size" not in quantisation:
            return "fp8-tensor"
        # Only checkpoints with packed experts store the power-of-two scales in one byte.
        one_byte = packed_experts and quantisation.text("scale_fmt", default="") == "ue8m0"
        known = {(128, 128): "fp8-block128"}
        if one_byte:
            known = {(128, 128): "fp8-block128-e8m0", (32, 32): "fp8-block32-e8m0"}
        block = quantisation.items("weight_block_size", int, length=2)
        if tuple(block) not in known:
            sizes = ", ".join(str(list(size)) for size in known)
            raise InvalidInput(f"{quantisation.where}: weight_block_size is {block}; known: {sizes}")
        return known[tuple(block)]
    if method in ("awq", "gptq"):
        return _integer_format(quantisation, method)
    if method == "compressed-tensors":
        return _compressed_tensors(quantisation)
    if method == "modelopt":
        algorithms = {"FP8": "fp8-tensor", "NVFP4": "nvfp4", "FP8_PB_WO": "fp8-block128", "MXFP8": "mxfp8"}
        return _known(quantisation, "quant_algo", algorithms)
    simple = {"mxfp4": "mxfp4", "fbgemm_fp8": "fp8-channel"}
    return _known(
        quantisation, "quant_method", simple, also=("fp8", "awq", "gptq", "compressed-tensors", "modelopt")
    )


def _known(quantisation: Config, key: str, formats: Rules, also: tuple[str, ...] = ()) -> str:
    name = quantisation.text(key)
    if name not in formats:
        known = ", ".join(sorted({*formats, *also}))
        raise UnsupportedArchitecture(f"{quantisation.where}: unknown {key} {name!r}; known: {known}")
    return formats[name]


def _integer_format(quantisation: Config, method: str) -> str:
    bits, size = quantisation.size("bits", "w_bit"), quantisation.count("group_size", "q_group_size")
    if (bits, size) == (4, 128):
        symmetric = method == "gptq" and quantisation.flag("sym", default=True)
        return "int4-g128" if symmetric else "int4-awq-g128"
    raise UnsupportedArchitecture(
        f"{quantisation.where}: {method} with {bits} bits by {size} is unknown; known: 4 bits by 128"
    )


def _compressed_tensors(quantisation: Config) -> str:
    groups = quantisation.part("config_groups")
    found = {_weights_format(groups.part(name).part("weights")) for name in groups.values}
    if len(found) != 1:
        raise UnsupportedArchitecture(
            f"{quantisation.where}: config_groups with {len(found)} weight formats; exactly one can be read"
        )
    return found.pop()


def _weights_format(weights: Config) -> str:
    key = (weights.size("num_bits"), weights.text("type", default="int"), weights.text("strategy"))
    size = weights.count("group_size", default=0)
    formats = {
        (8, "float", "channel"): "fp8-channel",
        (8, "float", "tensor"): "fp8-tensor",
        (8, "float", "block"): "fp8-block128",
        (8, "int", "channel"): "int8-channel",
        (4, "float", "tensor_group"): "nvfp4",
        (4, "float", "group"): "mxfp4" if size == 32 else "nvfp4",
        (8, "float", "group"): "mxfp8",
        (4, "int", "group"): f"int4-g{size}",
    }
    if key not in formats:
        raise UnsupportedArchitecture(f"{weights.where}: {key[0]}-bit {key[1]} by {key[2]} is unknown")
    return formats[key]


def _patterns(quantisation: Config) -> list[str]:
    patterns: list[str] = []
    for key in ("ignore", "modules_to_not_convert", "exclude_modules"):
        if key in quantisation:
            patterns += quantisation.items(key, str)
    for pattern in patterns:
        if len(pattern) > _LONGEST_PATTERN or _EXPLOSIVE.search(pattern):
            raise InvalidInput(f"{quantisation.where}: pattern {pattern[:40]!r} is too complex to try")
    return patterns


def _names(tensor: Tensor, layer: int) -> list[str]:
    """Return the module names that a tensor may have in a checkpoint."""
    leaf = tensor.name.removeprefix("experts.")
    places = _PLACES.get(tensor.group.removeprefix("mtp_"), ())
    return [f"{prefix}.{layer}.{place}.{leaf}" for prefix in _PREFIXES for place in places]


def _matches(pattern: str, name: str) -> bool:
    """Return whether a pattern names a module: a regular expression, or dotted segments with `*`."""
    if pattern.startswith("re:"):
        try:
            return re.match(pattern[3:], name) is not None
        except re.error:
            raise InvalidInput(f"pattern {pattern[:40]!r} is not a regular expression") from None
    wanted, segments = pattern.split("."), name.split(".")
    windows = (segments[i : i + len(wanted)] for i in range(len(segments) - len(wanted) + 1))
    return any(all(map(fnmatchcase, window, wanted)) for window in windows)
