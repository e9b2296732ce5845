"""Request-level simulation of continuous batching: percentiles, goodput and overload under a load."""

from planner.performance.simulation.arrivals import (
    ClosedLoop,
    FixedArrivals,
    GammaArrivals,
    OpenArrivals,
    PoissonArrivals,
)
from planner.performance.simulation.lengths import (
    FixedLength,
    IndependentLengths,
    Lengths,
    LognormalLength,
    UniformLength,
)
from planner.performance.simulation.overload import Flow
from planner.performance.simulation.records import Batching, KvPool
from planner.performance.simulation.requests import Requests
from planner.performance.simulation.result import SimulationResult
from planner.performance.simulation.run import check_number, simulate
from planner.performance.simulation.summary import Summary
from planner.performance.simulation.tabulated import TabulatedStepTimes
from planner.performance.simulation.times import StepTimes
from planner.performance.simulation.trace import EmpiricalLengths, Trace
from planner.performance.simulation.window import Window
from planner.scenario.slo import LatencySlo

__all__ = [
    "Batching",
    "ClosedLoop",
    "EmpiricalLengths",
    "FixedArrivals",
    "FixedLength",
    "Flow",
    "GammaArrivals",
    "IndependentLengths",
    "KvPool",
    "LatencySlo",
    "Lengths",
    "LognormalLength",
    "OpenArrivals",
    "PoissonArrivals",
    "Requests",
    "SimulationResult",
    "StepTimes",
    "Summary",
    "TabulatedStepTimes",
    "Trace",
    "UniformLength",
    "Window",
    "check_number",
    "simulate",
]
