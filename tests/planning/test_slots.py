"""Engines whose pool is allocated as asked are asked for all the slots that a device holds."""

from __future__ import annotations

from click.testing import CliRunner

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
    assert "L4, 16 GPUs" in " ".join(text.split())
