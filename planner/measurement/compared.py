"""One accelerator of a comparison: which deployment, at which load, and what it yields there."""

from __future__ import annotations

from dataclasses import dataclass

from planner.measurement.operating_point import SIMULATED_RATE, MeasuredPoint
from planner.memory import MemoryFit
from planner.performance.intervals import Estimate

ANSWERED, NO_FIT, MISSES, OVERLOADED, UNMEASURED = (
    "answered",
    "does not fit",
    "misses the SLO",
    "overloaded",
    "not measured",
)
"""What became of an accelerator."""


@dataclass(frozen=True, slots=True)
class Compared:
    """What one accelerator yields, and why just this deployment and load.

    Parameters
    ----------
    memory : MemoryFit
        The memory of one copy.
    state : str
        `ANSWERED`, or why there are no figures.
    reason : str
        The same in words; empty where there are figures.
    chosen : str
        How the deployment and the load were chosen.
    gpus : int
        GPUs of all copies and pools.
    copies : int
        Copies of the deployment.
    label : str
        The layout, such as "TP8 PP2"; empty where it is that of `memory`.
    concurrency : float or None
        Requests at once; None where a run does not say.
    figures : dict of str to Estimate
        Figures to answer with, by the names of `planner.measurement.operating_point.QUANTITIES`.
    simulated : dict of str to Estimate
        What the model says of the same deployment, at its own best load where a run does not state one.
    measured : MeasuredPoint or None
        What was measured.
    engine : str
        Engine and version of the figures, as far as they are known.
    prefill_share : float or None
        Share of GPU time that prefill takes, after the model.
    notes : tuple of str
        What the user should know.
    """

    memory: MemoryFit
    state: str
    reason: str = ""
    chosen: str = ""
    gpus: int = 0
    copies: int = 1
    label: str = ""
    concurrency: float | None = None
    figures: dict[str, Estimate] | None = None
    simulated: dict[str, Estimate] | None = None
    measured: MeasuredPoint | None = None
    engine: str = ""
    prefill_share: float | None = None
    notes: tuple[str, ...] = ()

    @property
    def answered(self) -> bool:
        """Return whether there are figures."""
        return self.state == ANSWERED

    def source_of(self, name: str) -> str:
        """Return whether a figure was measured or simulated."""
        found = self.measured.figures.get(name) if self.measured else None
        return "measured" if found is not None and (self.figures or {}).get(name) is found else SIMULATED_RATE

    @property
    def source(self) -> str:
        """Return whether the output rate was measured or simulated."""
        return self.source_of("output_tps_total")
