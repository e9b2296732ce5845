"""Software becomes faster: what was measured earlier is told apart from what is asked today."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from planner.measurement.case_builder import CaseBuilder
from planner.measurement.serving_flags import ServingFlag
from planner.performance.levels import NOW, PERIODS, Circumstances, calibration_of, period_of
from planner.performance.parameters import INDEX
from planner.performance.predict import make_service
from planner.scenario import Deployment, Workload


def test_a_day_is_in_the_period_that_began_last_before_it():
    assert period_of("2023-11") == "before 2025-09"
    assert period_of("2025-09") == period_of("2025-11-19") == "since 2025-09"
    assert period_of("2025-12-16") == "since 2025-12-16"
    assert period_of("2026-04-01") == "since 2026-04"
    assert period_of("2030-01-01") == NOW == f"since {PERIODS[-1]}"
    assert period_of(None) == period_of("") == "undated"


def test_periods_are_in_order():
    assert list(PERIODS) == sorted(set(PERIODS))


@pytest.mark.parametrize(
    ("change", "period"),
    [
        ({"date": "2026-03-07"}, "since 2026-02-20"),
        ({"date": None}, "undated"),
        ({"date": "2026-03-07", "flags": ServingFlag.RUN_UNDATED}, "undated"),
        ({"date": "2026-03-07", "own": True}, NOW),
    ],
)
def test_a_point_is_of_the_day_of_its_run_and_ones_own_of_today(serving_points, catalogue, change, period):
    point = next(p for p in serving_points if p.source == "Nebius H200 InferenceX reproduction")
    assert CaseBuilder(catalogue).case(replace(point, **change)).about.period == period


def test_a_question_is_about_the_newest_software(catalogue):
    service = make_service(
        model=catalogue.model("deepseek-r1"),
        gpu=catalogue.gpu("mi355x"),
        deployment=Deployment(tp=8, engine="sglang"),
        workload=Workload(isl=1024, osl=1024),
        catalogue=catalogue,
    )
    assert service.case(1024, 1024, 16).period == NOW


def test_sglang_on_mi355x_was_slower_a_year_ago(catalogue):
    """Same set-up, same load: public runs of December 2025 against those of 2026."""
    about = Circumstances(
        "deepseek-r1", "deepseek", "mi355x", "cdna4", "AMD", "sglang", "sglang", "fp8-block128"
    )
    old = replace(about, period=period_of("2025-12-01"))
    decode = calibration_of(catalogue).parameters([about, old])[:, INDEX["decode"]]
    assert np.exp(decode[1] - decode[0]) > 1.1
