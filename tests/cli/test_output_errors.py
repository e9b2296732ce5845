"""An answer that cannot be written is one line, and so is a mistake with a word of any length."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

CODE = "import sys; from planner.cli.entry import run; sys.exit(run())"
FIT = ("fit", "--model", "llama-3.1-8b", "--gpu", "h100")
FULL = Path("/dev/full")
LONG = "x" * 400


@pytest.mark.skipif(not FULL.exists(), reason="only Linux has a device that is always full")
@pytest.mark.parametrize("words", [FIT, (*FIT, "--json"), ("gpus",), ("--help",)])
def test_a_full_device(words):
    with FULL.open("w") as full:
        ran = subprocess.run([sys.executable, "-c", CODE, *words], stdout=full, stderr=subprocess.PIPE)
    assert ran.returncode == 2
    assert ran.stderr == b"planner: the answer cannot be written: No space left on device\n"


@pytest.mark.parametrize("words", ["fit --model llama-3.1-8b --gpu h100", "gpus", "--version"])
def test_a_closed_output(words):
    line = f"exec {sys.executable} -c '{CODE}' {words} >&-"
    ran = subprocess.run(["sh", "-c", line], stderr=subprocess.PIPE, text=True)
    assert ran.returncode == 2
    assert ran.stderr.startswith("planner: the answer cannot be written: standard output is closed")
    assert ran.stderr.count("\n") == 1


@pytest.mark.parametrize(
    "words",
    [
        ("fit", "--model", LONG, "--gpu", "h100"),
        ("fit", "--model", "llama-3.1-8b", "--gpu", LONG),
        (*FIT, "--weight-dtype", LONG),
        (*FIT, "--kv-dtype", LONG),
        (*FIT, "--engine", LONG),
        (*FIT, "--engine", f"vllm=={LONG}"),
        (*FIT, "--price", f"{LONG}=3"),
        (*FIT, f"--{LONG}"),
        (*FIT, LONG),
        ("models", "show", LONG),
        ("validate", LONG),
        (LONG,),
        ("--catalogue", LONG, "gpus"),
    ],
)
def test_long_words_are_cut_short(planner, words):
    ran = planner(*words)
    assert ran.code == 2
    assert ran.err.count("\n") == 1
    assert len(ran.err) < 320
    assert "xxx" in ran.err
