"""From the name of a quantisation to the format of every weight of a model."""

from __future__ import annotations

from collections.abc import Mapping

from planner.architecture import Architecture
from planner.architecture.checkpoint import DTYPES, base_format, formats_from_config
from planner.architecture.formats import FORMATS
from planner.architecture.quantisation import WeightScheme
from planner.catalogue.models import Model, Quantisation
from planner.errors import UnknownName, nearest_names, shorten
from planner.scenario.gguf import GGUF_BITS

NATIVE = ("native", "auto")
CASTS = {**DTYPES, "bf16": "bf16", "f16": "f16", "fp16": "f16", "f32": "f32", "fp32": "f32"}
"""Dtypes that a checkpoint can be loaded in as a whole."""

LINEAR_GROUPS = (
    "attention",
    "linear_attention",
    "mamba",
    "dense_mlp",
    "shared_experts",
    "routed_experts",
)
"""What the usual recipes quantise: projections, and not routers, tables, heads or norms."""

EXPERT_ONLY = ("mxfp4", "nvfp4")
"""Formats that the usual recipes of mixtures of experts use for routed experts alone."""

SHORT_NAMES = {
    "fp8": "fp8-block128",
    "int8": "int8-channel",
    "int4": "int4-g128",
    "fp4": "nvfp4",
    "awq": "int4-awq-g128",
}
"""A format for each short name, where a model lists no variant of that name."""

MLC_BITS = {"q4f16_1": 4.5, "q4f16_0": 4.5, "q3f16_1": 3.6}
"""Bits of a weight of MLC-LLM's formats: groups of 32 four-bit (40 three-bit, ten in 32 bits) values and a
16-bit scale for each (its docs/compilation/configure_quantization)."""

SMALLEST = 128
"""Recipes leave matrices with a side under this alone."""


def weight_scheme(model: Model, architecture: Architecture, quantisation: str | None = None) -> WeightScheme:
    """Return the formats of a model's weights.

    Parameters
    ----------
    model : Model
        The catalogue's record.
    architecture : Architecture
        The model's blocks: which weight groups there are.
    quantisation : str, optional
        One of the model's quantisations, a dtype to load everything in (``bf16``), the short name of a format
        (``fp8``), a type of GGUF files (``q4_k_m``), or None for the checkpoint as published.

    Returns
    -------
    WeightScheme

    Raises
    ------
    UnknownName
        When the model has no such quantisation and no format has that name; names what there is.
    """
    native = native_formats(model, architecture)
    base = base_format(model.config, model.id)
    wanted = quantisation.lower() if quantisation else None
    if wanted is None or wanted in NATIVE:
        return WeightScheme(_native_name(native, base), base, native)
    variant = find_variant(model, wanted)
    if variant is not None:
        name, record = variant
        average = record.formats.get("embed", "")
        if average.endswith("bpw"):
            # A GGUF file's average is over everything in it, tables and norms too.
            return WeightScheme(name, average, {})
        below = native if record.rest == "native" else {}
        return WeightScheme(name, base, {**below, **record.formats}, record.smallest)
    gguf = wanted.removeprefix("gguf-")
    if gguf in GGUF_BITS:
        return WeightScheme(gguf, f"{GGUF_BITS[gguf]:g}bpw", {})
    if wanted in MLC_BITS:
        # MLC-LLM's own formats quantise tables too.
        return WeightScheme(wanted, f"{MLC_BITS[wanted]:g}bpw", {})
    if wanted in CASTS:
        return WeightScheme(wanted, CASTS[wanted], {})
    if any(fmt.startswith(wanted) for fmt in native.values()):
        return WeightScheme(_native_name(native, base), base, native)
    fmt = SHORT_NAMES.get(wanted, wanted)
    if fmt in FORMATS:
        return WeightScheme(wanted, base, _usual_recipe(architecture, fmt), SMALLEST)
    known = [*model.quantisations, *CASTS, *SHORT_NAMES, *FORMATS, *GGUF_BITS, *MLC_BITS]
    near = nearest_names(wanted, known)
    have = ", ".join(model.quantisations) or "only its native checkpoint"
    hint = f"; nearest: {', '.join(near)}" if near else ""
    raise UnknownName(f"unknown weight dtype {shorten(quantisation)} of {model.id}{hint}; it has: {have}")


MX_ONLY = {"fp8": "mxfp8"}
"""What a short name means of a model that is published with scales of 32 values alone."""


def find_variant(model: Model, name: str) -> tuple[str, Quantisation] | None:
    """Return the model's quantisation of this name, the first that begins so, or its MX form.

    Parameters
    ----------
    model : Model
        The catalogue's record.
    name : str
        Full name (``fp8-block128``) or its beginning (``fp8``); FP8 is MXFP8 of a model that has no other.

    Returns
    -------
    tuple of str and Quantisation, or None
    """
    if name in model.quantisations:
        return name, model.quantisations[name]
    if any(fmt.startswith(name) for fmt in native_formats(model).values()):
        return None
    begins = [key for key in model.quantisations if key.startswith(name)]
    found = next(iter(begins), MX_ONLY.get(name))
    return (found, model.quantisations[found]) if found in model.quantisations else None


def native_formats(model: Model, architecture: Architecture | None = None) -> Mapping[str, str]:
    """Return the format of each weight group of the published checkpoint, where it is not the base dtype.

    Parameters
    ----------
    model : Model
        The catalogue's record.
    architecture : Architecture, optional
        The model's blocks, with which a `quantization_config` is read where the record has no `weights`.

    Returns
    -------
    mapping of str to str
    """
    if model.weights or architecture is None:
        return model.weights
    return formats_from_config(model.config, architecture, model.id)


def excepted_layers(model: Model, quantisation: str | None) -> frozenset[int]:
    """Return the layers, counted from 0, that a quantisation leaves in the base dtype.

    Parameters
    ----------
    model : Model
        The catalogue's record.
    quantisation : str, optional
        As for `weight_scheme`.

    Returns
    -------
    frozenset of int
    """
    variant = find_variant(model, quantisation.lower()) if quantisation else None
    return frozenset(variant[1].except_layers) if variant else frozenset()


def checkpoint_kv_dtype(model: Model, quantisation: str | None) -> str | None:
    """Return the KV dtype that a quantised checkpoint asks for, or None.

    Parameters
    ----------
    model : Model
        The catalogue's record.
    quantisation : str, optional
        As for `weight_scheme`.

    Returns
    -------
    str or None
    """
    variant = find_variant(model, quantisation.lower()) if quantisation else None
    return variant[1].kv_dtype if variant else None


def _native_name(native: Mapping[str, str], base: str) -> str:
    formats = list(dict.fromkeys(native.values()))
    return "+".join(formats) if formats else base


def _usual_recipe(architecture: Architecture, fmt: str) -> dict[str, str]:
    groups = {tensor.group for tensor, _ in architecture.counted_tensors()}
    if fmt in EXPERT_ONLY and "routed_experts" in groups:
        return {"routed_experts": fmt}
    return {group: fmt for group in LINEAR_GROUPS if group in groups}
