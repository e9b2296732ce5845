"""Does a model fit on these accelerators, how fast, at what cost, and how sure is that.

The names below are imported when they are first used, so that `import planner` costs next to nothing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from planner.api import fit, load_catalogue, own, predict, simulate, validate
    from planner.errors import PlannerError
    from planner.report.fit import FitAnswer, FitReport
    from planner.report.owning import OwningAnswer, OwningReport
    from planner.report.prediction import PredictAnswer, PredictReport
    from planner.report.simulation import SimulateReport

_HOMES = {
    "FitAnswer": "planner.report.fit",
    "FitReport": "planner.report.fit",
    "OwningAnswer": "planner.report.owning",
    "OwningReport": "planner.report.owning",
    "PlannerError": "planner.errors",
    "PredictAnswer": "planner.report.prediction",
    "PredictReport": "planner.report.prediction",
    "SimulateReport": "planner.report.simulation",
    "fit": "planner.api",
    "load_catalogue": "planner.api",
    "own": "planner.api",
    "predict": "planner.api",
    "simulate": "planner.api",
    "validate": "planner.api",
}

__all__ = [
    "FitAnswer",
    "FitReport",
    "OwningAnswer",
    "OwningReport",
    "PlannerError",
    "PredictAnswer",
    "PredictReport",
    "SimulateReport",
    "fit",
    "load_catalogue",
    "own",
    "predict",
    "simulate",
    "validate",
]


def __getattr__(name: str) -> Any:
    """Import a public name from the module it lives in."""
    if name == "__version__":
        from importlib.metadata import PackageNotFoundError, version

        try:
            return version("planner")
        except PackageNotFoundError:  # a checkout that was never installed
            return "0+unknown"
    if name in _HOMES:
        from importlib import import_module

        value = getattr(import_module(_HOMES[name]), name)
        globals()[name] = value
        return value
    raise AttributeError(f"module 'planner' has no attribute {name!r}")


def __dir__() -> list[str]:
    """Return the public names, imported or not."""
    return sorted({*globals(), *__all__, "__version__"})
