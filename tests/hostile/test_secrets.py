"""No key, password or header of a user stands in a result, a message, a log or a list of processes."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

import planner
from planner.catalogue import imported
from planner.cli.entry import run
from planner.errors import InvalidInput, UnknownName, without_credentials
from planner.measurement.importers.importing import Names, read_file

ROOT = Path(__file__).parents[2]
SECRET = "hunter2-very-secret"
ADDRESS = f"https://someone:{SECRET}@mirror.example/v1"
KEYS = ("OPENAI_API_KEY", "HF_TOKEN", "HUGGING_FACE_HUB_TOKEN", "AWS_SECRET_ACCESS_KEY", "MY_PASSWORD")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (ADDRESS, "https://***@mirror.example/v1"),
        (f"a {ADDRESS} b tcp://u:{SECRET}@h:1", "a https://***@mirror.example/v1 b tcp://***@h:1"),
        (f"proxy http://{SECRET}@host", "proxy http://***@host"),
        ("mail me@example.com, see https://example.com/@me", None),
        ("https://example.com/a?b=c@d", None),
    ],
)
def test_addresses_lose_who_is_let_in(text, said):
    assert without_credentials(text) == (text if said is None else said)


def test_no_error_repeats_a_password():
    assert SECRET not in str(InvalidInput(f"cannot reach {ADDRESS}: refused"))
    with pytest.raises(Exception, match="unknown gpu") as refused:
        planner.fit(model="llama-3.1-8b", gpu=ADDRESS)
    assert SECRET not in str(refused.value)


def test_the_command_line_repeats_no_password(capsys):
    for words in (
        ["fit", "--model", ADDRESS, "--gpu", "h200"],
        ["fit", "--model", "llama-3.1-8b", "--gpu", ADDRESS],
        ["measure", "endpoint", "--url", ADDRESS, "--gpu", "h200", "--gpus", "1"],
        ["--catalogue", ADDRESS, "gpus"],
        ["import", ADDRESS],
        [ADDRESS],
    ):
        assert run(words) == 2, words
        told = capsys.readouterr()
        assert SECRET not in told.out + told.err, words


def test_a_hub_behind_a_proxy_with_a_password_is_named_without_it(monkeypatch):
    class Hub:
        @staticmethod
        def hf_hub_download(*_):
            raise OSError(f"cannot connect to {ADDRESS}")

    monkeypatch.setitem(sys.modules, "huggingface_hub", Hub)
    with pytest.raises(UnknownName) as refused:
        imported._model_from_hub("nobody/nothing", "unknown")
    assert "mirror.example" in str(refused.value)
    assert SECRET not in str(refused.value)


QUESTIONS = (
    ("fit", "--model", "llama-3.1-8b", "--gpu", "h200", "--json"),
    ("predict", "--model", "llama-3.1-8b", "--gpu", "h200", "--isl", "1k", "--osl", "100", "--json"),
    ("launch", "--model", "llama-3.1-8b", "--gpu", "h200", "--format", "kubernetes"),
    ("launch", "--model", "llama-3.1-8b", "--gpu", "h200", "--format", "json"),
    ("--debug", "fit", "--model", "nobody", "--gpu", "h200"),
)


@pytest.mark.parametrize("words", QUESTIONS)
def test_nothing_of_the_environment_stands_in_an_answer(words, monkeypatch, capsys):
    for name in KEYS:
        monkeypatch.setenv(name, SECRET)
    monkeypatch.setenv("HTTPS_PROXY", ADDRESS)
    run(list(words))
    told = capsys.readouterr()
    assert told.out or told.err
    assert SECRET not in told.out + told.err


def test_what_a_benchmark_wrote_of_its_headers_is_not_imported(catalogue, tmp_path):
    source = ROOT / "tests/data/bench_files/vllm/bench_serve_gptoss_h200_tp8_conc64.json"
    result = json.loads(source.read_text())
    more = {
        "api_key": SECRET,
        "headers": {"Authorization": f"Bearer {SECRET}"},
        "extra_headers": f"x-api-key={SECRET}",
        "base_url": ADDRESS,
        "endpoint": ADDRESS,
        "env": {"OPENAI_API_KEY": SECRET},
    }
    file = tmp_path / "result.json"
    file.write_text(json.dumps({**result, **more}))
    (tmp_path / "planner-import.yaml").write_text(f"source_url: {ADDRESS}\nnotes: from {ADDRESS}\n")
    said = {"model": "gpt-oss-120b", "gpu": "h200", "n_gpus": "8", "tp": "8", "engine": "vllm"}
    found = read_file(str(file), said, Names(catalogue))
    (row,) = found.serving
    assert row.cells["source_url"] == "https://***@mirror.example/v1"
    assert SECRET not in repr(found)


def test_a_key_is_never_a_word_of_a_process():
    # Any user of the machine reads the words of a process; keys come from the environment alone.
    from planner.cli.measure_endpoint import command

    options = [name for option in command.params for name in option.opts]
    assert "--api-key-env" in options
    assert not {"--api-key", "--token", "--password", "--header"} & set(options)


def test_a_crash_tells_no_key():
    code = (
        "import planner.api.fitting as f, planner.api as a\n"
        "def boom(**_): raise RuntimeError('cannot reach ' + __import__('os').environ['MY_ADDRESS'])\n"
        "a.fit = boom\n"
        "from planner.cli.entry import run\n"
        "raise SystemExit(run(['fit', '--model', 'llama-3.1-8b', '--gpu', 'h200']))"
    )
    environment = {"MY_ADDRESS": ADDRESS, "PATH": "/usr/bin", "HOME": "/nonexistent"}
    made = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, cwd=ROOT, env=environment
    )
    assert made.returncode == 1, made.stderr
    assert "internal error" in made.stderr
    assert SECRET not in made.stderr


@pytest.mark.parametrize("epoch", ["9" * 30, "9" * 11, "x", "-1", "", "٣"])
def test_an_odd_date_of_the_environment_spoils_no_answer(monkeypatch, epoch):
    from planner.api.recording import today

    monkeypatch.setenv("SOURCE_DATE_EPOCH", epoch)
    assert today().year >= 1970
