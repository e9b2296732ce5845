"""The dashboard in a real browser: open, change, follow a link, save, upload, a narrow screen, the keyboard.

Not part of the test suite, for it needs a browser: `pip install playwright`, Debian's `chromium`, and
`python -m pytest tests/dashboard/browser.py`.
"""

from __future__ import annotations

import json
import runpy
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SHOTS = runpy.run_path(str(ROOT / "docs" / "make_screenshots.py"))
RUN = ROOT / "tests" / "data" / "bench_files" / "vllm" / "bench_serve_gptoss_h200_tp8_conc64.json"
LINK = "model=llama-3.1-8b&gpu=h100-sxm&isl=1000&osl=200&price=h100-sxm%3D2"
OF_STREAMLIT = "/_stcore/"
"""Streamlit asks for these under the name of a page as well, and takes the 404 as an answer."""


@pytest.fixture(scope="module")
def address():
    with SHOTS["serving"]() as served:
        yield served


@pytest.fixture
def browsed(address):
    """A page of the browser; whatever goes elsewhere or is complained about in it fails the test."""
    wrong = []
    with SHOTS["browsing"](viewport={"width": 1280, "height": 900}, accept_downloads=True) as page:
        page.set_default_timeout(30_000)
        page.on("pageerror", lambda error: wrong.append(str(error)))
        page.on(
            "request", lambda sent: sent.url.startswith(("data:", "blob:", address)) or wrong.append(sent.url)
        )
        page.on(
            "response",
            lambda got: (
                got.status < 400 or OF_STREAMLIT in got.url or wrong.append(f"{got.status} {got.url}")
            ),
        )
        yield page
    own = address.replace("http", "ws")
    assert not [line for line in wrong if not line.startswith(own)]


def test_it_opens_and_answers_anew_when_a_price_moves(browsed, address):
    browsed.goto(address)
    browsed.get_by_text("take 8 x MI355X").wait_for()
    price = browsed.get_by_label("MI355X, USD per GPU-hour")
    price.fill("6.5")
    price.press("Enter")
    browsed.get_by_text("take 8 x B300-SXM").wait_for()
    browsed.wait_for_url("**mi355x%3D6.5**")


def test_a_link_is_followed_and_pages_share_what_it_says(browsed, address):
    browsed.goto(f"{address}/fit?{LINK}&tp=nothing")
    browsed.get_by_text("Llama-3.1-8B fits on").first.wait_for()
    browsed.get_by_text("values that were not accepted").wait_for()
    browsed.get_by_role("link", name="Cost").click()
    browsed.get_by_text("What a million tokens cost, USD").wait_for()
    browsed.wait_for_url("**/cost?model=llama-3.1-8b**")


def test_an_answer_is_saved_with_the_digest_of_its_catalogue(browsed, address, tmp_path):
    browsed.goto(f"{address}/fit?{LINK}")
    browsed.get_by_text("Make this answer again").click()
    with browsed.expect_download() as saving:
        browsed.get_by_role("button", name="JSON").click()
    saving.value.save_as(tmp_path / "answer.json")
    answer = json.loads((tmp_path / "answer.json").read_text(encoding="utf-8"))
    assert answer["model"] == "llama-3.1-8b"
    assert len(answer["reproduction"]["catalogue_digest"]) == 64


def test_results_are_uploaded_and_held_against_predictions(browsed, address):
    browsed.goto(f"{address}/measure")
    browsed.get_by_text("What the files do not say").wait_for()
    browsed.locator("input[type=file]").set_input_files(RUN)
    browsed.get_by_text("not imported: state").wait_for()
    browsed.get_by_text("What the files do not say").click()
    for label, text in (("Model", "gpt-oss-120b"), ("Accelerator", "h200"), ("GPUs", "8")):
        browsed.get_by_label(label, exact=True).fill(text)
        browsed.keyboard.press("Tab")
    browsed.get_by_text("Serving points: 1 of 1 rows predicted").wait_for()


def test_a_narrow_screen_shows_the_answer_without_scrolling_sideways(browsed, address):
    browsed.set_viewport_size({"width": 390, "height": 800})
    browsed.goto(address)
    browsed.get_by_text("take 8 x MI355X").wait_for()
    SHOTS["complete"](browsed)
    assert browsed.evaluate("document.documentElement.scrollWidth") <= 390


def test_the_keyboard_reaches_the_pages_and_the_controls(browsed, address):
    browsed.goto(address)
    browsed.get_by_text("take 8 x MI355X").wait_for()
    reached = set()
    for _ in range(120):
        browsed.keyboard.press("Tab")
        reached.add(
            browsed.evaluate(
                "document.activeElement.getAttribute('aria-label') || document.activeElement.innerText"
            )
        )
    text = " ".join(reached)
    for name in ("Fit", "Accuracy", "Input tokens", "USD per GPU-hour"):
        assert name in text
