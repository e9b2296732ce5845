"""Requests as the engine meets them: which have arrived, and when the next one will."""

from __future__ import annotations

import heapq
import math
from bisect import bisect_right
from collections.abc import Sequence
from typing import Protocol

import numpy as np


class Source(Protocol):
    """Where the engine takes its requests from; a request is a number, counted from 0."""

    arrival_s: list[float]
    arrived: int

    @property
    def next_s(self) -> float:
        """Return when the next request arrives; infinity when none is known [s]."""

    def take(self, now_s: float) -> Sequence[int]:
        """Return the requests that have arrived by now and were not taken before, in order of arrival."""

    def answered(self, now_s: float) -> None:
        """Note that one request has been answered in full."""


class OpenSource:
    """Requests whose arrival times are known from the start.

    Parameters
    ----------
    times : array
        Arrival times, never falling [s].
    """

    def __init__(self, times: np.ndarray[tuple[int], np.dtype[np.float64]]) -> None:
        self.arrival_s: list[float] = times.tolist()
        self.arrived = 0

    @property
    def next_s(self) -> float:
        """Return when the next request arrives [s]."""
        return self.arrival_s[self.arrived] if self.arrived < len(self.arrival_s) else math.inf

    def take(self, now_s: float) -> Sequence[int]:
        """Return the requests that have arrived by now."""
        if self.next_s > now_s:
            return ()
        first = self.arrived
        self.arrived = bisect_right(self.arrival_s, now_s, lo=first)
        return range(first, self.arrived)

    def answered(self, now_s: float) -> None:
        """Do nothing: arrivals do not wait for answers."""


class ClosedSource:
    """Requests that are sent when an earlier one has been answered.

    Parameters
    ----------
    concurrency : int
        Users.
    pauses : array
        Pause before each request [s].
    """

    def __init__(self, concurrency: int, pauses: np.ndarray[tuple[int], np.dtype[np.float64]]) -> None:
        self._pauses: list[float] = pauses.tolist()
        self.arrival_s = [math.nan] * len(self._pauses)
        self.arrived = 0
        self._sent = 0
        self._coming: list[tuple[float, int]] = []
        for _ in range(min(concurrency, len(self._pauses))):
            self.answered(0.0)

    @property
    def next_s(self) -> float:
        """Return when the next request arrives; infinity while every user waits for an answer [s]."""
        return self._coming[0][0] if self._coming else math.inf

    def take(self, now_s: float) -> Sequence[int]:
        """Return the requests that have arrived by now."""
        coming = self._coming
        taken = []
        while coming and coming[0][0] <= now_s:
            taken.append(heapq.heappop(coming)[1])
        self.arrived += len(taken)
        return taken

    def answered(self, now_s: float) -> None:
        """Let the user think and send the next request, if one is left."""
        request = self._sent
        if request == len(self._pauses):
            return
        self._sent += 1
        self.arrival_s[request] = now_s + self._pauses[request]
        heapq.heappush(self._coming, (self.arrival_s[request], request))
