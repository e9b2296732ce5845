"""Collectives under a group: what is timed, in which order, and that neither waiting nor the host counts."""

from __future__ import annotations

import importlib.util
import sys
from contextlib import nullcontext
from pathlib import Path
from types import SimpleNamespace

import pytest

from planner.errors import InvalidInput, Unsupported
from planner.measurement.gpu.bench import Machine, measured_rows, parts_of
from planner.measurement.gpu.collectives import Collectives, Group, in_a_row
from planner.measurement.gpu.work import COLLECTIVE_KINDS, ENGINE_ALL_REDUCE, link_work

SPEC = importlib.util.spec_from_file_location("fake_torch", Path(__file__).with_name("fake_torch.py"))
fake = importlib.util.module_from_spec(SPEC)
SPEC.loader.exec_module(fake)

TOOK_S = 7e-6
OWN = "vllm.distributed.device_communicators.custom_all_reduce"


def machine(catalogue):
    return Machine(fake.FakeGroupTorch(TOOK_S), "cuda", catalogue.gpu("h200"), "h200-sxm", Group(0, 2, 0, 1))


def test_every_kind_and_size_is_timed_by_the_host_and_then_from_a_graph(catalogue):
    rows = list(measured_rows(machine(catalogue), catalogue, parts=["collectives"], suite="tiny"))
    assert len(rows) == 2 * 2 * len(COLLECTIVE_KINDS)
    assert [row["graph"] for row in rows] == [False] * 10 + [True] * 10
    assert all(row["latency_us"] == pytest.approx(7.0) for row in rows)
    assert rows[0]["op"] == "nccl_all_reduce"
    assert rows[0]["kernel"] == "torch.distributed all_reduce, started by the host"
    assert rows[-1]["kernel"] == "torch.distributed p2p, replayed from a graph"


def test_devices_wait_for_each_other_before_each_run_that_counts():
    torch = fake.FakeGroupTorch(TOOK_S)
    group = Collectives(torch, Group(0, 2, 0, 1), "cuda")
    timing = group.time(group.messages("tiny")[0])
    assert torch.waits == timing.runs + 1
    assert timing.high_s == pytest.approx(TOOK_S)


@pytest.mark.parametrize(("size", "row"), [(1 << 10, 100), (1 << 22, 64), (1 << 26, 4), (1 << 30, 4)])
def test_small_ones_are_started_many_in_a_row(size, row):
    assert in_a_row(size) == row


def test_the_engines_own_is_timed_below_its_largest_size(catalogue, monkeypatch):
    class Own:
        disabled, max_size = False, 1 << 16

        def __init__(self, group, device):
            assert (group, device) == ("gloo", "cuda:0")
            self.closed = False

        def capture(self):
            return nullcontext()

        def custom_all_reduce(self, values):
            here.torch.now_s += TOOK_S

        def close(self):
            self.closed = True

    here = machine(catalogue)
    monkeypatch.setitem(sys.modules, "vllm", SimpleNamespace(__version__="0.20.2"))
    monkeypatch.setitem(sys.modules, OWN, SimpleNamespace(CustomAllreduce=Own))
    rows = list(measured_rows(here, catalogue, parts=["engine_collectives"], suite="tiny"))
    assert [(row["op"], row["bytes"], row["framework"]) for row in rows] == [
        (ENGINE_ALL_REDUCE, 1024, "vllm")
    ]
    assert rows[0]["version"] == "0.20.2"
    assert rows[0]["latency_us"] == pytest.approx(7.0)


def test_without_the_engine_one_line_says_so(catalogue):
    with pytest.raises(Unsupported, match="vLLM is not here"):
        list(measured_rows(machine(catalogue), catalogue, parts=["engine_collectives"], suite="tiny"))


def test_it_needs_a_group_and_must_be_asked_for():
    with pytest.raises(InvalidInput, match="torchrun"):
        parts_of(["engine_collectives"], None)
    assert parts_of([], Group(0, 2, 0, 1)) == ["collectives"]


def test_its_work_is_that_of_an_all_reduce():
    assert link_work(ENGINE_ALL_REDUCE, 8, 1e9) == link_work("all_reduce", 8, 1e9)
