"""The dashboard in a real browser: open, change, follow a link, save, upload, a narrow screen, the keyboard.

Not part of the test suite, for it needs a browser: Debian's `chromium`, and then
`python -m pytest tests/dashboard/browser.py`, as .ci/run does.
"""

from __future__ import annotations

import json
import re
import runpy
from pathlib import Path

import pytest

from planner.dashboard.main import PAGES

ROOT = Path(__file__).parents[2]
SHOTS = runpy.run_path(str(ROOT / "docs" / "make_screenshots.py"))
RUN = ROOT / "tests" / "data" / "bench_files" / "vllm" / "bench_serve_gptoss_h200_tp8_conc64.json"
LINK = "model=llama-3.1-8b&gpu=h100-sxm&isl=1000&osl=200&price=h100-sxm%3D2"
LONGEST_MS = 60_000
NARROW = {"width": 390, "height": 800}
HOSTILE = """\
gpus:
  mi355x: {name: "<img src=x onerror=alert(1)>"}
prices:
  mi355x:
    - {provider: "![x](http://example.org/x.png)<script>alert(1)</script>", usd_per_gpu_hour: 1.23 USD/h,
       kind: on-demand, source: our books, date: 2026-11-30}
"""


@pytest.fixture(scope="module")
def address():
    with SHOTS["serving"]() as served:
        yield served


@pytest.fixture(scope="module")
def browser():
    with SHOTS["chromium"]() as started:
        yield started


@pytest.fixture
def opened(browser, address):
    """Open pages of the dashboard; whatever goes elsewhere or is complained about in them fails the test."""
    wrong, contexts = [], []
    own = address.replace("http", "ws")

    def opened(path="", wait_for=None, **how):
        context = browser.new_context(viewport={"width": 1280, "height": 900}, accept_downloads=True, **how)
        contexts.append(context)
        page = context.new_page()
        page.set_default_timeout(LONGEST_MS)
        page.on("pageerror", lambda error: wrong.append(str(error)))
        page.on("console", lambda said: said.type == "error" and wrong.append(said.text))
        page.on("dialog", lambda dialog: (wrong.append(dialog.message), dialog.dismiss()))
        page.on(
            "request", lambda sent: sent.url.startswith(("data:", "blob:", address)) or wrong.append(sent.url)
        )
        page.on("websocket", lambda socket: socket.url.startswith(own) or wrong.append(socket.url))
        page.on("response", lambda got: got.status < 400 or wrong.append(f"{got.status} {got.url}"))
        page.goto(f"{address}/{path}")
        if wait_for is not None:
            page.get_by_text(wait_for).first.wait_for()
        return page

    yield opened
    for context in contexts:
        context.close()
    assert not wrong


def test_it_opens_and_answers_anew_when_a_price_moves(opened):
    page = opened(wait_for="take 8 x MI355X")
    price = page.get_by_label("MI355X, USD per GPU-hour")
    price.fill("6.5")
    price.press("Enter")
    page.get_by_text("take 8 x B300-SXM").wait_for()
    page.wait_for_url("**mi355x%3D6.5**")


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_every_page_is_drawn_without_a_complaint(opened, scheme):
    page = opened(color_scheme=scheme)
    for name in PAGES:
        page.get_by_role("link", name=name.capitalize(), exact=True).click()
        page.wait_for_url(re.compile(rf"/{'' if name == PAGES[0] else name}(\?|$)"))
        SHOTS["complete"](page)
        assert page.get_by_test_id("stException").count() == 0
    back = page.evaluate("getComputedStyle(document.querySelector('[data-testid=stApp]')).backgroundColor")
    bright = sum(map(int, re.findall(r"\d+", back)[:3])) > 3 * 128
    assert bright == (scheme == "light")


def test_a_link_is_followed_pages_share_what_it_says_and_the_way_back_works(opened):
    page = opened(f"fit?{LINK}&tp=nothing", "Llama-3.1-8B fits on")
    page.get_by_text("values that were not accepted").wait_for()
    page.get_by_role("link", name="Cost").click()
    page.get_by_text("What a million tokens cost, USD").wait_for()
    page.wait_for_url("**/cost?model=llama-3.1-8b**")
    page.go_back()
    page.wait_for_url("**/fit**")
    page.get_by_text("Llama-3.1-8B fits on").first.wait_for()


def test_two_tabs_have_scenarios_of_their_own(opened):
    first = opened(f"fit?{LINK}", "Llama-3.1-8B fits on")
    second = opened("fit", "Kimi")
    second.reload()
    second.get_by_text("Kimi").first.wait_for()
    first.reload()
    first.get_by_text("Llama-3.1-8B fits on").first.wait_for()


def saved(page, button, file):
    """Save what a button offers: once the page is drawn, as what it offers before that is offered anew."""
    SHOTS["complete"](page)
    with page.expect_download() as saving:
        button.click()
    saving.value.save_as(file)
    return file


def test_answers_tables_and_figures_are_saved(opened, tmp_path):
    page = opened(f"fit?{LINK}", "Llama-3.1-8B fits on")
    page.get_by_text("Make this answer again").first.click()
    file = saved(page, page.get_by_role("button", name="JSON"), tmp_path / "answer.json")
    answer = json.loads(file.read_text(encoding="utf-8"))
    assert answer["model"] == "llama-3.1-8b"
    assert len(answer["reproduction"]["catalogue_digest"]) == 64
    page.get_by_text("The numbers of this figure").first.click()
    button = page.get_by_test_id("stDownloadButton").get_by_text("CSV").first
    table = saved(page, button, tmp_path / "table.csv").read_text(encoding="utf-8")
    assert "," in table.splitlines()[0]
    page.get_by_text("Launch it").click()
    page.get_by_text("vllm serve meta-llama/Llama-3.1-8B").first.wait_for()
    button = page.get_by_role("button", name="Launch", exact=True)
    assert "vllm serve" in saved(page, button, tmp_path / "launch.sh").read_text(encoding="utf-8")
    figure = page.locator(".js-plotly-plot").first
    figure.hover()
    picture = saved(page, figure.locator("[data-title^='Download plot']"), tmp_path / "figure.png")
    assert picture.read_bytes().startswith(b"\x89PNG")


def test_results_are_uploaded_and_held_against_predictions(opened):
    page = opened("measure", "What the files do not say")
    page.locator("input[type=file]").set_input_files(RUN)
    page.get_by_text("not imported: state").wait_for()
    page.get_by_text("What the files do not say").click()
    for label, text in (("Model", "gpt-oss-120b"), ("Accelerator", "h200"), ("GPUs", "8")):
        page.get_by_label(label, exact=True).fill(text)
        page.keyboard.press("Tab")
    page.get_by_text("Serving points: 1 of 1 rows predicted").wait_for()


def test_what_a_user_writes_stays_text(opened, tmp_path):
    file = tmp_path / "<b>ours.yaml"
    file.write_text(HOSTILE, encoding="utf-8")
    page = opened("catalogue", "Your own accelerators")
    page.get_by_text("Your own accelerators").click()
    page.locator("input[type=file]").first.set_input_files(file)
    page.get_by_role("button", name="Use this catalogue file").click()
    page.get_by_text("All pages of this session").wait_for()
    page.get_by_role("link", name="Overview").click()
    page.get_by_text("take 8 x").first.wait_for()
    SHOTS["complete"](page)
    assert page.locator("img[src*=example], img[src=x], script:has-text('alert')").count() == 0


def test_a_narrow_screen_is_not_scrolled_sideways(opened, address):
    page = opened()
    page.set_viewport_size(NARROW)
    for name in PAGES:
        page.goto(f"{address}/{'' if name == PAGES[0] else name}")
        SHOTS["complete"](page)
        assert page.evaluate("document.documentElement.scrollWidth") <= NARROW["width"]
        shown = page.get_by_test_id("stMainBlockContainer").bounding_box()
        assert shown["width"] <= NARROW["width"]


def test_the_keyboard_reaches_and_moves_everything(opened):
    page = opened("fit", "fits on")
    SHOTS["complete"](page)
    reached = []
    for _ in range(120):
        page.keyboard.press("Tab")
        reached.append(
            page.evaluate(
                "(e => e.getAttribute('aria-label') || e.innerText || e.getAttribute('role') || '')"
                "(document.activeElement)"
            )
        )
    text = " ".join(reached)
    for name in ("Overview", "Accuracy", "Input tokens", "USD per GPU-hour", "Longest request"):
        assert name in text
    slider = page.get_by_role("slider").first
    slider.focus()
    page.keyboard.press("ArrowRight")
    page.wait_for_url("**context=262144**")
