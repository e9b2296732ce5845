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
                min(available, setup.concurrency * self.request_bytes(setup, setup.context)), 0.0
            ),
            state_bytes=0.0,
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
        """Return what the devices hold: the one with the least room for requests decides."""
        stages = range(len(setup.stages))
        holds, stage = self._holds(setup, available_bytes, setup.request_tokens)
        state = cells(setup, setup.caches(stage)).state_bytes
        return Pool(
            available_bytes=available_bytes[stage],
            bytes=setup.concurrency * self.request_bytes(setup, setup.context),
            blocks=None,
            block_size=None,
            tokens=setup.concurrency * setup.context,
            max_concurrency=max(holds, 0.0),
            request_bytes=self.request_bytes(setup, setup.context),
            state_bytes=float(state),
            max_context=largest_fitting(
                lambda length: (
                    all(self._request_bytes(setup, each, length) <= available_bytes[each] for each in stages)
                    and host_requests(setup, length) >= 1
                ),
                max(setup.architecture.max_context or 0, setup.model.max_context or 0, setup.context),
            ),
            slots=max(int(holds), 0) if math.isfinite(holds) else None,
            most_slots=self.most_slots(setup, available_bytes),
        )

    def most_slots(self, setup: Setup, available_bytes: Sequence[float]) -> int:
        """Return the most slots that can be asked for: each has its whole context from the start."""
        held, _ = self._holds(setup, available_bytes, setup.context)
        batch = setup.assume("max_num_batched_tokens", setup.deployment.max_num_batched_tokens)
        decoding = batch // (1 + setup.deployment.speculative_tokens)
        return max(int(min(held, decoding, setup.deployment.max_num_seqs or MOST_SLOTS, MOST_SLOTS)), 0)

    def _holds(self, setup: Setup, available_bytes: Sequence[float], tokens: int) -> tuple[float, int]:
        """Return how many sequences of so many tokens have room, and the device that has the least."""
        holds, stage = min(
            (available / size if (size := self._request_bytes(setup, stage, tokens)) else math.inf, stage)
            for stage, available in enumerate(available_bytes)
        )
        return min(holds, host_requests(setup, tokens)), stage

    def request_bytes(self, setup: Setup, tokens: int) -> float:
        """Return what one sequence of so many tokens takes over all devices [bytes]."""
        if setup.stages[0].start:  # the host keeps the caches of the layers before
            return sum(self._request_bytes(setup, stage, tokens) for stage in range(len(setup.stages)))
        return self._request_bytes(setup, None, tokens)

    def _request_bytes(self, setup: Setup, stage: int | None, tokens: int) -> float:
        """Return what a sequence takes on one device, or over all for None: cells of devices add up."""
        found = cells(setup, setup.caches(stage))
        batch = int(setup.assume("max_num_batched_tokens", setup.deployment.max_num_batched_tokens))
        windows = 0.0
        for window, size in found.windows:
            kept = -(-(window + batch) // CELL_MULTIPLE) * CELL_MULTIPLE
            windows += min(tokens, kept) * size
        return tokens * found.growing_bytes + windows + found.state_bytes
