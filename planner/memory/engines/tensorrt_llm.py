"""TensorRT-LLM's memory rule: a share of what is free after a dry run."""

from __future__ import annotations

from collections.abc import Sequence

from planner.memory.cells import cells
from planner.memory.overheads import activation_bytes, graph_bytes, non_torch_bytes
from planner.memory.records import Pool, StageMemory
from planner.memory.search import largest_fitting
from planner.memory.setup import Setup


class TensorRtLlmRule:
    """``pool = (total - weights - activation - graphs - buffers) * fraction``: a share of free memory."""

    def stage(self, setup: Setup, index: int) -> StageMemory:
        """Return the memory of the fullest GPU of one pipeline stage."""
        deployment = setup.deployment
        usable = setup.gpu.usable_bytes
        weights = setup.weights[index]
        activation = activation_bytes(setup, index)
        graphs = graph_bytes(setup, index)
        held = non_torch_bytes(setup)
        free = usable - weights.total() - activation - graphs - held
        fraction = setup.assume("memory_fraction", deployment.memory_fraction)
        available = free * fraction if free > 0 else free
        if deployment.kv_cache_memory_bytes is not None:
            available = float(deployment.kv_cache_memory_bytes)
        layers = setup.stages[index]
        return StageMemory(
            stage=index,
            layers=(layers.start, layers.stop - 1),
            usable_bytes=usable,
            budget_bytes=usable - max(free, 0.0) * (1 - fraction),
            weights_bytes=float(weights.total()),
            weights_by_group=weights,
            activation_bytes=activation,
            graph_bytes=graphs,
            non_torch_bytes=held,
            kv_pool_bytes=max(available, 0.0),
            state_bytes=0.0,
            available_bytes=available,
        )

    def pool(self, setup: Setup, available_bytes: Sequence[float]) -> Pool:
        """Return the KV pool: whole blocks, the stage with the fewest decides."""
        block = int(setup.assume("block_size", setup.deployment.block_size))
        # A stage whose layers all use the caches of others holds any number of blocks.
        blocks, stage = min(
            (self._blocks(setup, stage, block, available), stage)
            for stage, available in enumerate(available_bytes)
            if self._block_bytes(setup, stage, block)
        )
        found = cells(setup, setup.caches(stage))
        size = found.growing_bytes + found.window_bytes
        copies = setup.deployment.dp
        pool_bytes = blocks * block * size
        return Pool(
            available_bytes=available_bytes[stage],
            bytes=pool_bytes,
            blocks=blocks,
            block_size=block,
            tokens=blocks * block * setup.deployment.dcp * copies,
            max_concurrency=pool_bytes / found.request_bytes(setup.request_tokens, block) * copies,
            request_bytes=found.request_bytes(setup.context, block),
            state_bytes=float(found.state_bytes),
            max_context=largest_fitting(
                lambda length: found.request_bytes(length, block) <= pool_bytes,
                max(setup.architecture.max_context or 0, setup.model.max_context or 0, setup.context),
            ),
            copies=copies,
        )

    def _blocks(self, setup: Setup, stage: int, block: int, available: float) -> int:
        return max(int(available // self._block_bytes(setup, stage, block)), 0)

    def _block_bytes(self, setup: Setup, stage: int, block: int) -> float:
        found = cells(setup, setup.caches(stage))
        return block * (found.growing_bytes + found.window_bytes)

    def request_bytes(self, setup: Setup, tokens: int) -> float:
        """Return what one request of so many tokens takes on the stage where it takes most [bytes]."""
        block = int(setup.number("block_size"))
        stages = range(len(setup.stages))
        return max(cells(setup, setup.caches(stage)).request_bytes(tokens, block) for stage in stages)
