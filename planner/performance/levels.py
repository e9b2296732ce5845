"""Which levels of the calibrated factors a deployment and its load belong to, and what they add up to.

A parameter is moved by a sum over factors: each GPU, engine, format and family of models has its own small
shift, which shrank to nothing where the data said nothing. What was never measured falls back to its family.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from planner.catalogue import Catalogue
from planner.catalogue.calibrated import ParameterLevels
from planner.performance.parameters import INDEX, Array, neutral

INPUT_ENDS = (600.0, 1500.0, 5000.0)
OUTPUT_ENDS = (200.0, 600.0, 1500.0)
LOAD_ENDS = (2.0, 16.0, 64.0, 256.0)
"""Ends of the classes of input, output and concurrency."""

PERIODS = (
    "2025-09",
    "2025-11-20",
    "2025-12-16",
    "2026-01-15",
    "2026-02-20",
    "2026-04",
    "2026-06",
)
"""Starts of the periods of software told apart: a set-up became up to twice as fast from one to another."""
NOW = f"since {PERIODS[-1]}"
"""The period of the newest software, which questions are about."""


def period_of(date: str | None) -> str:
    """Return the period in which software of a day falls.

    Parameters
    ----------
    date : str or None
        Such as ``2026-03-07`` or ``2026-03``; None where it is not known.

    Returns
    -------
    str
        Such as ``since 2026-02-20``, ``before 2025-09`` or ``undated``.
    """
    if not date:
        return "undated"
    begun = [start for start in PERIODS if start <= date]
    return f"since {begun[-1]}" if begun else f"before {PERIODS[0]}"


@dataclass(frozen=True, slots=True)
class Circumstances:
    """What of a deployment and its load the calibration tells apart.

    Parameters
    ----------
    model, family : str
        Id of the model, and of its architecture.
    gpu, architecture, vendor : str
        Id of the GPU, its architecture and vendor.
    engine, runtime : str
        Engine whose kernels run, and what serves with it (``dynamo-trtllm``).
    quantisation : str
        Format of most of the weights.
    period : str
        Of the software, as `period_of` gives it.
    kind : str
        ``service``, ``static``, ``offline``, ``decode`` or ``cached``.
    disaggregated, speculative, expert_parallel, attention_copies, crosses_nodes, mean : bool
        Whether prefill has its own GPUs, drafts are used, experts are divided, attention has copies, one copy
        spans nodes, and TTFT is a mean.
    isl, osl, concurrency : float
        The load.
    """

    model: str
    family: str
    gpu: str
    architecture: str
    vendor: str
    engine: str
    runtime: str
    quantisation: str
    period: str = NOW
    kind: str = "service"
    disaggregated: bool = False
    speculative: bool = False
    expert_parallel: bool = False
    attention_copies: bool = False
    crosses_nodes: bool = False
    mean: bool = False
    isl: float = 1024.0
    osl: float = 1024.0
    concurrency: float = 16.0

    @property
    def group(self) -> str:
        """Return the group that cross-validation leaves out as a whole."""
        return f"{self.model}/{self.gpu}/{self.runtime}"

    def levels(self) -> dict[str, str]:
        """Return the level of each factor."""
        split = "apart" if self.disaggregated else "together"
        load, shape = _class(self.concurrency, LOAD_ENDS), self._shape()
        copies = "copies" if self.attention_copies else "tensor"
        return {
            "all": "all",
            "model": self.model,
            "family": self.family,
            "gpu": self.gpu,
            "architecture": self.architecture,
            "vendor": self.vendor,
            "engine": self.engine,
            "runtime": self.runtime,
            "format": self.quantisation,
            "group": self.group,
            "set-up": f"{self.group}/{self.quantisation}/{self.kind}",
            "attention": copies,
            "split": split,
            "shape": shape,
            "load": load,
            "format/engine/vendor": f"{self.quantisation}/{self.engine}/{self.vendor}",
            "format/architecture": f"{self.quantisation}/{self.architecture}",
            "architecture/engine": f"{self.architecture}/{self.engine}",
            "architecture/runtime": f"{self.architecture}/{self.runtime}",
            "gpu/runtime": f"{self.gpu}/{self.runtime}",
            "model/runtime": f"{self.model}/{self.runtime}",
            "family/vendor": f"{self.family}/{self.vendor}",
            "attention/runtime": f"{copies}/{self.runtime}",
            "experts/engine/vendor": f"{'ep' if self.expert_parallel else 'tp'}/{self.engine}/{self.vendor}",
            "drafts/model": f"drafts/{self.model}" if self.speculative else "none",
            "drafts/engine": f"{'drafts' if self.speculative else 'none'}/{self.engine}",
            "kind/runtime": f"{self.kind}/{self.runtime}",
            "shape/engine": f"{shape}/{self.engine}",
            "split/load": f"{split}/{load}",
            "split/runtime": f"{split}/{self.runtime}",
            "period/engine/vendor": f"{self.period}/{self.engine}/{self.vendor}",
            "period/gpu/engine": f"{self.period}/{self.gpu}/{self.engine}",
            "statistic/engine": f"{'mean' if self.mean else 'median'}/{self.engine}",
        }

    def _shape(self) -> str:
        return f"{_class(self.isl, INPUT_ENDS)}-{_class(self.osl, OUTPUT_ENDS)}"


def _class(value: float, ends: Sequence[float]) -> str:
    return str(sum(value > end for end in ends))


def load_classes(isl: Array, osl: Array, concurrency: Array) -> tuple[Array, Array, Array]:
    """Return the classes of input, output and concurrency of many loads, as `Circumstances` has them."""
    ends = (INPUT_ENDS, OUTPUT_ENDS, LOAD_ENDS)
    values = (isl, osl, concurrency)
    first, second, third = (np.searchsorted(e, v, side="left") for e, v in zip(ends, values, strict=True))
    return first.astype(float), second.astype(float), third.astype(float)


@dataclass(frozen=True)
class Calibration:
    """Calibrated parameters, and what they were learnt from.

    Parameters
    ----------
    levels : mapping
        Parameter to factor to level to shift of the logarithm.
    widths : mapping
        Quantity to cell to the quantiles of ln(measured / predicted).
    seen : mapping of str to set
        ``models``, ``gpus`` and ``groups`` that there were measurements of.
    source : str
        From what, when.
    """

    levels: Mapping[str, Mapping[str, Mapping[str, float]]] = field(default_factory=dict)
    widths: Mapping[str, Mapping[str, tuple[float, float]]] = field(default_factory=dict)
    seen: Mapping[str, frozenset[str]] = field(default_factory=dict)
    source: str = "not calibrated: medians of kernel measurements"

    @cached_property
    def _flat(self) -> list[tuple[int, str, Mapping[str, float]]]:
        return [
            (INDEX[parameter], factor, shifts)
            for parameter, factors in self.levels.items()
            if parameter in INDEX
            for factor, shifts in factors.items()
        ]

    def parameters(self, cases: Sequence[Circumstances]) -> Array:
        """Return the parameters of operating points.

        Parameters
        ----------
        cases : sequence of Circumstances
            N of them.

        Returns
        -------
        array, shape (N, parameters)
            Logarithms of factors.
        """
        found = neutral(len(cases))
        for row, case in enumerate(cases):
            levels = case.levels()
            for column, factor, shifts in self._flat:
                found[row, column] += shifts.get(levels.get(factor, ""), 0.0)
        return found

    def distance(self, case: Circumstances) -> str:
        """Return how far a question is from what was measured.

        Returns
        -------
        str
            ``group`` (this model, GPU and engine), ``both`` (model and GPU, not together), ``model``, ``gpu``
            or ``neither``.
        """
        if case.group in self.seen.get("groups", ()):
            return "group"
        model = case.model in self.seen.get("models", ())
        gpu = case.gpu in self.seen.get("gpus", ())
        if model and gpu:
            return "both"
        return "model" if model else "gpu" if gpu else "neither"


_READ: dict[str, Calibration] = {}
"""Calibrations by digest of their catalogue."""


def calibration_of(catalogue: Catalogue) -> Calibration:
    """Return the calibration of a catalogue.

    Parameters
    ----------
    catalogue : Catalogue
        With `calibration:`, `intervals:` and `seen:` in `data/calibration.yaml`, or without.

    Returns
    -------
    Calibration
    """
    if catalogue.digest not in _READ:
        levels = catalogue.calibrated("calibration")
        _READ[catalogue.digest] = Calibration(
            {record.id: record.levels for record in levels},
            {record.id: record.cells for record in catalogue.calibrated("intervals")},
            {record.id: frozenset(record.names) for record in catalogue.calibrated("seen")},
            _origin(levels[0]) if levels else Calibration().source,
        )
    return _READ[catalogue.digest]


def _origin(record: ParameterLevels) -> str:
    """Return what the parameters are from, as provenance has it."""
    word = "assumed" if record.confidence == "assumed" else "calibrated"
    return f"{word}: {record.source.title} ({record.date})"
