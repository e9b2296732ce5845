"""vLLM's memory rule, by version.

The engine takes a share of the device's total memory, subtracts weights, what is in use outside the
allocator, the peak of a profile step and, from 0.20, an estimate of the graphs; the rest is cut into blocks.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from planner.memory.overheads import activation_bytes, graph_bytes, non_torch_bytes
from planner.memory.page_rules import page_rules
from planner.memory.pages import Layout, PageRules, build_layout
from planner.memory.records import Pool, StageMemory
from planner.memory.search import largest_fitting
from planner.memory.setup import Setup


class VllmRule:
    """``available = ceil(total * fraction) - weights - non-torch - activation - graphs``."""

    def stage(self, setup: Setup, index: int) -> StageMemory:
        """Return the memory of the fullest GPU of one pipeline stage."""
        deployment = setup.deployment
        usable = setup.gpu.usable_bytes
        budget = float(math.ceil(usable * setup.assume("memory_fraction", deployment.memory_fraction)))
        weights = setup.weights[index]
        activation = activation_bytes(setup, index)
        graphs = graph_bytes(setup, index)
        non_torch = non_torch_bytes(setup)
        deducted = graphs if self.deducts_graphs(setup) else 0.0
        available = budget - weights.total() - activation - non_torch - deducted
        if deployment.kv_cache_memory_bytes is not None:
            available = float(deployment.kv_cache_memory_bytes)
        layers = setup.stages[index]
        return StageMemory(
            stage=index,
            layers=(layers.start, layers.stop - 1),
            usable_bytes=usable,
            budget_bytes=budget,
            weights_bytes=float(weights.total()),
            weights_by_group=weights,
            activation_bytes=activation,
            graph_bytes=graphs,
            non_torch_bytes=non_torch,
            kv_pool_bytes=max(available, 0.0),
            state_bytes=0.0,
            available_bytes=available,
        )

    def deducts_graphs(self, setup: Setup) -> bool:
        """Return whether graph memory is taken off before the pool."""
        asked = setup.deployment.deduct_graphs
        return bool(setup.setting("deduct_graphs").value) if asked is None else asked

    def pool(self, setup: Setup, available_bytes: Sequence[float]) -> Pool:
        """Return the KV pool: the stage with the fewest blocks decides."""
        rules = page_rules(setup)
        layouts = self.layouts(setup, rules)
        blocks = min(
            (
                max(int(available // layout.block_bytes), 0)
                for available, layout in zip(available_bytes, layouts, strict=True)
                if layout.block_bytes
            ),
            default=1,
        )
        layout = layouts[0]
        needed = layout.request_blocks(setup.context, rules)
        asked = layout.request_blocks(setup.request_tokens, rules)
        widest = max(layout.block_bytes for layout in layouts)
        copies = setup.deployment.dp
        concurrency = blocks / needed if needed else math.inf
        states = sum(page.kind == "state" for page in layout.groups) * rules.state_pages * widest
        return Pool(
            available_bytes=min(available_bytes),
            bytes=float(blocks * widest),
            blocks=blocks,
            block_size=layout.block_size,
            tokens=self._printed_tokens(setup, layout, blocks, concurrency) * copies,
            max_concurrency=(blocks / asked if asked else math.inf) * copies,
            request_bytes=float(needed * widest),
            state_bytes=float(states),
            max_context=largest_fitting(
                lambda tokens: layout.request_blocks(tokens, rules) <= blocks, self._limit(setup)
            ),
            slots=blocks if layout.hybrid else None,
            copies=copies,
        )

    def request_bytes(self, setup: Setup, tokens: int) -> float:
        """Return what one request of so many tokens takes on the stage where it takes most [bytes]."""
        rules = page_rules(setup)
        return max(
            float(layout.request_blocks(tokens, rules) * layout.block_bytes)
            for layout in self.layouts(setup, rules)
        )

    def layouts(self, setup: Setup, rules: PageRules) -> list[Layout]:
        """Return the layout of each stage."""
        whole = setup.caches()
        if len(setup.stages) == 1:
            return [build_layout(whole, rules)]
        return [build_layout(setup.caches(stage), rules, whole) for stage in range(len(setup.stages))]

    def _printed_tokens(self, setup: Setup, layout: Layout, blocks: int, concurrency: float) -> int:
        """Return the tokens that the log prints; from 0.20.1 they follow from the concurrency."""
        if setup.setting("printed_tokens").value == "concurrency":
            return int(concurrency * setup.context) if math.isfinite(concurrency) else 0
        return blocks // len(layout.groups) * layout.block_size * setup.deployment.dcp

    def _limit(self, setup: Setup) -> int:
        return max(setup.architecture.max_context or 0, setup.model.max_context or 0, setup.context)
