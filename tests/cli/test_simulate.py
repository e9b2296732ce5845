"""`planner simulate`: the drawing to the letter with given step times, and the main job on real input."""

from __future__ import annotations

import csv
import io
import json
import os
from pathlib import Path

import pytest
from rich.console import Console

from planner.cli.output import json_text
from planner.cli.simulate import _draw
from planner.performance.simulation import (
    Batching,
    FixedArrivals,
    FixedLength,
    IndependentLengths,
    KvPool,
    LatencySlo,
    simulate,
)
from planner.planning.load import Load
from planner.planning.service_simulation import SimulatedService
from planner.planning.sizing import Judgement
from planner.report.simulation import SimulateReport
from tests.report.made import answer, judged

GOLDEN = Path(__file__).with_name("golden")
LLAMA = ("simulate", "--model", "llama-3.1-8b", "--gpu", "h100", "--isl", "1k", "--osl", "100")


class Steps:
    """Steps of 10 ms, and a tenth of one for each prompt token."""

    def step_s(self, decode_requests, decode_context_tokens, prefill_tokens, prefill_context_tokens):
        return 0.01 + 0.0001 * prefill_tokens + 0 * decode_context_tokens


def made(interval_s: float) -> SimulateReport:
    """Return a simulation of 200 even requests of 100 tokens in and 50 out."""
    result = simulate(
        step_times=Steps(),
        pool=KvPool(tokens=100_000),
        batching=Batching(max_num_seqs=8),
        arrivals=FixedArrivals(interval_s=interval_s),
        lengths=IndependentLengths(FixedLength(tokens=100), FixedLength(tokens=50)),
        requests=200,
        slo=LatencySlo(ttft_s=0.5, tpot_s=0.02),
    )
    fit = answer(price=4.0)
    most = 10.0 if result.overloaded else None
    load = Load(100, 50, None, 1 / interval_s)
    judgement = Judgement(fit.memory, None, fit.memory)
    return SimulateReport(fit, SimulatedService(judgement, load, result, 2, most, "calibrated: made"))


def refused() -> SimulateReport:
    fit = judged(weights_gib=190.0)
    return SimulateReport(
        fit, SimulatedService(Judgement(fit.memory, None, fit.smallest), Load(100, 50, 4, None), None)
    )


REPORTS = {
    "simulate_carried": lambda: made(0.125),
    "simulate_overloaded": lambda: made(0.0625),
    "simulate_refused": refused,
}


def check(name, text):
    """Compare with the golden file; UPDATE_GOLDEN=1 writes it anew."""
    file = GOLDEN / name
    if os.environ.get("UPDATE_GOLDEN"):
        file.write_text(text, encoding="utf-8")
    assert text == file.read_text(encoding="utf-8")


@pytest.mark.parametrize("name", REPORTS)
def test_drawing_to_the_letter(name):
    text = io.StringIO()
    _draw(Console(file=text, width=100, no_color=True, highlight=False), REPORTS[name]())
    check(f"{name}.txt", "".join(f"{line.rstrip()}\n" for line in text.getvalue().splitlines()))


def test_json_of_what_does_not_fit():
    check("simulate_refused.json", json_text(refused().to_dict()))


def test_a_rate_is_carried_with_percentiles_in_order(planner):
    ran = planner(*LLAMA, "--rate", "4", "--slo-ttft", "1s", "--slo-tpot", "100ms", "--json")
    found = json.loads(ran.out)
    assert ran.code == 0
    assert found["schema"] == "planner.simulate/1"
    assert found["sustained_requests_per_s"] == pytest.approx(4, rel=0.1)
    assert found["output_tps_total"] == pytest.approx(400, rel=0.1)
    for name in ("ttft_ms", "tpot_ms", "itl_ms", "e2e_s", "queue_ms"):
        assert found[name]["p50"] <= found[name]["p90"] <= found[name]["p95"] <= found[name]["p99"]
    assert 0 < found["goodput_requests_per_s"] <= 1.1 * found["offered_requests_per_s"]


def test_the_same_seed_gives_the_same_answer_and_another_another(planner):
    words = (*LLAMA, "--rate", "4", "--requests", "200", "--json", "--seed")
    first, again, other = (planner(*words, seed).out for seed in ("1", "1", "2"))
    assert first == again
    assert json.loads(first)["ttft_ms"] != json.loads(other)["ttft_ms"]


def test_overload_is_named_with_what_can_be_carried(planner):
    ran = planner(*LLAMA, "--rate", "500", "--json")
    found = json.loads(ran.out)
    assert ran.code == 2
    assert (found["overloaded"], found["ttft_ms"], found["e2e_s"]) == (True, None, None)
    assert 0 < found["capacity_requests_per_s"] < 500


def test_copies_share_the_load(planner):
    words = ("simulate", "--model", "llama-3.1-8b", "--gpu", "h100", "--isl", "1k", "--osl", "100", "--json")
    found = json.loads(planner(*words, "--rate", "8", "--tp", "1", "--pp", "2").out)
    assert (found["lanes"], found["gpus"]) == (2, 2)
    assert found["offered_requests_per_s"] == pytest.approx(8, rel=0.15)


def test_one_line_for_each_request_of_a_trace(planner, tmp_path):
    trace, out = tmp_path / "trace.csv", tmp_path / "served.csv"
    trace.write_text("arrival_s,isl,osl\n0,100,10\n0.5,2000,200\n0.7,500,1\n", encoding="utf-8")
    words = ("simulate", "--model", "llama-3.1-8b", "--gpu", "h100", "--trace", str(trace))
    assert planner(*words, "--out", str(out)).code == 0
    rows = list(csv.DictReader(out.open(encoding="utf-8")))
    assert [(row["isl"], row["osl"]) for row in rows] == [("100", "10"), ("2000", "200"), ("500", "1")]
    assert [float(row["arrival_s"]) for row in rows] == [0.0, 0.5, 0.7]
    assert rows[2]["tpot_s"] == ""
    assert float(rows[1]["ttft_s"]) > 0


def test_what_does_not_fit_is_said_as_fit_says_it(planner):
    ran = planner(
        "simulate", "--model", "deepseek-r1", "--gpu", "h100", "--tp", "8", *LLAMA[5:], "--rate", "1"
    )
    assert ran.code == 3
    assert ran.out.startswith("DeepSeek-R1 does not fit on one node of 8 x H100-SXM")


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        ((), "no load: give a rate, a concurrency, or a trace"),
        (("--rate", "1", "--concurrency", "2"), "exclude each other"),
        (("--rate", "1", "--slo-ttft", "2"), "has no unit"),
        (("--rate", "1", "--context", "1k"), "is over the context"),
        (("--rate", "1", "--seed", "-1"), "--seed"),
        (("--rate", "1", "--arrivals", "bursts"), "--arrivals: 'bursts' is not one of"),
        (("--trace", "nowhere.csv"), "nowhere.csv: cannot be read"),
    ],
)
def test_a_mistake_is_one_line(planner, words, complaint):
    ran = planner(*LLAMA, *words)
    assert (ran.code, ran.out) == (2, "")
    assert complaint in ran.err
    assert ran.err.count("\n") == 1


def test_several_accelerators_are_refused(planner):
    ran = planner(*("h100,h200" if word == "h100" else word for word in LLAMA), "--rate", "1")
    assert (ran.code, ran.out) == (2, "")
    assert "a simulation is of one" in ran.err
