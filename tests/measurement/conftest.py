"""The shipped serving points, read once."""

from __future__ import annotations

import pytest

from planner.measurement.serving import load_serving_points


@pytest.fixture(scope="session")
def serving_points():
    return load_serving_points()
