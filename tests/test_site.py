"""The site: every page can be reached, every public name is explained, and nothing comes from elsewhere."""

from __future__ import annotations

import importlib
import inspect
import re
from pathlib import Path

import pytest
import yaml

import planner

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
PAGES = sorted(path.relative_to(DOCS).as_posix() for path in DOCS.rglob("*.md"))
FUNCTIONS = [name for name in planner.__all__ if name.islower()]
RESULTS = [name for name in planner.__all__ if not name.islower() and name != "PlannerError"]


class _Anything(yaml.SafeLoader):
    """A loader that takes any tag, as MkDocs' own does for extensions."""


_Anything.add_multi_constructor("!", lambda loader, suffix, node: suffix)


def in_nav(entry: object) -> list[str]:
    if isinstance(entry, str):
        return [entry]
    entries = entry if isinstance(entry, list) else list(entry.values())
    return [page for each in entries for page in in_nav(each)]


def test_every_page_is_in_the_navigation_once():
    named = in_nav(yaml.load((ROOT / "mkdocs.yml").read_text(), _Anything)["nav"])
    assert len(named) == len(set(named))
    assert [page for page in PAGES if page not in named] == []
    notebooks = {f"notebooks/{path.stem}.md" for path in (ROOT / "notebooks").glob("*.ipynb")}
    assert notebooks == {page for page in named if page.startswith("notebooks/")}


@pytest.mark.parametrize("page", PAGES)
def test_a_page_begins_with_its_title_and_what_it_answers(page):
    title, blank, first = (DOCS / page).read_text().split("\n", 2)
    assert title.startswith("# ")
    assert blank == ""
    assert first[0].isalpha() or first[0] == "`", "a sentence comes first, before any table, code or list"


def test_the_reference_has_every_public_name_once():
    listed = re.findall(r"^::: planner\.(\w+)$", (DOCS / "api.md").read_text(), re.MULTILINE)
    assert sorted(listed) == sorted(planner.__all__)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_a_function_explains_each_argument_what_it_returns_and_what_it_raises(name):
    function = getattr(planner, name)
    text = inspect.getdoc(function)
    sections = re.split(r"^(\w+)\n-+$", text, flags=re.MULTILINE)
    parts = dict(zip(sections[1::2], sections[2::2], strict=True))
    assert sections[0].splitlines()[0].endswith(".")
    assert {"Parameters", "Returns", "Raises"} <= set(parts)
    heads = " ".join(re.findall(r"^\S.*$", parts["Parameters"], re.MULTILINE))
    explained = set(re.findall(r"\w+", heads))
    assert [each for each in inspect.signature(function).parameters if each not in explained] == []


@pytest.mark.parametrize("name", RESULTS)
def test_a_result_explains_each_field_and_each_thing_it_can_do(name):
    kind = getattr(planner, name)
    heads = re.findall(r"^(\w[\w, ]*) : ", inspect.getdoc(kind), re.MULTILINE)
    explained = {each.strip() for head in heads for each in head.split(",")}
    fields = [each for each in kind.__dataclass_fields__ if each != "reproduction"]  # of the base
    assert [each for each in fields if each not in explained] == []
    public = [
        each for each in vars(kind) if not each.startswith("_") and each not in kind.__dataclass_fields__
    ]
    assert [each for each in public if not inspect.getdoc(getattr(kind, each))] == []


def test_each_equation_has_a_function_and_a_place():
    text = (DOCS / "equations.md").read_text()
    rows = [line for line in text.splitlines() if line.startswith("| ") and "](" in line]
    assert len(rows) > 30
    for row in rows:
        module, _, name = re.search(r"`(planner\.[\w.]+)`", row)[1].rpartition(".")
        assert inspect.getdoc(getattr(importlib.import_module(module), name)), row
