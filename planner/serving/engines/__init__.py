"""The writers of each engine's command lines."""

from planner.serving.engines.base import Writer
from planner.serving.engines.llama_cpp import LlamaCppWriter
from planner.serving.engines.sglang import SglangWriter
from planner.serving.engines.tensorrt_llm import TensorRtLlmWriter
from planner.serving.engines.vllm import VllmWriter

WRITERS: dict[str, Writer] = {
    "vllm": VllmWriter(),
    "sglang": SglangWriter(),
    "tensorrt-llm": TensorRtLlmWriter(),
    "llama.cpp": LlamaCppWriter(),
}
"""By id of the engine's stack."""
