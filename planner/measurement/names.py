"""From the names that people write in logs to the catalogue's models, quantisations and engines."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from planner.catalogue import Catalogue, Model
from planner.errors import UnknownName

_BRACKET = re.compile(r"\s*\(([^()]*)\)\s*$")
_SUFFIX = re.compile(
    r"[-_.](?:FP8(?:[-_](?:dynamic|block|static|KV))?|NV?FP4|MXFP4|AWQ(?:[-_](?:INT4|4bit))?|GPTQ(?:[-_]Int[48])?"
    r"|Int4(?:[-_]\w+)?|INT8|4bit|W4A16|W8A8|quantized\.w\d+a\d+|AutoRound|EXL3|GGUF|bnb|BF16|MTP)$",
    re.IGNORECASE,
)

_QUANTISATIONS: tuple[tuple[str, str], ...] = (
    (r"fp8/fp4|fp4/fp8", "mxfp4"),
    (r"nvfp4", "nvfp4"),
    (r"mxfp4", "mxfp4"),
    (r"fp4", "fp4"),
    (r"exl3", "exl3"),
    (r"gguf|(?<![a-z])i?q\d_", "gguf"),
    (r"fp8.*w8a8|w8a8.*fp8", "fp8"),
    (r"w4a8", "w4a8"),
    (r"awq", "int4-awq-g128"),
    (r"gptq.*8|w8a8|w8a16|int8|smoothquant|8[- ]?bit", "int8-w8a8"),
    (r"w4a16|gptq|int4|4[- ]?bit|autoround|bnb|nf4", "int4-w4a16-g128"),
    (r"fp8.*(dynamic|online)", "fp8-dynamic"),
    (r"fp8.*static", "fp8-static"),
    (r"fp8|f8|e4m3", "fp8"),
    (r"bf16|bfloat16", "bf16"),
    (r"fp16|f16|float16|half", "fp16"),
    (r"fp32|f32|float32", "fp32"),
)
"""What a column or a suffix says about the weights, the first that matches, and planner's name for it."""

GGUF_BITS = {
    "q2_k": 3.16,
    "q3_k_s": 3.64,
    "q3_k_m": 4.0,
    "q3_k_l": 4.3,
    "iq4_xs": 4.46,
    "iq4_nl": 4.68,
    "q4_0": 4.66,
    "q4_k_s": 4.67,
    "q4_k_m": 4.89,
    "q5_k_s": 5.57,
    "q5_k_m": 5.7,
    "q6_k": 6.56,
    "q8_0": 8.5,
}
"""Bits per weight over a whole GGUF file, for Llama-3.1-8B (llama.cpp's tools/quantize/README.md, 2025)."""

ENGINES = {
    "vllm": "vllm",
    "sglang": "sglang",
    "tensorrt-llm": "tensorrt-llm",
    "trt-llm": "tensorrt-llm",
    "trtllm": "tensorrt-llm",
    "llama.cpp": "llama.cpp",
    "llamacpp": "llama.cpp",
    "ollama": "llama.cpp",
}


@dataclass(frozen=True, slots=True)
class ModelName:
    """A model that a log names.

    Parameters
    ----------
    model : Model
        The catalogue's record.
    quantisation : str or None
        What the name says about the weights: a variant of the model or the short name of a format.
    note : str or None
        How the name was read, where it is not one of the catalogue's.
    """

    model: Model
    quantisation: str | None
    note: str | None = None


def is_unstated(text: str) -> bool:
    """Return whether a cell is empty or says that nothing was stated."""
    return not text or text.lower().startswith(("not stated", "unknown", "n/a"))


def find_model(name: str, catalogue: Catalogue) -> ModelName:
    """Find the model that a log names: as written, else without remark, organisation or format suffix.

    Parameters
    ----------
    name : str
        Such as ``Qwen/Qwen3-30B-A3B (int4)`` or ``someone/Qwen3-8B-AWQ``.
    catalogue : Catalogue
        Where names are looked up; nothing else is asked.

    Returns
    -------
    ModelName

    Raises
    ------
    UnknownName
        When no form of the name is known, or one stands for several models.
    """
    first: UnknownName | None = None
    for form, removed in _forms(name.strip()):
        try:
            model = catalogue.model(form)
        except UnknownName as error:
            first = first or error
            continue
        implied = {_loose(alias): variant for alias, variant in model.quantised_aliases.items()}
        note = None if form == name.strip() else f"{name!r} read as {form!r}"
        return ModelName(model, implied.get(_loose(form)) or quantisation_name(removed), note)
    assert first is not None
    raise first


def _forms(name: str) -> Iterator[tuple[str, str]]:
    """Yield ever shorter forms of a name, each with what was removed from it."""
    bare, removed = name, ""
    yield bare, removed
    while match := _BRACKET.search(bare):
        bare, removed = bare[: match.start()], f"{match[1]} {removed}"
        yield bare, removed
    if "/" in bare:
        bare = bare.rsplit("/", 1)[1]
        yield bare, removed
    while match := _SUFFIX.search(bare):
        bare, removed = bare[: match.start()], f"{match[0][1:]} {removed}"
        yield bare, removed


def _loose(name: str) -> str:
    return re.sub(r"[\s_-]+", "-", name.strip().casefold())


def quantisation_name(text: str) -> str | None:
    """Return planner's name for what a log says about the weights, or None when it says nothing known.

    Parameters
    ----------
    text : str
        Such as ``compressed-tensors int8 w8a8``, ``Q4_K_M`` or ``awq4``.

    Returns
    -------
    str or None
        The name or the beginning of the name of a variant, or the short name of a format.
    """
    lowered = text.lower()
    for pattern, name in _QUANTISATIONS:
        if re.search(pattern, lowered):
            if name == "gguf" and (exact := re.search(r"i?q\d\w*", lowered)):
                return f"gguf-{exact[0]}"
            return name
    return None


def bare_name(text: str) -> str:
    """Return a name without remarks in brackets."""
    while match := _BRACKET.search(text):
        text = text[: match.start()]
    return text.strip()
