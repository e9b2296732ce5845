"""The command line: arguments in, report out; no arithmetic."""

from planner.cli.entry import cli as main

__all__ = ["main"]
