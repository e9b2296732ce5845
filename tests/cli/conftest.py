"""Run the command line inside the test's process, at a fixed width and without colour."""

from __future__ import annotations

from dataclasses import dataclass

import pytest

from planner.cli.entry import run


@dataclass(frozen=True)
class Ran:
    """What a command line left behind."""

    code: int
    out: str
    err: str


@pytest.fixture
def planner(capsys, monkeypatch):
    """Return a function that runs `planner` with some words, without anyone's own measurements."""
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.setenv("NO_COLOR", "1")
    monkeypatch.delenv("PLANNER_CATALOGUE", raising=False)
    monkeypatch.delenv("PLANNER_DEBUG", raising=False)

    def ran(*words: str) -> Ran:
        code = run(words)
        captured = capsys.readouterr()
        return Ran(code, captured.out, captured.err)

    return ran
