"""The user's folder: nothing is lost, nothing stands twice, and writers do not disturb one another."""

from __future__ import annotations

import csv
import multiprocessing
from pathlib import Path

import pytest

from planner.errors import InvalidInput
from planner.measurement.same_run import same_run
from planner.measurement.serving_points import COLUMNS, load_serving
from planner.measurement.user_folder import append_rows, user_files, user_folder

ROW = {
    "model": "gpt-oss-120b",
    "gpu": "H200",
    "n_gpus": 8,
    "concurrency": 64,
    "output_tps_total": 3020.600465529602,
    "ttft_ms_median": 330.1205465104431,
    "ttft_ms_mean": 595.484776516787,
    "tpot_ms_median": 20.0533725807703,
}


def test_the_folder_is_the_one_named_by_argument_environment_or_data_home(monkeypatch, tmp_path):
    monkeypatch.setenv("PLANNER_MEASUREMENTS", str(tmp_path / "env"))
    assert user_folder(tmp_path / "own") == tmp_path / "own"
    assert user_folder() == tmp_path / "env"
    monkeypatch.delenv("PLANNER_MEASUREMENTS")
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    assert user_folder() == tmp_path / "planner" / "measurements"
    monkeypatch.setenv("XDG_DATA_HOME", "not/absolute")
    monkeypatch.setenv("HOME", str(tmp_path))
    assert user_folder() == tmp_path / ".local" / "share" / "planner" / "measurements"


def test_appended_rows_are_read_back_and_keep_their_digits(tmp_path):
    done = append_rows("serving", [ROW], name="imported", folder=tmp_path)
    assert done.added == (0,)
    assert user_files("serving", tmp_path) == [done.path]
    assert csv.reader(done.path.open()).__next__() == list(COLUMNS)
    (point,) = load_serving(done.path)
    assert point.output_tps_total == pytest.approx(3020.600465529602, rel=1e-11)


def test_a_row_that_is_there_is_not_added_again_and_its_place_is_named(tmp_path):
    append_rows("serving", [ROW], name="imported", folder=tmp_path)
    rounded = {**ROW, "output_tps_total": 3020.6, "ttft_ms_median": 330.12, "ttft_ms_mean": 595.48}
    other = {**ROW, "ttft_ms_median": 335.0}
    done = append_rows("serving", [rounded, other, other], name="endpoint", folder=tmp_path)
    assert done.added == (1,)
    assert done.repeated[0].endswith("imported.csv:2")
    assert done.repeated[2] == 1


def test_other_columns_of_a_file_stay(tmp_path):
    path = tmp_path / "kernels" / "gpu.csv"
    path.parent.mkdir()
    path.write_text("system,op,mine\nh200,gemm,1\n")
    append_rows("kernels", [{"system": "h200", "op": "gemm", "clock_mhz": 1980}], name="gpu", folder=tmp_path)
    rows = list(csv.DictReader(path.open()))
    assert [(row["mine"], row["clock_mhz"]) for row in rows] == [("1", ""), ("", "1980")]


def test_a_file_that_cannot_be_read_is_left_as_it_is(tmp_path):
    path = tmp_path / "serving" / "imported.csv"
    path.parent.mkdir()
    path.write_text("model,gpu\nonly one value\n")
    with pytest.raises(InvalidInput, match=r"imported\.csv:2"):
        append_rows("serving", [ROW], name="imported", folder=tmp_path)
    assert path.read_text() == "model,gpu\nonly one value\n"


def test_a_folder_that_cannot_be_made_is_one_line(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(InvalidInput, match="cannot be kept here"):
        append_rows("serving", [ROW], name="imported", folder=tmp_path / "file")


def _add_many(folder: Path, writer: int) -> None:
    for run in range(8):
        append_rows(
            "serving", [{**ROW, "isl": 1000 * (writer + 1) + 50 * run}], name="imported", folder=folder
        )


def test_several_writers_at_once_lose_nothing(tmp_path):
    context = multiprocessing.get_context("spawn")
    writers = [context.Process(target=_add_many, args=(tmp_path, i)) for i in range(3)]
    for writer in writers:
        writer.start()
    for writer in writers:
        writer.join()
    assert len(load_serving(tmp_path / "serving" / "imported.csv")) == 24


def test_runs_of_one_set_up_that_differ_by_noise_are_two():
    one = {name: str(value) for name, value in ROW.items()}
    assert same_run(one, {**one, "notes": "another"})
    assert not same_run(one, {**one, "tpot_ms_median": "20.10"})
    assert not same_run(one, {**one, "tp": "4"} | {"n_gpus": "4"})
    assert not same_run({"model": "m", "gpu": "g"}, {"model": "m", "gpu": "g"})
