"""The same engine, one step at a time and with nothing clever: what the fast simulation must equal."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any

from planner.performance.simulation import Batching, KvPool


@dataclass(eq=False)
class One:
    """A request, with everything that is known of it."""

    number: int
    isl: int
    osl: int
    arrival_s: float = math.nan
    admitted_s: float = math.nan
    first_token_s: float = math.nan
    finish_s: float = math.nan
    preemptions: int = 0
    made: int = 0
    cached: int = 0
    prompt: int = 0
    steps: int = 0
    steps_needed: int = 0
    reserved: int = 0
    outputs_s: list[float] = field(default_factory=list)

    @property
    def decoding(self) -> bool:
        return self.steps_needed > 0


class Reference:
    """Steps one by one until all requests have finished."""

    def __init__(
        self,
        *,
        step_times: Any,
        pool: KvPool,
        batching: Batching,
        isl: list[int],
        osl: list[int],
        times: list[float] | None = None,
        users: int = 0,
        pauses: list[float] | None = None,
    ) -> None:
        self.step_times, self.pool, self.batching = step_times, pool, batching
        self.all = [One(i, a, b) for i, (a, b) in enumerate(zip(isl, osl, strict=True))]
        self.pauses = pauses
        self.sent = 0
        if times is None:
            for _ in range(min(users, len(self.all))):
                self.send(0.0)
        else:
            self.sent = len(self.all)
            for one, time in zip(self.all, times, strict=True):
                one.arrival_s = time
        self.now = 0.0
        self.queue: list[One] = []
        self.seen: set[One] = set()
        self.running: list[One] = []
        self.output_tokens = 0
        self.slots = min(batching.max_num_seqs, pool.slots or batching.max_num_seqs)
        self.static = batching.policy == "static"

    def send(self, now: float) -> None:
        if self.sent < len(self.all):
            self.all[self.sent].arrival_s = now + self.pauses[self.sent]
            self.sent += 1

    def blocks(self, tokens: float) -> int:
        return self.pool.state_blocks + math.ceil(tokens / self.pool.block_size)

    def taken(self, one: One) -> int:
        """Return the blocks of a request in its next step."""
        if not one.decoding:
            return one.reserved
        k = self.batching
        return self.blocks(one.prompt + k.step_tokens + k.accepted_tokens * one.steps)

    def used(self) -> int:
        return sum(self.taken(one) for one in self.running)

    def run(self) -> list[One]:
        while any(math.isnan(one.finish_s) for one in self.all):
            arrived = [one for one in self.all if one.arrival_s <= self.now and one not in self.seen]
            arrived.sort(key=lambda one: (one.arrival_s, one.number))
            self.seen.update(arrived)
            self.queue += arrived
            self.step()
        return self.all

    def step(self) -> None:
        policy = self.batching.policy
        budget = self.batching.max_num_batched_tokens
        if policy == "decode-first":
            preempted = self.make_room()
            decoding = [one for one in self.running if one.decoding]
            chunks = self.chunks(budget - len(decoding) * self.batching.step_tokens, not preempted)
        else:
            if policy == "static" and not self.running:
                while self.queue and len(self.running) < self.slots and self.admit(self.queue[0]):
                    pass
            chunks = self.chunks(budget, policy == "prefill-first")
            if not chunks and policy == "prefill-first":
                self.make_room()
            decoding = [] if chunks else [one for one in self.running if one.decoding]
        if chunks or decoding:
            self.do(decoding, chunks)
        else:
            self.now = min(one.arrival_s for one in self.all if one not in self.seen)

    def make_room(self) -> bool:
        preempted = False
        while any(one.decoding for one in self.running) and self.used() > self.pool.blocks:
            victim = self.running.pop()
            victim.preemptions += 1
            if victim.decoding:
                victim.made += math.floor(self.batching.accepted_tokens * victim.steps)
            victim.steps_needed = 0
            self.queue.insert(0, victim)
            preempted = True
        return preempted

    def admit(self, one: One) -> bool:
        tokens: float = one.isl + one.made
        if self.static:
            tokens = self.batching.longest_hold(one.isl, one.osl)
        elif self.batching.policy == "prefill-first" and one.made + 1 < one.osl:
            tokens += self.batching.step_tokens
        if self.used() + self.blocks(tokens) > self.pool.blocks:
            return False
        self.queue.remove(one)
        self.running.append(one)
        one.reserved = self.blocks(tokens)
        one.prompt = one.isl + one.made
        one.cached = self.batching.cached_tokens(one.isl, self.pool.block_size)
        if math.isnan(one.admitted_s):
            one.admitted_s = self.now
        return True

    def chunks(self, budget: int, admit: bool) -> list[tuple[One, int]]:
        found = []
        whole = not self.batching.chunked_prefill
        for one in self.running:
            if one.decoding:
                continue
            new = min(one.prompt - one.cached, budget)
            if new == 0 or (whole and new < one.prompt - one.cached):
                return found
            found.append((one, new))
            budget -= new
        while admit and budget and self.queue and len(self.running) < self.slots:
            one = self.queue[0]
            hit = self.batching.cached_tokens(one.isl, self.pool.block_size)
            if whole and one.isl + one.made - hit > budget:
                break
            if not self.admit(one):
                break
            new = min(one.prompt - one.cached, budget)
            found.append((one, new))
            budget -= new
        return found

    def do(self, decoding: list[One], chunks: list[tuple[One, int]]) -> None:
        gain = self.batching.accepted_tokens
        context = sum(one.prompt + gain * one.steps + 1 for one in decoding)
        new = sum(new for _, new in chunks)
        before = sum(one.cached for one, _ in chunks)
        self.now += float(self.step_times.step_s(len(decoding), context, new, before))
        for one in sorted(decoding, key=lambda one: one.number):
            one.steps += 1
            one.outputs_s.append(self.now)
            if one.steps == one.steps_needed:
                self.finish(one)
        for one, new in chunks:
            one.cached += new
            if one.cached < one.prompt:
                continue
            one.made += 1
            one.outputs_s.append(self.now)
            if one.made == 1:
                one.first_token_s = self.now
            one.steps = 0
            one.steps_needed = self.batching.decode_steps(one.osl - one.made)
            if not one.steps_needed:
                self.finish(one)

    def finish(self, one: One) -> None:
        one.finish_s = self.now
        self.running.remove(one)
        if self.pauses is not None:
            self.send(self.now)
