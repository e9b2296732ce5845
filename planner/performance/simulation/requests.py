"""What became of each request."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]

COLUMNS = (
    "arrival_s",
    "admitted_s",
    "first_token_s",
    "finish_s",
    "isl",
    "osl",
    "preemptions",
    "measured",
    "queue_s",
    "ttft_s",
    "tpot_s",
    "e2e_s",
)
"""What is known of each request, derived times included."""


@dataclass(frozen=True, slots=True, eq=False)
class Requests:
    """One value for each request, in the order in which they were drawn.

    Parameters
    ----------
    arrival_s, admitted_s, first_token_s, finish_s : array of float
        When it arrived, first got a place in a step, gave its first and its last token [s].
    isl, osl : array of int
        Input and output tokens.
    preemptions : array of int
        How often it lost its place and was computed again.
    measured : array of bool
        Whether it counts for the statistics: it arrived within the window.
    """

    arrival_s: Floats
    admitted_s: Floats
    first_token_s: Floats
    finish_s: Floats
    isl: Integers
    osl: Integers
    preemptions: Integers
    measured: npt.NDArray[np.bool_]

    @property
    def queue_s(self) -> Floats:
        """Return the time from arrival to the first step that works on it [s]."""
        return self.admitted_s - self.arrival_s

    @property
    def ttft_s(self) -> Floats:
        """Return the time from arrival to first token [s]."""
        return self.first_token_s - self.arrival_s

    @property
    def e2e_s(self) -> Floats:
        """Return the time from arrival to last token [s]."""
        return self.finish_s - self.arrival_s

    @property
    def tpot_s(self) -> Floats:
        """Return ``(E2E - TTFT) / (OSL - 1)``; NaN for a single output token [s]."""
        later = np.where(self.osl > 1, self.osl - 1, np.nan)
        return (self.finish_s - self.first_token_s) / later

    def waiting_at(self, time_s: float) -> int:
        """Return how many had arrived but had not been admitted yet at a time."""
        arrived = int((self.arrival_s <= time_s).sum())
        return arrived - int((self.admitted_s <= time_s).sum())

    def columns(self) -> dict[str, npt.NDArray[np.generic]]:
        """Return every array by name, derived ones included."""
        return {name: getattr(self, name) for name in COLUMNS}
