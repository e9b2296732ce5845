"""What the tests of the endpoint share."""

from __future__ import annotations

import pytest


@pytest.fixture(autouse=True)
def _own_folder(tmp_path, monkeypatch):
    """Keep the user's folder and key out of the tests."""
    monkeypatch.setenv("PLANNER_MEASUREMENTS", str(tmp_path / "measurements"))
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
