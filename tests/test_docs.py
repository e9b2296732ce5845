"""The documents say what is so: their Python runs, and their commands print what they show."""

from __future__ import annotations

import importlib.util
import re
from pathlib import Path

import pytest

from planner.catalogue import load_catalogue

ROOT = Path(__file__).parents[1]
SPEC = importlib.util.spec_from_file_location("make_examples", ROOT / "docs" / "make_examples.py")
make_examples = importlib.util.module_from_spec(SPEC)
SPEC.loader.exec_module(make_examples)
PAGES = make_examples.PAGES
PYTHON = re.compile(r"^```python\n(.*?)^```$", re.MULTILINE | re.DOTALL)


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.name)
def test_the_python_of_a_page_runs(path, monkeypatch):
    monkeypatch.chdir(ROOT)
    namespace: dict[str, object] = {}
    for body in PYTHON.findall(path.read_text()):
        exec(compile(body, path.name, "exec"), namespace)


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.name)
def test_the_commands_of_a_page_print_what_it_shows(path):
    page = path.read_text()
    assert make_examples.answered(page) == page, "run `python docs/make_examples.py` and read the difference"


def test_the_readme_shows_the_worked_example():
    text = (ROOT / "README.md").read_text()
    assert "$ planner fit --model kimi-k3 --gpu b200\n" in text
    assert "$ planner compare --model kimi-k3 --isl 1024 --osl 400 --price mi355x=2.50," in text


def test_every_page_is_reachable_from_the_readme():
    text = (ROOT / "README.md").read_text()
    places = [path.relative_to(ROOT).as_posix() for path in PAGES[1:]]
    assert not [place for place in places if f"({place})" not in text]


def test_the_readme_counts_what_the_catalogue_has():
    catalogue = load_catalogue()
    first = (ROOT / "README.md").read_text().split("![", 1)[0]
    models, accelerators = len(catalogue.models()), len(catalogue.gpus())
    assert f"{models} language models and {accelerators} accelerators" in first
