"""`planner measure gpu` and `planner measure engine`: what they refuse, and a run with a made-up engine."""

from __future__ import annotations

import importlib.util
import json
from pathlib import Path

import pytest

FAKE = Path(__file__).parents[1] / "measurement" / "engine" / "fake_vllm.py"
SPEC = importlib.util.spec_from_file_location("fake_vllm_of_cli", FAKE)
fake = importlib.util.module_from_spec(SPEC)
SPEC.loader.exec_module(fake)

PLAN = """\
runs:
  - model: llama-3.1-8b
    seconds: 60
    points: [{kind: decode, batch: 2, context: 64, steps: 12}]
"""


@pytest.fixture
def plan(tmp_path):
    file = tmp_path / "plan.yaml"
    file.write_text(PLAN, encoding="utf-8")
    return file


def test_a_gpu_cannot_be_measured_without_pytorch(planner, monkeypatch):
    import sys

    monkeypatch.setitem(sys.modules, "torch", None)
    ran = planner("measure", "gpu")
    assert ran.code == 2
    assert "needs PyTorch" in ran.err
    assert ran.err.count("\n") == 1


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--gpu", "h200"), "give --model, or --plan"),
        (("--gpu", "h200", "--model", "llama-3.1-8b", "--plan", "x.yaml"), "give --model, or --plan"),
        (("--gpu", "h2000", "--model", "llama-3.1-8b"), "h2000"),
        (("--gpu", "h200", "--model", "llama-3.1-9b"), "llama-3.1-9b"),
        (("--gpu", "h200", "--plan", "none.yaml"), "cannot be read"),
        (("--model", "llama-3.1-8b",), "--gpu is missing"),
        (("--gpu", "h200", "--model", "qwen3-32b", "--weight-dtype", "fp9"), "fp9"),
    ],
)  # fmt: skip
def test_what_cannot_be_measured_is_one_line(planner, words, said):
    ran = planner("measure", "engine", *words)
    assert ran.code == 2
    assert said in ran.err
    assert "Traceback" not in ran.err


def test_a_plan_is_run_and_its_rows_are_kept(planner, plan, tmp_path, monkeypatch):
    monkeypatch.setenv("PYTHONPATH", str(fake.write_fake_vllm(tmp_path / "site")))
    words = ("measure", "engine", "--plan", str(plan), "--gpu", "h200", "--folder", str(tmp_path / "mine"))
    ran = planner(*words, "--json")
    assert ran.code == 0
    made = json.loads(ran.out)
    assert made["schema"] == "planner.measure.engine/1"
    (run,) = made["runs"]
    assert (run["model"], run["points"], run["timed"]) == ("llama-3.1-8b", 1, 1)
    assert sorted(Path(path).parent.name for path in run["written"]) == ["engine", "serving", "startup_logs"]
    checked = planner("validate", str(tmp_path / "mine" / "serving" / "engine.csv"), "--json")
    assert json.loads(checked.out)["predicted"] == 1


def test_an_engine_that_does_not_start_shows_the_end_of_its_log(planner, plan, tmp_path, monkeypatch):
    monkeypatch.setenv("PYTHONPATH", str(fake.write_fake_vllm(tmp_path / "site")))
    monkeypatch.setenv("FAKE_VLLM", "broken")
    ran = planner(
        "measure", "engine", "--plan", str(plan), "--gpu", "h200", "--folder", str(tmp_path / "mine")
    )
    assert ran.code == 2
    assert "vllm did not start (exit code 1)" in ran.err
    assert "CUDA out of memory" in ran.err
    assert "0 of 1 points timed" in ran.out
