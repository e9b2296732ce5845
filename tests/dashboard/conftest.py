from __future__ import annotations

import sys

import pytest
from streamlit.testing.v1 import AppTest

from planner.dashboard import launching, showing

LONGEST_S = 60


def script(name):
    from planner.dashboard.main import show_page

    show_page(name)


@pytest.fixture(autouse=True)
def main_module():
    """Put back the main module, which a page takes the place of: processes that are started import it."""
    main = sys.modules["__main__"]
    yield
    sys.modules["__main__"] = main


@pytest.fixture
def opened():
    """Open a page with the parameters of a link, as a new session does."""

    def opened(name, **query):
        page = AppTest.from_function(script, args=(name,), default_timeout=LONGEST_S)
        for key, value in query.items():
            page.query_params[key] = value
        return page.run()

    return opened


@pytest.fixture
def offered(monkeypatch):
    """Collect what a page offers for download: how it is made, by name of the file, in the order shown."""
    made = []
    real = showing.offer

    def offer(label, how, name, kind, key):
        hide = showing._hiding()  # as what is really sent
        made.append((name, lambda: hide(how())))
        real(label, how, name, kind, key)

    for module in (showing, launching):
        monkeypatch.setattr(module, "offer", offer)
    return made
