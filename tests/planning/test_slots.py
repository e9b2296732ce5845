"""Engines whose pool is allocated as asked are asked for all the slots that a device holds."""

from __future__ import annotations

import pytest
from click.testing import CliRunner

import planner
from planner.catalogue import load_catalogue
from planner.cli import main
from planner.memory import fit_memory
from planner.scenario import Deployment, Workload

ASKED = ("--model", "gpt-oss-20b", "--isl", "1", "--osl", "400", "--engine", "llama.cpp")


def _slots(gpu: str, engine: str = "llama.cpp", **options: int) -> int | None:
    catalogue = load_catalogue()
    return fit_memory(
        model=catalogue.model("gpt-oss-20b"),
        gpu=catalogue.gpu(gpu),
        deployment=Deployment(engine=engine, **options),
        workload=Workload(isl=1024, osl=7168),
        catalogue=catalogue,
        advise=False,
    ).pool.most_slots


def test_more_memory_holds_more_slots() -> None:
    found = [_slots(gpu) or 0 for gpu in ("l4", "rtx-5090", "h100-sxm")]
    assert 0 < found[0] < found[1] <= found[2] <= 256


def test_slots_stop_at_what_was_set_and_other_engines_have_none() -> None:
    assert _slots("l4", max_num_seqs=2) == 2
    assert _slots("l4", engine="vllm") is None


def test_a_simulation_at_a_rate_preempts_nobody() -> None:
    text = CliRunner().invoke(main, ["simulate", *ASKED, "--gpu", "l4", "--gpus", "1", "--rate", "2"]).output
    assert " 0 preemptions" in text
    assert "carried" in text


def test_a_plan_needs_few_gpus() -> None:
    slo = ("--rate", "5", "--slo-ttft", "2s", "--slo-tpot", "50ms")
    text = CliRunner().invoke(main, ["plan", *ASKED, "--gpu", "l4", *slo]).output
    assert "L4, 14 GPUs" in " ".join(text.split())


LOAD = {"model": "gpt-oss-20b", "gpu": "l4", "gpus": 1, "isl": 1024, "osl": 400}
ENGINES = ("llama.cpp", "exllamav2")


def _predicted(**asked):
    return planner.predict(**{**LOAD, "engine": "llama.cpp", **asked}).answer.predicted.prediction


def _fitted(**asked):
    return planner.fit(**{**LOAD, "engine": "llama.cpp", **asked}).answer.memory


@pytest.mark.parametrize("engine", ENGINES)
def test_a_stated_concurrency_decodes_together(engine):
    asked = {**LOAD, "engine": engine, "weight_dtype": "bf16", "model": "llama-3.1-8b"}
    one, eight = (_predicted(**asked, concurrency=count) for count in (1, 8))
    assert eight.output_tps_total.value > 3 * one.output_tps_total.value
    assert not any("the others queue" in line for line in eight.warnings)
    simulated = planner.simulate(**asked, concurrency=8, requests=80).result
    assert simulated.output_tps == pytest.approx(eight.output_tps_total.value, rel=0.1)
    assert simulated.queue_s.p99 == 0


def test_every_front_door_counts_the_same_slots():
    most = _fitted(concurrency=8).pool.most_slots
    assert most == int(_fitted().max_concurrency) == _predicted(concurrency=8).most_requests
    assert _predicted(request_rate=0.5).most_requests == most
    assert _fitted(concurrency=most).fits
    assert not _fitted(concurrency=most + 1).fits
    queued = _predicted(concurrency=most + 50)
    assert any(f"holds {most}: the others queue" in line for line in queued.warnings)
    assert most / 2 < queued.batch <= most


@pytest.mark.parametrize(("load", "slots"), [({"concurrency": 8}, 8), ({"request_rate": 2.0}, 169)])
def test_a_launch_starts_the_slots_that_the_load_needs(load, slots):
    report = planner.launch(**LOAD, engine="llama.cpp", checkpoint="x/y", **load)
    (line,) = report.launch.servers[0].lines
    flags = dict(zip(line.words, line.words[1:], strict=False))
    assert flags["--parallel"] == str(slots)
    assert flags["--ctx-size"] == str(slots * 1424)


def test_rows_of_a_sweep_are_predictions():
    rows = planner.sweep(
        **{**LOAD, "isl": [128, 1024]}, engine="llama.cpp", concurrency=[8, 400]
    ).to_records()
    assert len(rows) == 4
    for row in rows:
        alone = _predicted(isl=row["isl_tokens"], concurrency=row["concurrency"])
        assert row["output_tps_total"] == pytest.approx(alone.output_tps_total.value, rel=1e-6)


def test_a_slot_has_the_whole_context():
    short, long = _fitted(context=1424), _fitted(context=14240)
    assert long.request_tokens == 14240
    assert long.pool.most_slots < short.pool.most_slots / 4
    assert _predicted(context=14240, concurrency=400).most_requests == long.pool.most_slots


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({}, "slots: 256, as llama.cpp keeps 256 sequences apart"),
        ({"max_num_batched_tokens": 4}, "slots: 4, as a step of 4 tokens (max_num_batched_tokens)"),
    ],
)
def test_the_engine_stops_slots_that_memory_would_hold(options, said):
    found = _fitted(gpu="h200", isl=64, osl=64, concurrency=300, **options)
    assert not found.fits
    assert found.binding_limit == said


def test_each_stage_holds_its_own_part_of_the_slots():
    one, two = (
        _fitted(model="qwen3.6-27b", gpu="h200", gpus=None, tp=1, pp=pp, concurrency=4, weight_dtype="q4_k_m")
        for pp in (1, 3)
    )
    parts = [stage.kv_pool_bytes for stage in two.stages]
    assert sum(parts) == pytest.approx(two.pool.bytes) == pytest.approx(one.pool.bytes)
    assert max(parts) < 0.4 * two.pool.bytes
    assert sum(stage.state_bytes for stage in two.stages) == one.per_rank.state_bytes > 0
