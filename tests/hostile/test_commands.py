"""Every command with a reader that goes away, a full disk, Ctrl-C, and terminals of any width."""

from __future__ import annotations

import io
import os
import signal
import subprocess
import sys
import time
from importlib import import_module
from pathlib import Path

import pytest

from planner.cli import entry
from planner.cli.entry import BROKEN_PIPE, COMMANDS, INTERRUPTED, MODULES, run

ROOT = Path(__file__).parents[2]
RESULT = ROOT / "tests/data/bench_files/vllm/bench_serve_gptoss_h200_tp8_conc64.json"
ON = ("--model", "llama-3.1-8b", "--gpu", "h200")
LOAD = ("--isl", "1k", "--osl", "100")
QUESTIONS = {
    "fit": ON,
    "predict": (*ON, *LOAD),
    "simulate": (*ON, *LOAD, "--concurrency", "4", "--requests", "20"),
    "compare": ("--model", "llama-3.1-8b", "--gpu", "h200,mi300x", *LOAD, "--price", "2"),
    "breakeven": ("--model", "llama-3.1-8b", "--gpu", "h200,mi300x", *LOAD, "--price", "h200=2,mi300x=1.5"),
    "frontier": (*ON, *LOAD),
    "plan": (*ON, *LOAD, "--rate", "1", "--slo-ttft", "2s", "--requests", "100", "--price", "2"),
    "launch": ON,
    "sweep": (*ON, *LOAD, "--concurrency", "1,2"),
    "train": (*ON, "--gpus", "8", "--tp", "1", "--pp", "1"),
    "models": (),
    "gpus": (),
    "prices": (),
    "import": (
        str(RESULT),
        "--model",
        "gpt-oss-120b",
        *("--gpu", "h200", "--gpus", "8", "--tp", "8"),
        "--dry-run",
    ),
    "completion": ("bash",),
}
OTHERS = {"validate", "verify", "calibrate", "measure", "ui", "mcp"}
"""They read files that other tests make, or serve; what they print goes the same way."""


def test_every_command_is_asked():
    assert set(QUESTIONS) | OTHERS == set(COMMANDS)


def told(capsys) -> str:
    """Return the one line of a complaint, what is remarked of a file left out."""
    said = capsys.readouterr().err
    assert "Traceback" not in said
    lines = [line for line in said.splitlines() if line and not line.startswith("note: ")]
    assert len(lines) <= 1, said
    return "".join(lines)


@pytest.mark.parametrize("name", QUESTIONS)
def test_a_reader_that_goes_away_ends_it_quietly(name, monkeypatch, capsys):
    read, write = os.pipe()
    os.close(read)
    with os.fdopen(write, "w") as gone:
        monkeypatch.setattr(sys, "stdout", gone)
        code = run([name, *QUESTIONS[name]])
        monkeypatch.undo()
    assert code == BROKEN_PIPE
    assert told(capsys) == ""


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="only Linux has a device that is always full")
@pytest.mark.parametrize("name", QUESTIONS)
def test_a_full_disk_is_one_line(name, monkeypatch, capsys):
    with open("/dev/full", "w") as full:
        monkeypatch.setattr(sys, "stdout", full)
        code = run([name, *QUESTIONS[name]])
        monkeypatch.undo()
    assert code == 2
    assert "cannot be written: No space left" in told(capsys)


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="only Linux has a device that is always full")
@pytest.mark.parametrize("ending", [".json", ".csv", ".md", ".html", ".txt"])
def test_a_full_disk_under_out_is_one_line(ending, tmp_path, capsys):
    out = tmp_path / f"answer{ending}"
    out.symlink_to("/dev/full")
    assert run(["fit", *ON, "--out", str(out)]) == 2
    assert "--out" in told(capsys)
    assert out.is_symlink()


@pytest.mark.parametrize("name", [name for name in COMMANDS if name != "completion"])
def test_ctrl_c_is_one_line(name, monkeypatch, capsys):
    def interrupted(*_, **__):
        raise KeyboardInterrupt

    module = import_module(f"planner.cli.{MODULES.get(name, name)}")
    monkeypatch.setattr(module.command, "invoke", interrupted)
    words = {"verify": ("x.json",), "measure": ("gpu",)}.get(name, QUESTIONS.get(name, ()))
    assert run([name, *words]) == INTERRUPTED
    assert told(capsys) == "planner: interrupted"


def test_ctrl_c_while_it_works_leaves_no_file(tmp_path):
    out = tmp_path / "rows.json"
    words = ["simulate", *ON, *LOAD, "--concurrency", "64", "--requests", "1000000", "--out", str(out)]
    code = "import sys; from planner.cli.entry import run; print('on', flush=True); sys.exit(run())"
    made = subprocess.Popen(
        [sys.executable, "-c", code, *words],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        cwd=ROOT,
        # A shell that runs the tests in the background has Ctrl-C ignored, and children inherit that.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
    )
    assert made.stdout.readline() == "on\n"
    time.sleep(1)
    made.send_signal(signal.SIGINT)
    _, said = made.communicate(timeout=120)
    assert made.returncode == INTERRUPTED, said
    assert "Traceback" not in said
    assert said.endswith("planner: interrupted\n")
    assert list(tmp_path.iterdir()) == []


class Terminal(io.StringIO):
    """A terminal that can be read afterwards."""

    def isatty(self) -> bool:
        """Say that it is one."""
        return True


@pytest.mark.parametrize("columns", ["1", "0", "10000", "-5", "x", "9" * 30])
@pytest.mark.parametrize("name", ["fit", "compare", "gpus"])
def test_terminals_of_any_width(name, columns, monkeypatch, capsys):
    monkeypatch.setenv("COLUMNS", columns)
    monkeypatch.setenv("TERM", "xterm")
    shown = Terminal()
    monkeypatch.setattr(sys, "stdout", shown)
    code = run([name, *QUESTIONS[name]])
    monkeypatch.undo()
    assert code == 0
    lines = shown.getvalue().splitlines()
    assert len(lines) > 5
    assert len(lines) < 2000


def test_a_folder_that_cannot_be_written_spoils_no_answer(tmp_path, monkeypatch, capsys):
    # Nothing is left beside where it was asked: an answer writes no file of its own.
    monkeypatch.chdir(tmp_path)
    for name in ("fit", "predict", "compare", "gpus"):
        assert run([name, *QUESTIONS[name]]) == 0
    assert list(tmp_path.iterdir()) == []
    (tmp_path / "taken").write_text("")
    assert run(["fit", *ON, "--out", str(tmp_path / "taken" / "answer.json")]) == 2
    assert "cannot be written" in capsys.readouterr().err


def test_the_words_of_a_command_are_bounded(capsys):
    for words in (["fit", "--model", "x" * 10**6], ["x" * 10**6], ["fit", *["-"] * 3000], ["fit", "\ud800"]):
        assert run(words) == 2
        assert len(told(capsys)) < 2500
    assert entry.USAGE_ERROR == 2
