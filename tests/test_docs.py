"""The documents say what is so: their Python runs, and their commands print what they show."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest
from click.testing import CliRunner
from planner.cli.entry import cli

ROOT = Path(__file__).parents[1]
DOCUMENTS = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
BLOCK = re.compile(r"^```(\w+)[^\n]*\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def blocks(path: Path, language: str) -> list[str]:
    return [body for kind, body in BLOCK.findall(path.read_text()) if kind == language]


def commands(path: Path) -> list[tuple[str, str]]:
    """Return each `$ planner …` of the console blocks with what the document shows below it."""
    found = []
    for body in blocks(path, "console"):
        for part in re.split(r"^\$ ", body, flags=re.MULTILINE)[1:]:
            command, _, shown = part.partition("\n")
            while command.endswith("\\"):
                more, _, shown = shown.partition("\n")
                command = command[:-1] + more
            found.append((command, shown.strip("\n")))
    return found


@pytest.mark.parametrize("path", DOCUMENTS, ids=lambda path: path.name)
def test_the_python_of_a_document_runs(path):
    namespace: dict[str, object] = {}
    for body in blocks(path, "python"):
        exec(compile(body, path.name, "exec"), namespace)


@pytest.mark.parametrize(
    ("command", "shown"),
    [pytest.param(*pair, id=f"{path.name}: {pair[0]}") for path in DOCUMENTS for pair in commands(path)],
)
def test_a_command_prints_what_the_document_shows(command, shown, monkeypatch):
    monkeypatch.chdir(ROOT)
    monkeypatch.setenv("NO_COLOR", "1")
    monkeypatch.setenv("COLUMNS", "100")
    program, *arguments = shlex.split(command)
    assert program == "planner"
    result = CliRunner().invoke(cli, arguments)
    printed = "\n".join(line.rstrip() for line in result.output.strip("\n").splitlines())
    assert printed == shown


def test_every_document_is_reachable_from_the_readme():
    text = (ROOT / "README.md").read_text()
    missing = [path.name for path in DOCUMENTS[1:] if f"docs/{path.name}" not in text]
    assert not missing
