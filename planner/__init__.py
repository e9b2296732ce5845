"""Does a model fit on these accelerators, how fast, at what cost, and how sure is that.

The names below are imported when they are first used, so that `import planner` costs next to nothing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from planner.api import (
        achieved,
        breakeven,
        compare,
        fit,
        frontier,
        import_results,
        launch,
        load_catalogue,
        own,
        plan,
        predict,
        simulate,
        sweep,
        train,
        validate,
        verify,
    )
    from planner.errors import PlannerError
    from planner.report.achieved import AchievedReport
    from planner.report.breakeven import BreakEvenReport
    from planner.report.compare import CompareAnswer, CompareReport
    from planner.report.fit import FitAnswer, FitReport
    from planner.report.frontier import FrontierAnswer, FrontierReport
    from planner.report.imported import ImportReport
    from planner.report.launch import LaunchReport
    from planner.report.owning import OwningAnswer, OwningReport
    from planner.report.plan import PlanAnswer, PlanReport
    from planner.report.plan_fleet import FleetReport
    from planner.report.prediction import PredictAnswer, PredictReport
    from planner.report.simulation import SimulateReport
    from planner.report.sweep import SweepReport
    from planner.report.training import TrainAnswer, TrainReport
    from planner.report.verification import VerifyReport

__version__ = "0.1.0"
__distribution__ = "accelerator-planner"
"""The name to install it by; other distributions have a package `planner` too."""

_HOMES = {
    "AchievedReport": "planner.report.achieved",
    "BreakEvenReport": "planner.report.breakeven",
    "CompareAnswer": "planner.report.compare",
    "CompareReport": "planner.report.compare",
    "FitAnswer": "planner.report.fit",
    "FitReport": "planner.report.fit",
    "FleetReport": "planner.report.plan_fleet",
    "FrontierAnswer": "planner.report.frontier",
    "FrontierReport": "planner.report.frontier",
    "ImportReport": "planner.report.imported",
    "LaunchReport": "planner.report.launch",
    "OwningAnswer": "planner.report.owning",
    "OwningReport": "planner.report.owning",
    "PlanAnswer": "planner.report.plan",
    "PlanReport": "planner.report.plan",
    "PlannerError": "planner.errors",
    "PredictAnswer": "planner.report.prediction",
    "PredictReport": "planner.report.prediction",
    "SimulateReport": "planner.report.simulation",
    "SweepReport": "planner.report.sweep",
    "TrainAnswer": "planner.report.training",
    "TrainReport": "planner.report.training",
    "VerifyReport": "planner.report.verification",
    "achieved": "planner.api",
    "breakeven": "planner.api",
    "compare": "planner.api",
    "fit": "planner.api",
    "frontier": "planner.api",
    "import_results": "planner.api",
    "launch": "planner.api",
    "load_catalogue": "planner.api",
    "own": "planner.api",
    "plan": "planner.api",
    "predict": "planner.api",
    "simulate": "planner.api",
    "sweep": "planner.api",
    "train": "planner.api",
    "validate": "planner.api",
    "verify": "planner.api",
}

__all__ = [
    "AchievedReport",
    "BreakEvenReport",
    "CompareAnswer",
    "CompareReport",
    "FitAnswer",
    "FitReport",
    "FleetReport",
    "FrontierAnswer",
    "FrontierReport",
    "ImportReport",
    "LaunchReport",
    "OwningAnswer",
    "OwningReport",
    "PlanAnswer",
    "PlanReport",
    "PlannerError",
    "PredictAnswer",
    "PredictReport",
    "SimulateReport",
    "SweepReport",
    "TrainAnswer",
    "TrainReport",
    "VerifyReport",
    "achieved",
    "breakeven",
    "compare",
    "fit",
    "frontier",
    "import_results",
    "launch",
    "load_catalogue",
    "own",
    "plan",
    "predict",
    "simulate",
    "sweep",
    "train",
    "validate",
    "verify",
]


def __getattr__(name: str) -> Any:
    """Import a public name from the module it lives in."""
    if name in _HOMES:
        from importlib import import_module

        value = getattr(import_module(_HOMES[name]), name)
        globals()[name] = value
        return value
    raise AttributeError(f"module 'planner' has no attribute {name!r}")


def __dir__() -> list[str]:
    """Return the public names, imported or not."""
    return sorted({*globals(), *__all__})
