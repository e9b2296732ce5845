"""What a result reports: the window, overload, goodput, and its forms."""

from __future__ import annotations

import json

import numpy as np
import pytest

from planner.performance.simulation import (
    Batching,
    ClosedLoop,
    FixedArrivals,
    GammaArrivals,
    LatencySlo,
    PoissonArrivals,
    Trace,
)
from planner.performance.simulation.summary import summarise
from tests.performance.simulation.loads import fixed, simulated
from tests.performance.simulation.models import Constant

# One place and 10 steps of 10 ms: at most 10 requests/s.
SINGLE = {"step_times": Constant(0.01), "batching": Batching(max_num_seqs=1), "lengths": fixed(10, 10)}


@pytest.mark.parametrize("measure", ["steady", "all"])
def test_overload_is_named_with_both_rates(measure):
    result = simulated(arrivals=PoissonArrivals(rate_per_s=20), requests=1000, measure=measure, **SINGLE)
    assert result.overloaded
    assert result.flow.offered_per_s == pytest.approx(20, rel=0.1)
    assert result.flow.sustained_per_s == pytest.approx(10, rel=0.02)
    assert result.flow.queue_growth_per_s == pytest.approx(10, rel=0.1)
    assert result.ttft_s is result.e2e_s is result.queue_s is result.goodput_per_s is None
    assert result.tpot_s.p50 == pytest.approx(0.01)
    assert result.verdict.startswith("overloaded: ")
    assert f"{result.flow.sustained_per_s:.3g} sustained" in result.verdict
    assert result.to_dict()["ttft_ms"] is None


@pytest.mark.parametrize("seed", range(20))
@pytest.mark.parametrize("rate", [4.0, 8.0])
def test_a_load_that_can_be_carried_is_not_called_overload(rate, seed):
    result = simulated(arrivals=PoissonArrivals(rate_per_s=rate), requests=500, seed=seed, **SINGLE)
    assert not result.overloaded
    assert result.verdict.startswith("carried: ")


@pytest.mark.parametrize("seed", range(20))
def test_a_load_over_capacity_is_called_overload(seed):
    assert simulated(arrivals=PoissonArrivals(rate_per_s=13), requests=1000, seed=seed, **SINGLE).overloaded


def test_even_arrivals_just_over_capacity_are_overload_and_just_under_are_not():
    assert simulated(arrivals=GammaArrivals(rate_per_s=11, cv=0), requests=500, **SINGLE).overloaded
    assert not simulated(arrivals=GammaArrivals(rate_per_s=9.9, cv=0), requests=500, **SINGLE).overloaded


def test_closed_loops_and_single_bursts_are_never_overload():
    closed = simulated(arrivals=ClosedLoop(concurrency=50), **SINGLE)
    burst = simulated(arrivals=FixedArrivals(interval_s=0), **SINGLE)
    assert not closed.overloaded
    assert not burst.overloaded
    assert closed.flow.offered_per_s == closed.flow.sustained_per_s == pytest.approx(10, rel=0.02)
    assert burst.window.measure == "all"


def test_the_window_leaves_out_warm_up_and_drain():
    result = simulated(arrivals=PoissonArrivals(rate_per_s=5), requests=300, warmup_share=0.2)
    rows, window = result.requests, result.window
    assert window.warmup_requests == 60
    assert window.begin_s == np.sort(rows.arrival_s)[60]
    assert window.end_s == rows.arrival_s[-1] < rows.finish_s.max()
    assert rows.measured.sum() == 240
    assert result.ttft_s.mean == rows.ttft_s[60:].mean()


def test_in_a_closed_loop_the_first_request_of_each_user_is_warm_up():
    result = simulated(arrivals=ClosedLoop(concurrency=50), requests=200)
    assert result.window.warmup_requests == 50
    few = simulated(arrivals=ClosedLoop(concurrency=50), requests=40)
    assert (few.window.measure, few.window.begin_s) == ("all", 0.0)
    assert few.requests.measured.all()


def test_users_who_all_come_back_at_once_leave_no_steady_span():
    alike = {"arrivals": ClosedLoop(concurrency=16), "requests": 20, "lengths": fixed(1, 1)}
    result = simulated(**alike)
    assert result.window.measure == "all"
    assert np.unique(result.requests.arrival_s[16:]).size == 1
    assert result.output_tps == simulated(**alike, measure="all").output_tps > 0


def test_goodput_counts_the_requests_that_keep_every_limit():
    slo = LatencySlo(ttft_s=0.15, tpot_s=0.02, share=0.9)
    result = simulated(arrivals=PoissonArrivals(rate_per_s=4), requests=500, slo=slo)
    rows = result.requests
    good = (rows.ttft_s <= 0.15) & (rows.tpot_s <= 0.02) & rows.measured
    share = good.sum() / rows.measured.sum()
    assert 0 < result.slo_share == pytest.approx(share)
    assert result.goodput_per_s == pytest.approx(good.sum() / result.window.length_s)
    assert result.meets_slo is bool(share >= 0.9)
    assert simulated().meets_slo is None
    strict = simulated(slo=LatencySlo(e2e_s=1e-6))
    assert (strict.goodput_per_s, strict.meets_slo) == (0, False)


def test_a_single_token_has_no_tpot_to_keep():
    result = simulated(lengths=fixed(10, 1), slo=LatencySlo(tpot_s=1e-9))
    assert result.slo_share == 1


def test_percentiles_are_those_of_numpy():
    values = np.arange(1.0, 102.0)
    summary = summarise(values)
    assert (summary.mean, summary.p50, summary.p90, summary.p95, summary.p99) == (51, 51, 91, 96, 100)
    assert summarise(values[:0]) is None


def test_the_dictionary_is_json_with_units_in_its_names():
    result = simulated(slo=LatencySlo(ttft_s=1))
    found = json.loads(json.dumps(result.to_dict(), allow_nan=False))
    assert found["schema"] == "planner.simulate/1"
    assert found["requests"] == 200
    assert found["ttft_ms"]["p99"] == pytest.approx(1e3 * result.ttft_s.p99)
    assert found["e2e_s"]["mean"] == result.e2e_s.mean
    assert found["slo"] == {"ttft_s": 1.0, "tpot_s": None, "e2e_s": None, "share": 0.95}


def test_the_frame_has_a_row_for_each_request():
    frame = simulated(requests=30).to_frame()
    assert len(frame) == 30
    assert (frame["e2e_s"] >= frame["ttft_s"]).all()


def test_progress_is_told_a_hundred_times_and_ends_with_all():
    told: list[tuple[int, int]] = []
    simulated(requests=250, progress=lambda done, count: told.append((done, count)))
    assert len(told) == 100
    assert told[-1] == (250, 250)


def test_a_trace_is_replayed():
    trace = Trace.from_lists("trace", [5.0, 6.0, 6.0], [100, 200, 300], [10, 1, 20])
    rows = simulated(arrivals=trace, lengths=trace, requests=None).requests
    assert rows.arrival_s.tolist() == [0, 1, 1]
    assert rows.isl.tolist() == [100, 200, 300]
    assert rows.osl.tolist() == [10, 1, 20]
