"""The library's front door: `planner.fit`, `planner.load_catalogue`, `planner.validate`."""

from __future__ import annotations

import functools
import math
import sys

import pytest

import planner
from planner.errors import IllegalDeployment, InvalidInput, UnknownName
from planner.report.tables import memory_parts


def test_ids_aliases_and_records_are_alike(catalogue):
    by_name = planner.fit(model="moonshotai/Kimi-K3", gpu="B300", catalogue=catalogue)
    by_record = planner.fit(
        model=catalogue.model("kimi-k3"), gpu=catalogue.gpu("b300-sxm"), catalogue=catalogue
    )
    assert by_name.answer.to_dict() == by_record.answer.to_dict()


def test_several_accelerators_as_text_or_list(catalogue):
    text = planner.fit(model="llama-3.1-8b", gpu="mi355x, b200", catalogue=catalogue)
    listed = planner.fit(model="llama-3.1-8b", gpu=["mi355x", catalogue.gpu("b200")], catalogue=catalogue)
    assert [answer.gpu for answer in text] == ["mi355x", "b200-sxm"]
    assert text.to_records() == listed.to_records()


def test_an_alias_of_a_quantised_checkpoint_implies_it(catalogue):
    model = next(
        model for model in catalogue.models() if model.quantised_aliases and len(model.quantisations) > 1
    )
    alias, variant = next(iter(model.quantised_aliases.items()))
    implied = planner.fit(model=alias, gpu="b300", catalogue=catalogue).answer.memory
    stated = planner.fit(model=model.id, weight_dtype=variant, gpu="b300", catalogue=catalogue).answer.memory
    assert implied.per_rank == stated.per_rank


def test_gpus_alone_fill_a_node_with_tensor_parallelism_and_nodes_with_stages(catalogue):
    memory = planner.fit(model="kimi-k3", gpu="b200", gpus=16, catalogue=catalogue).answer.memory
    assert (memory.deployment.tp, memory.deployment.pp) == (8, 2)


def test_sizes_are_judged_as_they_are_given(catalogue):
    answer = planner.fit(model="kimi-k3", gpu="b200", tp=4, pp=4, catalogue=catalogue).answer
    assert (answer.memory.deployment.tp, answer.memory.deployment.pp, answer.gpus) == (4, 4, 16)
    assert answer.sized
    assert answer.one_node is None


def test_further_fields_of_a_deployment_are_taken(catalogue):
    answer = planner.fit(
        model="llama-3.1-8b", gpu="h100", tp=1, pp=2, pipeline_layers=(8, 24), catalogue=catalogue
    ).answer
    assert [stage.layers for stage in answer.memory.stages] == [(0, 7), (8, 31)]


def test_one_price_counts_for_all(catalogue):
    report = planner.fit(model="kimi-k3", gpu="mi355x,b300", price=3.0, catalogue=catalogue)
    assert [answer.price.usd_per_gpu_hour for answer in report] == [3.0, 3.0]


@pytest.mark.parametrize(
    ("arguments", "error", "complaint"),
    [
        ({"tp": 0}, InvalidInput, "tp: 0 is not possible"),
        ({"gpus": -8}, InvalidInput, "gpus: -8 is not possible"),
        ({"tp": 10**9}, InvalidInput, "tp: 1000000000 is not possible"),
        ({"tp": 3}, IllegalDeployment, "legal: 1, 2, 4, 8"),
        ({"pp": 33}, IllegalDeployment, "layers; the model has 32"),
        ({"gpus": 7, "tp": 2, "dp": 2}, InvalidInput, "gpus must be a multiple of 4"),
        ({"context": 0}, InvalidInput, "context: 0 is not possible"),
        ({"context": 131_073}, InvalidInput, "over the model's maximum of 131,072"),
        ({"concurrency": math.nan}, InvalidInput, "concurrency: nan is not possible"),
        ({"memory_fraction": math.inf}, InvalidInput, "memory_fraction: inf is not possible"),
        ({"price": math.nan}, InvalidInput, "price nan is out of range"),
        ({"price": {"h100": 1e9}}, InvalidInput, "out of range"),
        ({"price": {"b200": 4.0}}, InvalidInput, "not among the GPUs asked about"),
        ({"blok_size": 16}, UnknownName, "nearest: block_size"),
        ({"model": "lama-3.1-8b"}, UnknownName, "nearest"),
        ({"gpu": []}, InvalidInput, "0 types named"),
        ({"gpu": 5}, InvalidInput, "neither a name nor a record"),
    ],
)
def test_a_mistake_is_a_typed_error_of_one_line(catalogue, arguments, error, complaint):
    with pytest.raises(error) as caught:
        planner.fit(**{"model": "llama-3.1-8b", "gpu": "h100", "catalogue": catalogue, **arguments})
    assert complaint in str(caught.value)
    assert "\n" not in str(caught.value)


def test_every_model_gets_an_answer(catalogue):
    for model in catalogue.models():
        answer = planner.fit(model=model, gpu="l40s", catalogue=catalogue).answer
        record = answer.to_dict()
        assert record["fits"] == (answer.smallest is not None)
        assert record["config_status"] == model.config_status
        assert any(model.config_status in note for note in answer.notes) == (
            model.config_status != "published"
        )


def test_own_files_are_opened_by_path(tmp_path):
    file = tmp_path / "own.yaml"
    file.write_text(
        "prices:\n  h100-sxm:\n"
        "    - {provider: us, usd_per_gpu_hour: 1.5 USD/h, kind: TCO-own, source: our own, date: 2026-11}\n",
        encoding="utf-8",
    )
    answer = planner.fit(model="llama-3.1-8b", gpu="h100", price_kind="TCO-own", catalogue=file).answer
    assert answer.price.usd_per_gpu_hour == 1.5


def test_public_names_are_there_and_others_are_not():
    assert set(planner.__all__) <= set(dir(planner))
    assert callable(planner.validate)
    assert planner.load_catalogue().gpu("b200").id == "b200-sxm"
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        _ = planner.nothing


def test_bytes_of_a_token_are_those_of_the_stage_that_is_shown(catalogue):
    from planner.memory.cells import cells
    from planner.memory.preparing import prepare
    from planner.scenario import Deployment, Workload

    memory = planner.fit(model="kimi-k3", gpu="b200", tp=8, pp=2, catalogue=catalogue).answer.memory
    setup = prepare(
        model=catalogue.model("kimi-k3"),
        gpu=catalogue.gpu("b200"),
        deployment=Deployment(tp=8, pp=2),
        workload=Workload(),
        catalogue=catalogue,
    )
    growing = [cells(setup, setup.caches(stage)).growing_bytes for stage in range(2)]
    assert growing[0] != growing[1]
    assert memory.kv_bytes_per_token_per_rank == growing[memory.per_rank.stage]


@pytest.mark.parametrize(
    ("model", "low", "high"),
    [("llama-3.1-8b", 0.0, 0.0), ("deepseek-r1", 0.0, 0.0), ("gemma-3-27b", 0.5, 0.7), ("kimi-k3", 0.1, 0.3)],
)
def test_a_pool_that_holds_more_than_tokens_says_how_much(catalogue, model, low, high):
    answer = planner.fit(model=model, gpu="b200", catalogue=catalogue).answer
    assert low <= answer.to_dict()["kv_pool_share_beside_tokens"] <= high
    said = {name: what for name, _, what in memory_parts(answer.memory)}["KV cache"]
    assert ("states, windows or page padding" in said) == (high > 0)


def test_a_report_prints_as_its_sentences_and_in_full_as_text(catalogue):
    report = planner.fit(model="kimi-k3", gpu="b200,mi355x", catalogue=catalogue)
    sentences = [answer.sentence for answer in report]
    assert str(report).splitlines() == sentences
    assert repr(report) == f"<FitReport: {' '.join(sentences)}>"
    assert str(report[0]) == sentences[0]
    assert repr(report[0]) == f"<FitAnswer: {sentences[0]}>"
    text = report.to_text()
    for part in ("Memory of each MI355X", "how sure", "Measured output", "Assumed, since", "Notes"):
        assert part in text
    assert not [line for line in text.splitlines() if line != line.rstrip()]


@pytest.mark.parametrize(
    "name", ["context", "isl", "osl", "concurrency", "max_num_seqs", "max_num_batched_tokens"]
)
def test_counts_may_be_written_as_on_the_command_line(catalogue, name):
    words = {"model": "llama-3.1-8b", "gpu": "b200", "catalogue": catalogue}
    written, counted = planner.fit(**words, **{name: "2Ki"}), planner.fit(**words, **{name: 2048})
    assert written.answer.to_dict() == counted.answer.to_dict()
    with pytest.raises(InvalidInput, match=f"^{name}: "):
        planner.fit(**words, **{name: "many"})


def test_a_frame_without_pandas_is_one_line_that_names_the_extra(catalogue, monkeypatch):
    monkeypatch.setitem(sys.modules, "pandas", None)
    report = planner.fit(model="llama-3.1-8b", gpu="b200", catalogue=catalogue)
    for make in (report.to_frame, report.answer.to_frame):
        with pytest.raises(planner.PlannerError, match=r"pip install 'accelerator-planner\[notebook\]'"):
            make()


REFUSED = "TensorRT-LLM does not run on mi355x"


@pytest.mark.parametrize("ask", [planner.fit, functools.partial(planner.predict, isl=1000, osl=100)])
def test_an_accelerator_that_cannot_run_it_is_left_out_and_the_others_answer(catalogue, ask):
    asked = {"model": "llama-3.1-8b", "engine": "trtllm", "catalogue": catalogue}
    report, alone = ask(gpu="mi355x,b200", **asked), ask(gpu="b200", **asked)
    assert [answer.gpu for answer in report] == ["b200-sxm"]
    assert report.answer.to_dict() == alone.answer.to_dict()
    assert report.left_out["mi355x"].startswith(REFUSED)
    assert report.warnings[0].startswith(f"MI355X is left out: {REFUSED}")
    made = report.to_dict()
    assert made["left_out"] == report.left_out
    assert [one["gpu"] for one in made["results"]] == ["b200-sxm"]
    assert f"MI355X is left out: {REFUSED}" in report._repr_html_()
    assert (alone.left_out, "left_out" in alone.to_dict()) == ({}, False)
    with pytest.raises(planner.PlannerError, match=f"^{REFUSED}"):
        ask(gpu="mi355x,mi300x", **asked)
