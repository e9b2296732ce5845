"""Tools answer what the functions answer, in one line where they cannot, and open no file of a stranger."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import planner
from planner.mcp import answering
from planner.mcp.answering import TOOLS, Answer, answer
from planner.mcp.cutting import NOTE, cut

QUESTIONS = {
    "fit": {"model": "kimi-k3", "gpu": ["mi355x", "b200"]},
    "predict": {"model": "kimi-k3", "gpu": "mi355x", "isl": 1024, "osl": 400, "concurrency": 32},
    "compare": {
        "model": "kimi-k3",
        "isl": 1024,
        "osl": 400,
        "price": {"mi355x": 2.5, "b200": 4.25, "b300": 6},
    },
    "plan": {
        "model": "llama-3.1-8b",
        "gpu": "h100",
        "request_rate": 5,
        "isl": 1000,
        "osl": 100,
        "slo_ttft_s": 2,
        "price": 2.5,
    },
    "breakeven": {
        "model": "kimi-k3",
        "gpu": "mi355x,b300",
        "isl": 1024,
        "osl": 400,
        "price": {"mi355x": 2.5, "b300": 6},
    },
    "launch": {"model": "deepseek-r1", "gpu": "h200", "tp": 8, "context": 32768, "isl": 1000, "osl": 400},
    "train": {"model": "llama-3.1-8b", "gpu": "h100", "gpus": 8, "tokens": 10**9, "price": 2.5},
    "achieved": {"gpu": "h100,mi300x"},
    "media": {"model": "flux.1-dev", "gpu": ["rtx-4090"], "size": "1024x1024", "weight_dtype": "fp8"},
    "models": {"search": "kimi"},
    "gpus": {"show": "mi355x"},
}


def line(name: str, **given: object) -> str:
    """Return the one line with which a call is refused."""
    said = answer(name, given)
    assert said.record is None, said.text
    assert said.text
    assert "\n" not in said.text
    assert "internal error" not in said.text
    return said.text


def test_every_tool_has_a_question_here():
    assert QUESTIONS.keys() == TOOLS.keys()


@pytest.mark.parametrize("name", TOOLS)
def test_a_tool_answers(name):
    said = answer(name, QUESTIONS[name])
    assert said.record is not None, said.text
    assert said.record["sentence"] == said.text
    assert said.record["schema"].startswith("planner.")
    assert len(json.dumps(said.record)) < 20_000


def test_an_answer_is_the_function_s(catalogue):
    asked = {"model": "kimi-k3", "isl": 1024, "osl": 400, "concurrency": 32}
    report = planner.predict(**asked, gpu="mi355x", catalogue=catalogue)
    said = answer("predict", {**asked, "gpu": ["mi355x"]})
    assert said.text == report.sentence
    assert said.record["output_tps_total"] == report.to_dict()["output_tps_total"]
    compared = answer("compare", QUESTIONS["compare"]).record
    assert [round(one["output_tps_per_usd_per_hour"]["value"]) for one in compared["results"]] == [48, 33, 7]


def test_what_does_not_fit_is_an_answer():
    said = answer("fit", {"model": "kimi-k3", "gpu": "b200", "gpus": 8})
    assert said.record["fits"] is False


@pytest.mark.parametrize(
    ("name", "given", "part"),
    [
        ("fit", {"model": "kimi-k3"}, "fit needs gpu"),
        ("predict", {"model": "kimi-k3", "gpu": "b200"}, "predict needs isl and osl"),
        ("fit", {"model": "kimi-k3", "gpu": "b200", "tpp": 8}, "unknown argument of fit 'tpp'; nearest: tp"),
        ("fit", {"model": "kimi-k3", "gpu": "b200", "tp": 0}, "fit tp: 0 is not possible"),
        ("fit", {"model": "kimi-k3", "gpu": "b200", "tp": 5000}, "fit tp: 5000 is not possible"),
        ("fit", {"model": "kimi-k3", "gpu": ["b200"] * 9}, "fit gpu: "),
        ("fit", {"model": "k" * 121, "gpu": "b200"}, "fit model: "),
        ("fit", {"model": "kimi-k3", "gpu": "b200", "price": {"b200": 1e9}}, "fit price"),
        ("fit", {"model": "kimi-k3", "gpu": "b200", "engine": "../../etc"}, "fit engine: "),
        ("fit", {"model": "kimi-k4", "gpu": "b200"}, "nearest: "),
        ("fit", {"model": "kimi-k3", "gpu": "b2oo"}, "unknown gpu 'b2oo'; nearest: b200"),
        ("fit", {"model": "nobody/no-model", "gpu": "b200"}, "this server asks no hub"),
        ("plan", {**QUESTIONS["plan"], "slo_ttft_s": None}, ""),
        ("breakeven", {**QUESTIONS["breakeven"], "gpu": "b200"}, ""),
        ("lanch", {}, "unknown tool 'lanch'; nearest: launch"),
    ],
)
def test_a_bad_call_is_one_line(name, given, part):
    assert part in line(name, **given)


def test_no_file_or_folder_is_opened(tmp_path, monkeypatch, catalogue):
    config = tmp_path / "kimi-k3" / "config.json"
    config.parent.mkdir()
    config.write_text(json.dumps({"architectures": ["X"], "secret": "of this machine"}))
    monkeypatch.chdir(tmp_path)
    for name in (
        str(config),
        str(config.parent),
        "kimi-k3",
        "~/config.json",
        "./kimi-k3",
        "file:///etc/passwd",
    ):
        for hub in (False, True):
            said = answer("fit", {"model": name, "gpu": "b200"}, hub)
            assert said.record is None
            assert "secret" not in said.text
    assert "is a file or folder here too" in line("models", show="kimi-k3")


def test_a_fault_of_ours_shows_no_path_of_this_machine(monkeypatch):
    def broken(**_: object) -> None:
        raise RuntimeError(f"at {Path(__file__)} with KEY=sk-123")

    monkeypatch.setattr("planner.api.fit", broken)
    said = answer("fit", QUESTIONS["fit"])
    assert said == Answer("internal error: RuntimeError in fit; the same question with `planner` says more")


def test_the_hub_is_asked_only_where_it_is_allowed(monkeypatch):
    asked = []
    monkeypatch.setattr(answering, "model_from", lambda name, _: asked.append(name))
    line("fit", model="nobody/no-model", gpu="b200")
    assert asked == []
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    answer("fit", {"model": "nobody/no-model", "gpu": "b200"}, hub=True)
    assert asked == ["nobody/no-model"]


def test_a_long_record_loses_its_largest_parts_and_says_so():
    results = [{"id": n, "long": ["x" * 50] * 10, "short": [1]} for n in range(3)]
    record = {"schema": "planner.fit/1", "results": results, "notes": ["y" * 100]}
    assert cut(record, 10_000) is record
    kept = cut(record, 500)
    assert kept[NOTE] == ["results.long"]
    assert [one.keys() for one in kept["results"]] == [{"id", "short"}] * 3
    assert kept["notes"] == record["notes"]
    assert len(results[0]["long"]) == 10


def test_a_search_of_the_catalogue_says_how_much_it_left_out(catalogue):
    said = answer("models", {})
    assert said.record["matches"] == len(catalogue.ids("models")) > len(said.record["models"]) == 50
    assert "a search narrows them" in said.text


VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text(max_size=30)
    | st.sampled_from(["kimi-k3", "b200", "mi355x,b300", "vllm", "fp8", "own", os.devnull, "../..", "1e3"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=6,
)


@settings(max_examples=300)
@given(st.data())
def test_whatever_the_arguments_the_answer_is_a_record_or_one_line(data):
    name = data.draw(st.sampled_from(sorted(TOOLS)))
    field = st.sampled_from(sorted(TOOLS[name].asked.model_fields)) | st.text(max_size=10)
    given = {**QUESTIONS[name], **data.draw(st.dictionaries(field, VALUES, max_size=3))}
    said = answer(name, given)
    assert "internal error" not in said.text
    if said.record is None:
        assert said.text
        assert "\n" not in said.text
    else:
        json.dumps(said.record, allow_nan=False)


def test_a_launch_is_text_that_can_be_pasted_and_one_accelerator_s(catalogue):
    asked = {**QUESTIONS["launch"], "format": "kubernetes"}
    said = answer("launch", asked)
    report = planner.launch(**asked, catalogue=catalogue)
    assert said.record["text"] == report.to_text()
    assert said.record["kubernetes"] is None
    assert "gpu" in line("launch", **{**asked, "gpu": "h200,b200"})
    assert "does not fit" in line("launch", model="kimi-k3", gpu=["b300"], tp=2)


@pytest.mark.parametrize("path", ["/etc/passwd", "../x", "a;b", "$(id)"])
def test_a_checkpoint_is_printed_and_never_opened(path):
    said = answer("launch", {**QUESTIONS["launch"], "checkpoint": path})
    odd = path in ("a;b", "$(id)")  # a path is a name like others: the engine's machine has the file
    assert (said.record is None) == odd
    assert "root:" not in json.dumps(said.record)


def test_media_and_language_models_are_told_apart():
    assert "ask the tool media" in line("fit", model="flux.1-dev", gpu="h100")
    assert "flux.1-dev" in line("media", model="kimi-k3", gpu="h100")
    found = answer("models", {"search": "flux"})
    assert found.record["media_models"] == ["flux.1-dev"]
    assert "flux.1-dev" in found.text


def test_schemas_are_short_and_null_is_taken_all_the_same():
    pytest.importorskip("mcp")
    from planner.mcp.server import schema_of

    schema = schema_of(TOOLS["fit"].asked)
    assert schema["properties"]["tp"] == {
        "maximum": 4096,
        "minimum": 1,
        "type": "integer",
        "description": "Tensor-parallel size.",
    }
    assert "null" not in json.dumps([schema_of(tool.asked) for tool in TOOLS.values()])
    assert answer("fit", {**QUESTIONS["fit"], "tp": None}).record is not None
