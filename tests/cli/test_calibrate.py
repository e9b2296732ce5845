"""`planner calibrate`: a user's own points move the level of what they measure."""

from __future__ import annotations

import json

import pytest

OWN = """\
model,gpu,n_gpus,tp,engine,isl,osl,concurrency,output_tps_total,tpot_ms_median
llama-3.1-8b,h100,1,1,vllm,1000,1000,8,500,15
llama-3.1-8b,h100,1,1,vllm,1000,1000,32,1600,19
"""
ASKED = ("predict", "--model", "llama-3.1-8b", "--gpu", "h100", "--isl", "1000", "--osl", "1000", "--json")


@pytest.fixture
def own(tmp_path):
    file = tmp_path / "own.csv"
    file.write_text(OWN, encoding="utf-8")
    return file


def test_own_points_move_predictions_towards_them(planner, own, tmp_path):
    out = tmp_path / "own.yaml"
    ran = planner("calibrate", str(own), "--out", str(out), "--json")
    assert ran.code == 0
    made = json.loads(ran.out)
    assert (made["points"], made["skipped"], made["schema"]) == (2, 0, "planner.calibrate/1")
    words = (*ASKED, "--concurrency", "16", "--throughput", "simulated")
    before, after = (
        json.loads(planner(*words, *more).out)["tpot_ms"]["value"] for more in ((), ("--catalogue", str(out)))
    )
    wanted = 16.5
    assert abs(after - wanted) < 0.5 * abs(before - wanted)


def test_predictions_say_that_they_know_of_own_points(planner, own, tmp_path):
    out = tmp_path / "own.yaml"
    assert planner("calibrate", str(own), "--out", str(out)).code == 0
    ran = planner(*ASKED[:-1], "--catalogue", str(out))
    assert "; and 2 points of your own (" in " ".join(ran.out.split())
    again = planner("calibrate", str(own), "--catalogue", str(out))
    assert "; and 2 points of your own" in " ".join(again.out.split())


def test_what_was_found_is_drawn(planner, own):
    ran = planner("calibrate", str(own))
    assert ran.code == 0
    assert "2 used, 0 cannot be predicted" in ran.out
    assert "--out FILE keeps it" in ran.out


def test_the_error_on_its_own_points_is_said_before_and_after(planner, own):
    made = json.loads(planner("calibrate", str(own), "--json").out)["in_sample_errors"]
    assert {name: one["points"] for name, one in made.items()} == {"output_tps_per_gpu": 2, "tpot_ms": 2}
    before = json.loads(planner("validate", str(own), "--json").out)["quantities"]
    for name, one in made.items():
        assert one["median_before"] == pytest.approx(before[name]["median_ape"])
        assert one["median_after"] < one["median_before"]
    text = planner("calibrate", str(own)).out
    assert "in-sample" in text
    assert f"{made['tpot_ms']['median_after']:.1%}" in text


def test_groups_with_one_value_are_not_shown(planner, own):
    ran = planner("validate", str(own))
    assert ran.code == 0
    assert "Relative error of predictions" in ran.out
    assert "By " not in ran.out
    own.write_text(OWN + "llama-3.1-8b,h200,1,1,vllm,1000,1000,8,600,12\n", encoding="utf-8")
    assert [line for line in planner("validate", str(own)).out.splitlines() if "By " in line] == ["By gpu"]


def test_a_file_that_is_no_catalogue_file_is_refused(planner, own, tmp_path):
    ran = planner("calibrate", str(own), "--out", str(tmp_path / "own.json"))
    assert ran.code == 2
    assert "ends in .yaml or .yml" in ran.err


def test_points_that_cannot_be_used_are_an_error(planner, tmp_path):
    file = tmp_path / "bad.csv"
    file.write_text("model,gpu,output_tps_total\nno-such-model,h100,5\n", encoding="utf-8")
    ran = planner("calibrate", str(file))
    assert ran.code == 2
    assert "none of 1 points can be used" in ran.err


LIGHT = "llama-3.1-8b,h100,1,1,vllm,1000,1000,8,500000,0.01\n"
UNKNOWN = "no-such-model,h100,1,1,vllm,1000,1000,8,500,15\n"


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """The user's measurements folder, with points of theirs."""
    place = tmp_path / "mine"
    (place / "serving").mkdir(parents=True)
    (place / "serving" / "engine.csv").write_text(OWN + LIGHT + UNKNOWN, encoding="utf-8")
    monkeypatch.setenv("PLANNER_MEASUREMENTS", str(place))
    return place


def test_own_calibration_is_written_where_every_command_looks_and_predict_says_so(planner, folder):
    words = (*ASKED, "--concurrency", "16", "--throughput", "simulated")
    before = json.loads(planner(*words).out)
    ran = planner("calibrate", "--own")
    assert ran.code == 0
    assert (folder / "calibration.yaml").exists()
    assert "every command uses it now" in " ".join(ran.out.split())
    text = " ".join(planner(*ASKED[:-1], "--concurrency", "16").out.split())
    assert "2 points of your own" in text
    after = json.loads(planner(*words).out)
    assert after["tpot_ms"] != before["tpot_ms"]


def test_calibrating_again_moves_nothing_twice(planner, folder):
    planner("calibrate", "--own")
    first = (folder / "calibration.yaml").read_text(encoding="utf-8")
    planner("calibrate", "--own")
    assert (folder / "calibration.yaml").read_text(encoding="utf-8") == first


def test_an_own_calibration_over_another_shipped_one_is_not_used(planner, folder):
    planner("calibrate", "--own")
    file = folder / "calibration.yaml"
    _, _, rest = file.read_text(encoding="utf-8").partition("\n")
    file.write_text("# over the shipped calibration 0123456789abcdef\n" + rest, encoding="utf-8")
    assert "of your own" not in planner(*ASKED[:-1], "--concurrency", "16").out


def test_each_row_that_teaches_nothing_has_its_reason(planner, folder):
    ran = planner("calibrate", "--own", "--json")
    unused = json.loads(ran.out)["unused"]
    assert [one["where"].rsplit(":", 1)[1] for one in unused] == ["4", "5"]
    assert "faster than reading its weights" in unused[0]["reason"]
    assert "no-such-model" in unused[1]["reason"]
    assert "Rows that teach nothing" in planner("calibrate", "--own").out


def test_validate_warns_of_rows_that_are_faster_than_light(planner, folder):
    ran = planner("validate")
    assert ran.code == 0
    text = " ".join(ran.out.split())
    assert "line 4 is faster than reading weights and caches" in text
    made = json.loads(planner("validate", "--json").out)
    assert made["faster_than_light"] == [4]


def test_validate_takes_every_file_of_the_folder(planner, folder, tmp_path):
    (folder / "serving" / "imported.csv").write_text(OWN, encoding="utf-8")
    made = json.loads(planner("validate", "--json").out)
    assert made["schema"] == "planner.validate.several/1"
    assert [one["rows"] for one in made["files"]] == [4, 2]
    text = planner("validate").out.replace("\n", "")
    assert "engine.csv" in text
    assert "imported.csv" in text
    ran = planner("validate", "--out", str(tmp_path / "all.csv"))
    assert ran.code == 2
    assert "name one of" in ran.err


def test_validate_names_the_operator(planner, folder):
    (folder / "serving" / "engine.csv").write_text(OWN, encoding="utf-8")
    (one,) = json.loads(planner("validate", "--json").out)["disagreements"]
    assert one["group"].startswith("llama-3.1-8b/h100-sxm/vllm")
    assert one["rows"] == 2
    assert one["operator"]
    assert one["sentence"] in " ".join(planner("validate").out.split())


def test_predict_answers_with_a_run_of_ones_own(planner, folder):
    words = (*ASKED, "--gpus", "1", "--concurrency", "32")
    made = json.loads(planner(*words).out)
    assert made["output_tps_total"]["value"] == 1600
    assert made["output_tps_total"]["source"] == "measured"
    text = " ".join(planner(*words[:-5], "--gpus", "1", "--concurrency", "32").out.split())
    assert "1,600 output tok/s, measured by you (80 % interval" in text
    assert "measured by you on a day not stated" in text
    simulated = json.loads(planner(*words, "--throughput", "simulated").out)
    assert simulated["output_tps_total"]["value"] != 1600
