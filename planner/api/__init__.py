"""The library's front door: one function for each question, each in a file of its own.

A function is imported when it is first used: a process that asks one question pays for no other.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from planner.api.breaking_even import breakeven
    from planner.api.comparing import compare
    from planner.api.fitting import fit
    from planner.api.importing import import_results
    from planner.api.launching import launch
    from planner.api.owning import own
    from planner.api.planning import plan
    from planner.api.predicting import predict
    from planner.api.searching import frontier
    from planner.api.simulating import simulate
    from planner.api.sweeping import sweep
    from planner.api.training import achieved, train
    from planner.api.validating import validate
    from planner.api.verifying import verify
    from planner.catalogue import load_catalogue

_HOMES = {
    "achieved": "planner.api.training",
    "breakeven": "planner.api.breaking_even",
    "compare": "planner.api.comparing",
    "fit": "planner.api.fitting",
    "frontier": "planner.api.searching",
    "import_results": "planner.api.importing",
    "launch": "planner.api.launching",
    "load_catalogue": "planner.catalogue",
    "own": "planner.api.owning",
    "plan": "planner.api.planning",
    "predict": "planner.api.predicting",
    "simulate": "planner.api.simulating",
    "sweep": "planner.api.sweeping",
    "train": "planner.api.training",
    "validate": "planner.api.validating",
    "verify": "planner.api.verifying",
}

__all__ = [
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
    """Import a function from the module it lives in."""
    if name not in _HOMES:
        raise AttributeError(f"module 'planner.api' has no attribute {name!r}")
    value = globals()[name] = getattr(import_module(_HOMES[name]), name)
    return value


def __dir__() -> list[str]:
    """Return the public names, imported or not."""
    return sorted({*globals(), *__all__})
