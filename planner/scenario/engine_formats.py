"""Which weight formats the engines of consumer cards load, where that is a short list."""

from __future__ import annotations

from collections.abc import Iterable

from planner.catalogue.stacks import Stack
from planner.errors import Unsupported
from planner.scenario.schemes import MLC_BITS

LOADED = {
    "mlc-llm": ("bf16", "f16", "int4", "fp8-tensor"),
    "exllamav2": ("bf16", "f16", "int4"),
}
"""Beginnings of the formats of matrices, from MLC-LLM's configure_quantization page and ExLlamaV2's README;
an average of bits stands for their own formats (q4f16_1, EXL2)."""

WAYS_OUT = {"mlc-llm": "int4 or q4f16_1", "exllamav2": "int4 (GPTQ) or bf16"}


def check_formats(stack: Stack, scheme_name: str, formats: Iterable[str]) -> None:
    """Refuse weights that an engine has no loader for.

    Parameters
    ----------
    stack : Stack
        The engine.
    scheme_name : str
        Name of the weights' formats, such as ``q4f16_1``.
    formats : iterable of str
        Formats of the matrices.

    Raises
    ------
    Unsupported
        With formats that it loads.
    """
    if scheme_name in MLC_BITS and stack.id != "mlc-llm":
        raise Unsupported(
            f"{scheme_name} is a format of MLC-LLM that {stack.name} does not load; ask for int4"
        )
    if stack.id not in LOADED:
        return
    for name in formats:
        if not name.endswith("bpw") and not name.startswith(LOADED[stack.id]):
            raise Unsupported(f"{stack.name} loads no {name} weights; ask for {WAYS_OUT[stack.id]}")
