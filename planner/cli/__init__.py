"""The command line: arguments in, report out; no arithmetic."""

from planner.cli.main import main

__all__ = ["main"]
