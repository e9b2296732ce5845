"""`planner launch`: what it prints, in which forms, and what it refuses."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import yaml

R1 = ("--model", "deepseek-r1", "--gpu", "h200", "--tp", "8", "--context", "32k")
LLAMA = ("--model", "llama-3.1-8b", "--gpu", "h100")
LOAD = ("--isl", "2k", "--osl", "300")


def test_commands_go_to_standard_output_and_notes_beside(planner):
    ran = planner(
        "launch", *R1, "--engine", "vllm==0.20.2", "--isl", "4k", "--osl", "1k", "--concurrency", "16"
    )
    assert ran.code == 0
    assert ran.out.startswith("# server\nvllm serve deepseek-ai/DeepSeek-R1 --host 0.0.0.0 --port 8000 ")
    assert "--gpu-memory-utilization 0.92" in ran.out
    assert "\nplanner import result.json --model deepseek-r1 --gpu h200-sxm --gpus 8 --tp 8" in ran.out
    assert "note: " in ran.err


def test_forms(planner, tmp_path):
    objects = list(yaml.safe_load_all(planner("launch", *LLAMA, "--format", "kubernetes").out))
    assert [thing["kind"] for thing in objects] == ["Deployment", "Service"]
    assert "services" in yaml.safe_load(planner("launch", *LLAMA, "--format", "compose").out)
    record = json.loads(planner("launch", *LLAMA, "--format", "json").out)
    assert record["schema"] == "planner.launch/1"
    assert record["proof"]["verdict"] == "fits"
    assert json.loads(planner("launch", *LLAMA, "--json").out)["servers"] == record["servers"]
    assert planner("launch", *LLAMA, "--csv").out.startswith("flag,value,because\n--host,0.0.0.0,")
    file = tmp_path / "llama.yaml"
    assert planner("launch", *LLAMA, "--format", "kubernetes", "--out", str(file)).code == 0
    assert list(yaml.safe_load_all(file.read_text())) == objects


def read(file):
    """Return the JSON of a file."""
    return json.loads(Path(file).read_text(encoding="utf-8"))


@pytest.mark.parametrize("command", ["fit", "plan", "compare"])
def test_a_saved_report_is_started(planner, tmp_path, command):
    file = str(tmp_path / f"{command}.json")
    more = {
        "fit": ("--gpu", "h100", "--tp", "2", "--kv-dtype", "fp8", *LOAD, "--concurrency", "8"),
        "plan": (
            "--gpu",
            "h100",
            "--rate",
            "20",
            *LOAD,
            "--slo-ttft",
            "2s",
            "--price",
            "2.5",
            "--requests",
            "200",
        ),
        "compare": ("--gpu", "h100,mi300x", *LOAD, "--concurrency", "8", "--price", "h100=2.5,mi300x=2"),
    }
    assert planner(command, "--model", "llama-3.1-8b", *more[command], "--out", file).code == 0
    ran = planner("launch", "--from", file, "--json")
    assert ran.code == 0
    record, saved = json.loads(ran.out), read(file)
    result = saved.get("results", [saved])[0]
    assert record["gpu"] == result["gpu"]
    assert all(record[size] == result[size] for size in ("tp", "pp", "ep", "dp", "dcp"))
    bench = record["load_test"]["bench"]
    assert "--random-input-len 2000" in bench
    if command == "plan":
        assert record["servers"][0]["copies"] == result["replicas"]
        each = result["peak_requests_per_s"] / result["working_replicas"]
        assert f"--request-rate {each:.10g}" in bench
        assert (
            f"\n  replicas: {result['replicas']}\n"
            in planner("launch", "--from", file, "--format", "kubernetes").out
        )
    if command == "fit":
        assert "--kv-cache-dtype fp8" in record["servers"][0]["nodes"][0]["command"]
        assert record["proof"]["kv_tokens"] == saved["kv_tokens"]
    if command == "compare":
        other = json.loads(planner("launch", "--from", file, "--gpu", "mi300x", "--json").out)
        assert other["gpu"] == "mi300x"
        assert other["environment"] == {"VLLM_ROCM_USE_AITER": "1"}
    wider = json.loads(planner("launch", "--from", file, "--tp", "4", "--json").out)
    assert (wider["tp"], wider["model"]) == (4, "llama-3.1-8b")


def saved_fit(tmp_path, planner, **changes):
    file = tmp_path / "fit.json"
    assert planner("fit", *LLAMA, "--context", "8k", "--out", str(file)).code == 0
    record = json.loads(file.read_text()) | changes
    file.write_text(json.dumps(record))
    return str(file)


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"schema": "planner.gpus/1"}, "names no deployment"),
        ({"fits": False}, "nothing to start"),
        ({"tp": "8; reboot"}, "its tp is '8; reboot'; a whole number is needed"),
        ({"tp": True}, "a whole number is needed"),
        ({"gpu": "$(id)"}, "unknown gpu '$(id)'"),
        ({"model": "/etc/passwd"}, "unknown model '/etc/passwd'"),
        ({"model": None}, "a name is needed"),
        ({"results": 3}, "a list of answers is needed"),
        ({"reproduction": {}}, "its reproduction is of schema None"),
    ],
)
def test_a_saved_report_is_not_taken_at_its_word(planner, tmp_path, changes, said):
    ran = planner("launch", "--from", saved_fit(tmp_path, planner, **changes))
    assert (ran.code, ran.out) == (2, "")
    assert said in ran.err


def test_a_model_that_no_catalogue_has_is_named_beside_the_report(planner, tmp_path, catalogue):
    config = tmp_path / "config.json"
    config.write_text(json.dumps(catalogue.model("llama-3.1-8b").config))
    saved = saved_fit(tmp_path, planner, model="ours")
    assert planner("launch", "--from", saved).code == 2
    ran = planner("launch", "--from", saved, "--model", str(config), "--checkpoint", "ours/model")
    assert ran.code == 0
    assert "vllm serve ours/model" in ran.out


def test_another_accelerator_than_the_report_has_is_refused(planner, tmp_path):
    ran = planner("launch", "--from", saved_fit(tmp_path, planner), "--gpu", "b200")
    assert ran.code == 2
    assert "it has no answer for b200-sxm" in ran.err


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        (("--model", "kimi-k3", "--gpu", "b200", "--tp", "8"), 3, "does not fit on b200-sxm as TP8"),
        (("--model", "llama-3.1-8b"), 2, "a model and a GPU are needed"),
        (("--model", "llama-3.1-8b", "--gpu", "h100,b200"), 2, "one accelerator type"),
        ((*LLAMA, "--checkpoint", "a; rm -rf ~"), 2, "checkpoint: 'a; rm -rf ~' is not possible"),
        ((*LLAMA, "--image", "x$(id)"), 2, "image: 'x$(id)' is not possible"),
        ((*LLAMA, "--head", "a b"), 2, "head: 'a b' is not possible"),
        ((*LLAMA, "--name", "Kimi_K3"), 0, ""),
        ((*LLAMA, "--name", "Kimi_K3", "--format", "kubernetes"), 2, "name: 'Kimi_K3' is not possible"),
        ((*LLAMA, "--hf-secret", "a/b", "--format", "kubernetes"), 2, "hf_secret: 'a/b' is not possible"),
        ((*LLAMA, "--format", "helm"), 2, "--format"),
        ((*LLAMA, "--port", "70000"), 2, "--port"),
        ((*LLAMA, "--draft", "medusa", "--speculative-tokens", "2"), 2, "unknown kind of draft 'medusa'"),
        ((*LLAMA, "--engine", "vllm==0.8.5"), 2, "known from version 0.10.2 on"),
    ],
)
def test_refusals_are_one_line(planner, words, code, said):
    ran = planner("launch", *words)
    assert ran.code == code
    assert said in ran.err
    assert "Traceback" not in ran.err


def test_what_is_printed_can_be_made_again(planner, tmp_path):
    file = str(tmp_path / "launch.json")
    assert planner("launch", *R1, "--engine", "sglang", *LOAD, "--out", file).code == 0
    assert planner("verify", file).code == 0
    fit = str(tmp_path / "fit.json")
    assert planner("fit", *LLAMA, "--context", "8k", "--out", fit).code == 0
    assert planner("launch", "--from", fit, "--out", file).code == 0
    assert read(file)["reproduction"]["command"] == f"planner launch --from {fit}"
    assert planner("verify", file).code == 2
    assert planner("verify", file, "--input", fit).code == 0
