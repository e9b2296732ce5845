"""The licence of everything that planner brings along is one that an Apache-2.0 project may depend on."""

from __future__ import annotations

import re
import tomllib
from importlib.metadata import Distribution, PackageNotFoundError, distribution
from pathlib import Path

from packaging.markers import default_environment
from packaging.requirements import Requirement

PROJECT = tomllib.loads((Path(__file__).parents[1] / "pyproject.toml").read_text())["project"]
SHIPPED = ("hub", "notebook", "report", "sweep", "dask", "dashboard", "mcp")
"""The extras that people install; `dev` is for those who change planner."""

ALLOWED = re.compile(
    r"apache|\bmit\b|mit-0|mit-cmu|\bbsd\b|bsd-|0bsd|isc\b|python software foundation|psf|python-2\.0|hpnd|"
    r"zlib|unlicense|cc0|mpl|mozilla public license 2\.0",
    re.IGNORECASE,
)
"""Permissive ones, and the MPL, whose terms end at its own files."""

REFUSED = re.compile(r"\bA?GPL|General Public|SSPL|Commons Clause|proprietary", re.IGNORECASE)


def licence_of(found: Distribution) -> str:
    """Return the licence of a distribution as it states it: expression, classifiers, or the first line."""
    about = found.metadata
    classifiers = [
        line.rpartition("::")[2].strip()
        for line in about.get_all("Classifier") or ()
        if line.startswith("License ::")
    ]
    stated = about.get("License-Expression") or "; ".join(classifiers)
    text = (about.get("License") or "").strip().split("\n")[0]
    return stated or text


def brought(requirements: list[str]) -> dict[str, Distribution]:
    """Return all installed distributions that some requirements bring along, by their names."""
    found: dict[str, Distribution] = {}
    asked: set[tuple[str, str]] = set()
    left = [(Requirement(text), "") for text in requirements]
    while left:
        requirement, extra = left.pop()
        if requirement.marker and not requirement.marker.evaluate(default_environment() | {"extra": extra}):
            continue
        name = requirement.name.lower().replace("_", "-")
        for wanted in (*requirement.extras, ""):
            if name == PROJECT["name"] or (name, wanted) in asked:
                continue
            asked.add((name, wanted))
            try:
                one = distribution(name)
            except PackageNotFoundError:  # an optional part that is not installed here
                continue
            found[name] = one
            left += [(Requirement(text), wanted) for text in one.requires or ()]
    return found


def test_every_dependency_has_a_licence_that_may_be_depended_on():
    optional = PROJECT["optional-dependencies"]
    found = brought([*PROJECT["dependencies"], *(text for extra in SHIPPED for text in optional[extra])])
    assert {"click", "numpy", "pydantic", "pyyaml", "rich", "scipy"} <= found.keys()
    licences = {name: licence_of(one) for name, one in found.items()}
    print("\n".join(f"{name}: {licence}" for name, licence in sorted(licences.items())))
    strange = {
        name: licence
        for name, licence in licences.items()
        if not ALLOWED.search(licence) or (REFUSED.search(licence) and not re.search(r"\bOR\b|LGPL", licence))
    }
    assert not strange


def test_the_check_sees_a_licence_that_is_not_allowed():
    assert REFUSED.search("GNU Affero General Public License v3")
    assert REFUSED.search("GPL-3.0-or-later")
    assert not ALLOWED.search("")
    assert not ALLOWED.search("SSPL-1.0")


def test_the_project_says_which_licence_it_has():
    text = (Path(__file__).parents[1] / "LICENSE").read_text()
    assert PROJECT["license"] == "Apache-2.0"
    assert "Apache License" in text
    assert "Version 2.0" in text
