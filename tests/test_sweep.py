"""Sweeps: every combination is a row, the same whatever does the work, however often it is interrupted."""

from __future__ import annotations

import csv
import io
import json
import os
import signal
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import planner
from planner.errors import InvalidInput, PlannerError
from planner.planning import sweep_rows, sweeping
from planner.planning.sweep_rows import COLUMNS
from planner.planning.sweeping import counts

ASKED = {
    "model": ["llama-3.1-8b", "kimi-k3"],
    "gpu": "h100,mi300x",
    "isl": "256..512",
    "osl": [1, 128],
    "concurrency": "1..16",
    "tp": [1, 3, 8],
    "kv_dtype": "auto,fp8",
    "price": {"h100": [2.0, 3.0]},
    "price_kind": ["on-demand", "3y-rental"],
}


def rows_of(text: str) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(text)))


@pytest.fixture
def small_tasks(monkeypatch):
    """Cut sweeps into many tasks."""
    monkeypatch.setattr(sweeping, "TASK_ROWS", 40)


@pytest.fixture(scope="module")
def whole(catalogue):
    return planner.sweep(**ASKED, catalogue=catalogue)


def test_every_combination_is_a_row_and_has_its_number(whole):
    rows = whole.to_records()
    models, settings, loads, prices = 2, 3 * 2, 2 * 2 * 5, 2 + 2
    assert len(rows) == len(whole) == models * settings * loads * prices
    assert [row["row"] for row in rows] == list(range(len(rows)))
    keys = ("model", "gpu", "tp", "kv_dtype", "isl_tokens", "osl_tokens", "concurrency")
    keys += ("usd_per_gpu_hour", "price_kind")
    assert len({tuple(row[key] for key in keys) for row in rows}) == len(rows)
    assert sum(whole.summary.states.values()) == len(rows)


def test_rows_without_an_answer_say_why(whole):
    rows = whole.to_records()
    assert {row["state"] for row in rows} == {"answered", "does not fit", "refused"}
    for row in rows:
        answered = row["state"] == "answered"
        assert answered == (row["output_tps_total"] is not None)
        assert answered or row["reason"]
        if answered and row["usd_per_gpu_hour"] is None:
            assert "price" in row["reason"]
    refused = next(row for row in rows if row["state"] == "refused")
    assert refused["tp"] == 3
    assert "3" in refused["reason"]
    # A single output token has no time to the next one.
    assert all(row["tpot_ms"] is None for row in rows if row["osl_tokens"] == 1)


def test_a_row_says_what_predict_says(catalogue):
    asked = {"model": "llama-3.1-8b", "gpu": "h100", "isl": 512, "osl": 128, "concurrency": 16, "tp": 2}
    (row,) = planner.sweep(
        **asked, price=2.5, utilisation=1, availability=1, catalogue=catalogue
    ).to_records()
    figures = planner.predict(**asked, throughput="simulated", price=2.5, catalogue=catalogue).answer
    for name in ("output_tps_total", "output_tps_per_gpu", "total_tps_per_gpu", "tps_per_user", "ttft_ms"):
        assert row[name] == pytest.approx(figures.figures[name].value, rel=1e-9)
    for quantity, name in (("output", "output_tps_total"), ("ttft", "ttft_ms"), ("tpot", "tpot_ms")):
        found = figures.figures[name]
        assert row[f"{quantity}_low_ratio"] * row[name] == pytest.approx(found.low, rel=1e-5)
        assert row[f"{quantity}_high_ratio"] * row[name] == pytest.approx(found.high, rel=1e-5)
    cost = figures.usd_per_million_output_tokens.value
    assert row["usd_per_million_output_tokens"] == pytest.approx(cost, rel=1e-9)
    used = planner.sweep(**asked, price=2.5, utilisation=0.5, availability=0.8, catalogue=catalogue)
    assert used.to_records()[0]["usd_per_million_output_tokens"] == pytest.approx(cost / 0.4, rel=1e-9)


def test_rates_are_what_predict_says_of_them_and_those_above_capacity_say_so(catalogue):
    asked = {"model": "llama-3.1-8b", "gpu": "h100", "isl": [512, 2048], "osl": 128, "tp": 1}
    prices = {"price": {"h100": [2.0, 3.0]}}
    report = planner.sweep(**asked, **prices, request_rate="0.5,8..1024", catalogue=catalogue)
    rows = report.to_records()
    assert [row["request_rate_per_s"] for row in rows[:6]] == [0.5, 0.5, 8, 8, 16, 16]
    assert {row["state"] for row in rows} == {"answered", "overload"}
    for row in rows[::2]:
        alone = {**asked, "isl": row["isl_tokens"], "request_rate": row["request_rate_per_s"]}
        found = planner.predict(**alone, throughput="simulated", catalogue=catalogue).answer
        assert (row["state"] == "overload") == bool(found.predicted.overload)
        if row["state"] == "overload":
            assert row["reason"] == found.predicted.overload
            assert row["output_tps_total"] is row["concurrency"] is row["usd_per_million_tokens"] is None
            continue
        for name in ("output_tps_total", "ttft_ms", "tpot_ms"):
            assert row[name] == pytest.approx(found.figures[name].value, rel=1e-9)
        assert row["concurrency"] == pytest.approx(found.predicted.prediction.concurrency, rel=1e-9)
    over = sum(row["state"] == "overload" for row in rows)
    assert report.summary.states == {"answered": len(rows) - over, "overload": over}
    assert sum(report.summary.reasons.values()) == over
    assert f"{over} overload" in report.sentence


def test_requests_at_once_have_the_rate_that_they_yield(catalogue):
    (row,) = planner.sweep(
        model="llama-3.1-8b", gpu="h100", isl=512, osl=128, concurrency=9, catalogue=catalogue
    ).to_records()
    assert row["concurrency"] == 9
    assert row["request_rate_per_s"] == pytest.approx(row["output_tps_total"] / 128)


def test_many_loads_are_read_between_nodes_within_2_percent(monkeypatch, catalogue):
    asked = {
        "model": "llama-3.1-8b",
        "gpu": "h100",
        "isl": list(range(128, 4096, 397)),
        "osl": list(range(64, 1024, 101)),
        "concurrency": list(range(1, 128, 9)),
        "catalogue": catalogue,
    }
    exact = planner.sweep(**asked).to_frame()
    monkeypatch.setattr(sweep_rows, "INTERPOLATED_FROM", 1)
    near = planner.sweep(**asked).to_frame()
    assert set(near.method) == {"interpolated"}
    off = np.abs(near.output_tps_total / exact.output_tps_total - 1)
    assert off.median() < 0.01
    assert off.quantile(0.99) < 0.04


@pytest.mark.parametrize("form", ["csv", "parquet"])
def test_the_file_holds_what_memory_holds_however_it_is_cut(tmp_path, catalogue, whole, small_tasks, form):
    out = tmp_path / f"rows.{form}"
    with ThreadPoolExecutor(3) as pool:
        report = planner.sweep(**ASKED, out=out, executor=pool, catalogue=catalogue)
    assert os.listdir(tmp_path) == [out.name]
    if form == "csv":
        assert out.read_text(encoding="utf-8") == whole.to_csv()
    frame, held = report.to_frame(), whole.to_frame()
    assert list(frame.columns) == list(COLUMNS)
    for name, kind in COLUMNS.items():
        if kind is str:
            words = [
                column.astype(object).where(column.notna(), None) for column in (frame[name], held[name])
            ]
            assert words[0].tolist() == words[1].tolist()
        else:
            np.testing.assert_allclose(frame[name].astype(float), held[name].astype(float), rtol=1e-6)
    assert report.summary.states == whole.summary.states
    assert report.summary.reasons == whole.summary.reasons
    assert report.summary.best == whole.summary.best
    assert report.summary.sums == pytest.approx(whole.summary.sums, rel=1e-9)


class Stopped(Exception):
    """What ends a sweep in the middle."""


def interrupted(out, catalogue, after: int) -> None:
    """Run a sweep that is ended after some rows."""

    def stop(done: int, _: int) -> None:
        if done >= after:
            raise Stopped

    with pytest.raises(Stopped):
        planner.sweep(**ASKED, out=out, progress=stop, catalogue=catalogue)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=10)
@given(cut=st.integers(0, 20_000), garbage=st.binary(max_size=40))
def test_a_part_that_was_cut_off_or_damaged_is_done_again(
    tmp_path_factory, catalogue, whole, small_tasks, cut, garbage
):
    out = tmp_path_factory.mktemp("cut") / "rows.csv"
    interrupted(out, catalogue, 300)
    part = out.with_name("rows.csv.part")
    held = part.read_bytes()
    part.write_bytes(held[: max(60, len(held) - cut)] + garbage)
    done: list[int] = []
    planner.sweep(**ASKED, out=out, progress=lambda rows, _: done.append(rows), catalogue=catalogue)
    assert out.read_text(encoding="utf-8") == whole.to_csv()
    assert not part.exists()


def test_what_is_done_is_not_done_again(tmp_path, catalogue, small_tasks):
    out = tmp_path / "rows.csv"
    interrupted(out, catalogue, 300)
    done: list[int] = []
    planner.sweep(**ASKED, out=out, progress=lambda rows, _: done.append(rows), catalogue=catalogue)
    assert done[0] > 300


def test_another_sweep_does_not_go_on_with_it(tmp_path, catalogue, small_tasks):
    out = tmp_path / "rows.csv"
    interrupted(out, catalogue, 300)
    other = {**ASKED, "osl": 2}
    with pytest.raises(InvalidInput, match="holds another sweep"):
        planner.sweep(**other, out=out, catalogue=catalogue)
    assert len(planner.sweep(**other, out=out, restart=True, catalogue=catalogue)) > 0
    assert os.listdir(tmp_path) == ["rows.csv"]


def test_a_file_that_is_no_sweep_is_not_written_over(tmp_path, catalogue):
    part = tmp_path / "rows.csv.part"
    part.write_text("my thesis, " * 20, encoding="utf-8")
    with pytest.raises(InvalidInput, match="is no sweep"):
        planner.sweep(**ASKED, out=tmp_path / "rows.csv", catalogue=catalogue)
    assert part.read_text(encoding="utf-8").startswith("my thesis")


def test_two_processes_do_not_write_one_sweep(tmp_path, catalogue, small_tasks):
    out = tmp_path / "rows.csv"

    def again(*_: int) -> None:
        with pytest.raises(InvalidInput, match="another process writes this sweep"):
            planner.sweep(**ASKED, out=out, catalogue=catalogue)
        raise Stopped

    with pytest.raises(Stopped):
        planner.sweep(**ASKED, out=out, progress=again, catalogue=catalogue)


KILLED = """
import sys, time
import planner
from planner.planning import sweeping
sweeping.TASK_ROWS = 40
def slowly(done, every):
    print(done, flush=True)
    time.sleep(0.01)
planner.sweep(**{asked!r}, out={out!r}, progress=slowly)
"""


def test_a_process_killed_at_any_moment_leaves_what_it_did(tmp_path, catalogue, whole, small_tasks):
    out = tmp_path / "rows.csv"
    script = KILLED.format(asked=ASKED, out=str(out))
    dice = np.random.default_rng(7)
    kept = 0
    for _ in range(4):
        process = subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE, text=True)
        assert process.stdout is not None
        first = process.stdout.readline()
        assert int(first) > kept
        kept = int(first) if first else kept
        time.sleep(float(dice.uniform(0, 0.1)))
        process.send_signal(signal.SIGKILL)
        process.wait()
        process.stdout.close()
        assert not out.exists()
    planner.sweep(**ASKED, out=out, catalogue=catalogue)
    assert out.read_text(encoding="utf-8") == whole.to_csv()


def test_worker_processes_write_the_same(tmp_path, catalogue, whole):
    out = tmp_path / "rows.csv"
    planner.sweep(**ASKED, out=out, processes=2, catalogue=catalogue)
    assert out.read_text(encoding="utf-8") == whole.to_csv()


def test_a_dask_cluster_writes_the_same(tmp_path, catalogue, whole):
    distributed = pytest.importorskip("distributed")
    out = tmp_path / "rows.csv"
    with distributed.LocalCluster(
        n_workers=1, threads_per_worker=2, processes=False, dashboard_address=None
    ) as cluster:
        from planner.cli.sweep import dask_executor

        with dask_executor(cluster.scheduler_address) as executor:
            planner.sweep(**ASKED, out=out, executor=executor, catalogue=catalogue)
    assert out.read_text(encoding="utf-8") == whole.to_csv()


@pytest.mark.parametrize(
    ("asked", "complaint"),
    [
        ({"isl": 0}, "isl: 0 is no whole number above 0"),
        ({"isl": "0"}, "isl: '0' is not possible"),
        ({"osl": "9..3"}, "osl: '9..3' is not possible"),
        ({"concurrency": []}, "concurrency: no value"),
        ({"concurrency": 1.5}, "concurrency: 1.5 is no whole number"),
        ({"concurrency": 1, "request_rate": 1}, "exclude each other"),
        ({"request_rate": 0}, "rate: 0 is not possible"),
        ({"request_rate": "4..1"}, "rate: '4..1' is not possible"),
        ({"request_rate": [float("nan")]}, "rate: nan is not possible"),
        ({"request_rate": []}, "rate: no value"),
        ({"prefix_hit": 1}, "prefix_hit: 1 is out of range"),
        ({"gpu": "h1000"}, "unknown gpu"),
        ({"model": []}, "model: no model named"),
        ({"price": -1}, "out of range"),
        ({"price_kind": "gift"}, "unknown price kind"),
        ({"out": "rows.xlsx"}, "ends in neither"),
        ({"processes": 0}, "processes: 0 is out of range"),
        ({"tpp": 4}, "unknown argument 'tpp'"),
        ({"isl": list(range(1, 3000)), "osl": list(range(1, 3000))}, "too many for memory"),
        ({"utilisation": 0}, "utilisation"),
        ({"engine": []}, "engine: no value"),
        ({"prefix_hit": []}, "prefix_hit: no value"),
    ],
)
def test_what_cannot_be_asked_is_one_line(catalogue, asked, complaint):
    words = {"model": "llama-3.1-8b", "gpu": "h100", "isl": 8, "osl": 8, **asked}
    with pytest.raises(PlannerError) as refused:
        planner.sweep(**words, catalogue=catalogue)
    assert complaint in str(refused.value)
    assert "\n" not in str(refused.value)


def test_axes_are_written_as_people_write_them():
    assert counts("x", "1k,2Ki, 7") == (1000, 2048, 7)
    assert counts("x", "3..30") == (3, 6, 12, 24)
    assert counts("x", [1, "1..4", 9]) == (1, 2, 4, 9)


def test_the_json_of_a_small_sweep_holds_its_rows(catalogue):
    report = planner.sweep(model="llama-3.1-8b", gpu="h100", isl="1k,2k", osl=64, catalogue=catalogue)
    record = json.loads(json.dumps(report.to_dict()))
    assert record["schema"] == "planner.sweep/1"
    assert [row["isl_tokens"] for row in record["results"]] == [1000, 2000]
    assert record["reproduction"]["arguments"] == {
        "model": "llama-3.1-8b",
        "gpu": "h100",
        "isl": "1k,2k",
        "osl": 64,
    }


@pytest.mark.parametrize("name", ["rate", "request_rate"])
def test_a_file_names_axes_as_options_or_arguments_do(tmp_path, capsys, name):
    from planner.cli.entry import run

    file = tmp_path / "sweep.yaml"
    file.write_text(f"model: llama-3.1-8b\ngpu: h100\nisl: 1k\nosl: 64\n{name}: [1, 2]\n", encoding="utf-8")
    assert run(["sweep", str(file), "--json"]) == 0
    assert [row["request_rate_per_s"] for row in json.loads(capsys.readouterr().out)["results"]] == [1, 2]


def test_rows_without_a_price_say_so_when_others_have_one(catalogue):
    report = planner.sweep(
        model="llama-3.1-8b", gpu="h100,b200", isl=1000, osl=100, price={"h100": 2.0}, catalogue=catalogue
    )
    assert report.warnings == ("1 row: no price of b200-sxm was given",)
    unpriced = planner.sweep(model="llama-3.1-8b", gpu="b200", isl=1000, osl=100, catalogue=catalogue)
    assert unpriced.warnings == ()


def test_tables_leave_out_what_is_empty_and_are_no_wider_than_a_terminal(catalogue):
    report = planner.sweep(
        model="llama-3.1-8b", gpu="h100,b200", isl=1000, osl=100, price={"h100": 2.0}, catalogue=catalogue
    )
    for table in report.tables()[:2]:
        assert "weight_dtype" not in {column.key for column in table.columns}
        assert "weight_dtype" in table.keys
        assert max(map(len, table.to_text().splitlines())) <= 80
