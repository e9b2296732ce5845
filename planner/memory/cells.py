"""Caches as bytes per token, for engines with a cell for each token: SGLang, TensorRT-LLM, llama.cpp."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

from planner.architecture.caches import Cache, StateCache, TokenCache
from planner.memory.setup import Setup, state_dtypes


@dataclass(frozen=True, slots=True)
class Cells:
    """What the layers of one rank keep.

    Parameters
    ----------
    growing_bytes : float
        Bytes that one more token adds in layers that keep everything.
    windows : tuple of (int, float)
        For each window length the bytes of one token in the layers that have it.
    state_bytes : int
        Constant state of one request.
    """

    growing_bytes: float
    windows: tuple[tuple[int, float], ...]
    state_bytes: int

    @property
    def window_bytes(self) -> float:
        """Return the bytes of one token in all layers with a window."""
        return sum(size for _, size in self.windows)

    def request_bytes(self, tokens: int, slack: int = 0) -> float:
        """Return what a request of so many tokens takes, its windows with `slack` tokens more."""
        windows = sum(min(tokens, window + slack) * size for window, size in self.windows)
        return tokens * self.growing_bytes + windows + self.state_bytes


def cells(setup: Setup, caches: Counter[Cache], copies: int = 1) -> Cells:
    """Return the cells of a set of layers on one rank.

    Parameters
    ----------
    setup : Setup
        The deployment.
    caches : Counter of Cache
        Caches with how many layers keep each.
    copies : int
        States kept for each request (speculation keeps more).

    Returns
    -------
    Cells
    """
    tp, dcp, dtypes = setup.deployment.tp, setup.deployment.dcp, state_dtypes(setup)
    growing, state = 0.0, 0
    sizes: dict[int, float] = {}
    for cache, count in caches.items():
        if isinstance(cache, StateCache):
            state += count * copies * cache.request_bytes(tp, dtypes)
            continue
        size = count * cache.entry_bytes(setup.kv_dtype, tp) / cache.stride
        if isinstance(cache, TokenCache) and cache.window is not None:
            sizes[cache.window] = sizes.get(cache.window, 0.0) + size
        else:
            growing += size / dcp
    return Cells(growing, tuple(sorted(sizes.items())), state)
