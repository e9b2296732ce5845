"""Which room of the KV pool is taken, and for how many more steps it lasts.

A decoding request that has done `j` steps holds ``start + gain * j + ahead`` tokens in its next one, in whole
blocks. All of them step together, so one counter of steps serves for all, and sums answer most questions;
blocks are counted one by one only where the sums cannot tell.
"""

from __future__ import annotations

import numpy as np

from planner.performance.simulation.records import Batching, KvPool


class Room:
    """The KV pool in use.

    Parameters
    ----------
    pool : KvPool
        What there is.
    batching : Batching
        Tokens gained and held ahead in a step, and requests at most.
    """

    def __init__(self, pool: KvPool, batching: Batching) -> None:
        self.total = pool.blocks
        self.block = pool.block_size
        self.state = pool.state_blocks
        self.gain = (
            int(batching.accepted_tokens) if batching.accepted_tokens % 1 == 0 else batching.accepted_tokens
        )
        self.ahead = batching.step_tokens
        self.reserved = 0
        self.decoding = 0
        self._start_tokens = 0
        self._start_steps = 0
        whole = isinstance(self.gain, int)
        self._slack = self.state + (1 - 1 / self.block if whole else 1.0)
        limit = batching.max_num_seqs if pool.slots is None else min(batching.max_num_seqs, pool.slots)
        size = min(limit, 64)
        self._tokens = np.zeros(size, dtype=np.int64)
        self._steps = np.zeros(size, dtype=np.int64)
        self._place: dict[int, int] = {}
        self._at: list[int] = []

    def context_tokens(self, steps: int) -> float:
        """Return the tokens that all decoding requests have in the cache after so many steps."""
        return self._start_tokens + self.gain * (self.decoding * steps - self._start_steps)

    def held_tokens(self, steps: float) -> float:
        """Return the tokens' worth of room that is taken, states and prompts in work included."""
        context = self._start_tokens + self.gain * (self.decoding * steps - self._start_steps)
        return context + (self.state * self.decoding + self.reserved) * self.block

    def start(self, request: int, tokens: int, steps: int) -> None:
        """Let a request decode, with so many tokens in the cache at this count of steps."""
        place = self.decoding
        if place == len(self._tokens):
            self._tokens = np.concatenate([self._tokens, np.zeros_like(self._tokens)])
            self._steps = np.concatenate([self._steps, np.zeros_like(self._steps)])
        self._tokens[place] = tokens
        self._steps[place] = steps
        self._place[request] = place
        self._at.append(request)
        self.decoding += 1
        self._start_tokens += tokens
        self._start_steps += steps

    def stop(self, request: int, tokens: int, steps: int) -> None:
        """Free the room of a request that was started with these numbers."""
        place = self._place.pop(request)
        last = self._at.pop()
        self.decoding -= 1
        if last != request:
            self._tokens[place] = self._tokens[self.decoding]
            self._steps[place] = self._steps[self.decoding]
            self._place[last] = place
            self._at[place] = last
        self._start_tokens -= tokens
        self._start_steps -= steps

    def fits(self, steps: int, more_blocks: int = 0) -> bool:
        """Return whether the next step after so many has room, with more blocks taken."""
        room = self.total - self.reserved - more_blocks
        return self._upper(steps) <= room or self._blocks(steps) <= room

    def steps_that_fit(self, steps: int, wanted: int) -> int:
        """Return how many steps after so many have room, at most those wanted."""
        room = self.total - self.reserved
        upper, each = self._upper(steps), self.gain * self.decoding / self.block
        if upper + each * (wanted - 1) <= room:
            return wanted
        lower = upper - self.decoding * (self._slack - self.state)
        low = min(wanted, int((room - upper) / each) + 1) if upper <= room else 0
        high = min(wanted, int((room - lower) / each) + 2) if lower <= room else 0
        while low < high:
            middle = (low + high + 1) // 2
            if self._blocks(steps + middle - 1) <= room:
                low = middle
            else:
                high = middle - 1
        return low

    def _upper(self, steps: int) -> float:
        """Return a number of blocks that the next step certainly does not exceed."""
        tokens = self.context_tokens(steps) + self.decoding * self.ahead
        return tokens / self.block + self.decoding * self._slack

    def _blocks(self, steps: int) -> int:
        """Return the blocks that decoding requests take in the next step."""
        n = self.decoding
        tokens = self._tokens[:n] + self.ahead + self.gain * (steps - self._steps[:n])
        return n * self.state + int(np.ceil(tokens / self.block).sum())
