"""The memory rules of the inference engines, one small class each."""

from __future__ import annotations

from planner.errors import Unsupported
from planner.memory.engines.base import EngineRule
from planner.scenario.legal import WHOLE_SLOTS


def engine_rule(engine: str) -> EngineRule:
    """Return the memory rule of an engine.

    Parameters
    ----------
    engine : str
        Id of its stack: ``vllm``, ``sglang``, ``tensorrt-llm`` or ``llama.cpp``, ``mlc-llm``
        or ``exllamav2``.

    Returns
    -------
    EngineRule

    Raises
    ------
    Unsupported
        When planner has no rule for the engine.
    """
    if engine == "vllm":
        from planner.memory.engines.vllm import VllmRule

        return VllmRule()
    if engine == "sglang":
        from planner.memory.engines.sglang import SglangRule

        return SglangRule()
    if engine == "tensorrt-llm":
        from planner.memory.engines.tensorrt_llm import TensorRtLlmRule

        return TensorRtLlmRule()
    if engine == "mlc-llm":
        from planner.memory.engines.mlc_llm import MlcLlmRule

        return MlcLlmRule()
    if engine in WHOLE_SLOTS:
        from planner.memory.engines.llama_cpp import LlamaCppRule

        return LlamaCppRule()
    known = "vllm, sglang, tensorrt-llm, llama.cpp, mlc-llm, exllamav2"
    raise Unsupported(f"no memory rule for engine {engine!r}; there are: {known}")


__all__ = ["EngineRule", "engine_rule"]
