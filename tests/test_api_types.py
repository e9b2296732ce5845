"""Arguments of a wrong type are one line that names the argument, and never a traceback of Python."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import planner
from planner.catalogue import Catalogue
from planner.errors import InvalidInput, PlannerError

MODEL, GPU = "llama-3.1-8b", "h100-sxm"


def refusal(call: Any, *given: Any, **named: Any) -> str:
    with pytest.raises(InvalidInput) as refused:
        call(*given, **named)
    message = str(refused.value)
    assert "\n" not in message
    assert len(message) < 250
    return message


@pytest.mark.parametrize("value", [[5], b"h100", None, 5, [None], [b"h100"], {"h100": 1}])
def test_gpu(catalogue: Catalogue, value: Any) -> None:
    assert refusal(planner.fit, model=MODEL, gpu=value, catalogue=catalogue).startswith("gpu: ")


def test_a_model_is_no_gpu_and_a_gpu_is_no_model(catalogue: Catalogue) -> None:
    model, gpu = catalogue.model(MODEL), catalogue.gpu(GPU)
    assert refusal(planner.fit, model=MODEL, gpu=model, catalogue=catalogue).startswith("gpu: Model(")
    assert refusal(planner.fit, model=gpu, gpu=GPU, catalogue=catalogue).startswith("model: Gpu(")


@pytest.mark.parametrize("value", [None, 5, b"x", [], {}])
def test_model(catalogue: Catalogue, value: Any) -> None:
    assert refusal(planner.fit, model=value, gpu=GPU, catalogue=catalogue).startswith("model: ")


def test_a_path_is_a_model(catalogue: Catalogue, tmp_path: Path) -> None:
    import json

    file = tmp_path / "config.json"
    file.write_text(json.dumps(dict(catalogue.model(MODEL).config)), encoding="utf-8")
    named = planner.fit(model=str(file), gpu=GPU, catalogue=catalogue).answer
    assert planner.fit(model=file, gpu=GPU, catalogue=catalogue).answer.memory == named.memory
    assert planner.fit(model=Path(MODEL), gpu=GPU, catalogue=catalogue).answer.model == MODEL


@pytest.mark.parametrize("value", ["2", [], b"a", True, {GPU: "2"}, {GPU: None}])
def test_price(catalogue: Catalogue, value: Any) -> None:
    assert "price: " in refusal(planner.fit, model=MODEL, gpu=GPU, price=value, catalogue=catalogue)


def test_two_names_of_one_gpu_have_one_price(catalogue: Catalogue) -> None:
    said = refusal(planner.fit, model=MODEL, gpu=GPU, price={"h100": 3.0, GPU: 4.0}, catalogue=catalogue)
    assert said == "price: h100 and h100-sxm are both h100-sxm, which has one price"


@pytest.mark.parametrize("value", [[], {}, 5, b"x"])
def test_price_kind(catalogue: Catalogue, value: Any) -> None:
    said = refusal(planner.fit, model=MODEL, gpu=GPU, price_kind=value, catalogue=catalogue)
    assert said.startswith("price_kind: ")


@pytest.mark.parametrize("value", [5, [], b"x", {}, ""])
def test_paths(value: Any) -> None:
    assert refusal(planner.fit, model=MODEL, gpu=GPU, catalogue=value).startswith("catalogue: ")
    assert refusal(planner.validate, value).startswith("path: ")
    assert refusal(planner.validate, "x.csv", value or 5).startswith("catalogue: ")


SIZES = ("gpus", "tp", "pp", "ep", "dp", "dcp", "block_size", "speculative_tokens", "memory_fraction")


@pytest.mark.parametrize("name", SIZES)
@pytest.mark.parametrize("value", [True, "2", b"2", [], 2.5])
def test_sizes(catalogue: Catalogue, name: str, value: Any) -> None:
    said = refusal(planner.fit, model=MODEL, gpu=GPU, catalogue=catalogue, **{name: value})
    assert f" {name}: " in said


@pytest.mark.parametrize("value", [2, True, "2", 2.5, object()])
def test_pipeline_layers(catalogue: Catalogue, value: Any) -> None:
    said = refusal(planner.fit, model=MODEL, gpu=GPU, pipeline_layers=value, catalogue=catalogue)
    assert said.startswith("pipeline_layers: ")


@pytest.mark.parametrize("name", ["context", "concurrency", "isl", "osl", "max_num_seqs"])
@pytest.mark.parametrize("value", [True, b"2", [], object()])
def test_counts(catalogue: Catalogue, name: str, value: Any) -> None:
    said = refusal(planner.fit, model=MODEL, gpu=GPU, catalogue=catalogue, **{name: value})
    assert name in said


@pytest.mark.parametrize("name", ["weight_dtype", "kv_dtype", "engine", "draft_model"])
@pytest.mark.parametrize("value", [True, 5, b"x", [], ""])
def test_names(catalogue: Catalogue, name: str, value: Any) -> None:
    with pytest.raises(PlannerError) as refused:
        planner.fit(model=MODEL, gpu=GPU, catalogue=catalogue, **{name: value})
    assert name.replace("_", " ") in str(refused.value).replace("_", " ")
