"""The library's front door: one function for each question, each in a file of its own."""

from planner.api.breaking_even import breakeven
from planner.api.comparing import compare
from planner.api.fitting import fit
from planner.api.importing import import_results
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

__all__ = [
    "achieved",
    "breakeven",
    "compare",
    "fit",
    "frontier",
    "import_results",
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
