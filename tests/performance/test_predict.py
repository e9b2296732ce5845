"""Predictions of deployments: sweeps, step times for simulation, kernels, calibration by own points."""

from __future__ import annotations

from dataclasses import replace
from functools import cache

import numpy as np
import pytest

from planner.catalogue import load_catalogue
from planner.errors import InvalidInput
from planner.measurement.calibrate import adapt
from planner.measurement.serving import ServingFlag, load_serving_points
from planner.performance.intervals import width
from planner.performance.levels import Calibration, Circumstances, calibration_of
from planner.performance.predict import make_service, predict_deployment
from planner.performance.simulated import step_times
from planner.performance.simulation import TabulatedStepTimes
from planner.performance.simulation.records import Batching
from planner.performance.sweep import SweepTable, sweep
from planner.scenario import Deployment, Workload


@cache
def book():
    return load_catalogue()


@cache
def service():
    return make_service(
        model=book().model("deepseek-r1"),
        gpu=book().gpu("b200"),
        deployment=Deployment(tp=8),
        workload=Workload(isl=1024, osl=1024),
        catalogue=book(),
    )


def test_a_sweep_agrees_with_the_steady_state():
    dice = np.random.default_rng(0)
    load, isl, osl = (2 ** dice.uniform(low, high, 500) for low, high in ((0, 9), (7, 14), (6, 12)))
    found, exact = sweep(service(), concurrency=load, isl=isl, osl=osl), service().at(isl, osl, load)
    off = np.abs(found.output_tps / exact.output_tps - 1)
    assert np.median(off) < 0.02
    assert np.median(np.abs(found.tpot_s / exact.tpot_s - 1)) < 0.02


def test_a_sweep_meets_its_nodes_and_broadcasts():
    table = SweepTable(service(), (1, 64), (1024, 1024), (512, 512))
    found = table.at(np.array([[1.0], [64.0]]), 1024.0, np.array([512.0, 512.0]))
    assert found.tpot_s.shape == (2, 2)
    exact = service().at(1024.0, 512.0, np.array([1.0, 64.0]))
    assert found.output_tps[:, 0] == pytest.approx(exact.output_tps, rel=1e-6)
    with pytest.raises(InvalidInput, match="concurrency: 0 to 4"):
        SweepTable(service(), (0, 4), (1, 2), (1, 2))


def test_step_times_feed_the_simulation():
    times = step_times(service(), 1024, 512)
    decode = times.step_s(8, 8 * 1024, 0, 0)
    mixed = times.step_s(8, 8 * 1024, 2048, 0)
    alone = times.step_s(0, 0, 2048, 0)
    assert 0 < decode < mixed < decode + alone
    rows = times.step_s(np.array([1, 8, 64]), np.array([1, 8, 64]) * 1024, 0, 0)
    assert rows.shape == (3,)
    assert (np.diff(rows) > 0).all()
    tabulated = TabulatedStepTimes(times, Batching(), 4096)
    assert tabulated.step_s(8, 8 * 1024, 0, 0) == pytest.approx(decode, rel=0.02)


def test_a_slow_kernel_is_named_with_its_remedy():
    found = predict_deployment(
        model=book().model("gpt-oss-120b"),
        gpu=book().gpu("mi300x"),
        deployment=Deployment(tp=8),
        workload=Workload(isl=1024, osl=512, concurrency=8),
        catalogue=book(),
    )
    experts = [kernel for kernel in found.kernels if kernel.operator == "moe_gemm"]
    assert experts
    assert all(kernel.compute_dtype == "bf16" for kernel in experts)
    assert all(kernel.source for kernel in found.kernels)


def test_an_unknown_level_falls_back_to_its_family():
    known = Calibration({"decode": {"engine": {"vllm": 0.2}, "gpu/runtime": {"h200/vllm": 0.1}}})
    case = Circumstances("m", "f", "h200", "hopper", "NVIDIA", "vllm", "vllm", "bf16")
    assert known.parameters([case]).max() == pytest.approx(0.3)
    assert known.parameters([replace(case, gpu="x900")]).max() == pytest.approx(0.2)


def test_the_narrowest_cell_gives_the_interval():
    cells = {"all": (-1.0, 1.0), "group": (-0.3, 0.3), "group/service/AMD": (-0.1, 0.2)}
    known = Calibration({}, {"output": cells}, {"groups": frozenset({"m/g/vllm"})})
    case = Circumstances("m", "f", "g", "cdna", "AMD", "vllm", "vllm", "bf16")
    assert width(known, "output", case) == (-0.1, 0.2)
    assert width(known, "output", replace(case, vendor="NVIDIA")) == (-0.3, 0.3)
    assert width(known, "output", replace(case, model="other")) == (-1.0, 1.0)


def test_three_points_of_ones_own_move_the_level_towards_them():
    point = next(
        point
        for point in load_serving_points()
        if point.output_tps_per_gpu and point.concurrency and not point.flags & ServingFlag.NOT_A_SERVICE
    )
    doubled = [
        replace(
            point,
            output_tps_per_gpu=2 * point.output_tps_per_gpu,
            output_tps_total=2 * (point.output_tps_total or 0) or None,
            tpot_ms_median=point.tpot_ms_median and point.tpot_ms_median / 2,
            source="mine",
        )
    ] * 3
    known = calibration_of(book())
    as_measured, faster = (
        sum(adapt(known, points, book()).levels["decode"]["set-up"].values())
        for points in ([point] * 3, doubled)
    )
    assert faster < as_measured - 0.1
    with pytest.raises(InvalidInput, match="none of 1 points can be used"):
        adapt(known, [replace(point, isl=None)], book())
