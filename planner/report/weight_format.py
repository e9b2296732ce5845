"""The format of the weights in words: what is stored how, and where that is published."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from planner.architecture.quantisation import WeightScheme
from planner.catalogue import Model
from planner.memory.built import SameModel, architecture_of
from planner.scenario.gguf import GGUF_BITS
from planner.scenario.schemes import CASTS, find_variant, weight_scheme

WORDS: Mapping[str, str] = {
    "f32": "FP32",
    "bf16": "BF16",
    "f16": "FP16",
    "fp8-block128": "FP8 in 128x128 blocks",
    "fp8-block128-e8m0": "FP8 in 128x128 blocks with power-of-two scales",
    "fp8-block32-e8m0": "FP8 in 32x32 blocks with power-of-two scales",
    "fp8-channel": "FP8 with a scale per channel",
    "fp8-tensor": "FP8 with a scale per tensor",
    "mxfp8": "MXFP8",
    "int8-channel": "INT8 with a scale per channel",
    "mxfp4": "MXFP4",
    "nvfp4": "NVFP4",
    "int4-g32": "INT4 in groups of 32",
    "int4-g128": "INT4 in groups of 128",
    "int4-awq-g128": "INT4 (AWQ) in groups of 128",
}
"""What people call each format of `planner.architecture.formats`."""


@dataclass(frozen=True, slots=True)
class WeightFormat:
    """The weights' format in force.

    Parameters
    ----------
    text : str
        Such as "FP8 in 128x128 blocks, rest BF16 (checkpoint as published)".
    variant : str
        Name of the quantisation where it is not the published checkpoint, else "".
    """

    text: str
    variant: str


def weight_format(model: Model, weight_dtype: str | None, implied_by: str | None = None) -> WeightFormat:
    """Return the weights' format in force, in words.

    Parameters
    ----------
    model : Model
        The model.
    weight_dtype : str, optional
        As `planner.scenario.schemes.weight_scheme` takes it.
    implied_by : str, optional
        The alias that stands for this quantisation, where nobody asked for it otherwise.

    Returns
    -------
    WeightFormat
    """
    architecture = architecture_of(SameModel(model))
    scheme = weight_scheme(model, architecture, weight_dtype)
    native = weight_scheme(model, architecture)
    if scheme == native:
        known = "as its configuration says" if model.config_status == "imported" else "as published"
        return WeightFormat(f"{_formats(scheme)} (checkpoint {known})", "")
    origin = _origin(model, weight_dtype or "")
    if implied_by is not None:
        origin += f", implied by the name {implied_by}"
    return WeightFormat(f"{_formats(scheme)} ({origin})", scheme.name)


def _origin(model: Model, weight_dtype: str) -> str:
    variant = find_variant(model, weight_dtype.lower())
    if variant is not None:
        return f"quantised variant {variant[0]}"
    if weight_dtype.lower() in GGUF_BITS:
        return f"GGUF type {weight_dtype.lower()}, by the averages that llama.cpp publishes"
    if weight_dtype.lower() in CASTS:
        return "cast when it is loaded"
    return "quantised by the usual recipe; no such checkpoint is in the catalogue"


def _formats(scheme: WeightScheme) -> str:
    """Return the formats with what is stored in them; experts are named where they are alone in theirs."""
    groups: dict[str, set[str]] = {}
    for rule, fmt in scheme.by_group.items():
        if fmt != scheme.default and not rule.startswith("mtp_"):
            groups.setdefault(fmt, set()).add(rule.partition("/")[0])
    parts = []
    for fmt, names in groups.items():
        only = len(groups) > 1 or names == {"routed_experts"}
        where = f" ({', '.join(sorted(name.replace('_', ' ') for name in names))})" if only else ""
        parts.append(f"{_words(fmt)}{where}")
    default = _words(scheme.default)
    return ", ".join([*parts, f"rest {default}" if parts else default])


def _words(fmt: str) -> str:
    if fmt.endswith("bpw"):
        return f"{fmt.removesuffix('bpw')} bits a weight on average"
    return WORDS[fmt]
