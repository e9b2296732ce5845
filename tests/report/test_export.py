"""Reports as Markdown and as one HTML page: whole, self-contained, and safe whatever a name holds."""

from __future__ import annotations

import base64
import gzip
import html
import json
import re
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from planner.errors import Unsupported
from planner.report.base import Report
from planner.report.figures.named import NamedFigure
from planner.report.figures.style import gpu_colours, plain
from planner.report.markdown import escaped, fenced
from planner.report.page import data_script
from planner.report.reproduction import InputFile, Reproduction
from tests.report.made import answer, report
from tests.report.made_prediction import answer as predicted
from tests.report.made_prediction import report as prediction_report

GOLDEN = Path(__file__).parents[1] / "cli" / "golden"
MADE = Reproduction(
    "fit",
    {"model": "made-1t", "gpu": ["b200", "mi355x"], "price": {"b200": 4.25}},
    "0123456789abcdef",
    "1.2.3",
    "2026-11-30",
    (InputFile("catalogue", "ours.yaml", "ab" * 32),),
)
FIT = replace(report(answer(gpu="b200-sxm", small=True, price=4.25), answer(gpu="mi355x")), reproduction=MADE)

HOSTILE = [
    "</script><script>alert(1)</script>",
    "<img src=x onerror=alert(1)>",
    "]]> & \" ' ` | \\ [a](javascript:alert(1)) ![x](http://x) <b>",
    "a\n\n# heading\n```\nb",
    "{{constructor}} \u2028 \x00 \ud7ff",
]


class Page(HTMLParser):
    """Every element with its attributes, the texts people read, and the data."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.data: dict[str, str] = {}
        self.words: list[str] = []
        self._inside = ("", "")
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.elements.append((tag, dict(attrs)))
        self._inside = (tag, dict(attrs).get("id") or "")

    def handle_endtag(self, tag):
        self._inside = ("", "")

    def handle_data(self, data):
        if self._inside[0] == "script":
            self.data[self._inside[1]] = data
        elif self._inside[0] != "style":
            self.words.append(data)

    def tags(self) -> set[str]:
        return {tag for tag, _ in self.elements}


def named(text: str) -> Report:
    """Return a report whose every text of a user's is this one."""
    one = answer(gpu="b200-sxm", small=True, price=4.25)
    hostile = replace(one, model=text, model_name=text, notes=(text,), weight_format=text, no_price=text)
    made = replace(MADE, arguments={"model": text, "engine": text}, files=(InputFile("trace", text, text),))
    return replace(report(hostile), reproduction=made)


def test_the_page_holds_answer_tables_sources_and_how_it_was_made():
    words = " ".join(Page(FIT.to_html()).words)
    for said in (
        FIT.answers[0].sentence,
        "KV cache",
        "Assumed, since it was not given",
        "Sources",
        "Wafer",
        "given by you",
        "planner fit --model made-1t --gpu b200,mi355x --price b200=4.25 --catalogue ours.yaml",
        "0123456789abcdef",
        "1.2.3",
        "2026-11-30",
        "ab" * 32,
    ):
        assert said in words


def test_the_page_holds_its_own_json():
    data = Page(FIT.to_html()).data
    assert json.loads(data["planner-report"]) == json.loads(json.dumps(FIT.to_dict()))


def test_the_page_asks_nothing_of_any_network():
    page = FIT.to_html()
    for tag, attributes in Page(page).elements:
        assert tag not in ("link", "iframe", "object", "embed", "base", "form", "img")
        assert not attributes.keys() & {"src", "href", "srcset", "action", "style:url", "onload", "onclick"}
    assert "default-src 'none'" in page
    assert "url(" not in page.partition("</style>")[0]
    assert "@import" not in page.partition("</style>")[0]


def test_figures_stand_in_the_page_once_with_what_draws_them():
    page = FIT.to_html()
    data = Page(page).data
    figures = json.loads(data["planner-figures"])
    assert list(figures) == ["memory"]
    assert {trace["name"] for trace in figures["memory"]["data"]} >= {"weights", "KV cache"}
    script = gzip.decompress(base64.b64decode(data["planner-plotly"]))
    assert b"Plotly" in script
    assert page.count('id="planner-plotly"') == 1
    assert len(page) < 3_000_000
    assert FIT.to_html() == page


def test_the_page_reads_in_light_in_dark_on_paper_and_without_javascript():
    page = FIT.to_html()
    assert "prefers-color-scheme: dark" in page
    assert "@media print" in page
    assert "<noscript>" in page
    assert Page(page).tags() >= {"table", "th", "td", "figure", "figcaption", "h1", "h2", "noscript"}


def test_without_plotly_the_page_says_that_figures_are_left_out(monkeypatch):
    def missing(_):
        raise Unsupported("figures need plotly, which is not installed")

    monkeypatch.setattr(NamedFigure, "draw", missing)
    page = FIT.to_html()
    assert "Figures are left out: plotly is not installed" in page
    assert "pip install 'accelerator-planner[report]'" in html.unescape(page)
    assert len(page) < 100_000
    assert json.loads(Page(page).data["planner-report"])["schema"] == "planner.fit/1"


def test_a_missing_plotly_is_named_with_the_extra_that_brings_it():
    def drawn():
        raise ModuleNotFoundError("No module named 'plotly'", name="plotly.graph_objects")

    with pytest.raises(Unsupported, match=r"planner\[report\]"):
        NamedFigure("x", "x", drawn).draw()
    with pytest.raises(ModuleNotFoundError):
        NamedFigure("x", "x", lambda: __import__("no_such_module")).draw()


@pytest.mark.parametrize("text", HOSTILE)
def test_a_hostile_name_stays_a_name(text):
    check_hostile(text)


@settings(max_examples=25)
@given(st.text(alphabet=st.characters(exclude_categories=["Cs", "Cc"]), min_size=1, max_size=40))
def test_any_name_stays_a_name(text):
    check_hostile(f"<{text}>")


def check_hostile(text: str) -> None:
    made, usual = named(text), named("a name")
    page = Page(made.to_html())
    assert [tag for tag, _ in page.elements] == [tag for tag, _ in Page(usual.to_html()).elements]
    assert json.loads(page.data["planner-report"]) == json.loads(json.dumps(made.to_dict()))
    assert headings(made.to_markdown()) == headings(usual.to_markdown())


def headings(text: str) -> int:
    """Return how many lines outside the block of code are headings."""
    before, fence, _ = text.partition("\n```")
    assert fence
    return len(re.findall("^#", before, re.MULTILINE))


def test_json_in_a_page_cannot_close_its_element():
    held = data_script("x", {"a": "</script><!--"})
    assert held.count("<") == 2
    assert json.loads(held.partition(">")[2].rpartition("</")[0]) == {"a": "</script><!--"}


def test_markdown_is_what_it_was():
    assert FIT.to_markdown() == (GOLDEN / "export_fit.md").read_text(encoding="utf-8")


def test_markdown_signs_are_escaped():
    assert (
        escaped("a|b *c* <d> _e_ f_g `h` [i] \\") == "a\\|b \\*c\\* \\<d\\> \\_e\\_ f_g \\`h\\` \\[i\\] \\\\"
    )
    assert fenced("a ```` b") == "`````sh\na ```` b\n`````"


def test_every_figure_has_units_on_its_axes():
    for made in (FIT, prediction_report(predicted())):
        for figure in made.figures():
            layout = figure.draw().layout
            titles = [axis.title.text for axis in (layout.xaxis, layout.yaxis) if axis.title.text]
            assert titles
            assert all("," in title or "tok/s" in title for title in titles)
            assert made.plot(figure.name).to_json() == figure.draw().to_json()


def test_a_figure_that_is_not_there_is_named():
    with pytest.raises(Unsupported, match="no figure x; there is memory"):
        FIT.plot("x")


def test_vendors_keep_their_colours():
    alone = gpu_colours([("mi355x", "AMD"), ("b200-sxm", "NVIDIA")])
    others = gpu_colours([("b300-sxm", "NVIDIA"), ("b200-sxm", "NVIDIA"), ("mi355x", "AMD")])
    assert alone["mi355x"] == others["mi355x"]
    assert alone["b200-sxm"] == others["b200-sxm"]
    assert len(set(others.values())) == 3


def test_plotly_shows_tags_of_a_name_as_they_are():
    assert plain("<a href='x'>&") == "&lt;a href='x'&gt;&amp;"
