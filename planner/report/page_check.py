"""Whether a page shows what the JSON within it says: its words, its figures, and what draws them."""

from __future__ import annotations

import base64
import gzip
import json
import re
from dataclasses import replace
from itertools import zip_longest
from typing import Any

from planner.report.base import Report
from planner.report.page import FIGURES_ID, PLOTLY_ID, drawn_figures, packed_plotly, page_text
from planner.report.reading import SavedReport
from planner.report.verification import ABSENT, Difference, compared

_DATA = re.compile(r'<script type="[a-z/]+" id="(planner-[a-z]+)">([^<]*)</script>\n?')
"""Data in a page, which a browser does not run; scripts that it runs have no id."""


def page_differences(
    saved: SavedReport, made: Report, tolerance: float
) -> tuple[int, list[Difference], list[str]]:
    """Compare the page of a report with the one that its question makes now.

    Parameters
    ----------
    saved : SavedReport
        The report, which says the same as `made`, written by the same version.
    made : Report
        The report made again.
    tolerance : float
        Relative difference below which two numbers of a figure are the same.

    Returns
    -------
    tuple of int, list of Difference and list of str
        How many values were compared, those that differ, of the words the first line alone; and what could
        not be compared.
    """
    said, data = _parted(saved.page)
    figures = drawn_figures(made) if FIGURES_ID in data else None
    if FIGURES_ID in data and figures is None:
        return 0, [], ["the page was not compared: plotly is not installed here"]
    now = _parted(page_text(replace(made, reproduction=saved.reproduction), figures))[0]
    found = _first_difference(said.splitlines(), now.splitlines())
    if not figures:
        return 1, found, []
    if _unpacked(data.get(PLOTLY_ID, "")) != _unpacked(packed_plotly()):
        return 1, found, ["figures were not compared: plotly.js in the page is not that of this machine"]
    count, others = compared(_json(data[FIGURES_ID]), figures, tolerance)
    found += [replace(one, path=f"page.figures.{one.path}") for one in others]
    return 1 + count, found, []


def _parted(page: str) -> tuple[str, dict[str, str]]:
    """Return what a page shows and runs, and the data in it by name."""
    return _DATA.sub("", page), dict(_DATA.findall(page))


def _first_difference(then: list[str], now: list[str]) -> list[Difference]:
    for number, (before, after) in enumerate(zip_longest(then, now, fillvalue=ABSENT), start=1):
        if before != after:
            return [Difference(f"page, line {number} without data", before, after)]
    return []


def _json(text: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return ABSENT


def _unpacked(packed: str) -> bytes:
    try:
        return gzip.decompress(base64.b64decode(packed))
    except (ValueError, EOFError, OSError):
        return b""
