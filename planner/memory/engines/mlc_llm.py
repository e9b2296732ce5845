"""MLC-LLM's memory rule: a share of the device holds weights, buffers and pages of the cache."""

from __future__ import annotations

from planner.memory.engines.tensorrt_llm import TensorRtLlmRule
from planner.memory.records import StageMemory
from planner.memory.setup import Setup


class MlcLlmRule(TensorRtLlmRule):
    """``pool = total * fraction - weights - buffers``, in pages, as its server mode takes all there is.

    The pool itself is cut into whole pages as TensorRT-LLM cuts it into whole blocks.
    """

    def stage(self, setup: Setup, index: int) -> StageMemory:
        """Return the memory of the fullest GPU of one pipeline stage."""
        usable = setup.gpu.usable_bytes
        budget = usable * setup.assume("memory_fraction", setup.deployment.memory_fraction)
        weights = setup.weights[index]
        held, buffers = setup.number("context_bytes"), self.buffer_bytes(setup)
        available = budget - weights.total() - held - buffers
        layers = setup.stages[index]
        return StageMemory(
            stage=index,
            layers=(layers.start, layers.stop - 1),
            usable_bytes=usable,
            budget_bytes=budget,
            weights_bytes=float(weights.total()),
            weights_by_group=weights,
            activation_bytes=buffers,
            graph_bytes=0.0,
            non_torch_bytes=held,
            kv_pool_bytes=max(available, 0.0),
            state_bytes=0.0,
            available_bytes=available,
        )

    def buffer_bytes(self, setup: Setup) -> float:
        """Return the temporary buffers: some 16-bit streams of a prefill chunk [bytes]."""
        tokens = setup.assume("max_num_batched_tokens", setup.deployment.max_num_batched_tokens)
        return tokens * 2.0 * setup.number("residual_streams") * setup.architecture.hidden_size
