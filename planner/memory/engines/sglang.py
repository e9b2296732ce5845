"""SGLang's memory rule: a share of what is free before loading holds weights and pools."""

from __future__ import annotations

import math
from collections.abc import Sequence

from planner.memory.cells import Cells, cells
from planner.memory.records import Pool, StageMemory
from planner.memory.search import largest_fitting
from planner.memory.setup import Setup

MIB = 2.0**20


class SglangRule:
    """``pools = fraction * free before loading - weights``; activations and graphs live in the rest."""

    def stage(self, setup: Setup, index: int) -> StageMemory:
        """Return the memory of the fullest GPU of one pipeline stage."""
        usable = setup.gpu.usable_bytes
        started = setup.number("start_bytes")
        budget = (usable - started) * self.fraction(setup)
        weights = setup.weights[index]
        available = budget - weights.total()
        layers = setup.stages[index]
        return StageMemory(
            stage=index,
            layers=(layers.start, layers.stop - 1),
            usable_bytes=usable,
            budget_bytes=budget,
            weights_bytes=float(weights.total()),
            weights_by_group=weights,
            activation_bytes=0.0,
            graph_bytes=0.0,
            non_torch_bytes=started,
            kv_pool_bytes=max(available, 0.0),
            state_bytes=0.0,
            available_bytes=available,
        )

    def fraction(self, setup: Setup) -> float:
        """Return `mem_fraction_static`, by default what the engine's own reserve leaves."""
        given = setup.deployment.memory_fraction
        if given is not None:
            return given
        total = setup.gpu.usable_bytes / MIB
        value = round((total - self.reserve_mib(setup)) / total, 3)
        if setup.architecture.towers and not setup.deployment.text_only:
            value *= setup.number("vision_fraction")
        setup.note("memory_fraction", value, "", "published: the engine's own reserve (memory_hook.py)")
        return value

    def reserve_mib(self, setup: Setup) -> float:
        """Return the engine's reserve for activations and graphs [MiB]."""
        deployment = setup.deployment
        ranks = deployment.tp * deployment.dp * deployment.pp
        chunk = setup.assume("max_num_batched_tokens", deployment.max_num_batched_tokens)
        graphs = 0.0
        if not deployment.enforce_eager:
            largest = setup.number("graph_batch" if ranks < 4 else "graph_batch_parallel")
            if deployment.max_num_seqs is not None:
                largest = min(largest, deployment.max_num_seqs)
            graphs = 2 * largest
            if deployment.dp > 1:
                graphs += largest * deployment.dp * (4.5 if largest > 300 else 3)
            graphs += setup.number("latent_graph_mib") if setup.has_latents() else setup.number("graph_mib")
        reserve = 512 + 1.5 * max(chunk, 2048) + ranks / 8 * 1024 + graphs
        return max(reserve, setup.number("least_reserve_mib"))

    def pool(self, setup: Setup, available_bytes: Sequence[float]) -> Pool:
        """Return the KV pool: cells for tokens, with a fixed share for windows and for states."""
        stages = [
            self._stage_pool(setup, stage, available) for stage, available in enumerate(available_bytes)
        ]
        # A stage whose layers all use the caches of others holds any number of requests.
        smallest = min(stages, key=lambda found: (found.max_concurrency, found.tokens))
        copies = setup.deployment.dp
        return Pool(
            available_bytes=min(available_bytes),
            bytes=smallest.bytes,
            blocks=None,
            block_size=smallest.block_size,
            tokens=smallest.tokens * copies,
            max_concurrency=smallest.max_concurrency * copies,
            request_bytes=smallest.request_bytes,
            state_bytes=smallest.state_bytes,
            max_context=smallest.max_context,
            slots=smallest.slots,
            copies=copies,
        )

    def _stage_pool(self, setup: Setup, stage: int, available: float) -> Pool:
        found = self._cells(setup, stage)
        page = int(setup.assume("block_size", setup.deployment.block_size))
        slots = None
        rest = available
        if found.state_bytes:
            ratio = setup.number("state_ratio")
            slots = max(int(available * ratio / (1 + ratio) // found.state_bytes), 0)
            rest = available - slots * found.state_bytes
        share = setup.number("window_ratio") if found.growing_bytes else 1.0
        cell = found.growing_bytes + share * found.window_bytes
        tokens = max(int(rest // cell) // page * page * setup.deployment.dcp, 0) if cell else 0
        window_tokens = int(tokens * share)

        def holds(length: int) -> float:
            kept = min((window for window, _ in found.windows), default=0)
            counts = [tokens / length if found.growing_bytes else math.inf]
            if found.windows:
                counts.append(window_tokens / min(length, kept + page))
            if slots is not None:
                counts.append(float(slots))
            return max(min(counts), 0.0)

        return Pool(
            available_bytes=available,
            bytes=max(available, 0.0),
            blocks=None,
            block_size=page,
            tokens=tokens,
            max_concurrency=holds(setup.request_tokens),
            request_bytes=found.request_bytes(setup.context),
            state_bytes=float(found.state_bytes),
            max_context=largest_fitting(lambda length: holds(length) >= 1, self._limit(setup)),
            slots=slots,
        )

    def request_bytes(self, setup: Setup, tokens: int) -> float:
        """Return what one request of so many tokens takes on the stage where it takes most [bytes]."""
        return max(self._cells(setup, stage).request_bytes(tokens) for stage in range(len(setup.stages)))

    def _cells(self, setup: Setup, stage: int) -> Cells:
        return cells(setup, setup.caches(stage), 1 + setup.deployment.speculative_tokens)

    def _limit(self, setup: Setup) -> int:
        return max(setup.architecture.max_context or 0, setup.model.max_context or 0, setup.context)
