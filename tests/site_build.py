"""The site as built: run by name, `pytest tests/site_build.py`, since it executes every notebook."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

import planner

ROOT = Path(__file__).parents[1]


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    """Build the site, strictly: a link or an anchor that leads nowhere fails."""
    folder = tmp_path_factory.mktemp("site")
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet", "--site-dir", str(folder)]
    built = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert built.returncode == 0, built.stderr[-3000:]
    return folder


def test_the_site_builds_strictly_and_loads_nothing_from_others(site):
    pages = sorted(site.rglob("*.html"))
    assert len(pages) > len(list((ROOT / "docs").rglob("*.md")))
    for page in pages:
        text = page.read_text()
        loaded = re.findall(r'<(?:script|img|iframe)\b[^>]*\bsrc="?([^" >]+)', text)
        loaded += re.findall(r'<link\b[^>]*\bhref="?([^" >]+)', text)
        assert not [each for each in loaded if re.match(r"(https?:)?//", each)], page.name


def test_the_site_has_notebooks_with_their_results(site):
    tour = (site / "notebooks" / "five_minutes.html").read_text()
    assert "plotly-graph-div" in tour
    assert "<table" in tour


def test_the_reference_of_the_site_is_filled_from_docstrings(site):
    text = (site / "api.html").read_text()
    assert all(f'id="planner.{name}"' in text for name in planner.__all__)
