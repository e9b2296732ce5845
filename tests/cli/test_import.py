"""`planner import`: exit codes, what goes to which stream, and the way on to validate and calibrate."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

FILES = Path(__file__).parents[1] / "data" / "bench_files"
VLLM = str(FILES / "vllm" / "bench_serve_gptoss_h200_tp8_conc64.json")
SAID = ("--model", "gpt-oss-120b", "--gpu", "h200", "--gpus", "8", "--tp", "8", "--engine", "vllm==0.22.0")


@pytest.fixture(autouse=True)
def mine(monkeypatch, tmp_path) -> Path:
    monkeypatch.setenv("PLANNER_MEASUREMENTS", str(tmp_path / "mine"))
    return tmp_path / "mine"


def test_a_run_is_kept_and_known_the_second_time(planner, mine):
    first = planner("import", VLLM, *SAID)
    assert first.code == 0
    assert first.out.startswith("1 row of 1 of 1 file; 1 new in")
    assert (mine / "serving" / "imported.csv").is_file()
    again = planner("import", VLLM, *SAID)
    assert again.code == 0
    assert "1 row known already; 0 new" in again.out.splitlines()[0]
    assert "the same run as" in again.err


def test_what_is_missing_is_asked_for_by_option(planner, mine):
    ran = planner("import", VLLM)
    assert ran.code == 2
    (line,) = [line for line in ran.err.splitlines() if line.startswith("planner:")]
    assert "1 row not imported: state --gpu, --gpus; its name suggests --gpu h200 --tp 8" in line
    assert not mine.exists()


def test_good_files_are_imported_beside_bad_ones(planner, mine, tmp_path):
    bad = tmp_path / "bad.json"
    bad.write_text("{")
    ran = planner("import", str(bad), VLLM, *SAID)
    assert ran.code == 2
    assert f"planner: {bad}: not valid JSON at line 1" in ran.err
    assert (mine / "serving" / "imported.csv").is_file()


def test_a_dry_run_as_json_is_one_object_and_writes_nothing(planner, mine):
    ran = planner("import", VLLM, *SAID, "--dry-run", "--json")
    answer = json.loads(ran.out)
    assert (ran.code, ran.err) == (0, "")
    assert (answer["schema"], answer["dry_run"], answer["added"]) == ("planner.import/1", True, 1)
    (row,) = answer["serving"]
    assert row["output_tps_total"] == pytest.approx(3020.60046553)
    assert (row["request_rate"], row["n_gpus"], row["pp"], row["missing"]) == ("inf", 8, None, [])
    assert not mine.exists()


def test_what_was_imported_is_validated_and_calibrated_on(planner, mine, tmp_path):
    api = str(FILES / "inferencex" / "website_export_deepseek_r1_e2e.csv")
    assert planner("import", api).code == 0
    own = str(mine / "serving" / "imported.csv")
    assert planner("validate").out == planner("validate", own).out
    before = json.loads(planner("validate", "--json").out)
    assert (before["rows"], before["predicted"]) == (5, 5)
    out = str(tmp_path / "ours.yaml")
    assert planner("calibrate", "--own", "--out", out).code == 0
    after = json.loads(planner("validate", "--json", "--catalogue", out).out)
    name = "output_tps_per_gpu"
    assert after["quantities"][name]["median_ape"] < before["quantities"][name]["median_ape"]


def test_without_measurements_of_your_own_it_is_said_how_to_get_them(planner, mine):
    for words in (("validate",), ("calibrate", "--own")):
        ran = planner(*words)
        assert ran.code == 2
        assert "no measurements of your own; `planner import`" in ran.err


def test_several_files_of_your_own_are_named(planner, mine):
    assert planner("import", VLLM, *SAID).code == 0
    other = mine / "serving" / "endpoint.csv"
    other.write_bytes((mine / "serving" / "imported.csv").read_bytes())
    assert planner("validate").out.count("1 of 1 rows predicted") == 2
    ran = planner("validate", "--out", str(mine / "predicted.csv"))
    assert ran.code == 2
    assert f"name one of {other}, {mine / 'serving' / 'imported.csv'}" in ran.err


def test_a_folder_that_cannot_be_written_is_one_line(planner, tmp_path):
    (tmp_path / "file").write_text("")
    ran = planner("import", VLLM, *SAID, "--into", str(tmp_path / "file"))
    assert ran.code == 2
    assert ran.err.startswith("planner: ")
    assert "cannot be kept here" in ran.err
