"""Launches for tests, made as the front door makes them."""

from __future__ import annotations

from typing import Any

import planner
from planner.report.launch import LaunchReport


def launched(**asked: Any) -> LaunchReport:
    """Return the launch of a question."""
    return planner.launch(**asked)


def line_of(report: LaunchReport, server: int = 0, node: int = 0) -> list[str]:
    """Return the words of one command."""
    return list(report.launch.servers[server].lines[node].words)


def flags_in(words: list[str]) -> dict[str, str]:
    """Return flags with the word after them, or with nothing."""
    found = {}
    for number, word in enumerate(words):
        if word.startswith("--"):
            after = words[number + 1] if number + 1 < len(words) else ""
            found[word] = "" if after.startswith("--") else after
    return found
