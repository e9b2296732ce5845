"""Types of llama.cpp's GGUF files: bits of a weight on average, and which engines load them."""

from __future__ import annotations

from planner.architecture import Architecture
from planner.architecture.caches import StateCache
from planner.catalogue.stacks import Stack
from planner.errors import Unsupported

GGUF_BITS = {
    "iq1_s": 2.0042,
    "iq1_m": 2.1460,
    "iq2_xxs": 2.3824,
    "iq2_xs": 2.5882,
    "iq2_s": 2.7403,
    "iq2_m": 2.9294,
    "iq3_xxs": 3.2548,
    "iq3_xs": 3.4977,
    "iq3_s": 3.6606,
    "iq3_m": 3.7628,
    "iq4_xs": 4.4597,
    "iq4_nl": 4.6818,
    "q2_k_s": 2.9697,
    "q2_k": 3.1593,
    "q3_k_s": 3.6429,
    "q3_k_m": 3.91,
    "q3_k_l": 4.2979,
    "q4_0": 4.64,
    "q4_1": 5.11,
    "q4_k_s": 4.6672,
    "q4_k_m": 4.8944,
    "q5_0": 5.57,
    "q5_1": 6.04,
    "q5_k_s": 5.5704,
    "q5_k_m": 5.7036,
    "q6_k": 6.5633,
    "q8_0": 8.5008,
}
"""Bits of a weight, averaged over a whole file, by type.

Those of Llama-3.1-8B in llama.cpp's tools/quantize/README.md (2026); q3_k_m of Llama-2-7B in its older
edition; q4_0, q4_1, q5_0 and q5_1 from the sizes for Llama-3-8B that llama-quantize prints. Files of one type
differ by about 2 % between models, with the share of tables and of matrices that a type stores wider.
"""

NO_LOADER = ("tensorrt-llm", "mlc-llm", "exllamav2")
"""Engines that read no GGUF files."""


def gguf_warnings(stack: Stack, scheme_name: str, architecture: Architecture) -> list[str]:
    """Return what an engine other than llama.cpp does with GGUF weights.

    Parameters
    ----------
    stack : Stack
        The engine.
    scheme_name : str
        Name of the weights' formats, such as ``q4_k_m``.
    architecture : Architecture
        The model's blocks.

    Returns
    -------
    list of str
        Empty for other weights.

    Raises
    ------
    Unsupported
        Where the engine cannot load them.
    """
    if scheme_name not in GGUF_BITS or stack.id == "llama.cpp":
        return []
    way_out = "use --engine llama.cpp, or weights in nvfp4, mxfp4 or int4"
    if stack.id in NO_LOADER:
        raise Unsupported(f"{stack.name} reads no GGUF files ({scheme_name}); {way_out}")
    if any(isinstance(cache, StateCache) for layer in architecture.layer_kinds() for cache in layer.caches()):
        raise Unsupported(
            f"{stack.name} is not known to load {scheme_name} of a model with recurrent states: its GGUF "
            f"loader is for plain transformers; {way_out}"
        )
    return [f"GGUF weights ({scheme_name}) are experimental in {stack.name}, and slow; better: {way_out}"]
