"""Reading tidy serving measurements, and what a "measured" answer takes from them."""

from __future__ import annotations

import csv
from dataclasses import replace

import pytest

from planner.errors import InvalidInput
from planner.measurement.serving import (
    COLUMNS,
    load_serving,
    measured_rates,
    serving_directory,
    shipped_points,
)

KIMI = serving_directory() / "wafer_kimi_k3.csv"


@pytest.fixture
def write(tmp_path):
    """Write the first Kimi row with some cells changed, under a header that may be changed too."""

    def written(*, header=COLUMNS, **cells):
        with KIMI.open(encoding="utf-8", newline="") as file:
            row = {**next(csv.DictReader(file)), **cells}
        path = tmp_path / "points.csv"
        with path.open("w", encoding="utf-8", newline="") as file:
            writer = csv.DictWriter(file, header, extrasaction="ignore", restval="")
            writer.writeheader()
            writer.writerow(row)
        return path

    return written


def test_every_shipped_file_is_readable_and_says_where_it_comes_from():
    files = sorted(serving_directory().glob("*.csv"))
    assert KIMI in files
    for file in files:
        for point in load_serving(file):
            assert point.source
            assert point.source_url
            assert point.date


def test_shipped_rates_are_divided_by_all_gpus():
    for point in load_serving(KIMI):
        if point.output_tps_total is not None:
            assert point.output_tps_per_gpu == pytest.approx(point.output_tps_total / point.n_gpus)


def test_points_are_found_by_the_names_of_the_catalogue(catalogue):
    points = shipped_points(
        model_names=catalogue.aliases("models", "kimi-k3"), gpu_names=catalogue.aliases("gpus", "b200-sxm")
    )
    assert [point.output_tps_total for point in points] == [498, 90]


def test_one_phase_and_draft_models_do_not_count_as_single_stream():
    peak, alone = (point for point in load_serving(KIMI)[:2])
    prefill = replace(peak, output_tps_total=1e6, notes="PREFILL only")
    drafted = replace(alone, tps_per_user=300.0, spec_decode="eagle3")
    rates = measured_rates([peak, alone, prefill, drafted])
    assert rates.peak == peak
    assert rates.single_stream == alone
    assert measured_rates([]) == measured_rates([prefill])


@pytest.mark.parametrize(
    ("cells", "complaint"),
    [
        ({"n_gpus": "eight"}, "points.csv:2: n_gpus is 'eight', not a number"),
        ({"n_gpus": "7.5"}, "points.csv:2: n_gpus is '7.5'; a whole number of 0 or more"),
        ({"output_tps_total": "nan"}, "output_tps_total is 'nan'; a finite number of 0 or more"),
        ({"tpot_ms_median": "-1"}, "tpot_ms_median is '-1'; a finite number of 0 or more"),
        ({"disagg": "maybe"}, "disagg is 'maybe'; true or false"),
        ({"model": ""}, "model is empty"),
    ],
)
def test_a_bad_value_is_named_with_file_line_and_column(write, cells, complaint):
    with pytest.raises(InvalidInput) as caught:
        load_serving(write(**cells))
    assert complaint in str(caught.value)


def test_a_closed_loop_may_state_an_infinite_rate(write):
    assert load_serving(write(request_rate="inf"))[0].request_rate == float("inf")


def test_missing_and_unknown_columns_are_named(write):
    with pytest.raises(InvalidInput, match="columns are missing: gpu"):
        load_serving(write(header=[name for name in COLUMNS if name != "gpu"]))
    with pytest.raises(InvalidInput, match="unknown columns: gpuu"):
        load_serving(write(header=[*COLUMNS, "gpuu"]))
