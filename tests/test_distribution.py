"""The distribution's name in one place, and what is said where another one covers its files."""

from __future__ import annotations

import base64
import hashlib
import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

import planner
from planner import distribution

ROOT = Path(__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]


def test_the_name_is_the_project_s():
    assert PROJECT["name"] == distribution.NAME == planner.__distribution__
    assert f'NAME = "{distribution.NAME}"' in (ROOT / "accelerator_planner.py").read_text()
    assert set(PROJECT["scripts"]) == {"planner", distribution.NAME}


def test_an_extra_that_a_message_names_exists():
    sources = [path.read_text() for path in (ROOT / "planner").rglob("*.py")]
    used = {name for text in sources for name in re.findall(r"installing\(['\"](\w+)['\"]\)", text)}
    assert used
    assert used <= set(PROJECT["optional-dependencies"])
    assert distribution.installing("report") == "pip install 'accelerator-planner[report]'"


def test_no_document_or_message_names_the_other_distribution():
    pages = [*ROOT.glob("*.md"), *ROOT.glob("docs/*.md"), *(ROOT / "planner").rglob("*.py")]
    assert not [str(path) for path in pages if "'planner[" in path.read_text().replace("`", "'")]


def site(folder: Path, files: dict[str, str]) -> dict[str, str]:
    """Write a folder of packages and return the environment in which Python finds them first."""
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return {**os.environ, "PYTHONPATH": f"{folder}{os.pathsep}{ROOT}"}


@pytest.mark.parametrize(
    ("files", "said"),
    [
        ({"planner/__init__.py": "__version__ = '9'"}, "is another distribution's: "),
        ({"planner/__init__.py": "import no_such_package"}, "cannot be imported (No module named"),
    ],
)
def test_a_foreign_package_of_the_name_is_one_line(tmp_path, files, said):
    ran = subprocess.run(
        [sys.executable, "-P", "-c", "import accelerator_planner as a; a.main()", "--version"],
        env=site(tmp_path, files),
        cwd=tmp_path,
        capture_output=True,
        text=True,
    )
    assert ran.returncode == 2
    assert said in ran.stderr
    assert ran.stderr.count("\n") == 1
    assert "into an environment of its own" in ran.stderr


def installed(folder: Path, name: str, files: dict[str, str]) -> None:
    """Write the list of files of an installed distribution, as an installer leaves it."""
    info = folder / f"{name.replace('-', '_')}-1.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1\n")
    rows = []
    for file, text in files.items():
        digest = base64.urlsafe_b64encode(hashlib.sha256(text.encode()).digest()).rstrip(b"=").decode()
        rows.append(f"{file},sha256={digest},{len(text)}\n")
    (info / "RECORD").write_text("".join(rows))


def test_files_that_another_distribution_covers_are_named(tmp_path, monkeypatch):
    ours = {"planner/api/__init__.py": "ours", "planner/errors.py": "ours", "planner/units.py": "ours"}
    theirs = {"planner/api/__init__.py": "theirs", "planner/errors.py": "theirs"}
    site(tmp_path, {**ours, **theirs})
    installed(tmp_path, distribution.NAME, ours)
    installed(tmp_path, "llm-d-planner", theirs)
    monkeypatch.setattr(sys, "path", [str(tmp_path), *sys.path])
    line = distribution.covered_by()
    assert line.startswith("planner/api/__init__.py and 1 more here are of llm-d-planner, which has")
    site(tmp_path, ours)
    assert distribution.covered_by() == ""
    (tmp_path / "planner/units.py").unlink()
    assert distribution.covered_by().startswith("planner/units.py here is not the installed one")


def test_python_m_planner_is_the_command_line():
    ran = subprocess.run(
        [sys.executable, "-m", "planner", "--version"], cwd=ROOT, capture_output=True, text=True
    )
    assert (ran.returncode, ran.stderr) == (0, "")
    assert ran.stdout.startswith(f"planner {planner.__version__}")


def test_the_citation_is_of_this_version():
    import yaml

    cited = yaml.safe_load((ROOT / "CITATION.cff").read_text())
    assert cited["version"] == planner.__version__
    assert cited["license"] == PROJECT["license"]
