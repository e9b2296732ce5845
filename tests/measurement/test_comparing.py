"""Which deployment and load stand for an accelerator: given, the smallest, the best measured, or searched."""

from __future__ import annotations

import pytest

from planner.api.comparing import compare
from planner.scenario.slo import LatencySlo

KIMI = {"model": "kimi-k3", "isl": 1024, "osl": 400}


def test_without_a_load_the_peak_that_was_measured_stands(catalogue):
    made = compare(**KIMI, gpu="mi355x,b200,b300", catalogue=catalogue)
    assert {answer.gpu: answer.figures["output_tps_total"].value for answer in made} == {
        "mi355x": 952,
        "b200-sxm": 498,
        "b300-sxm": 1568,
    }
    assert all("ttft_ms" not in answer.figures for answer in made), "the runs do not state it"
    assert made.simulated_ranking is not None


def test_without_a_load_and_simulated_the_best_of_the_ladder_stands(catalogue):
    made = compare(**KIMI, gpu="b300", throughput="simulated", catalogue=catalogue).answer
    best = made.figures["output_tps_total"].value
    for load in (16, 64, 256):
        one = compare(
            **KIMI, gpu="b300", throughput="simulated", concurrency=load, gpus=8, tp=8, catalogue=catalogue
        )
        assert one.answer.figures["output_tps_total"].value <= best * (1 + 1e-9)


def test_sizes_that_are_given_are_taken(catalogue):
    made = compare(**KIMI, gpu="b300", tp=8, pp=2, concurrency=16, catalogue=catalogue).answer
    assert (made.gpus, made.nodes, made.layout) == (16, 2, "TP8 PP2")
    assert made.found.chosen == "sizes as given"


def test_a_number_of_gpus_alone_is_searched(catalogue):
    asked = {"model": "gpt-oss-120b", "gpu": "h200", "isl": 1000, "osl": 1000, "concurrency": 48}
    found = compare(**asked, gpus=4, throughput="simulated", catalogue=catalogue).answer
    assert found.gpus == 4
    assert "search" in found.found.chosen
    given = compare(**asked, tp=4, throughput="simulated", catalogue=catalogue).answer
    assert found.figures["output_tps_total"].value >= given.figures["output_tps_total"].value * (1 - 1e-9)


def test_under_an_slo_a_sparse_sweep_does_not_answer(catalogue):
    # One stream keeps 50 ms, and the peak does not state its latency: the best load lies between.
    made = compare(**KIMI, gpu="mi355x", slo_tpot_s=0.05, catalogue=catalogue).answer
    assert made.found.source == "simulated"
    assert made.found.concurrency > 1


def test_under_an_slo_a_sweep_across_the_limit_answers(catalogue):
    asked = {"model": "deepseek-r1", "gpu": "mi355x", "isl": 1024, "osl": 1024, "engine": "sglang"}
    made = compare(**asked, slo_tpot_s=0.03, catalogue=catalogue).answer
    assert made.found.source == "measured"
    assert made.figures["tpot_ms"].value <= 30
    faster = compare(**asked, slo_tpot_s=0.015, catalogue=catalogue).answer
    assert faster.figures["output_tps_per_gpu"].value <= made.figures["output_tps_per_gpu"].value


def test_an_slo_that_nobody_meets_names_the_closest_and_the_limit(catalogue):
    made = compare(**KIMI, gpu="mi355x,b300", slo_ttft_s=0.01, catalogue=catalogue)
    assert made.misses
    assert made.slo == LatencySlo(ttft_s=0.01)
    for answer in made:
        assert answer.reason.startswith("misses the SLO: closest is")
        assert "TTFT" in answer.reason
        assert "0.01 s is the limit" in answer.reason


def test_a_measured_figure_against_a_simulated_one_is_told_of(catalogue):
    asked = {"model": "kimi-k3", "gpu": "b300,h200", "isl": 1024, "osl": 400}
    made = compare(**asked, catalogue=catalogue)
    assert {answer.found.source for answer in made} == {"measured", "simulated"}
    assert any(said.startswith("a measured figure stands against a simulated one") for said in made.warnings)


@pytest.mark.parametrize("name", ["merit", "price-kinds"])
def test_figures_are_drawn(catalogue, name):
    made = compare(**KIMI, price_kind="3y-rental", catalogue=catalogue)
    bars = made.plot(name).data
    assert all(bar.type == "bar" for bar in bars)
    assert made.plot(name).layout.yaxis.title.text == "output tok/s per USD/h"
