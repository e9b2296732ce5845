"""The files that docs/catalogue.md gives to copy are whole, and its commands work with them."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest
from click.testing import CliRunner

from planner.catalogue import load_catalogue
from planner.cli import main

PAGE = (Path(__file__).parents[2] / "docs" / "catalogue.md").read_text(encoding="utf-8")
FILES = dict(re.findall(r"^```yaml\n# ([\w-]+\.yaml)\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL))
COMMANDS = re.findall(r"^planner (--catalogue .+)$", PAGE, re.MULTILINE)


def test_there_is_a_file_for_an_accelerator_a_model_and_a_price() -> None:
    assert set(FILES) == {"my-gpu.yaml", "bare-gpu.yaml", "my-model.yaml", "my-prices.yaml"}
    assert len(COMMANDS) >= 7


@pytest.mark.parametrize("name", FILES)
def test_a_file_loads_without_a_warning(tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    path.write_text(FILES[name], encoding="utf-8")
    assert load_catalogue(extra=[path]).warnings == []


@pytest.mark.parametrize("command", COMMANDS)
def test_a_command_of_the_page_works(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, command: str) -> None:
    for name, text in FILES.items():
        (tmp_path / name).write_text(text, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    ran = CliRunner(env={"NO_COLOR": "1"}).invoke(main, shlex.split(command), prog_name="planner")
    assert ran.exit_code == 0, ran.output
    assert ran.output.strip()
