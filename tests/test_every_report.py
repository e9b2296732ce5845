"""Every function of the front door answers with a report that exports in every form and can be made again."""

from __future__ import annotations

import json
import re

import pytest

import planner
from planner.report.base import Report
from planner.report.table import Table

LLAMA = {"model": "llama-3.1-8b"}
SHORT = {**LLAMA, "isl": 512, "osl": 64}
QUESTIONS = {
    "fit": {**LLAMA, "gpu": "h100,mi300x", "price_kind": "on-demand"},
    "predict": {**SHORT, "gpu": "h100,mi300x", "concurrency": 8, "price": {"h100": 2.5}},
    "simulate": {**SHORT, "gpu": "h100", "request_rate": 4, "requests": 60},
    "compare": {**SHORT, "gpu": "h100,mi300x", "concurrency": 8, "price": {"h100": 2.5, "mi300x": 2.0}},
    "frontier": {**SHORT, "gpu": "h100", "gpus": [1, 2], "price": {"h100": 2.5}},
    "plan": {**SHORT, "gpu": "h100", "request_rate": 5, "slo_ttft_s": 2, "price": 2.5, "requests": 200},
    "breakeven": {**SHORT, "gpu": "h100,mi300x", "concurrency": 8, "price": {"h100": 2.5, "mi300x": 2.0}},
    "launch": {**SHORT, "gpu": "h100", "concurrency": 4},
    "own": {"gpu": ["mi355x", "b200"], "life_years": 5},
    "sweep": {**SHORT, "gpu": "h100", "concurrency": "1..4", "price": 2.5},
    "train": {**LLAMA, "gpu": "h100,mi300x", "gpus": 8, "tokens": "1T", "price": 2.5},
    "achieved": {"gpu": "h100,mi300x"},
}


@pytest.fixture(scope="module", params=QUESTIONS)
def report(request, catalogue) -> Report:
    made = getattr(planner, request.param)(**QUESTIONS[request.param], catalogue=catalogue)
    assert made.reproduction.function == request.param
    return made


def test_it_says_what_it_is_about_and_what_the_answer_is(report):
    assert len(report.title) < 200
    assert report.sentence
    assert report.tables()
    assert all(isinstance(table, Table) and table.rows for table in report.tables())
    for table in (report.assumptions(), report.sources()):
        assert table is None or isinstance(table, Table)


def test_its_json_names_its_schema_and_ends_with_how_it_was_made(report):
    record = json.loads(json.dumps(report.to_dict(), allow_nan=False))
    assert re.fullmatch(r"planner\.\w+/1", record["schema"])
    assert list(record)[-1] == "reproduction"
    assert record["reproduction"]["function"] in record["reproduction"]["command"]


def test_its_page_holds_words_figures_and_json(report):
    page = report.to_html()
    held = re.search(r'id="planner-report">([^<]*)</script>', page)
    assert json.loads(held[1]) == json.loads(json.dumps(report.to_dict()))
    assert page.count("<figure>") == len(report.figures())
    names = [figure.name for figure in report.figures()]
    assert len(set(names)) == len(names)


def test_its_markdown_and_csv_are_tables(report):
    text = report.to_markdown()
    assert text.startswith("# ")
    assert "\n| ---" in text
    lines = report.to_csv().splitlines()
    assert len(lines) > 1


def test_it_says_the_same_when_it_is_made_again(tmp_path, report, catalogue):
    file = tmp_path / "report.html"
    file.write_text(report.to_html(), encoding="utf-8")
    made = planner.verify(file, catalogue=catalogue)
    assert made.same, made.to_records()[:5]
