"""The shipped serving points are whole, say where they come from, and carry the right warnings."""

from __future__ import annotations

import runpy
from collections import Counter
from pathlib import Path

import pytest

from planner.measurement.serving import (
    ServingFlag,
    flag_names,
    load_serving,
    mean_lengths,
    serving_files,
    source_families,
)
from planner.measurement.serving_flags import faster_than_light

ROOT = Path(__file__).parents[2]

COUNTS = {
    ServingFlag.MEAN_ONLY: 3761,
    ServingFlag.ODD_CONCURRENCY: 208,
    ServingFlag.PREFILL_ONLY: 51,
    ServingFlag.DECODE_ONLY: 413,
    ServingFlag.CACHED_INPUT: 523,
    ServingFlag.STATIC_BATCH: 1871,
    ServingFlag.OFFLINE: 588,
    ServingFlag.SERVER: 269,
    ServingFlag.INTERACTIVE: 73,
    ServingFlag.OPEN_LOOP: 550,
    ServingFlag.DISAGGREGATED: 3050,
    ServingFlag.SPECULATIVE: 1689,
    ServingFlag.SPECULATION_UNKNOWN: 2826,
    ServingFlag.ITL_AS_TPOT: 54,
    ServingFlag.SHORT_OUTPUT: 2,
    ServingFlag.NOMINAL_LENGTHS: 8546,
    ServingFlag.USER_RATE_OVER_E2E: 1897,
    ServingFlag.REPEATED: 1081,
    ServingFlag.FASTER_THAN_LIGHT: 0,
    ServingFlag.RUN_UNDATED: 4542,
}


def test_every_point_is_there():
    found = {file.stem: len(load_serving(file)) for file in serving_files()}
    assert found == {name: family.rows for name, family in source_families().items()}
    assert sum(found.values()) == 13308
    assert len(found) == 43


def test_every_point_says_where_it_comes_from():
    families = source_families()
    for file in serving_files():
        named = set()
        for point in load_serving(file):
            assert point.source_url
            assert point.date
            named.add(point.source)
        assert named == set(families[file.stem].sources)


@pytest.mark.parametrize("family", source_families().values(), ids=lambda family: family.name)
def test_every_source_states_its_terms(family):
    assert all(
        (family.urls, family.holds, family.dates, family.licence, family.attribution, family.statistic)
    )


def test_flags_are_counted(serving_points):
    assert set(COUNTS) == set(ServingFlag)
    found = Counter(flag for point in serving_points for flag in point.flags)
    assert {flag: found[flag] for flag in ServingFlag} == COUNTS


def test_odd_concurrency_is_what_the_notes_check(serving_points):
    for point in serving_points:
        assert ("check: output/" in (point.notes or "")) == (ServingFlag.ODD_CONCURRENCY in point.flags)


def test_most_shared_runs_are_between_aiconfigurator_and_the_fixtures(serving_points):
    again = [point for point in serving_points if ServingFlag.REPEATED in point.flags]
    by_source = Counter(point.source for point in again)
    assert by_source["aiconfigurator silicon_sample (InferenceX runs)"] == 757
    assert by_source["InferenceX fixture (cypress api benchmarks)"] == 12


def test_mean_lengths_are_measured_or_nine_tenths_of_nominal_ones(serving_points):
    def first(source):
        return next(point for point in serving_points if point.source == source)

    drawn = first("InferenceX db-dump 2026-07-20 (recovered)")
    assert mean_lengths(drawn) == pytest.approx((0.9 * drawn.isl, 0.9 * drawn.osl))
    exact = first("TensorRT-LLM perf overview")
    assert mean_lengths(exact) == (exact.isl, exact.osl)
    measured = next(
        point for point in serving_points if "measured mean input 922 / output 922" in point.notes
    )
    assert measured.isl == 1024
    assert mean_lengths(measured) == (922, 922)


def test_a_rate_above_the_limit_is_flagged_and_rounding_is_not(serving_points):
    point = next(point for point in serving_points if point.output_tps_per_gpu)
    rate = point.output_tps_per_gpu
    limits = (rate / 1.1, rate / 1.01, None)
    flagged = [faster_than_light([point], lambda _, limit=limit: limit)[0].flags for limit in limits]
    assert ["faster_than_light" in flag_names(flags) for flags in flagged] == [True, False, False]


def test_the_page_holds_the_tables_that_its_script_writes():
    tables = runpy.run_path(str(ROOT / "docs" / "make_measurements.py"))["tables"]()
    page = (ROOT / "docs" / "measurements.md").read_text(encoding="utf-8")
    assert [row for rows in tables.values() for row in rows if row not in page] == []
