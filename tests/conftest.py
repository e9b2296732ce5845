"""What all tests share."""

from __future__ import annotations

import pytest

from planner.catalogue import Catalogue, load_catalogue


@pytest.fixture(scope="session")
def catalogue() -> Catalogue:
    """Return the shipped catalogue, loaded once."""
    return load_catalogue()
