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
