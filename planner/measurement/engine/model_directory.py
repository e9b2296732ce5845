"""A directory that an engine takes for a checkpoint: `config.json` alone, for weights that it invents."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from planner.catalogue import Model
from planner.errors import Unsupported, unknown_name

BLOCK = 128
_LEFT_ALONE = ("lm_head", "re:.*mlp[.]gate$", "re:.*router$", "re:.*gate[.]weight$")


def _blocks(config: dict[str, Any]) -> dict[str, Any]:
    """Return how a checkpoint says that its matrices are FP8 with a scale for each block."""
    kept = [f"model.layers.{i}.mlp.gate" for i in range(int(config.get("num_hidden_layers", 0)))]
    return {
        "quant_method": "fp8",
        "fmt": "e4m3",
        "activation_scheme": "dynamic",
        "weight_block_size": [BLOCK, BLOCK],
        "modules_to_not_convert": ["lm_head", *kept],
    }


def _channels(bits: int, kind: str, form: str) -> Callable[[dict[str, Any]], dict[str, Any]]:
    """Return how llm-compressor says it: a scale for each channel, activations scaled for each token."""

    def scheme(_: dict[str, Any]) -> dict[str, Any]:
        common = {"num_bits": bits, "type": kind, "symmetric": True}
        return {
            "quant_method": "compressed-tensors",
            "format": form,
            "quantization_status": "compressed",
            "ignore": list(_LEFT_ALONE),
            "config_groups": {
                "group_0": {
                    "targets": ["Linear"],
                    "weights": {**common, "strategy": "channel", "dynamic": False},
                    "input_activations": {**common, "strategy": "token", "dynamic": True},
                }
            },
        }

    return scheme


def _static(_: dict[str, Any]) -> dict[str, Any]:
    """Return how a checkpoint says that each matrix has one scale, and each input another."""
    return {"quant_method": "fp8", "activation_scheme": "static", "ignored_layers": ["lm_head"]}


SCHEMES: dict[str, Callable[[dict[str, Any]], dict[str, Any]]] = {
    "fp8-block128": _blocks,
    "fp8-dynamic": _channels(8, "float", "float-quantized"),
    "fp8-static": _static,
    "int8-w8a8": _channels(8, "int", "int-quantized"),
}
"""`quantization_config` by weight format, of those that need no checkpoint's own lists."""

NATIVE = (None, "native", "bf16")


def engine_config(
    model: Model, weight_dtype: str | None = None, more: Mapping[str, Any] | None = None
) -> dict[str, Any]:
    """Return the `config.json` of a model in a weight format.

    Parameters
    ----------
    model : Model
        The model; its configuration is the catalogue's.
    weight_dtype : str, optional
        One of `SCHEMES`, "bf16", or the format that the model is published in, which is the default.
    more : mapping, optional
        Fields beside the catalogue's, or instead of them.

    Returns
    -------
    dict

    Raises
    ------
    Unsupported
        When the configuration is not one that an engine could load.
    UnknownName
        When no configuration is known for the format.
    """
    config = merged({"torch_dtype": "bfloat16", **model.config}, more or {})
    if not config.get("architectures") or not config.get("model_type"):
        raise Unsupported(
            f"{model.id}: the catalogue's configuration names no architecture, so no engine can start it; "
            "give the directory of a checkpoint instead"
        )
    for name, value in _said_by_absence(config).items():
        config.setdefault(name, value)
    published = config.get("quantization_config")
    if weight_dtype in NATIVE or (published and weight_dtype in model.weights.values()):
        if weight_dtype == "bf16":
            config.pop("quantization_config", None)
        return config
    if weight_dtype not in SCHEMES:
        raise unknown_name("weight format of a started engine", str(weight_dtype), SCHEMES)
    return {**config, "quantization_config": SCHEMES[weight_dtype](config)}


def _said_by_absence(config: Mapping[str, Any]) -> dict[str, Any]:
    """Return what the absence of a field means to planner, where engines fill in another model's value."""
    found: dict[str, Any] = {}
    if "kv_lora_rank" in config:
        found["q_lora_rank"] = None
    if "num_attention_heads" in config:
        found["num_key_value_heads"] = config["num_attention_heads"]
    return found


def merged(config: Mapping[str, Any], more: Mapping[str, Any]) -> dict[str, Any]:
    """Return a configuration with further fields; those inside of a field are added to it."""
    found = dict(config)
    for name, value in more.items():
        inner = found.get(name)
        nested = isinstance(inner, dict) and isinstance(value, dict)
        found[name] = merged(inner, value) if nested else value  # type: ignore[arg-type]
    return found


def write_model_directory(
    directory: Path, model: Model, weight_dtype: str | None = None, more: Mapping[str, Any] | None = None
) -> Path:
    """Write a directory with nothing but `config.json`.

    Parameters
    ----------
    directory : Path
        Where; made if it is not there.
    model : Model
        The model.
    weight_dtype, more
        As for `engine_config`.

    Returns
    -------
    Path
        The directory.
    """
    config = engine_config(model, weight_dtype, more)
    directory.mkdir(parents=True, exist_ok=True)
    (directory / "config.json").write_text(json.dumps(config, indent=1) + "\n", encoding="utf-8")
    return directory
