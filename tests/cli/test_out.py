"""`--out` writes a file whole or leaves what was there."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import pytest

from planner.cli.output import without_trailing_spaces, write_whole
from planner.errors import InvalidInput, Unsupported


def test_out_writes_the_answer_and_prints_nothing(planner, tmp_path):
    file = tmp_path / "gpus.json"
    ran = planner("gpus", "amd", "--json", "--out", str(file))
    assert (ran.code, ran.out, ran.err) == (0, "", "")
    assert json.loads(file.read_text(encoding="utf-8"))["schema"] == "planner.gpus/1"


def test_the_ending_of_the_file_chooses_the_form_where_no_option_does(planner, tmp_path):
    planner("gpus", "amd", "--out", str(tmp_path / "gpus.csv"))
    assert (tmp_path / "gpus.csv").read_text(encoding="utf-8").startswith("id,usable_gib,")
    planner("gpus", "amd", "--out", str(tmp_path / "gpus.txt"))
    text = (tmp_path / "gpus.txt").read_text(encoding="utf-8")
    assert "mi355x" in text
    assert "\x1b" not in text


def test_a_file_that_would_not_open_is_not_written(planner, tmp_path):
    ran = planner("fit", "--model", "llama-3.1-8b", "--gpu", "h100", "--out", str(tmp_path / "answer.pdf"))
    assert (ran.code, ran.out, os.listdir(tmp_path)) == (2, "", [])
    assert "answer.pdf: no such file is written; a browser prints .html as PDF, .csv opens in" in ran.err


def test_a_page_without_figures_is_said_to_be_one(planner, tmp_path, monkeypatch):
    def missing(_):
        raise Unsupported("figures need plotly, which is not installed")

    words = ("fit", "--model", "llama-3.1-8b", "--gpu", "h100", "--out", str(tmp_path / "answer.html"))
    assert planner(*words).err == ""
    monkeypatch.setattr("planner.report.figures.named.NamedFigure.draw", missing)
    ran = planner(*words)
    assert (ran.code, ran.out) == (0, "")
    assert ran.err.startswith("note: Figures are left out: plotly is not installed")
    assert "'accelerator-planner[report]'" in ran.err


def test_a_mistake_leaves_the_file_as_it_was(planner, tmp_path):
    file = tmp_path / "answer.json"
    file.write_text("old", encoding="utf-8")
    assert planner("fit", "--model", "nope", "--gpu", "h100", "--json", "--out", str(file)).code == 2
    assert file.read_text(encoding="utf-8") == "old"
    assert os.listdir(tmp_path) == ["answer.json"]


def test_a_failure_in_the_middle_leaves_nothing_behind(monkeypatch, tmp_path):
    file = tmp_path / "answer.txt"
    file.write_text("old", encoding="utf-8")

    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(InvalidInput, match="cannot be written: No space left on device"):
        write_whole(file, "new")
    assert file.read_text(encoding="utf-8") == "old"
    assert os.listdir(tmp_path) == ["answer.txt"]


def test_a_replaced_file_keeps_its_permissions_and_a_link_its_target(tmp_path):
    file, link = tmp_path / "answer.txt", tmp_path / "link.txt"
    file.write_text("old", encoding="utf-8")
    file.chmod(0o640)
    link.symlink_to(file)
    write_whole(link, "new")
    assert link.is_symlink()
    assert file.read_text(encoding="utf-8") == "new"
    assert file.stat().st_mode & 0o777 == 0o640


def test_a_new_file_has_the_usual_permissions(tmp_path):
    mask = os.umask(0o027)
    try:
        write_whole(tmp_path / "new.txt", "new")
    finally:
        os.umask(mask)
    assert (tmp_path / "new.txt").stat().st_mode & 0o777 == 0o640


@pytest.mark.parametrize("where", ["missing/answer.txt", "."])
def test_a_place_that_cannot_be_written_is_named(planner, tmp_path, where):
    ran = planner("gpus", "--out", str(tmp_path / where))
    assert ran.code == 2
    assert "--out" in ran.err
    assert "cannot be written" in ran.err


def test_a_device_is_written_to_and_not_replaced(planner):
    assert planner("gpus", "amd", "--csv", "--out", "/dev/null").code == 0
    assert not os.path.isfile("/dev/null")


@pytest.mark.parametrize(
    "words",
    [
        ("fit", "--model", "kimi-k3", "--gpu", "mi355x,b200"),
        ("fit", "--model", "llama-3.3-70b", "--gpu", "h100", "--gpus", "1"),
        ("models", "kimi"),
        ("gpus", "show", "mi355x"),
        ("prices", "b200"),
    ],
)
def test_no_line_ends_in_spaces(planner, tmp_path, words):
    file = tmp_path / "answer.txt"
    planner(*words, "--out", str(file))
    for text in (planner(*words).out, file.read_text(encoding="utf-8")):
        assert text
        assert not [line for line in text.splitlines() if line != line.rstrip()]


def test_colours_at_the_end_of_a_line_stay():
    assert (
        without_trailing_spaces("\x1b[2ma  \x1b[0m\nb \x1b[1mc\x1b[0m \n")
        == "\x1b[2ma\x1b[0m\nb \x1b[1mc\x1b[0m\n"
    )


def test_bars_and_rules_are_drawn_in_ascii_where_there_is_no_unicode():
    done = subprocess.run(
        [
            sys.executable,
            "-c",
            "from planner.cli import main; main()",
            "fit",
            "--model",
            "kimi-k3",
            "--gpu",
            "b200",
        ],
        capture_output=True,
        check=True,
        env={"PYTHONIOENCODING": "ascii", "PYTHONPATH": ":".join(sys.path)},
    )
    text = done.stdout.decode("ascii")
    assert "?" not in text
    assert "####" in text
    assert "# weights" in text
    assert "= KV cache" in text
