"""The application as it is served: its pages by address, and what they share."""

from __future__ import annotations

from pathlib import Path

import pytest
from streamlit.testing.v1 import AppTest
from streamlit.util import calc_hash

from planner.dashboard.main import PAGES

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize("file", ["app.py", "planner/dashboard/script.py"])
def test_both_entrances_open_the_first_screen(file):
    page = AppTest.from_file(str(ROOT / file), default_timeout=60).run()
    assert not page.exception
    assert "take 8 x MI355X" in page.markdown[0].value


def test_no_folder_beside_the_scripts_is_taken_for_pages_of_scripts():
    assert not (ROOT / "pages").exists()
    assert not (ROOT / "planner" / "dashboard" / "pages").exists()


def test_pages_share_what_was_chosen_on_another():
    page = AppTest.from_file(str(ROOT / "app.py"), default_timeout=60).run()
    page.sidebar.selectbox[0].set_value("llama-3.1-8b")
    page.sidebar.multiselect[0].set_value(["h100-sxm"])
    page.run()
    for name in (*PAGES[1:], *PAGES[1:3]):
        page._page_hash = calc_hash(name)  # what a click on a page's name sends
        page.query_params.clear()
        page.run()
        assert not page.exception
        assert page.session_state["page"] == name or name in ("measure", "catalogue", "accuracy")
        assert page.session_state["scenario"]["model"] == "llama-3.1-8b"
        assert page.session_state["scenario"]["gpu"] == ("h100-sxm",)
        if page.sidebar.multiselect:
            assert page.sidebar.multiselect[0].value == ["h100-sxm"]
            assert page.sidebar.number_input[0].value == 1024
