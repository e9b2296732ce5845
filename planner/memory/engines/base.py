"""What every engine's memory rule answers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from planner.memory.records import Pool, StageMemory
from planner.memory.setup import Setup


class EngineRule(Protocol):
    """How one engine shares a GPU's memory between weights, its own needs and the KV pool."""

    def stage(self, setup: Setup, index: int) -> StageMemory:
        """Return the memory of the fullest GPU of one pipeline stage."""
        ...

    def pool(self, setup: Setup, available_bytes: Sequence[float]) -> Pool:
        """Return the KV pool, given the memory left on each stage."""
        ...

    def request_bytes(self, setup: Setup, tokens: int) -> float:
        """Return what one request of so many tokens takes on the stage where it takes most [bytes]."""
        ...
