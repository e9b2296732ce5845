"""Micro-benchmarks without a GPU: how they time, what they count, what they keep."""

from __future__ import annotations

import csv
import importlib.util
import json
from pathlib import Path

import pytest

from planner.errors import InvalidInput, PlannerError, Unsupported
from planner.measurement.gpu.bench import COLLECTIVES, WHAT, Machine, machine_facts, open_machine, parts_of
from planner.measurement.gpu.collectives import Group, group_of
from planner.measurement.gpu.environment import (
    PowerMeter,
    csv_facts,
    driver_facts,
    live_values,
    named_fields,
    output_of,
)
from planner.measurement.gpu.keeping import KernelRows
from planner.measurement.gpu.shapes import attention_shapes, layer_matrices, moe_shapes
from planner.measurement.gpu.timing import Timer
from planner.measurement.gpu.work import Work, attention_work, fractions, gemm_work, link_work, moe_work
from planner.measurement.user_folder import KERNEL_COLUMNS
from planner.report.measured_kernels import kernels_table

SPEC = importlib.util.spec_from_file_location("fake_torch", Path(__file__).with_name("fake_torch.py"))
fake = importlib.util.module_from_spec(SPEC)
SPEC.loader.exec_module(fake)


def taking(torch, times):
    """Return an operation whose runs take these times, the last one for ever."""
    left = list(times)

    def call():
        torch.now_s += left.pop(0) if len(left) > 1 else left[0]

    return call


def test_the_first_runs_warm_up_and_the_cache_is_emptied_before_each():
    torch = fake.FakeTorch(captures=False)
    timing = Timer(torch, "cuda").time(taking(torch, [5.0, 5.0, 5.0, 5.0, 2e-3]))
    assert timing.median_s == pytest.approx(2e-3)
    assert (timing.graph, timing.runs) == (False, 15)
    assert torch.flushes == 16


def test_the_median_counts_and_the_extremes_are_kept():
    torch = fake.FakeTorch(captures=False)
    times = [1e-3] * 5 + [1e-3, 9e-3, 2e-3] + [3e-3] * 20
    timing = Timer(torch, "cuda").time(taking(torch, times))
    assert timing.median_s == pytest.approx(3e-3)
    assert timing.low_s == pytest.approx(1e-3)
    assert timing.high_s == pytest.approx(9e-3)


def test_a_graph_is_replayed_where_it_can_be():
    torch = fake.FakeTorch()
    timing = Timer(torch, "cuda").time(taking(torch, [1e-3]))
    assert timing.graph
    assert timing.median_s == pytest.approx(1e-3)
    assert torch.replays == 1 + 1 + timing.runs


def test_long_operations_are_repeated_less():
    torch = fake.FakeTorch(captures=False)
    assert Timer(torch, "cuda").time(taking(torch, [0.09])).runs == 4
    assert Timer(torch, "cuda").time(taking(torch, [3.0])).runs == 3


def test_the_least_work_of_each_operation():
    assert gemm_work(2, 3, 5, "bfloat16") == Work(60.0, 2 * (10 + 15 + 6), "bfloat16")
    assert gemm_work(2, 3, 5, "fp8").bytes == 10 + 15 + 2 * 6
    decode = attention_work(batch=4, queries=1, context=100, heads=8, kv_heads=2, head_dim=64, causal=False)
    assert decode.flops == 4 * 4 * 8 * 64 * 100
    assert decode.bytes == 2 * 4 * 64 * (2 * 8 + 2 * 100 * 2)
    prompt = attention_work(batch=1, queries=100, context=100, heads=8, kv_heads=2, head_dim=64, causal=True)
    assert prompt.flops == 4 * 8 * 64 * 100 * 100 / 2
    one = moe_work(tokens=1, hidden=10, inter=20, topk=2, experts=8)
    assert one.flops == 2 * 2 * 3 * 10 * 20
    assert one.bytes == pytest.approx(2 * 3 * 10 * 20 * 2 + 2 * 2 * (20 + 60))
    many = moe_work(tokens=10_000, hidden=10, inter=20, topk=2, experts=8)
    assert many.bytes - 2.0 * 10_000 * 2 * 80 == pytest.approx(8 * 3 * 10 * 20 * 2)


@pytest.mark.parametrize(
    ("kind", "share"), [("all_reduce", 1.5), ("all_gather", 0.75), ("reduce_scatter", 0.75), ("p2p", 1.0)]
)
def test_what_each_gpu_must_send(kind, share):
    assert link_work(kind, 4, 1000.0).link_bytes == 1000.0 * share


def test_shares_of_the_limits_of_the_catalogue(catalogue):
    gpu = catalogue.gpu("h200")
    half = fractions(Work(flops=989e12, bytes=2.4e12), 2.0, gpu)
    assert half["flops_fraction"] == pytest.approx(0.5)
    assert half["membw_fraction"] == pytest.approx(0.25)
    assert half["achieved_fraction"] == pytest.approx(0.5)
    assert half["link_fraction"] is None
    assert fractions(link_work("p2p", 2, gpu.scale_up_bytes_per_s), 2.0, gpu)["link_fraction"] == 0.5
    assert set(fractions(Work(1.0, 1.0), 1.0, None).values()) == {None}
    assert fractions(Work(flops=1.0, dtype="fp8"), 1.0, catalogue.gpu("a100"))["flops_fraction"] is None


def test_matrices_are_those_of_real_layers(catalogue):
    quick = layer_matrices(catalogue, "quick")
    # Llama-3.1-8B: queries, keys and values; output; gate and up; down; the head.
    assert {(6144, 4096), (4096, 4096), (28672, 4096), (4096, 14336), (128256, 4096)} <= set(quick)
    # A rank of Llama-3.3-70B at TP8.
    assert {(1280, 8192), (8192, 1024), (7168, 8192), (8192, 3584)} <= set(quick)
    assert set(quick) <= set(layer_matrices(catalogue, "full"))
    assert {shape.batch for shape in attention_shapes("full", "decode")} == {1, 8, 32, 64, 128, 256}
    assert len(moe_shapes("quick")) == 4


def test_parts_are_checked():
    pair = Group(0, 2, 0, 1)
    assert COLLECTIVES in WHAT
    assert COLLECTIVES not in parts_of([], None)
    assert parts_of([], pair) == [COLLECTIVES]
    assert parts_of(["gemm", "gemm"], None) == ["gemm"]
    with pytest.raises(InvalidInput, match="gem: one of launch"):
        parts_of(["gem"], None)
    with pytest.raises(InvalidInput, match="torchrun --nproc-per-node"):
        parts_of([COLLECTIVES], None)


def test_the_place_in_a_group_is_what_torchrun_says():
    assert group_of({}) is None
    told = {"RANK": "9", "WORLD_SIZE": "16", "LOCAL_RANK": "1", "LOCAL_WORLD_SIZE": "8"}
    assert group_of(told) == Group(9, 16, 1, 2)
    assert group_of({"RANK": "0", "WORLD_SIZE": "2"}) == Group(0, 2, 0, 1)


def test_without_torch_one_line_says_what_to_do(catalogue, monkeypatch):
    import importlib

    def refuse(name):
        raise ImportError(name)

    monkeypatch.setattr(importlib, "import_module", refuse)
    with pytest.raises(Unsupported, match="pip install torch") as caught:
        open_machine("auto", catalogue)
    assert "\n" not in str(caught.value)


def test_the_machine_is_found_in_the_catalogue(catalogue, monkeypatch):
    import importlib

    monkeypatch.setattr(importlib, "import_module", lambda name: fake.FakeTorch())
    monkeypatch.delenv("RANK", raising=False)
    machine = open_machine("auto", catalogue)
    assert (machine.system, machine.device, machine.speaks) == ("h200-sxm", "cuda", True)
    with pytest.raises(PlannerError, match="no-such-gpu"):
        open_machine("auto", catalogue, "no-such-gpu")
    second = Machine(None, "cpu", None, "cpu", Group(1, 2, 1, 1))
    assert not second.speaks
    facts = machine_facts(machine)
    assert facts["device"] == "NVIDIA H200"
    assert facts["l2_bytes"] == "62914560"


NVIDIA = (
    "NVIDIA H200, 580.159.04, 143771 MiB, 700.00 W, 1980 MHz, 3201 MHz, 96.00.A5, Enabled, [N/A], Enabled\n"
)
AMD = (
    "gpu,driver_name,driver_version,max_power,serial_number,bdf\n0,amdgpu,6.14.0,1400 W,ABC123,0000:05:00.0\n"
)


def test_what_the_drivers_say_is_read_and_names_no_machine():
    found = driver_facts(lambda command: NVIDIA if command[0] == "nvidia-smi" else None)
    assert found["power_limit"] == "700.00 W"
    assert found["clocks_max_sm"] == "1980 MHz"
    assert "mig_mode_current" not in found
    assert driver_facts(lambda command: AMD if command[0] == "amd-smi" else None) == {
        "gpu": "0",
        "driver_name": "amdgpu",
        "driver_version": "6.14.0",
        "max_power": "1400 W",
    }
    assert driver_facts(lambda command: None) == {}
    assert csv_facts("nothing") == {}
    assert named_fields("a,b", "1, [N/A]\n") == {"a": "1"}
    assert output_of(["no-such-tool-at-all"]) is None


def test_power_is_read_beside_the_measurement():
    with PowerMeter(read=lambda: "650.5, 1905, 3201, 61") as meter:
        pass
    meter.readings += [live_values("700, 1980, 3201, 64"), {"power_watts": 600.0}]
    assert meter.summary()["power_watts"].startswith("median 650.5, most 700")
    assert live_values("gpu,power\n0,512\n")["power"] == 512
    with PowerMeter(read=lambda: None) as silent:
        pass
    assert silent.summary() == {}


ROW = {
    "system": "h200-sxm",
    "op": "gemm",
    "dtype": "fp8",
    "m": 1,
    "n": 2,
    "k": 3,
    "latency_us": 4.5,
    "graph": True,
}


def test_rows_are_on_disk_before_the_end(tmp_path, monkeypatch):
    monkeypatch.setattr("planner.measurement.gpu.keeping.EVERY_S", -1.0)
    kept = KernelRows(tmp_path, {"device": "NVIDIA H200"})
    kept.add(ROW)
    with kept.path.open(encoding="utf-8") as file:
        (row,) = csv.DictReader(file)
    assert (row["op"], row["latency_us"], row["run"]) == ("gemm", "4.5", kept.run)
    assert tuple(row)[: len(KERNEL_COLUMNS)] == KERNEL_COLUMNS
    kept.add({**ROW, "m": 2})
    kept.close({"power_watts": "median 600"})
    told = json.loads(kept.sidecar.read_text(encoding="utf-8"))
    assert told["environment"] == {"device": "NVIDIA H200", "power_watts": "median 600"}
    assert told["rows"] == 2


def test_the_table_shows_sizes_and_keeps_every_column():
    table = kernels_table([{**ROW, "achieved_fraction": 0.871, "run": "x"}])
    assert table.cells() == [["gemm", "fp8", "m 1, n 2, k 3", "4.5", "87%"]]
    assert table.to_records()[0]["run"] == "x"
