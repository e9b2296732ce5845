"""vLLM's memory rule, by version.

The engine takes a share of the device's total memory, subtracts weights, what is in use outside the
allocator, the peak of a profile step and, from 0.20, an estimate of the graphs; the rest is cut into blocks.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from planner.memory.overheads import activation_bytes, graph_bytes, non_torch_bytes
from planner.memory.pages import Layout, PageRules, build_layout
from planner.memory.records import Pool, StageMemory
from planner.memory.search import largest_fitting
from planner.memory.setup import Setup, state_dtypes


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
        """Return the tokens that the log prints; from 0.21 they follow from the concurrency."""
        if setup.setting("printed_tokens").value == "concurrency":
            return int(concurrency * setup.context) if math.isfinite(concurrency) else 0
        return blocks // len(layout.groups) * layout.block_size * setup.deployment.dcp

    def _limit(self, setup: Setup) -> int:
        return max(setup.architecture.max_context or 0, setup.model.max_context or 0, setup.context)


def page_rules(setup: Setup) -> PageRules:
    """Return what of the version and the options shapes the pages.

    Parameters
    ----------
    setup : Setup
        The deployment with its engine's settings.

    Returns
    -------
    PageRules
    """
    deployment = setup.deployment
    latent = setup.has_latents()
    pooled = setup.pools_index()
    kind = "pooled_index" if pooled else "latent" if latent else "block"
    alignment = int(setup.number(f"{kind}_alignment"))
    block = int(setup.assume("block_size", deployment.block_size, _block_setting(setup, latent)))
    if setup.has_states() and deployment.block_size is not None:
        # A hybrid's log states the block after alignment; a multiple of the alignment is taken as it is.
        alignment = alignment if deployment.block_size % alignment else deployment.block_size
    batches = setup.number("batches_in_flight") if deployment.pp == 1 else deployment.pp
    batch = setup.assume("max_num_batched_tokens", deployment.max_num_batched_tokens)
    return PageRules(
        kv_dtype=setup.kv_dtype,
        tp=deployment.tp,
        dcp=deployment.dcp,
        block_size=block,
        alignment=alignment,
        in_flight_tokens=int(batch * batches),
        state_pages=_state_pages(setup),
        state_dtypes=state_dtypes(setup),
        entry_multiple=int(setup.number("latent_entry_multiple")),
        windows=bool(setup.setting("window_groups").value),
        chunked="attention_chunk_size" in str(setup.model.config),
        few_padding=setup.number("group_padding_ratio"),
        pooled_index_bytes=setup.number("pooled_index_bytes") if pooled else 0.0,
    )


def _block_setting(setup: Setup, latent: bool) -> str:
    """Return the name of the setting with the block size of the model's attention."""
    kinds = {cache.kind for cache in setup.caches()}
    if "compressed" in kinds:
        return "compressed_block_size"
    if "index" in kinds:
        return "sparse_block_size"
    return "latent_block_size" if latent else "block_size"


def _state_pages(setup: Setup) -> int:
    """Return the pages of each recurrent layer for one request: one more where prefixes are cached."""
    caching = setup.deployment.prefix_caching
    if caching is None and setup.has_states():
        caching = bool(setup.assume("hybrid_prefix_caching", None))
    return (2 if caching else 1) + setup.deployment.speculative_tokens
