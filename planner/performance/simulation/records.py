"""How the simulated engine batches, and the room it has for the KV cache."""

from __future__ import annotations

import math
from typing import Any, Literal

from planner.errors import InvalidInput
from planner.memory import MemoryFit
from planner.scenario.records import Count, Scenario

Policy = Literal["decode-first", "prefill-first", "static"]
"""vLLM's scheduler, SGLang's, and batches that nobody joins."""

UNBOUNDED_TOKENS = 1 << 40
"""Stands for a pool that grows with no token, as that of a model with recurrent layers only."""


class KvPool(Scenario):
    """Room for the cache of one copy of a model, counted in tokens."""

    tokens: Count
    """Tokens that the pool holds."""
    block_size: Count = 1
    """Tokens of one block; a request takes whole blocks."""
    state_tokens: int = 0
    """Room that a request's constant state takes, as tokens."""
    slots: Count | None = None
    """Requests that can run at once for another reason than tokens."""

    def model_post_init(self, context: Any, /) -> None:
        """Refuse what no pool is like."""
        if self.state_tokens < 0:
            raise InvalidInput(f"KvPool state_tokens: {self.state_tokens} is below zero; the nearest is 0")
        if self.tokens < self.block_size:
            raise InvalidInput(
                f"KvPool tokens: {self.tokens} is less than one block of {self.block_size}; "
                f"the nearest is {self.block_size}"
            )

    @property
    def blocks(self) -> int:
        """Return the whole blocks of the pool."""
        return self.tokens // self.block_size

    @property
    def state_blocks(self) -> int:
        """Return the blocks that the state of one request takes."""
        return -(-self.state_tokens // self.block_size)

    def request_blocks(self, tokens: float) -> int:
        """Return the blocks of one request that holds so many tokens."""
        return self.state_blocks + math.ceil(tokens / self.block_size)

    @classmethod
    def from_fit(cls, fit: MemoryFit) -> KvPool:
        """Return the pool of one data-parallel copy, as the memory model computed it.

        The bytes of one token are those of a request of the fit's context, without its state, over the tokens
        of its blocks. Ask for the fit with the context that requests will have: caches with windows take more
        for each token of a short one.

        Parameters
        ----------
        fit : MemoryFit
            A deployment that fits.

        Returns
        -------
        KvPool

        Raises
        ------
        InvalidInput
            When the fit has no pool, or one too small for any request.
        """
        pool = fit.pool
        block = pool.block_size or 1
        token_bytes = (pool.request_bytes - pool.state_bytes) / (-(-fit.context // block) * block)
        if token_bytes <= 0:
            holds = int(pool.bytes / pool.state_bytes) if pool.state_bytes else None
            slots = min((limit for limit in (holds, pool.slots) if limit is not None), default=None)
            return cls(tokens=UNBOUNDED_TOKENS, slots=slots)
        tokens = int(pool.bytes / token_bytes)
        if tokens < block:
            raise InvalidInput(
                f"{fit.model} on {fit.gpu} has no KV pool to simulate: {fit.binding_limit}; see `planner fit`"
            )
        state = math.ceil(pool.state_bytes / token_bytes)
        return cls(tokens=tokens, block_size=block, state_tokens=state, slots=pool.slots)


class Batching(Scenario):
    """The engine's scheduler and its limits."""

    policy: Policy = "decode-first"
    """``decode-first``: running requests decode in each step and prompts share what is left of its tokens
    (vLLM). ``prefill-first``: prompts go first, in steps of their own (SGLang). ``static``: a batch is taken
    when the engine is empty, and nobody joins until it has ended."""
    max_num_seqs: Count = 256
    """Requests that run at once, at most."""
    max_num_batched_tokens: Count = 8192
    """Tokens of one step (vLLM), or of one prefill step (SGLang)."""
    chunked_prefill: bool = True
    """Whether a prompt may be computed in parts."""
    prefix_hit: float = 0.0
    """Share of a prompt that is found in the cache. Each request still takes room for it."""
    speculative_tokens: int = 0
    """Tokens drafted for each request and step."""
    accepted_tokens: float = 1.0
    """Tokens that a request gains in one step, on average; 1 without speculation."""
    max_context: Count | None = None
    """Longest request, input and output together; None is no limit."""
    stages: Count = 1
    """Stages of a pipeline that steps without a token follow one another through: the next enters the first
    one when the step has left it."""

    def model_post_init(self, context: Any, /) -> None:
        """Refuse what no engine can do, with the nearest possible value."""
        if not 0 <= self.prefix_hit < 1:
            nearest = "0" if self.prefix_hit < 0 else "0.999"
            raise InvalidInput(
                f"Batching prefix_hit: {self.prefix_hit:g} is no share from 0 to below 1; "
                f"the nearest is {nearest}"
            )
        if self.speculative_tokens < 0:
            raise InvalidInput(
                f"Batching speculative_tokens: {self.speculative_tokens} is below zero; the nearest is 0"
            )
        most = 1 + self.speculative_tokens
        if not 1 <= self.accepted_tokens <= most:
            raise InvalidInput(
                f"Batching accepted_tokens: {self.accepted_tokens:g} a step is not possible with "
                f"{self.speculative_tokens} drafted; the nearest is {1 if self.accepted_tokens < 1 else most}"
            )
        if self.policy == "decode-first" and self.max_num_batched_tokens < self.max_num_seqs * most:
            raise InvalidInput(
                f"Batching max_num_batched_tokens: {self.max_num_batched_tokens:,} is less than the "
                f"{self.max_num_seqs * most:,} tokens that {self.max_num_seqs:,} decoding requests take in a "
                f"step; the nearest is {self.max_num_seqs * most:,}"
            )

    @property
    def step_tokens(self) -> int:
        """Return the tokens that a decoding request takes of a step: its own and the drafted ones."""
        return 1 + self.speculative_tokens

    def cached_tokens(self, isl: int, block_size: int) -> int:
        """Return the prompt tokens found in the cache: whole blocks, and never the last token."""
        return min(int(self.prefix_hit * isl), isl - 1) // block_size * block_size

    def decode_steps(self, tokens: int) -> int:
        """Return the steps in which a request gains so many tokens."""
        return math.ceil(tokens / self.accepted_tokens - 1e-9)

    def longest_hold(self, isl: int, osl: int) -> int:
        """Return the most tokens that a request may hold in the pool, drafted ones of a step included."""
        if osl == 1:
            return isl
        # The last token is never stored; where steps gain fractions, up to one token more is held.
        last = 1 if self.accepted_tokens % 1 == 0 else 0
        return isl + osl - last + self.speculative_tokens
