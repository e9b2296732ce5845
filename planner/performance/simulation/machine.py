"""The engine's loop: schedule, step, hand out tokens; many equal steps are done at once.

Between two events (a request that can be admitted arrives, one finishes, a prompt is computed, the pool is
full) the decoding requests are the same and their contexts grow by the same number of tokens in each step, so
the times of all these steps are one vectorised evaluation and one cumulative sum: the result is that of
stepping one by one.
"""

from __future__ import annotations

import heapq
import math
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np

from planner.errors import InvalidInput
from planner.performance.simulation.logs import GapLog, Timeline
from planner.performance.simulation.records import Batching, KvPool
from planner.performance.simulation.room import Room
from planner.performance.simulation.source import Source
from planner.performance.simulation.times import StepTimes

LONGEST_RUN = 4096
"""Steps that are evaluated at once, at most."""
SHORTEST_RUN = 16
"""Steps with equal parts of one prompt are evaluated at once from here on."""
MOST_STEPS = 50_000_000
"""Steps of a simulation, at most; it takes minutes."""

Progress = Callable[[int, int], None]
"""Called with the requests that have finished, and all of them."""


@dataclass(slots=True)
class Chunk:
    """Part of a prompt that one step computes: new tokens, and those in the cache before."""

    request: int
    new: int
    before: int


class Machine:
    """One copy of the model, serving requests.

    Parameters
    ----------
    isl, osl : list of int
        Input and output tokens of each request.
    source : Source
        When they arrive.
    step_times : StepTimes
        How long a step takes.
    batching : Batching
        The scheduler.
    pool : KvPool
        Room for the cache.
    measured : tuple of int, int
        Gaps between tokens are logged while the number of arrived requests is above the first and not above
        the second.
    progress : callable, optional
        Told of every hundredth part.
    """

    def __init__(
        self,
        *,
        isl: list[int],
        osl: list[int],
        source: Source,
        step_times: StepTimes,
        batching: Batching,
        pool: KvPool,
        measured: tuple[int, int],
        progress: Progress | None = None,
    ) -> None:
        count = len(isl)
        self.isl, self.osl, self.count = isl, osl, count
        self.source, self.step_times, self.batching, self.pool = source, step_times, batching, pool
        self.measured, self.progress = measured, progress
        self.room = Room(pool, batching)
        self.limit = min(batching.max_num_seqs, pool.slots or batching.max_num_seqs)
        self.gaps, self.timeline = GapLog(), Timeline()
        self.now_s, self.steps, self.stepped, self.finished = 0.0, 0, 0, 0
        self.output_tokens, self.input_tokens, self.recomputed_tokens = 0.0, 0, 0
        self.waiting: deque[int] = deque()
        self.running: dict[int, None] = {}
        self.prefilling: deque[int] = deque()
        self.finishing: list[tuple[int, int]] = []
        self.admitted_s, self.first_token_s, self.finish_s = ([math.nan] * count for _ in range(3))
        self.preemptions = [0] * count
        # Of the present stay of a request: tokens generated before it, prompt tokens in the cache and left to
        # compute, blocks reserved; then the step counter at which it began to decode, its tokens then, and
        # the counter at which it ends (-1 while it does not decode).
        self.gained, self.cached, self.left, self.blocks = ([0] * count for _ in range(4))
        self.began, self.began_tokens, self.ends_at = [0] * count, [0] * count, [-1] * count
        # The last output of decoding requests is at `caught_up_s`, but for those that have begun since.
        self.caught_up_s, self.fresh_s = 0.0, list[float]()
        self.output_s = [math.nan] * count
        self._buffer = np.empty(LONGEST_RUN + 1)
        self._counting = np.arange(LONGEST_RUN)
        turns = {
            "decode-first": self._decode_first,
            "prefill-first": self._prefill_first,
            "static": self._static,
        }
        self._turn = turns[batching.policy]

    def run(self) -> None:
        """Serve until every request has finished; an InvalidInput where that takes too many steps."""
        while self.finished < self.count:
            if self.stepped > MOST_STEPS:
                raise InvalidInput(
                    f"requests: {self.finished:,} of {self.count:,} have ended after {MOST_STEPS:,} steps, "
                    f"the most that are simulated; ask for {max(self.finished, 1):,} or fewer"
                )
            self.waiting.extend(self.source.take(self.now_s))
            self._turn()

    def _decode_first(self) -> None:
        """Decode, and compute prompts with the tokens that are left in the step."""
        preempted = self._make_room()
        budget = self.batching.max_num_batched_tokens - self.room.decoding * self.batching.step_tokens
        chunks = self._chunks(budget, admit=not preempted)
        if chunks:
            self._prefill(chunks, decoding=self.room.decoding)
        else:
            self._decode_or_idle(preempted)

    def _prefill_first(self) -> None:
        """Compute prompts as long as there are any with room, and decode otherwise."""
        chunks = self._chunks(self.batching.max_num_batched_tokens, admit=True)
        if chunks:
            self._prefill(chunks, decoding=0)
        else:
            self._decode_or_idle(self._make_room())

    def _static(self) -> None:
        """Take a batch when the engine is empty, compute its prompts, decode to its end."""
        if not self.running:
            while self.waiting and len(self.running) < self.limit and self._admit(self.waiting[0]):
                pass
        chunks = self._chunks(self.batching.max_num_batched_tokens, admit=False)
        if chunks:
            self._prefill(chunks, decoding=0)
        else:
            self._decode_or_idle(preempted=False)

    def _decode_or_idle(self, preempted: bool) -> None:
        if self.room.decoding:
            self._decode(preempted)
        else:
            self.now_s = self.source.next_s
            self._log(0)

    def _make_room(self) -> bool:
        """Preempt the youngest requests until the next decode step has room; return whether any was."""
        preempted = False
        while not self.room.fits(self.steps):
            self._preempt(next(reversed(self.running)))
            preempted = True
        return preempted

    def _preempt(self, request: int) -> None:
        """Put a request back at the head of the queue; its tokens will be computed again."""
        del self.running[request]
        self.preemptions[request] += 1
        if self.ends_at[request] < 0:
            self.prefilling.remove(request)
            self.room.reserved -= self.blocks[request]
            self.recomputed_tokens += self.cached[request]
        else:
            began = self.began[request]
            if began == self.steps:
                self.fresh_s.remove(self.output_s[request])
            else:
                self.output_s[request] = self.caught_up_s
            exact = self.room.gain * (self.steps - began)
            self.output_tokens -= exact - int(exact)
            self.gained[request] += int(exact)
            self.recomputed_tokens += self.began_tokens[request] + int(exact)
            self.room.stop(request, self.began_tokens[request], began)
            self.ends_at[request] = -1
        self.waiting.appendleft(request)

    def _admit(self, request: int) -> bool:
        """Let the head of the queue in, if the pool has room for it."""
        isl, gained = self.isl[request], self.gained[request]
        ends = self.osl[request] - gained == 1
        if self.batching.policy == "static":
            tokens = self.batching.longest_hold(isl, self.osl[request])
        elif self.batching.policy == "prefill-first" and not ends:
            # The next decode step must have room, or the request would be preempted before it had decoded.
            tokens = isl + gained + self.batching.step_tokens
        else:
            tokens = isl + gained
        blocks = self.pool.request_blocks(tokens)
        if not self.room.fits(self.steps, blocks):
            return False
        self.waiting.popleft()
        self.running[request] = None
        self.prefilling.append(request)
        self.blocks[request] = blocks
        self.room.reserved += blocks
        self.cached[request] = self.batching.cached_tokens(isl, self.pool.block_size)
        self.left[request] = isl + gained - self.cached[request]
        if self.admitted_s[request] != self.admitted_s[request]:
            self.admitted_s[request] = self.now_s
        return True

    def _chunks(self, budget: int, admit: bool) -> list[Chunk]:
        """Return what the next step computes of prompts: those in work first, then the queue in order."""
        chunks: list[Chunk] = []
        whole = not self.batching.chunked_prefill
        for request in self.prefilling:
            new = min(self.left[request], budget)
            if not new or (whole and new < self.left[request]):
                return chunks
            chunks.append(Chunk(request, new, self.cached[request]))
            budget -= new
        while admit and budget > 0 and self.waiting and len(self.running) < self.limit:
            request = self.waiting[0]
            if (whole and self._work(request) > budget) or not self._admit(request):
                break
            new = min(self.left[request], budget)
            chunks.append(Chunk(request, new, self.cached[request]))
            budget -= new
        return chunks

    def _work(self, request: int) -> int:
        """Return the prompt tokens that a waiting request has to have computed."""
        isl = self.isl[request]
        return isl + self.gained[request] - self.batching.cached_tokens(isl, self.pool.block_size)

    def _prefill(self, chunks: list[Chunk], decoding: int) -> None:
        """Do one step with prompts in it, and with the decoding requests if it is a mixed one."""
        if (alike := self._alike(chunks, decoding)) >= SHORTEST_RUN:
            self._prefill_run(chunks[0], decoding, alike)
            return
        context = self.room.context_tokens(self.steps) + decoding if decoding else 0
        new = before = 0
        for chunk in chunks:
            new += chunk.new
            before += chunk.before
        took_s = float(self.step_times.step_s(decoding, context, new, before))
        if not decoding and all(chunk.new < self.left[chunk.request] for chunk in chunks):
            took_s /= self.batching.stages
        end_s = self.now_s + took_s
        self._check(end_s)
        self._hand_out([end_s], decoding)
        for chunk in chunks:
            request = chunk.request
            self.cached[request] += chunk.new
            self.left[request] -= chunk.new
            if not self.left[request]:
                self._begin(request)
        self._log(decoding)

    def _alike(self, chunks: list[Chunk], decoding: int) -> int:
        """Return how many steps from here compute equal parts of the same prompt beside the same requests.

        A prompt that is not done has the whole step, so that nobody joins.
        """
        chunk = chunks[0]
        steps = min((self.left[chunk.request] - 1) // chunk.new, LONGEST_RUN) if len(chunks) == 1 else 0
        if decoding and steps >= SHORTEST_RUN:
            steps = self.room.steps_that_fit(self.steps, min(steps, self._next_end() - self.steps))
        return steps

    def _prefill_run(self, chunk: Chunk, decoding: int, steps: int) -> None:
        """Do steps that compute equal parts of one prompt, the last part not among them."""
        counting = self._counting[:steps]
        contexts: Any = 0
        if decoding:
            contexts = self.room.context_tokens(self.steps) + decoding + self.room.gain * decoding * counting
        before = chunk.before + chunk.new * counting
        took_s = np.broadcast_to(self.step_times.step_s(decoding, contexts, chunk.new, before), steps)
        done = (self.now_s + np.cumsum(took_s if decoding else took_s / self.batching.stages)).tolist()
        self._check(done[-1])
        held = self.room.held_tokens(self.steps + (steps + 1) / 2) if decoding else None
        self._hand_out(done, decoding)
        self.cached[chunk.request] += chunk.new * steps
        self.left[chunk.request] -= chunk.new * steps
        self._log(decoding, held)

    def _decode(self, preempted: bool) -> None:
        """Do decode steps up to the next event."""
        room, decoding = self.room, self.room.decoding
        steps = 1
        if not preempted:
            steps = min(self._next_end() - self.steps, LONGEST_RUN)
            if steps > 1 and self.batching.policy != "static":
                steps = room.steps_that_fit(self.steps, steps)
        wake_s = self._wake_s()
        first = room.context_tokens(self.steps) + decoding
        if wake_s < math.inf and steps > 16:
            each = float(self.step_times.step_s(decoding, first, 0, 0))
            steps = min(steps, int((wake_s - self.now_s) / each) + 2)
        contexts = first + room.gain * decoding * self._counting[:steps]
        ends = self._buffer[: steps + 1]
        ends[0] = self.now_s
        ends[1:] = self.step_times.step_s(decoding, contexts, 0, 0)
        np.cumsum(ends, out=ends)
        done = ends[1:].tolist()
        if wake_s < done[-1]:
            done = done[: int(ends[1:].searchsorted(wake_s)) + 1]
        self._check(done[-1])
        self._hand_out(done, decoding)
        self._log(decoding, self.room.held_tokens(self.steps - len(done) / 2))

    def _wake_s(self) -> float:
        """Return when a request arrives that could join those that decode; infinity if none could [s]."""
        closed = self.batching.policy == "static" or self.waiting or len(self.running) >= self.limit
        return math.inf if closed else self.source.next_s

    def _hand_out(self, ends_s: list[float], decoding: int) -> None:
        """Move on to the end of these steps, each of which gives every decoding request its tokens."""
        self.now_s = ends_s[-1]
        self.stepped += len(ends_s)
        if not decoding:
            return
        if self.measured[0] < self.source.arrived <= self.measured[1]:
            first_s = ends_s[0]
            self.gaps.add(first_s - self.caught_up_s, decoding - len(self.fresh_s))
            for fresh_s in self.fresh_s:
                self.gaps.add(first_s - fresh_s)
            if len(ends_s) > 1:
                self.gaps.add_steps([later - one for one, later in pairwise(ends_s)], decoding)
        self.fresh_s.clear()
        self.caught_up_s = self.now_s
        self.steps += len(ends_s)
        self.output_tokens += self.room.gain * decoding * len(ends_s)
        self._retire()

    def _retire(self) -> None:
        """Let the requests go that have all their tokens."""
        while self.finishing and self.finishing[0][0] <= self.steps:
            end, request = heapq.heappop(self.finishing)
            if self.ends_at[request] != end:
                continue
            self.ends_at[request] = -1
            wanted = self.osl[request] - self.gained[request]
            self.output_tokens -= self.room.gain * (end - self.began[request]) - wanted
            self.room.stop(request, self.began_tokens[request], self.began[request])
            self._finish(request)

    def _begin(self, request: int) -> None:
        """Hand out the token that a computed prompt gives, and let the request decode."""
        self.prefilling.remove(request)
        self.room.reserved -= self.blocks[request]
        tokens = self.isl[request] + self.gained[request]
        self.gained[request] += 1
        self.output_tokens += 1
        if self.gained[request] == 1:
            self.first_token_s[request] = self.now_s
            self.input_tokens += self.isl[request]
        elif self.measured[0] < self.source.arrived <= self.measured[1]:
            self.gaps.add(self.now_s - self.output_s[request])
        steps = self.batching.decode_steps(self.osl[request] - self.gained[request])
        if not steps:
            self._finish(request)
            return
        self.output_s[request] = self.now_s
        self.fresh_s.append(self.now_s)
        self.began[request], self.began_tokens[request] = self.steps, tokens
        self.ends_at[request] = self.steps + steps
        self.room.start(request, tokens, self.steps)
        heapq.heappush(self.finishing, (self.steps + steps, request))

    def _finish(self, request: int) -> None:
        del self.running[request]
        self.finish_s[request] = self.now_s
        self.source.answered(self.now_s)
        self.finished += 1
        if (
            self.progress is not None
            and self.finished * 100 // self.count > (self.finished - 1) * 100 // self.count
        ):
            self.progress(self.finished, self.count)

    def _next_end(self) -> int:
        """Return the step count at which the next request finishes."""
        while self.ends_at[self.finishing[0][1]] != self.finishing[0][0]:
            heapq.heappop(self.finishing)
        return self.finishing[0][0]

    def _log(self, decoding: int, held: float | None = None) -> None:
        """Write down what held up to now, with what is held at present where nothing is given."""
        held = self.room.held_tokens(self.steps) if held is None else held
        self.timeline.add(self.now_s, decoding, held, self.output_tokens, self.input_tokens)

    def _check(self, end_s: float) -> None:
        if not self.now_s < end_s < math.inf:
            raise InvalidInput(
                f"the step-time model gave {end_s - self.now_s:g} s with {self.room.decoding} requests to "
                f"decode, at {self.now_s:g} s; a step takes a finite time above zero"
            )
