"""Take docs/dashboard.png from the dashboard itself, in a headless Chromium.

pip install -e '.[dashboard]' playwright && apt-get install chromium
python docs/make_screenshots.py
"""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from playwright.sync_api import Browser, Page, sync_playwright

from planner.cli.ui import flags

DOCS = Path(__file__).resolve().parent
SIZE = {"width": 1400, "height": 1500}
CHROMIUM = os.environ.get("CHROMIUM") or shutil.which("chromium") or shutil.which("chromium-browser")
LONGEST_S = 60
STILL_MS = 400
STILL = """
still => new Promise(done => {
  let timer = setTimeout(done, still)
  new MutationObserver(() => { clearTimeout(timer); timer = setTimeout(done, still) })
    .observe(document.body, {subtree: true, childList: true, attributes: true})
})
"""
"""Ends once nothing of the page has changed for so long."""


@contextmanager
def serving() -> Iterator[str]:
    """Serve the dashboard on a free port of this machine; yield its address."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    words = [sys.executable, "-m", "planner.dashboard.serve", *flags(port, "127.0.0.1", browser=False)]
    process = subprocess.Popen(words, cwd=DOCS.parent, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        yield _answering(f"http://127.0.0.1:{port}")
    finally:
        process.terminate()
        process.wait()


def _answering(address: str) -> str:
    last = time.monotonic() + LONGEST_S
    while time.monotonic() < last:
        try:
            urllib.request.urlopen(f"{address}/_stcore/health", timeout=1).close()
        except OSError:
            time.sleep(0.05)
        else:
            return address
    raise TimeoutError("the dashboard did not start")


@contextmanager
def chromium() -> Iterator[Browser]:
    """Start a headless Chromium."""
    if CHROMIUM is None:
        raise FileNotFoundError("no chromium; `apt-get install chromium`, or name it by CHROMIUM=PATH")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=CHROMIUM, args=["--no-sandbox", "--disable-dev-shm-usage"]
        )
        try:
            yield browser
        finally:
            browser.close()


def complete(page: Page) -> None:
    """Wait until the script of a page has ended, and nothing has changed for a while."""
    page.locator("[data-testid=stApp][data-test-script-state=notRunning]").wait_for()
    page.wait_for_function("document.querySelector('[data-testid=stMainBlockContainer]')?.innerText.trim()")
    page.evaluate(STILL, STILL_MS)


def main() -> None:
    """Take the picture of the first screen."""
    with serving() as address, chromium() as browser:
        page = browser.new_page(viewport=SIZE)
        page.goto(address)
        page.locator(".js-plotly-plot").nth(2).wait_for(timeout=1000 * LONGEST_S)
        complete(page)
        page.screenshot(path=DOCS / "dashboard.png")


if __name__ == "__main__":
    main()
