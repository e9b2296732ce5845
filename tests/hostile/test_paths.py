"""No name in a file, a link or an upload opens, writes or overwrites a file that nobody named."""

from __future__ import annotations

import json
import os

import pytest

import planner
from planner.cli.entry import run
from planner.errors import InvalidInput, PlannerError
from planner.measurement.importers.importing import Names, read_file

OUTSIDE = (
    "../../../../etc/passwd",
    "/etc/passwd",
    "file:///etc/passwd",
    "~/.ssh/id_rsa",
    "..",
    "a\0b",
    "/dev/zero",
)


@pytest.fixture
def saved(catalogue):
    """Return a saved answer."""
    return planner.fit(model="llama-3.1-8b", gpu="h200", tp=1, catalogue=catalogue).to_dict()


@pytest.fixture
def model_outside(tmp_path, catalogue):
    """Return the path of a configuration that planner could read, if it were asked to."""
    file = tmp_path / "outside" / "config.json"
    file.parent.mkdir()
    file.write_text(json.dumps(catalogue.model("llama-3.1-8b").config))
    return file


def test_a_saved_answer_opens_no_model(tmp_path, catalogue, saved, model_outside):
    for name in (str(model_outside), str(model_outside.parent), *OUTSIDE):
        saved["model"] = name
        saved["reproduction"]["arguments"]["model"] = name
        file = tmp_path / "answer.json"
        file.write_text(json.dumps(saved))
        for ask in (planner.verify, lambda path, **more: planner.launch(saved=path, **more)):
            with pytest.raises(PlannerError):
                ask(file, catalogue=catalogue)


def test_a_saved_answer_opens_no_trace(tmp_path, catalogue, saved):
    trace = tmp_path / "trace.csv"
    trace.write_text("arrival_s,isl,osl\n0,100,10\n")
    asked = {"model": "llama-3.1-8b", "gpu": "h200", "trace": str(trace), "tp": 1}
    saved["reproduction"] |= {"function": "simulate", "arguments": asked}
    file = tmp_path / "answer.json"
    file.write_text(json.dumps(saved))
    with pytest.raises(PlannerError, match="trace"):
        planner.verify(file, catalogue=catalogue)


@pytest.mark.parametrize(
    "function", ["verify", "import_results", "load_catalogue", "__class__", "os.system", "eval"]
)
def test_a_saved_answer_calls_nothing_else(tmp_path, catalogue, saved, function):
    saved["reproduction"]["function"] = function
    file = tmp_path / "answer.json"
    file.write_text(json.dumps(saved))
    with pytest.raises(InvalidInput):
        planner.verify(file, catalogue=catalogue)


@pytest.mark.parametrize("name", OUTSIDE)
def test_names_of_a_result_stay_cells(tmp_path, catalogue, name):
    file = tmp_path / "result.json"
    result = {
        "date": "20261130-000000",
        "backend": "vllm",
        "model_id": name,
        "tokenizer_id": name,
        "num_prompts": 10,
        "completed": 10,
        "duration": 10.0,
        "total_input_tokens": 1000,
        "total_output_tokens": 1000,
        "request_throughput": 1.0,
        "output_throughput": 100.0,
        "max_concurrency": 4,
        "mean_ttft_ms": 10.0,
        "median_ttft_ms": 10.0,
        "mean_tpot_ms": 10.0,
        "median_tpot_ms": 10.0,
    }
    file.write_text(json.dumps(result))
    said = {"gpu": "h200", "n_gpus": "1", "source": name, "notes": name}
    read_file(str(file), said, Names(catalogue))
    into = tmp_path / "mine"
    planner.import_results(
        [file], gpu="h200", gpus=1, model=name, source=name, into=into, catalogue=catalogue
    )
    found = sorted(os.path.relpath(path, into) for path in into.rglob("*") if path.is_file())
    assert set(found) <= {"serving/imported.csv", "serving/.lock"}
    assert sorted(path.name for path in tmp_path.iterdir()) == ["mine", "result.json"]


@pytest.mark.parametrize("name", ["../../x.csv", "/etc/passwd", "..", ".bashrc", "a/b\\c", "x" * 5000, "\0"])
def test_uploads_lie_in_the_folder_of_the_session(tmp_path, monkeypatch, name):
    from planner.dashboard import uploads

    monkeypatch.setattr(uploads, "folder", lambda: tmp_path)
    path = uploads.kept(name, b"x", under="results-1")
    assert path.parent == tmp_path / "results-1"
    assert path.read_bytes() == b"x"
    assert not path.name.startswith(".")


def test_out_through_a_link_writes_whole_and_keeps_the_link(tmp_path, capsys):
    target = tmp_path / "target.json"
    target.write_text("old")
    link = tmp_path / "link.json"
    link.symlink_to(target)
    assert run(["fit", "--model", "llama-3.1-8b", "--gpu", "h200", "--out", str(link)]) == 0
    assert link.is_symlink()
    assert json.loads(target.read_text())["model"] == "llama-3.1-8b"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["link.json", "target.json"]


@pytest.mark.parametrize("restart", [False, True])
def test_a_sweep_writes_over_nothing_that_a_link_leads_to(tmp_path, catalogue, restart):
    precious = tmp_path / "precious"
    precious.write_text("")
    (tmp_path / "rows.csv.part").symlink_to(precious)
    asked = {"model": "llama-3.1-8b", "gpu": "h200", "isl": 100, "osl": 10, "restart": restart}
    with pytest.raises(InvalidInput, match="is a link"):
        planner.sweep(**asked, out=tmp_path / "rows.csv", catalogue=catalogue)
    assert precious.read_text() == ""
