"""The pages on adding things can be followed: their files are taken, and their commands work in turn."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest
from click.testing import CliRunner

from planner.architecture import build_architecture
from planner.architecture.totals import parameters
from planner.catalogue import load_catalogue
from planner.cli import main

PAGES = sorted((Path(__file__).parents[1] / "docs" / "adding").glob("*.md"))
FILE = re.compile(r"^```(?:yaml\n# |\w+ title=\")([\w.-]+)\"?\n(.*?)^```$", re.MULTILINE | re.DOTALL)
COMMAND = re.compile(r"^planner (.+)$", re.MULTILINE)
BASH = re.compile(r"^```bash\n(.*?)^```$", re.MULTILINE | re.DOTALL)


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.stem)
def test_a_page_can_be_followed(path, tmp_path, monkeypatch):
    text = path.read_text(encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    files = FILE.findall(text)
    assert files
    for name, body in files:
        Path(name).write_text(body, encoding="utf-8")
        if name.endswith(".yaml"):
            assert load_catalogue(extra=[name]).warnings == []
    commands = [line for block in BASH.findall(text) for line in COMMAND.findall(block)]
    assert commands
    for command in commands:
        ran = CliRunner(env={"NO_COLOR": "1", "PLANNER_MEASUREMENTS": "none"}).invoke(
            main, shlex.split(command), prog_name="planner"
        )
        assert ran.exit_code == 0, f"{command}: {ran.output}"
        assert ran.output.strip()


def test_there_is_a_page_for_each_thing_that_can_be_added():
    assert [path.stem for path in PAGES] == ["engine", "gpu", "measurement", "model", "price"]


def test_the_page_on_models_counts_as_planner_does(tmp_path):
    (_, _), (name, body) = FILE.findall(next(path for path in PAGES if path.stem == "model").read_text())
    (tmp_path / name).write_text(body, encoding="utf-8")
    model = load_catalogue(extra=[tmp_path / name]).model("ours-9b")
    assert parameters(build_architecture(model.config)) == model.checks.parameters == 8_835_567_616
