"""Measured first: which runs answer a question, and what is said where none does."""

from __future__ import annotations

from dataclasses import replace

import pytest

from planner.measurement.operating_point import (
    AT,
    BETWEEN,
    QUANTITIES,
    Asked,
    chosen_figures,
    measured_at,
    nothing_measured,
)
from planner.performance.intervals import Estimate
from planner.scenario import Deployment

K3 = Asked("kimi-k3", "mi355x", "vllm", Deployment(tp=8), gpus=8, isl=1024, osl=400, concurrency=1)
OWN = """\
model,gpu,n_gpus,tp,engine,date,isl,osl,concurrency,output_tps_total
kimi-k3,mi355x,8,8,vllm,2026-11-02,1024,400,1,200
kimi-k3,mi355x,8,8,vllm,2026-11-02,1024,400,64,2000
"""
R1 = Asked("deepseek-r1", "mi355x", "sglang", Deployment(tp=8), gpus=8, isl=1024, osl=1024, concurrency=48)


def test_a_run_at_the_load_itself(catalogue):
    found = measured_at(K3, catalogue)
    assert found.match == AT
    assert found.figures["output_tps_total"].value == 118
    assert found.figures["output_tps_per_gpu"].value == pytest.approx(118 / 8)
    assert found.figures["tpot_ms"].value == pytest.approx(1e3 / 118, rel=1e-3)
    assert "ttft_ms" not in found.figures
    assert all("Wafer" in each.provenance for each in found.figures.values())


def test_two_runs_of_one_sweep_on_both_sides(catalogue):
    found = measured_at(R1, catalogue)
    assert found.match == BETWEEN
    below, above = found.points
    assert below.concurrency < R1.concurrency < above.concurrency
    between = found.figures["output_tps_total"].value
    assert below.output_tps_total < between < above.output_tps_total


def test_the_interval_holds_the_figure(catalogue):
    for figure in measured_at(R1, catalogue).figures.values():
        assert figure.low < figure.value < figure.high


@pytest.mark.parametrize(
    "other",
    [
        {"gpus": 4},
        {"isl": 50_000.0},
        {"concurrency": 1e6},
        {"prefix_hit": 0.5},
        {"disaggregated": True},
        {"model": "no-such-model"},
        {"deployment": Deployment(tp=2, pp=4), "layout_given": True},
    ],
)
def test_another_question_is_not_answered(catalogue, other):
    assert measured_at(replace(R1, **other), catalogue) is None


def test_what_was_measured_nearest_is_named(catalogue):
    said = nothing_measured(replace(R1, concurrency=1e6), catalogue)
    assert said.startswith("nothing was measured of deepseek-r1 on 8 x mi355x with sglang")
    assert "nearest: 1,024/1,024 tokens" in said


@pytest.mark.parametrize(("throughput", "rate", "ttft"), [("auto", 118, 7), ("simulated", 1, 7)])
def test_the_model_fills_in_what_was_not_measured(catalogue, throughput, rate, ttft):
    model = {name: Estimate(1.0, 0.5, 2.0, "made") for name in QUANTITIES}
    model["ttft_ms"] = Estimate(7.0, 5.0, 9.0, "made")
    found = chosen_figures(model, measured_at(K3, catalogue), throughput)
    assert (found["output_tps_total"].value, found["ttft_ms"].value) == (rate, ttft)


def test_measured_alone_leaves_out_the_rest(catalogue):
    model = {name: Estimate(1.0, 0.5, 2.0, "made") for name in QUANTITIES}
    assert "ttft_ms" not in chosen_figures(model, measured_at(K3, catalogue), "measured")


@pytest.fixture
def own_file(tmp_path, monkeypatch):
    """Points of the user's own, in their folder."""
    file = tmp_path / "serving" / "engine.csv"
    file.parent.mkdir()
    file.write_text(OWN, encoding="utf-8")
    monkeypatch.setenv("PLANNER_MEASUREMENTS", str(tmp_path))
    return file


def test_a_run_of_ones_own_comes_before_published_ones(catalogue, own_file):
    found = measured_at(K3, catalogue)
    assert (found.match, found.runs) == (AT, 1)
    rate = found.figures["output_tps_total"]
    assert rate.value == 200
    assert rate.provenance == f"measured by you on 2026-11-02 ({own_file})"


def test_two_runs_of_ones_own_answer_between_them(catalogue, own_file):
    found = measured_at(replace(K3, concurrency=8), catalogue)
    assert found.match == BETWEEN
    rate = found.figures["output_tps_total"]
    assert rate.value == pytest.approx((200 * 2000) ** 0.5)
    assert rate.provenance.startswith("measured by you on 2026-11-02")


def test_a_file_that_was_written_anew_is_read_anew(catalogue, own_file):
    measured_at(K3, catalogue)
    own_file.write_text(OWN.replace(",1,200", ",1,2222"), encoding="utf-8")
    assert measured_at(K3, catalogue).figures["output_tps_total"].value == 2222


def test_where_ones_own_runs_do_not_answer_published_ones_do(catalogue, own_file):
    assert "Wafer" not in measured_at(R1, catalogue).figures["output_tps_total"].provenance
    assert measured_at(R1, catalogue).points[0].own is False


def test_the_nearest_run_may_be_ones_own(catalogue, own_file):
    said = nothing_measured(replace(K3, isl=1000.0, osl=400.0, concurrency=100.0, gpus=8), catalogue)
    assert "nearest: 1,024/400 tokens and 64 requests at once" in said
