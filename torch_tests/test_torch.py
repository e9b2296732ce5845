"""Micro-benchmarks with PyTorch itself, on the CPU; run apart, since planner needs no PyTorch otherwise.

pip install torch==2.13.0 && pytest torch_tests
"""

from __future__ import annotations

import csv
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
import torch

from planner.catalogue import load_catalogue
from planner.measurement.engine.inside import spread_routing
from planner.measurement.gpu.bench import machine_facts, measured_rows, open_machine
from planner.measurement.gpu.probes import PARTS, Bench
from planner.measurement.gpu.timing import Timer
from planner.measurement.gpu.work import COLLECTIVE_KINDS

PLANNER = (sys.executable, "-c", "from planner.cli import main; main(prog_name='planner')")


@pytest.fixture(scope="module")
def bench():
    return Bench(torch, "cpu", "tiny", load_catalogue())


@pytest.mark.parametrize("part", [part for part in PARTS if part != "launch"])
def test_every_operation_runs_and_does_what_it_says(part, bench):
    for probe in PARTS[part](bench):
        if probe.fields["dtype"] == "fp8":
            continue  # not every CPU build multiplies it
        result = probe.make()()
        if probe.fields["op"] == "gemm":
            assert tuple(result.shape) == (probe.fields["m"], probe.fields["n"])
        if probe.fields["op"] == "attention_prefill":
            assert tuple(result.shape) == (1, 4, 128, 64)
        if probe.fields["op"] == "attention_decode":
            assert tuple(result.shape) == (2, 2, 2, 64)


def test_a_product_is_right(bench):
    left, right = torch.randn(3, 5), torch.randn(4, 5)
    assert torch.allclose(torch.matmul(left, right.t()), left @ right.T)
    assert float(bench.random(64, 64).std()) == pytest.approx(1.0, abs=0.1)


def test_grouping_heads_leaves_attention_as_it_is():
    queries, keys, values = torch.randn(2, 4, 1, 8), torch.randn(2, 2, 16, 8), torch.randn(2, 2, 16, 8)
    attend = torch.nn.functional.scaled_dot_product_attention
    whole = attend(queries, keys, values, enable_gqa=True)
    grouped = attend(queries.view(2, 2, 2, 8), keys, values)
    assert torch.allclose(whole.view(2, 2, 2, 8), grouped, atol=1e-5)


def test_the_cpus_clock_counts(bench):
    timing = Timer(torch, "cpu").time(lambda: torch.randn(64, 64) @ torch.randn(64, 64))
    assert 0 < timing.low_s <= timing.median_s <= timing.high_s
    assert not timing.graph


def test_all_parts_give_rows():
    catalogue = load_catalogue()
    machine = open_machine("cpu", catalogue)
    told = []
    rows = list(measured_rows(machine, catalogue, parts=list(PARTS), suite="tiny", told=told.append))
    assert {row["op"] for row in rows} >= {"launch", "copy", "fill", "gemm", "attention_decode", "moe"}
    assert all(row["latency_us"] > 0 for row in rows)
    assert machine_facts(machine)["torch"] == torch.__version__


def test_the_command_keeps_its_rows(tmp_path):
    words = ("measure", "gpu", "--device", "cpu", "--suite", "tiny", "--what", "bandwidth,moe", "--json")
    ran = subprocess.run(
        [*PLANNER, *words, "--folder", str(tmp_path)], capture_output=True, text=True, check=True
    )
    made = json.loads(ran.stdout)
    assert made["schema"] == "planner.measure.gpu/1"
    with open(made["file"], encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == made["rows"] == 3
    assert {row["run"] for row in rows} == {made["points"][0]["run"]}


def test_collectives_under_torchrun(tmp_path):
    script = tmp_path / "measure.py"
    script.write_text("from planner.cli import main\nmain(prog_name='planner')\n", encoding="utf-8")
    command = [
        sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2", str(script),
        "measure", "gpu", "--device", "cpu", "--suite", "tiny", "--folder", str(tmp_path / "mine"),
    ]  # fmt: skip
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[1]), "OMP_NUM_THREADS": "1"}
    subprocess.run(command, check=True, timeout=120, env=environment, capture_output=True)
    with (tmp_path / "mine" / "kernels" / "gpu.csv").open(encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    assert {row["op"] for row in rows} == {f"gloo_{kind}" for kind in COLLECTIVE_KINDS}
    assert {row["gpus"] for row in rows} == {"2"}
    assert {row["kernel"].partition(", ")[2] for row in rows} == {"started by the host"}
    assert len(rows) == 2 * len(COLLECTIVE_KINDS)
    assert all(float(row["low_us"]) > 0 for row in rows)


def test_fp8_weights_that_were_rounded_to_zero_are_drawn_anew(monkeypatch):
    """Those that stand turned round in memory too, and never a scale."""
    monkeypatch.setattr("planner.measurement.engine.inside.AT_ONCE", 1000)

    class Layer(torch.nn.Module):
        def __init__(self):
            super().__init__()
            small = torch.empty(256, 96, dtype=torch.float16).uniform_(-1e-3, 1e-3)
            self.weight = torch.nn.Parameter(small.to(torch.float8_e4m3fn).t(), requires_grad=False)
            self.weight_scale = torch.nn.Parameter(torch.full((96, 1), 0.5), requires_grad=False)

    layer = Layer()
    assert (layer.weight.float() == 0).float().mean() > 0.97
    assert spread_routing(layer) == 1
    assert (layer.weight.float() == 0).float().mean() < 0.01
    assert layer.weight.float().std() == pytest.approx(1, abs=0.05)
    assert torch.equal(layer.weight_scale, torch.full((96, 1), 0.5))


def test_routers_and_norms_are_set_and_nothing_else():
    class Layer(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.gate = torch.nn.Linear(256, 64)
            self.gate_proj = torch.nn.Linear(256, 64, bias=False)
            self.input_layernorm = torch.nn.RMSNorm(256)
            self.embed_tokens = torch.nn.Embedding(100, 256)
            for tensor in self.parameters():
                tensor.data.uniform_(-1e-3, 1e-3)

    layer = Layer()
    before = layer.gate_proj.weight.clone()
    assert spread_routing(layer) == 4
    assert torch.equal(layer.gate_proj.weight, before)
    assert torch.equal(layer.input_layernorm.weight, torch.ones(256))
    assert not layer.gate.bias.any()
    hidden = layer.input_layernorm(layer.embed_tokens(torch.arange(100)))
    chosen = layer.gate(hidden).topk(4).indices
    assert len(chosen.unique()) > 50  # of 64 experts, where ties would choose the same four
