"""What all tests share."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from hypothesis import settings

from planner.catalogue import Catalogue, load_catalogue

# The same examples in every run, so that a change is judged by what it changes;
# `--hypothesis-profile=search` looks for new ones.
settings.register_profile("repeatable", derandomize=True, deadline=None)
settings.register_profile("search", deadline=None, max_examples=1000)
settings.load_profile("repeatable")


@pytest.fixture(scope="session", autouse=True)
def nobodys_measurements(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Keep all tests away from anyone's own measurements; a test that wants some names a folder."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PLANNER_MEASUREMENTS", str(tmp_path_factory.mktemp("nobody's")))
        yield


@pytest.fixture(scope="session")
def catalogue() -> Catalogue:
    """Return the shipped catalogue, loaded once."""
    return load_catalogue()
