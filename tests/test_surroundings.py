"""Answers do not depend on where planner runs: no network, no home, nothing writable, no UTF-8."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
FIT = ("fit", "--model", "kimi-k3", "--gpu", "b200")
QUESTIONS = {
    "fit": FIT,
    "predict": ("predict", "--model", "kimi-k3", "--gpu", "mi355x", "--isl", "1k", "--osl", "400"),
    "compare": ("compare", "--model", "kimi-k3", "--isl", "1k", "--osl", "400", "--price-kind", "spot"),
    "gpus": ("gpus", "show", "mi355x"),
    "models": ("models", "show", "kimi-k3"),
    "prices": ("prices", "b200"),
    "help": ("compare", "--help"),
}

NO_NETWORK = """
import socket, sys

def refuse(*words, **more):
    raise OSError(101, "Network is unreachable")

socket.socket.connect = socket.socket.connect_ex = socket.create_connection = socket.getaddrinfo = refuse
from planner.cli import main
main(prog_name="planner")
"""


def ran(*words: str, cwd: Path, code: str = "", bound: bool = False, check: bool = True, **more: str | None):
    """Run a command in a process of its own; of the environment None takes a variable away."""
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "PYTHONDONTWRITEBYTECODE": "1", **more}
    code = BOUND_BY_PERMISSIONS if bound else code
    program = ["-c", code] if code else ["-m", "planner"]
    made = subprocess.run(
        [sys.executable, *program, *words],
        env={name: value for name, value in environment.items() if value is not None},
        cwd=cwd,
        capture_output=True,
    )
    assert b"Traceback" not in made.stderr, made.stderr.decode(errors="replace")
    if check:
        assert made.returncode in (0, 3), made.stderr.decode(errors="replace")
    return made


def one_line(made: subprocess.CompletedProcess[bytes]) -> str:
    """Return the one line of a refusal."""
    said = made.stderr.decode(errors="replace")
    assert made.returncode == 2, said
    assert said.count("\n") == 1
    return said


@pytest.mark.parametrize("encoding", ["ascii", "cp1252"])
@pytest.mark.parametrize("name", QUESTIONS)
def test_an_output_without_unicode_loses_no_answer(tmp_path, name, encoding):
    made = ran(*QUESTIONS[name], cwd=tmp_path, LC_ALL="C", PYTHONUTF8="0", PYTHONIOENCODING=encoding)
    text = made.stdout.decode(encoding)
    assert "?" * 3 not in text, "signs were lost, and not replaced"
    assert not set(text) & set("█▓▒░─│")


@pytest.mark.parametrize("locale", ["C", "en_US.ISO-8859-1"])
def test_files_are_utf_8_whatever_the_locale(tmp_path, locale):
    ran(*FIT, "--out", "utf8.txt", cwd=tmp_path, LC_ALL="C.UTF-8")
    for file in ("answer.txt", "answer.md", "answer.json", "answer.html", "answer.csv"):
        ran(*FIT, "--out", file, cwd=tmp_path, LC_ALL=locale, PYTHONUTF8="0", PYTHONCOERCECLOCALE="0")
        (tmp_path / file).read_text(encoding="utf-8")
    assert (tmp_path / "answer.txt").read_bytes() == (tmp_path / "utf8.txt").read_bytes()


def test_a_catalogue_in_utf_8_is_read_whatever_the_locale(tmp_path):
    (tmp_path / "ours.yaml").write_text(
        'sources:\n  ours:\n    title: "Müller & Söhne – Angebot"\n    date: "2026-11-30"\n'
        "prices:\n  b200-sxm:\n    - {usd_per_gpu_hour: 4, provider: Müller, kind: on-demand, source: ours, "
        'date: "2026-11-30", confidence: published}\n',
        encoding="utf-8",
    )
    made = ran(
        "--catalogue",
        "ours.yaml",
        "prices",
        "list",
        "b200",
        "--json",
        cwd=tmp_path,
        LC_ALL="C",
        PYTHONUTF8="0",
        PYTHONCOERCECLOCALE="0",
        PYTHONIOENCODING="ascii",
        check=False,
    )
    assert made.returncode in (0, 2)
    assert b"codec" not in made.stderr


@pytest.mark.parametrize("name", ["fit", "compare", "prices"])
def test_nothing_is_asked_of_a_network(tmp_path, name):
    alone = ran(*QUESTIONS[name], cwd=tmp_path, code=NO_NETWORK)
    assert alone.stdout == ran(*QUESTIONS[name], cwd=tmp_path).stdout


def test_a_model_of_the_hub_without_a_network_is_one_line(tmp_path):
    made = ran(
        "fit", "--model", "nobody/no-model", "--gpu", "b200", cwd=tmp_path, code=NO_NETWORK, check=False
    )
    assert "nobody/no-model" in one_line(made)


def nobody() -> dict[str, str | None]:
    """Return an environment without anything that says where a user's files are."""
    folders = ("XDG_DATA_HOME", "XDG_CONFIG_HOME", "XDG_CACHE_HOME", "PLANNER_MEASUREMENTS")
    return dict.fromkeys(("HOME", "USER", "LOGNAME", *folders))


@pytest.mark.parametrize("name", ["fit", "compare", "prices"])
def test_without_a_home_answers_are_the_same(tmp_path, name):
    homeless = ran(*QUESTIONS[name], cwd=tmp_path, **nobody())
    home = tmp_path / "home"
    home.mkdir()
    assert homeless.stdout == ran(*QUESTIONS[name], cwd=tmp_path, **{**nobody(), "HOME": str(home)}).stdout


@pytest.mark.parametrize("home", ["", "/nonexistent", "/dev/null"])
def test_a_home_that_is_none_spoils_no_answer(tmp_path, home):
    assert b"Kimi K3" in ran(*FIT, cwd=tmp_path, **{**nobody(), "HOME": home}).stdout


BOUND_BY_PERMISSIONS = """
import ctypes, os, sys
for right in (1, 2):  # CAP_DAC_OVERRIDE and CAP_DAC_READ_SEARCH, by which root may write anywhere
    ctypes.CDLL(None).prctl(24, right, 0, 0, 0)  # PR_CAPBSET_DROP
os.execv(sys.executable, [sys.executable, "-m", "planner", *sys.argv[1:]])
"""


@pytest.fixture
def locked(tmp_path):
    """Return a folder in which nobody can write."""
    folder = tmp_path / "locked"
    folder.mkdir()
    folder.chmod(0o555)
    yield folder
    folder.chmod(0o755)


def test_where_nothing_can_be_written_questions_are_answered(locked):
    measurements = {"PLANNER_MEASUREMENTS": str(locked / "mine"), "HOME": str(locked)}
    for name in ("fit", "compare", "prices"):
        ran(*QUESTIONS[name], cwd=locked, bound=True, **measurements)
    assert list(locked.iterdir()) == []


def test_what_has_to_write_where_nothing_can_be_says_so_in_one_line(locked):
    measurements = {"PLANNER_MEASUREMENTS": str(locked / "mine"), "HOME": str(locked)}
    refused = one_line(ran(*FIT, "--out", "answer.html", cwd=locked, bound=True, check=False, **measurements))
    assert "--out answer.html: cannot be written: Permission denied" in refused
    export = ROOT / "tests/data/bench_files/inferencex/website_export_deepseek_r1_e2e.csv"
    made = ran("import", str(export), cwd=locked, bound=True, check=False, **measurements)
    assert "ermission denied" in one_line(made)
    dry = ran("import", str(export), "--dry-run", cwd=locked, bound=True, check=False, **measurements)
    assert dry.returncode == 0


def test_temporary_files_have_another_place_or_one_line(locked):
    folders = {"TMPDIR": str(locked), "HOME": str(locked)}
    made = ran(*FIT, "--out", "answer.txt", cwd=locked, bound=True, check=False, **folders)
    assert "cannot be written" in one_line(made)
