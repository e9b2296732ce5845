"""A report as one HTML page that needs no network: words, figures, tables, sources and the JSON itself."""

from __future__ import annotations

import base64
import functools
import gzip
import html
import json
from collections.abc import Iterator
from importlib import resources
from typing import Any

from planner.errors import Unsupported
from planner.report.base import Report
from planner.report.figures.named import REPORT_EXTRA
from planner.report.provenance import origin_facts
from planner.report.table import Table

DATA_ID = "planner-report"
"""Of the element that holds the JSON of the report."""
FIGURES_ID, PLOTLY_ID = "planner-figures", "planner-plotly"
"""Of those that hold the figures and what draws them."""

POLICY = (
    "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; img-src data: blob:; "
    "base-uri 'none'; form-action 'none'"
)
"""What the page may load: nothing."""

LEFT_OUT = f"Figures are left out: plotly is not installed where this page was written ({REPORT_EXTRA})."
NO_SCRIPT = "Figures need JavaScript; every number of theirs stands in a table below."


def html_page(report: Report) -> str:
    """Return a report as one self-contained page.

    Parameters
    ----------
    report : Report
        The report.

    Returns
    -------
    str
        Every text of the user's escaped. Figures are drawn by plotly.js, which stands in the page once,
        compressed; without plotly installed there are none, and the page says so.
    """
    return page_text(report, drawn_figures(report))


def page_text(report: Report, figures: dict[str, Any] | None) -> str:
    """Return the page of a report with figures that were drawn; None where none could be."""
    body = "\n".join(_body(report, figures))
    scripts = "\n".join(_scripts(report, figures))
    return (
        "<!doctype html>\n"
        '<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{POLICY}">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        '<meta name="generator" content="planner">\n'
        f"<title>{html.escape(report.title)}</title>\n"
        f"<style>\n{_asset('page.css')}</style>\n</head>\n"
        f"<body>\n<main>\n{body}\n</main>\n{scripts}\n</body>\n</html>\n"
    )


def drawn_figures(report: Report) -> dict[str, Any] | None:
    """Return the figures as plotly's JSON by name; None where plotly is not installed."""
    try:
        return {figure.name: json.loads(figure.draw().to_json()) for figure in report.figures()}
    except Unsupported:
        return None


def _body(report: Report, figures: dict[str, Any] | None) -> Iterator[str]:
    yield f"<h1>{html.escape(report.title)}</h1>"
    yield f'<p class="answer">{html.escape(report.sentence)}</p>'
    yield from _figures(report, figures)
    for table in report.tables():
        yield _section(table)
    if report.warnings:
        said = "".join(f"<li>{html.escape(text)}</li>" for text in report.warnings)
        yield f"<section><h2>Notes</h2><ul>{said}</ul></section>"
    for found, usual in ((report.assumptions(), "Assumptions"), (report.sources(), "Sources")):
        if found is not None and found.rows:
            yield _section(found, usual)
    yield from _origin(report)


def _figures(report: Report, figures: dict[str, Any] | None) -> Iterator[str]:
    if not report.figures():
        return
    if figures is None:
        yield f'<p class="aside">{LEFT_OUT}</p>'
        return
    yield f'<noscript><p class="aside">{NO_SCRIPT}</p></noscript>'
    for figure in report.figures():
        yield (
            f'<figure><div class="plot" data-figure="{html.escape(figure.name)}"></div>'
            f"<figcaption>{html.escape(figure.title)}</figcaption></figure>"
        )


def _section(table: Table, usual: str = "") -> str:
    title = html.escape(table.title or usual)
    untitled = Table(table.columns, table.rows).to_html()
    return f'<section>{f"<h2>{title}</h2>" if title else ""}<div class="wide">{untitled}</div></section>'


def _origin(report: Report) -> Iterator[str]:
    made = report.reproduction
    if made is None:
        return
    facts = "".join(
        f"<dt>{html.escape(label)}</dt><dd>{html.escape(text)}</dd>" for label, text in origin_facts(made)
    )
    command = f"<pre><code>{html.escape(made.command)}</code></pre>" if made.complete else ""
    yield f"<section><h2>How it was made</h2>{command}<dl>{facts}</dl></section>"


def _scripts(report: Report, figures: dict[str, Any] | None) -> Iterator[str]:
    yield data_script(DATA_ID, report.to_dict())
    if figures:
        yield data_script(FIGURES_ID, figures)
        yield f'<script type="text/plain" id="{PLOTLY_ID}">{packed_plotly()}</script>'
        yield f"<script>\n{_asset('page.js')}</script>"


def data_script(name: str, data: dict[str, Any]) -> str:
    """Return JSON in an element that a browser does not run and that no text of it can close."""
    text = json.dumps(data, ensure_ascii=False, allow_nan=False)
    safe = text.replace("&", "\\u0026").replace("<", "\\u003c").replace(">", "\\u003e")
    return f'<script type="application/json" id="{name}">{safe}</script>'


@functools.cache
def packed_plotly() -> str:
    """Return plotly.js, compressed and in letters; the page unpacks it."""
    from plotly.offline import get_plotlyjs

    return base64.b64encode(gzip.compress(get_plotlyjs().encode(), mtime=0)).decode("ascii")


def _asset(name: str) -> str:
    return resources.files("planner.report").joinpath("assets", name).read_text(encoding="utf-8")
