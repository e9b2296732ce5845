"""Shells complete commands, options, and names of the catalogue; each is asked as the shell itself would."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


def completed(*words: str, at: int | None = None) -> list[str]:
    """Return what bash would offer for the last of some words."""
    ran = subprocess.run(
        [sys.executable, "-m", "planner"],
        env={
            **os.environ,
            "PYTHONPATH": str(ROOT),
            "_PLANNER_COMPLETE": "bash_complete",
            "COMP_WORDS": " ".join(["planner", *words]),
            "COMP_CWORD": str(len(words) if at is None else at),
        },
        capture_output=True,
        text=True,
        check=True,
    )
    assert ran.stderr == ""
    return [line.partition(",")[2] for line in ran.stdout.splitlines() if line]


def test_commands_and_options_are_completed():
    assert completed("pre") == ["predict"]
    assert "--speculative-tokens" in completed("predict", "--sp")


@pytest.mark.parametrize(
    ("words", "offered"),
    [
        (("fit", "--model", "kimi-k3"), "kimi-k3"),
        (("fit", "--model", "KIMI-K3"), "kimi-k3"),
        (("fit", "--gpu", "mi355"), "mi355x"),
        (("compare", "--gpu", "mi355x,b300"), "mi355x,b300-sxm"),
        (("sweep", "--model", "kimi-k3"), "kimi-k3"),
        (("plan", "--gpu", "h200-s"), "h200-sxm"),
        (("gpus", "show", "mi355"), "mi355x"),
        (("models", "show", "kimi-k3"), "kimi-k3"),
        (("measure", "engine", "--model", "kimi-k3"), "kimi-k3"),
    ],
)
def test_names_of_the_catalogue_are_completed(words, offered):
    assert offered in completed(*words)


def test_an_alias_is_offered_where_no_id_begins_so():
    assert "moonshotai/kimi-k3" in [name.lower() for name in completed("fit", "--model", "moonshotai/kimi-k")]


def test_what_was_named_already_is_not_offered_again():
    assert completed("fit", "--gpu", "mi355x,mi355") == []


def test_bash_itself_completes(tmp_path):
    script = subprocess.run(
        [sys.executable, "-m", "planner", "completion", "bash"], cwd=ROOT, capture_output=True, text=True
    ).stdout
    program = tmp_path / "planner"
    program.write_text(f'#!/bin/sh\nPYTHONPATH="{ROOT}" exec "{sys.executable}" -m planner "$@"\n')
    program.chmod(0o755)
    ask = """
    COMP_WORDS=(planner fit --gpu mi355); COMP_CWORD=3
    _planner_completion planner; printf '%s\\n' "${COMPREPLY[@]}"
    """
    ran = subprocess.run(
        [shutil.which("bash"), "-c", script + ask],
        env={**os.environ, "PATH": f"{tmp_path}{os.pathsep}{os.environ['PATH']}"},
        capture_output=True,
        text=True,
    )
    assert ran.stdout == "mi355x\n"


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_each_shell_gets_a_function_that_asks_planner(planner, shell):
    ran = planner("completion", shell)
    assert (ran.code, ran.err) == (0, "")
    assert f"_PLANNER_COMPLETE={shell}_complete" in ran.out


def test_another_shell_is_refused(planner):
    ran = planner("completion", "tcsh")
    assert ran.code == 2
    assert "bash" in ran.err


def test_the_version_names_catalogue_and_calibration(planner, catalogue):
    ran = planner("--version")
    assert ran.code == 0
    date = catalogue.calibrated("calibration")[0].date
    assert ran.out.rstrip().endswith(f", catalogue {catalogue.short_digest}, calibrated {date}")
