"""Does a model fit on these accelerators, how fast, at what cost, and how sure is that.

The names below are imported when they are first used, so that `import planner` costs next to nothing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from planner.api import compare, fit, import_results, load_catalogue, own, predict, simulate, validate, verify
    from planner.errors import PlannerError
    from planner.report.compare import CompareAnswer, CompareReport
    from planner.report.fit import FitAnswer, FitReport
    from planner.report.imported import ImportReport
    from planner.report.owning import OwningAnswer, OwningReport
    from planner.report.prediction import PredictAnswer, PredictReport
    from planner.report.simulation import SimulateReport

_HOMES = {
    "CompareAnswer": "planner.report.compare",
    "CompareReport": "planner.report.compare",
    "FitAnswer": "planner.report.fit",
    "FitReport": "planner.report.fit",
    "ImportReport": "planner.report.imported",
    "OwningAnswer": "planner.report.owning",
    "OwningReport": "planner.report.owning",
    "PlannerError": "planner.errors",
    "PredictAnswer": "planner.report.prediction",
    "PredictReport": "planner.report.prediction",
    "SimulateReport": "planner.report.simulation",
    "compare": "planner.api",
    "fit": "planner.api",
    "import_results": "planner.api",
    "load_catalogue": "planner.api",
    "own": "planner.api",
    "predict": "planner.api",
    "simulate": "planner.api",
    "validate": "planner.api",
    "verify": "planner.api",
}

__all__ = [
    "CompareAnswer",
    "CompareReport",
    "FitAnswer",
    "FitReport",
    "ImportReport",
    "OwningAnswer",
    "OwningReport",
    "PlannerError",
    "PredictAnswer",
    "PredictReport",
    "SimulateReport",
    "compare",
    "fit",
    "import_results",
    "load_catalogue",
    "own",
    "predict",
    "simulate",
    "validate",
    "verify",
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
