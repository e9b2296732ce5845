"""Write into README.md and docs/**/*.md what the commands they show really print.

    python docs/make_examples.py

A console block holds lines such as ``$ planner fit …``, each followed by what it prints.
"""

from __future__ import annotations

import os
import re
import shlex
from pathlib import Path

from click.testing import CliRunner

from planner.cli import main

ROOT = Path(__file__).parents[1]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
COLUMNS = 100

_CONSOLE = re.compile(r"(?<=^```console\n)(.*?)(?=^```$)", re.MULTILINE | re.DOTALL)


def answer(command: str) -> str:
    """Run one command line in this process and return what it prints, without colour."""
    program, *arguments = shlex.split(command.replace("\\\n", " "))
    assert program == "planner", f"{command!r} is no command of planner"
    nobodys = {"PLANNER_CATALOGUE": "", "PLANNER_MEASUREMENTS": os.devnull}
    environment = {"NO_COLOR": "1", "COLUMNS": str(COLUMNS), **nobodys}
    here = Path.cwd()
    os.chdir(ROOT)
    try:
        printed = CliRunner(env=environment).invoke(main, arguments, prog_name="planner").output
    finally:
        os.chdir(here)
    return "\n".join(line.rstrip() for line in printed.strip("\n").splitlines())


def answered(page: str) -> str:
    """Return the text of a page with the present answer below each of its commands."""

    def fill(block: re.Match[str]) -> str:
        commands = re.findall(r"^\$ ((?:.*\\\n)*.*)$", block[0], re.MULTILINE)
        return "".join(f"$ {command}\n{answer(command)}\n" for command in commands)

    return _CONSOLE.sub(fill, page)


if __name__ == "__main__":
    for path in PAGES:
        path.write_text(answered(path.read_text()))
