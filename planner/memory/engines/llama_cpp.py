"""llama.cpp's memory rule: whole layers on each device, and a cache allocated in full for what was asked."""

from __future__ import annotations

import math
from collections.abc import Sequence

from planner.memory.cells import cells
from planner.memory.off_gpu import host_requests
from planner.memory.records import Pool, StageMemory
from planner.memory.search import largest_fitting
from planner.memory.setup import Setup

CELL_MULTIPLE = 256
"""Cells of a window are a multiple of this many."""
MOST_SLOTS = 256
"""Sequences that llama.cpp keeps apart (LLAMA_MAX_SEQ in its src/llama-cparams.h, 2026-11)."""


class LlamaCppRule:
    """Weights, cells of the asked contexts and a compute buffer must fit; there is no shared pool."""

    def stage(self, setup: Setup, index: int) -> StageMemory:
        """Return the memory of one device: its layers, and its buffers."""
        usable = setup.gpu.usable_bytes
        weights = setup.weights[index]
        held = setup.number("context_bytes")
        compute = self.compute_bytes(setup)
        available = usable - weights.total() - held - compute
        layers = setup.stages[index]
        return StageMemory(
            stage=index,
            layers=(layers.start, layers.stop - 1),
            usable_bytes=usable,
            budget_bytes=usable,
            weights_bytes=float(weights.total()),
            weights_by_group=weights,
            activation_bytes=compute,
            graph_bytes=0.0,
            non_torch_bytes=held,
            kv_pool_bytes=max(
                min(available, setup.concurrency * self._request_bytes(setup, index, setup.context)), 0.0
            ),
            state_bytes=float(cells(setup, setup.caches(index)).state_bytes),
            available_bytes=available,
        )

    def compute_bytes(self, setup: Setup) -> float:
        """Return the compute buffer: logits in FP32 and a few streams for one micro-batch [bytes]."""
        tokens = setup.assume("max_num_batched_tokens", setup.deployment.max_num_batched_tokens)
        widths = (
            setup.architecture.vocab_size + setup.number("residual_streams") * setup.architecture.hidden_size
        )
        return tokens * 4.0 * widths

    def pool(self, setup: Setup, available_bytes: Sequence[float]) -> Pool:
        """Return what the devices hold, its bytes over all of them: the one with the least room decides."""
        stages = range(len(setup.stages))
        holds, stage = self._holds(setup, available_bytes)
        most, why = self._limit(setup)
        held = sum(self._request_bytes(setup, each, setup.context) for each in stages)
        return Pool(
            available_bytes=available_bytes[stage],
            bytes=setup.concurrency * held,
            blocks=None,
            block_size=None,
            tokens=setup.concurrency * setup.context,
            max_concurrency=max(min(holds, most), 0.0),
            request_bytes=held,
            state_bytes=float(sum(cells(setup, setup.caches(each)).state_bytes for each in stages)),
            max_context=largest_fitting(
                lambda length: (
                    all(self._request_bytes(setup, each, length) <= available_bytes[each] for each in stages)
                    and host_requests(setup, length) >= 1
                ),
                max(setup.architecture.max_context or 0, setup.model.max_context or 0, setup.context),
            ),
            most_slots=max(int(min(holds, most)), 0),
            engine_slots=most,
            slot_limit=why if most < holds else None,
        )

    def _limit(self, setup: Setup) -> tuple[int, str]:
        """Return the slots that the engine takes whatever the memory, and why no more."""
        batch = int(setup.assume("max_num_batched_tokens", setup.deployment.max_num_batched_tokens))
        drafted, most = setup.deployment.speculative_tokens, setup.deployment.max_num_seqs
        limits = [
            (MOST_SLOTS, f"{setup.stack.name} keeps {MOST_SLOTS} sequences apart"),
            (batch // (1 + drafted), f"a step of {batch:,} tokens (max_num_batched_tokens)"),
        ]
        if most is not None:
            limits.append((most, f"max_num_seqs {most:,}"))
        return min(limits)

    def _holds(self, setup: Setup, available_bytes: Sequence[float]) -> tuple[float, int]:
        """Return how many slots have room, each with its whole context, and the device that has the least."""
        tokens = setup.context
        sizes = [self._request_bytes(setup, stage, tokens) for stage in range(len(setup.stages))]
        holds, stage = min(
            (available / size if size else math.inf, stage)
            for stage, (available, size) in enumerate(zip(available_bytes, sizes, strict=True))
        )
        return min(holds, host_requests(setup, tokens)), stage

    def request_bytes(self, setup: Setup, tokens: int) -> float:
        """Return what one sequence of so many tokens takes on the device where it takes most [bytes]."""
        return max(self._request_bytes(setup, stage, tokens) for stage in range(len(setup.stages)))

    def _request_bytes(self, setup: Setup, stage: int, tokens: int) -> float:
        """Return what a sequence of so many tokens takes on one device [bytes]."""
        found = cells(setup, setup.caches(stage))
        batch = int(setup.assume("max_num_batched_tokens", setup.deployment.max_num_batched_tokens))
        windows = 0.0
        for window, size in found.windows:
            kept = -(-(window + batch) // CELL_MULTIPLE) * CELL_MULTIPLE
            windows += min(tokens, kept) * size
        return tokens * found.growing_bytes + windows + found.state_bytes
