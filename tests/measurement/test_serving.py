"""Reading tidy serving measurements, and what a "measured" answer takes from them."""

from __future__ import annotations

import csv
from dataclasses import replace

import pytest

from planner.errors import InvalidInput
from planner.measurement.serving import (
    COLUMNS,
    ServingFlag,
    UnreadablePoint,
    load_serving,
    load_serving_points,
    measured_rates,
    read_serving,
    serving_directory,
    shipped_points,
)
from planner.measurement.serving_flags import mean_lengths
from planner.measurement.serving_points import ignored_columns

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


def test_shipped_rates_are_divided_by_all_gpus(serving_points):
    for point in serving_points:
        if point.output_tps_total and point.output_tps_per_gpu and point.n_gpus:
            assert point.output_tps_per_gpu == pytest.approx(point.output_tps_total / point.n_gpus, rel=0.02)


def test_points_are_found_by_the_names_of_the_catalogue(catalogue):
    points = shipped_points(
        model_names=catalogue.aliases("models", "kimi-k3"), gpu_names=catalogue.aliases("gpus", "b200-sxm")
    )
    assert [point.output_tps_total for point in points] == [498, 90]


def test_what_is_no_service_does_not_count_as_a_peak_or_a_single_stream():
    peak, alone = load_serving(KIMI)[:2]
    others = [
        replace(peak, output_tps_total=1e6, flags=flag)
        for flag in (
            ServingFlag.PREFILL_ONLY,
            ServingFlag.STATIC_BATCH,
            ServingFlag.OFFLINE,
            ServingFlag.CACHED_INPUT,
        )
    ]
    drafted = replace(alone, tps_per_user=300.0, flags=ServingFlag.SPECULATIVE)
    rates = measured_rates([peak, alone, *others, drafted])
    assert rates.peak == peak
    assert rates.single_stream == alone
    assert measured_rates([]) == measured_rates(others)


@pytest.mark.parametrize(
    ("cells", "complaint"),
    [
        ({"n_gpus": "eight"}, "points.csv:2: n_gpus is 'eight'; a number is needed"),
        ({"n_gpus": "7.5"}, "points.csv:2: n_gpus is '7.5'; a whole number is needed"),
        ({"n_gpus": "0"}, "points.csv:2: n_gpus is '0'; a whole number of 1 or more"),
        ({"isl": "1,024"}, "isl is '1,024'; a number is needed, with a point for decimals and no separators"),
        ({"output_tps_total": "nan"}, "output_tps_total is 'nan'; a number from 0 to 1e+12"),
        ({"tpot_ms_median": "-1"}, "tpot_ms_median is '-1'; a number from 0 to 1e+12"),
        ({"concurrency": "inf"}, "concurrency is 'inf'; a number from 0 to 1e+12"),
        ({"prefix_hit": "80"}, "prefix_hit is '80'; a share from 0 to 1"),
        ({"disagg": "maybe"}, "disagg is 'maybe'; true or false"),
        ({"model": ""}, "points.csv:2: model is empty"),
    ],
)
def test_a_bad_value_is_named_with_file_line_and_column(write, cells, complaint):
    with pytest.raises(InvalidInput) as caught:
        load_serving(write(**cells))
    assert complaint in str(caught.value)


def test_reading_goes_on_after_a_bad_row(write):
    table, points = read_serving(write(tp="two"))
    assert len(points) == len(table.rows) == 1
    assert isinstance(points[0], UnreadablePoint)
    assert points[0].line == 2


def test_a_closed_loop_may_state_an_infinite_rate(write):
    assert load_serving(write(request_rate="inf"))[0].request_rate == float("inf")


def test_few_columns_are_enough_and_others_are_ignored(write):
    header = ["model", "concurency", "gpu", "our_rack_position", "tpot_ms_median"]
    (point,) = load_serving(write(header=header, tpot_ms_median="12.5", our_rack_position="x"))
    assert (point.model, point.gpu, point.tpot_ms_median, point.n_gpus) == ("Kimi-K3", "MI355X", 12.5, None)
    table, _ = read_serving(write(header=header))
    assert ignored_columns(table) == {"concurency": "concurrency", "our_rack_position": None}


def test_columns_that_are_needed_are_named(write):
    with pytest.raises(InvalidInput, match=r"points.csv:1: no column gpu \(is 'gpuu' meant\?\)"):
        load_serving(write(header=["model", "gpuu", "tpot_ms_median"]))
    with pytest.raises(InvalidInput, match=r"points.csv:1: no measured quantity"):
        load_serving(write(header=["model", "gpu", "isl"]))


def test_other_encodings_are_named_with_their_line(tmp_path):
    path = tmp_path / "points.csv"
    path.write_bytes(b"model,gpu,tpot_ms_median\na,b,1\nQwen\xe9,b,2\n")
    with pytest.raises(InvalidInput, match=r"points.csv:3: byte 0xe9 is not UTF-8"):
        load_serving_points([path])


def test_repeated_runs_are_flagged_across_the_files_of_a_user(tmp_path):
    rich = tmp_path / "rich.csv"
    poor = tmp_path / "poor.csv"
    rich.write_text(
        "model,gpu,isl,concurrency,ttft_ms_mean,tpot_ms_mean,ttft_ms_median\nm,g,1024,4,51.234,8.7654,50\n"
    )
    poor.write_text("model,gpu,isl,concurrency,ttft_ms_mean,tpot_ms_mean\nm,g,1024,4,51.23,8.765\n")
    flags = [point.flags for point in load_serving_points([poor, rich])]
    assert [ServingFlag.REPEATED in flag for flag in flags] == [True, False]


def test_what_holds_of_a_source_holds_in_whichever_file_its_points_are(write):
    (point,) = load_serving(write(source="InferenceX db-dump 2026-07-20 (recovered)"))
    assert ServingFlag.NOMINAL_LENGTHS | ServingFlag.RUN_UNDATED in point.flags
    (unknown,) = load_serving(write(source="somebody else"))
    assert not unknown.flags & (ServingFlag.NOMINAL_LENGTHS | ServingFlag.RUN_UNDATED)


@pytest.mark.parametrize("tokens", ["9" * 4000, "1e400", "nan", "0", "2e9"])
def test_an_impossible_mean_in_notes_is_not_taken(write, tokens):
    notes = f"measured mean input {tokens} / output 90 tokens"
    (point,) = load_serving(write(isl=1000, osl=100, notes=notes))
    assert mean_lengths(point) == (1000, 100)
