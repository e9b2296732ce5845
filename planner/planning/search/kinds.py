"""What the calibration tells apart of candidates: many share one kind, which is looked up once."""

from __future__ import annotations

from dataclasses import replace

from planner.catalogue import Gpu, Model
from planner.performance.levels import LOAD_ENDS, Calibration, Circumstances
from planner.performance.parameters import Array
from planner.performance.service import RUNTIMES
from planner.planning.search.units import Unit

CLASSES = len(LOAD_ENDS) + 1
LOADS = (LOAD_ENDS[0], *(2 * end for end in LOAD_ENDS))
"""A load of each class."""


class Kinds:
    """Kinds of candidates of one model, GPU and engine under requests of one length.

    Parameters
    ----------
    model, gpu, engine
        What the candidates are of.
    isl, osl : float
        Lengths [tokens].
    """

    def __init__(self, *, model: Model, gpu: Gpu, engine: str, isl: float, osl: float) -> None:
        self.model, self.gpu, self.engine, self.isl, self.osl = model, gpu, engine, isl, osl
        self.cases: list[Circumstances] = []
        self._known: dict[tuple[object, ...], int] = {}

    def index(self, unit: Unit, apart: bool) -> int:
        """Return the number of the kind of a candidate.

        Parameters
        ----------
        unit : Unit
            One copy of what decodes.
        apart : bool
            Whether prefill has its own GPUs.

        Returns
        -------
        int
            Place in `cases`.
        """
        deployment = unit.deployment
        drafted = deployment.speculative_tokens > 0
        key = (unit.format, apart, drafted, deployment.ep > 1, deployment.dp > 1, unit.crosses_nodes)
        if key not in self._known:
            self._known[key] = len(self.cases)
            self.cases.append(self._case(unit, apart))
        return self._known[key]

    def parameters(self, calibration: Calibration) -> Array:
        """Return the parameters of every kind under every class of load: `CLASSES` rows for each kind."""
        every = [replace(case, concurrency=load) for case in self.cases for load in LOADS]
        return calibration.parameters(every)

    def _case(self, unit: Unit, apart: bool) -> Circumstances:
        gpu, deployment = self.gpu, unit.deployment
        return Circumstances(
            model=self.model.id,
            family=unit.family,
            gpu=gpu.id,
            architecture=gpu.architecture,
            vendor=gpu.vendor,
            engine=self.engine,
            runtime=runtime_of(self.engine, gpu, apart),
            quantisation=unit.format,
            disaggregated=apart,
            speculative=deployment.speculative_tokens > 0,
            expert_parallel=deployment.ep > 1,
            attention_copies=deployment.dp > 1,
            crosses_nodes=unit.crosses_nodes,
            isl=self.isl,
            osl=self.osl,
        )


def runtime_of(engine: str, gpu: Gpu, apart: bool) -> str:
    """Return what serves with an engine: another runtime where prefill has its own GPUs."""
    return RUNTIMES.get((engine, gpu.vendor), engine) if apart else engine


def measured_apart(model: Model, gpu: Gpu, engine: str, calibration: Calibration) -> bool:
    """Return whether the calibration has seen the model on the GPU with prefill on GPUs of its own."""
    group = f"{model.id}/{gpu.id}/{runtime_of(engine, gpu, True)}"
    return group in calibration.seen.get("groups", ())
