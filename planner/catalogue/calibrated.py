"""Records of what a calibration found: levels of parameters, widths of intervals, and what it had seen."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field, model_validator

from planner.catalogue.effects import Sourced
from planner.catalogue.figures import Tuple


class ParameterLevels(Sourced):
    """One parameter of the time model: by what its logarithm moves, by factor and level."""

    id: str
    levels: dict[str, dict[str, float]] = Field(default_factory=dict)
    """Factor (``engine``, ``gpu``, ...) to level (``vllm``, ``h200``, ...) to shift of the logarithm."""


class IntervalWidths(Sourced):
    """How far measurements of one quantity lay from predictions that had not seen their group."""

    id: str
    cells: dict[str, Annotated[tuple[float, float], Field(strict=False)]]
    """Cell (distance from the data, kind of load) to the 10 % and 90 % quantile of ln(measured/predicted)."""

    @model_validator(mode="after")
    def _in_order(self) -> IntervalWidths:
        for cell, (low, high) in self.cells.items():
            if not low < high:
                raise ValueError(f"{cell}: {low} and {high} are not in order")
        return self


class SeenNames(Sourced):
    """What measurements there were: models, GPUs or groups of model, GPU and engine."""

    id: str
    names: tuple[str, ...] = Tuple
