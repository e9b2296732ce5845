"""How the GPUs of measured points with a pool for each phase are read, and what each pool is predicted as."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from planner.measurement.blame import step_parts
from planner.measurement.case_builder import CaseBuilder
from planner.measurement.pool_notes import counted_once
from planner.measurement.run_dates import CONFIGURATIONS, added_on
from planner.measurement.serving_flags import ServingFlag
from planner.measurement.serving_layout import Copies, layout_of
from planner.measurement.setups import NotPredictable
from planner.performance.levels import calibration_of
from planner.performance.parameters import neutral

APART = "InferenceX db-dump 2026-07-20 (recovered)"


@pytest.fixture(scope="module")
def point(serving_points):
    """Return a point with a pool for each phase."""
    return next(
        p
        for p in serving_points
        if p.source == APART and p.disagg and p.model.startswith("DeepSeek-R1") and p.gpu == "GB200"
    )


def told(point, notes, *, prefill, decode, concurrency=1024.0):
    """Return the point with other pools."""
    total = None if None in (prefill, decode) else prefill + decode
    sizes = {"n_gpus": total, "prefill_gpus": prefill, "decode_gpus": decode}
    return replace(point, notes=notes, concurrency=concurrency, **sizes)


def test_each_pool_has_the_layout_that_its_notes_state(point, catalogue):
    """A pool that prefills in wide EP was once taken to be divided like the one that decodes in TP4."""
    asked = told(
        point, "prefill 1x(tp8,ep8,dpa=1) decode 4x(tp4,ep1,dpa=0)", prefill=8, decode=16, concurrency=64.0
    )
    builder = CaseBuilder(catalogue)
    case = builder.case(asked)
    assert case.pools.decode == Copies(4, 4, 1, 1, 1)
    assert case.pools.prefill == Copies(1, 1, 1, 8, 8)
    assert case.pools.gpus == 24
    data = builder.gather([case])
    assert (data.profile.tp[0], data.filling.tp[0], data.filling.dp[0]) == (4, 1, 8)


def test_a_prefilling_pool_is_timed_by_its_own_layout(point, catalogue):
    builder = CaseBuilder(catalogue)
    notes = "prefill 1x(tp8,ep{0},dpa={1}) decode 1x(tp8,ep1,dpa=0)"
    cases = [
        builder.case(told(point, notes.format(*how), prefill=8, decode=8, concurrency=4.0))
        for how in ((1, 0), (8, 1))
    ]
    data = builder.gather(cases)
    found = data.predict(neutral(2))
    assert found[0, 1] == pytest.approx(found[1, 1], rel=0.02)  # both decode alike
    assert abs(found[0, 2] - found[1, 2]) > np.log(1.1)


ROW = "prefill 1x(tp1,ep1,dpa=0) decode {0}x(tp{1},ep{2},dpa=0)"


@pytest.mark.parametrize(
    ("stated", "workers", "decode_gpus"),
    [(16, (1, 4, 4), 4), (128, (2, 8, 8), 16), (8, (1, 8, 8), 8), (16, (2, 8, 1), 16), (32, (2, 4, 4), 8)],
)
def test_gpus_counted_as_tp_times_ep_are_counted_once(stated, workers, decode_gpus):
    """Experts are divided among the ranks of TP: 1 worker of TP4 and EP4 has 4 GPUs, not 16."""
    row = {
        "notes": ROW.format(*workers),
        "prefill_gpus": 1,
        "decode_gpus": stated,
        "n_gpus": 1 + stated,
        "n_nodes": 3,
        "output_tps_per_gpu": 100.0,
        "output_tps_total": 100.0 * (1 + stated),
    }
    found = counted_once(row)
    assert (found["decode_gpus"], found["n_gpus"]) == (decode_gpus, 1 + decode_gpus)
    assert found["output_tps_total"] == 100.0 * (1 + decode_gpus)


def test_no_shipped_row_yields_more_tokens_than_its_requests_can(serving_points):
    """48 rows that counted the GPUs that decode as TP x EP once said up to 5 times as many."""
    apart = [p for p in serving_points if p.source == APART and p.disagg and p.output_tps_total]
    shares = [p.output_tps_total / (p.concurrency * p.tps_per_user) for p in apart if p.tps_per_user]
    assert len(shares) > 1000
    assert max(shares) < 1.1


@pytest.mark.parametrize(
    ("concurrency", "decode"),
    [(16.0, Copies(4, 4, 1, 1, 1)), (4096.0, Copies(4, 1, 1, 4, 4))],
)
def test_workers_whose_sizes_were_lost_are_read_by_their_load(point, catalogue, concurrency, decode):
    notes = "prefill 1x(tp1,ep1,dpa=1) decode 4x(tp1,ep1,dpa=1)"
    asked = told(point, notes, prefill=4, decode=16, concurrency=concurrency)
    pools = CaseBuilder(catalogue).case(asked).pools
    assert pools.decode == decode
    assert pools.prefill == Copies(1, 1, 1, 4, 4)


def test_a_worker_wider_than_a_node_divides_its_experts(point):
    notes = "prefill 2x(tp1,ep1,dpa=1) decode 1x(tp1,ep1,dpa=1)"
    assert layout_of(told(point, notes, prefill=16, decode=32)).decode == Copies(1, 1, 1, 32, 32)


def test_a_pool_whose_gpus_are_not_known_is_refused(point, catalogue):
    asked = told(point, "prefill 4x(tp1,ep1,dpa=1) decode 1x(tp1,ep1,dpa=1)", prefill=16, decode=None)
    with pytest.raises(NotPredictable, match="number of GPUs not stated"):
        CaseBuilder(catalogue).case(asked)


def test_decoding_alone_yields_the_pace_of_all_that_decode(serving_points, catalogue):
    """Output and TPOT are one figure there: 1 / TPOT x requests, whatever services lose to ramps."""
    builder = CaseBuilder(catalogue)
    rows = [p for p in serving_points if p.source == "RTX 6000 Pro community benchmarks"]
    cases = [builder.case(p) for p in rows if p.flags & ServingFlag.DECODE_ONLY and p.tpot_ms_median][:20]
    data = builder.gather(cases)
    parameters = calibration_of(catalogue).parameters([case.about for case in cases])
    found = data.predict(parameters)
    requests = np.log([case.concurrency / case.pools.gpus for case in cases])
    assert found[:, 0] + found[:, 1] == pytest.approx(requests, abs=1e-6)
    assert data.measured[:, 0] + data.measured[:, 1] == pytest.approx(requests, abs=1e-3)


@pytest.mark.parametrize(
    ("notes", "day"),
    [
        ("config_id=1231; median over repeated CI runs", "2026-05-10"),
        ("config_id=104; median", None),
        ("config_id=9999", CONFIGURATIONS[-1][1]),
        ("no number", None),
    ],
)
def test_a_numbered_configuration_tells_when_it_was_added(notes, day):
    assert added_on(notes) == day


def test_configurations_are_in_order():
    assert list(CONFIGURATIONS) == sorted(CONFIGURATIONS)
    days = [day for _, day in CONFIGURATIONS]
    assert days == sorted(days)


def test_dated_runs_of_a_configuration_are_not_before_it_was_added(serving_points):
    """Other sources state both: none of their runs is earlier than the table says."""
    dated = [
        (p.date, added_on(p.notes))
        for p in serving_points
        if p.notes and p.date and "config_id=" in p.notes and not p.flags & ServingFlag.RUN_UNDATED
    ]
    assert len(dated) > 300
    assert all(added is None or added <= date for date, added in dated)


def test_tp1_in_wide_ep_is_one_worker(serving_points, catalogue):
    """128 GPUs with EP128 hold one copy of a model, not one each."""
    point = next(p for p in serving_points if p.disagg and p.tp == 1 and p.ep == 128)
    pools = CaseBuilder(catalogue).case(point).pools
    assert pools.decode == Copies(1, 1, 1, 128, 128)
    assert pools.prefill is None  # and not one copy on each of its GPUs


def test_sizes_of_zero_say_nothing(point, catalogue):
    asked = told(point, "prefill 1x(tp0,ep0,dpa=0) decode 1x(tp0,ep1,dpa=0)", prefill=0, decode=0)
    assert CaseBuilder(catalogue).case(replace(asked, n_gpus=8)).pools.gpus == 8


def test_a_pool_without_gpus_is_refused(point, catalogue):
    asked = told(point, "decode Nonex(tp1,ep1,dpa=True)", prefill=8, decode=0)
    with pytest.raises(NotPredictable, match="do not add up"):
        CaseBuilder(catalogue).case(replace(asked, n_gpus=8))


def test_pools_larger_than_all_gpus_are_refused(point, catalogue):
    asked = replace(told(point, "decode 1x(tp8,ep1,dpa=0)", prefill=None, decode=8), n_gpus=2)
    with pytest.raises(NotPredictable, match="do not add up"):
        CaseBuilder(catalogue).case(asked)


def test_the_parts_of_a_step_add_up_to_what_is_predicted_where_another_pool_prefills(point, catalogue):
    builder = CaseBuilder(catalogue)
    notes = "prefill 1x(tp8,ep8,dpa=1) decode 4x(tp4,ep1,dpa=0)"
    data = builder.gather([builder.case(told(point, notes, prefill=8, decode=16, concurrency=256.0))])
    parts = step_parts(data, neutral())
    whole = sum(float(part[0]) for part in parts.values())
    assert whole == pytest.approx(float(np.exp(data.predict(neutral())[0, 1])), rel=1e-6)
