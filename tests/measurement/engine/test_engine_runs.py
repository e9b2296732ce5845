"""An engine is started, timed and ended: with one that looks like vLLM and takes known times."""

from __future__ import annotations

import importlib.util
import json
import os
import time
from pathlib import Path

import pytest

from planner.measurement.engine.keeping import keep, rows_of, weights_of
from planner.measurement.engine.plan import EngineRun, Load, Prompt, StaticBatch
from planner.measurement.engine.process import run_program
from planner.measurement.engine.rows import read_records
from planner.measurement.engine.running import run_engine, run_plan
from planner.measurement.serving_flags import ServingFlag
from planner.measurement.serving_points import load_serving
from planner.measurement.validate_file import validate_file

SPEC = importlib.util.spec_from_file_location("fake_vllm", Path(__file__).with_name("fake_vllm.py"))
fake = importlib.util.module_from_spec(SPEC)
SPEC.loader.exec_module(fake)

POINTS = (
    Prompt(isl=1000, repeats=2),
    StaticBatch(batch=4, context=500, steps=20),
    Load(concurrency=2, isl=100, osl=10, requests=6),
)


@pytest.fixture
def engine(tmp_path, monkeypatch):
    """Put the made-up vLLM where the child process finds it."""
    monkeypatch.setenv("PYTHONPATH", str(fake.write_fake_vllm(tmp_path / "site")))
    return tmp_path


def started(catalogue, directory, **given):
    run = EngineRun(model="llama-3.1-8b", seconds=60, **given)
    directory.mkdir(exist_ok=True)
    return run_engine(run, catalogue=catalogue, directory=directory)


def test_known_times_are_read_back(engine, catalogue):
    result = started(catalogue, engine / "run", points=POINTS)
    assert result.exit_code == 0
    assert result.sentence == "llama-3.1-8b: 3 of 3 points timed (exit code 0)"
    ready, prompt, batch, load, done = result.records
    assert ready["tensors_set"] == 7
    assert ready["versions"]["engine"] == "0.20.2"
    assert prompt["prefill_s"] == pytest.approx(1000 * fake.TOKEN_S, abs=20e-3)
    assert batch["tpot_ms_median"] == pytest.approx(1e3 * fake.STEP_S, rel=0.5)
    assert batch["steps_timed"] >= 20
    assert batch["mean_context"] > 500 + 10
    assert load["requests"] == 6
    assert load["tpot_ms_median"] == pytest.approx(1e3 * fake.STEP_S, rel=0.5)
    assert done["kind"] == "done"


def test_rows_are_kept_and_can_be_validated(engine, catalogue):
    result = started(catalogue, engine / "run", points=POINTS)
    paths = keep(result, catalogue, "h200", "2026-11-30", str(engine / "mine"))
    assert [path.parent.name for path in paths] == ["engine", "serving", "startup_logs"]
    raw = json.loads(paths[0].read_text(encoding="utf-8"))
    assert raw["records"] == list(result.records)
    assert raw["run"]["model"] == "llama-3.1-8b"
    points = load_serving(paths[1])
    assert [bool(point.flags & ServingFlag.STATIC_BATCH) for point in points] == [True, True, False]
    assert {point.gpu for point in points} == {"h200-sxm"}
    assert {point.kv_dtype for point in points} == {"bf16"}
    assert points[1].tpot_ms_median == pytest.approx(1e3 * fake.STEP_S, rel=0.5)
    assert points[2].output_tps_per_gpu == points[2].output_tps_total
    memory = validate_file(paths[2], catalogue)
    assert memory.scores()["weights_gib"].median_ape < 0.01
    assert memory.scores()["max_concurrency"].median_ape < 0.01
    (made,) = memory.predictions
    assert (made.log.max_num_seqs, made.log.mem_fraction, made.log.kv_tokens) == (1024, 0.92, 909408)


def test_a_point_that_fails_does_not_end_the_run(engine, catalogue):
    points = (Load(concurrency=1, isl=10, osl=13, requests=1), *POINTS[:1])
    result = started(catalogue, engine / "run", points=points)
    assert result.timed == 1
    assert "thirteen" in result.records[1]["failed"]
    assert len(rows_of(result, catalogue.gpu("h200"), "2026-11-30").serving) == 1


def test_what_the_time_does_not_allow_is_said(engine, catalogue):
    points = (*POINTS[:1], Load(concurrency=1, isl=10, osl=1000, requests=1000))
    run = EngineRun(model="llama-3.1-8b", seconds=2, points=points)
    (engine / "run").mkdir()
    result = run_engine(run, catalogue=catalogue, directory=engine / "run")
    assert result.exit_code == 0
    assert result.timed == 1
    assert "time of this run was up" in result.records[2]["skipped"]


def test_an_engine_that_does_not_start_is_a_measurement_too(engine, catalogue, monkeypatch):
    monkeypatch.setenv("FAKE_VLLM", "broken")
    result = started(catalogue, engine / "run", points=POINTS)
    assert result.exit_code == 1
    assert "did not start" in result.sentence
    (row,) = rows_of(result, catalogue.gpu("h200"), "2026-11-30").startup
    assert row["outcome"] == "oom"


def test_an_engine_that_hangs_is_ended_with_its_children(engine, catalogue, monkeypatch):
    monkeypatch.setenv("FAKE_VLLM", "hanging")
    monkeypatch.setattr("planner.measurement.engine.running.LOAD_SECONDS", 0.0)
    run = EngineRun(model="llama-3.1-8b", seconds=2, points=POINTS)
    (engine / "run").mkdir()
    result = run_engine(run, catalogue=catalogue, directory=engine / "run")
    assert result.exit_code is None
    child = int(result.log.read_text().rpartition("child ")[2].split()[0])
    for _ in range(100):
        if not Path(f"/proc/{child}").exists() or "Z (" in _state(child):
            break
        time.sleep(0.05)
    else:
        pytest.fail("the child still runs")


def _state(child: int) -> str:
    try:
        fields = Path(f"/proc/{child}/stat").read_text().rpartition(") ")[2].split()
    except OSError:
        return "Z ("
    return f"{fields[0]} ("


def test_a_plan_goes_on_after_a_failure(engine, catalogue, monkeypatch):
    monkeypatch.setenv("FAKE_VLLM", "broken")
    runs = [EngineRun(model="llama-3.1-8b", points=POINTS), EngineRun(model="qwen3-8b", points=POINTS)]
    found = run_plan(runs, catalogue=catalogue, directory=engine / "all")
    assert [result.model.id for result in found] == ["llama-3.1-8b", "qwen3-8b"]
    assert sorted(os.listdir(engine / "all")) == ["01-llama-3.1-8b-native", "02-qwen3-8b-native"]


def test_a_line_that_was_cut_off_is_left_out(tmp_path):
    file = tmp_path / "results.jsonl"
    file.write_text(json.dumps({"kind": "ready"}) + '\n{"kind": "dec', encoding="utf-8")
    assert read_records(file) == [{"kind": "ready"}]
    assert read_records(tmp_path / "none.jsonl") == []


def test_a_program_gets_its_time_and_no_more(tmp_path):
    log = tmp_path / "log"
    assert run_program(["sh", "-c", "echo here; exit 3"], log=log, seconds=10) == 3
    assert log.read_text() == "here\n"
    start = time.monotonic()
    assert run_program(["sleep", "60"], log=log, seconds=0.2) is None
    assert time.monotonic() - start < 10


def test_the_format_of_the_weights_is_named(catalogue, tmp_path):
    from planner.measurement.engine.running import EngineResult

    def named(model, dtype=None):
        run = EngineRun(model=model, weight_dtype=dtype)
        return weights_of(EngineResult(run, catalogue.model(model), (), tmp_path / "log", 0))

    assert named("llama-3.1-8b") == "bf16"
    assert named("gpt-oss-120b") == "mxfp4"
    assert named("qwen3-32b", "fp8-dynamic") == "fp8-dynamic"
