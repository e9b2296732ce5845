"""Whatever a user does wrong is one line on stderr, the right exit code, and nothing written."""

from __future__ import annotations

import subprocess
import sys

import pytest

FIT = ("fit", "--model", "llama-3.1-8b", "--gpu", "h100")


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        (("fti",), "no command 'fti'; nearest: fit"),
        (("xyzzy",), "no command 'xyzzy'; there are fit, predict, "),
        (("models", "show"), "MODEL is missing"),
        (("fit", "--model", "llama-3.1-8b"), "--gpu is missing"),
        (("fit", "--gpu", "h100"), "--model is missing"),
        (("fit", "--modle", "x"), "no option --modle; nearest: --model"),
        ((*FIT, "--gpu", "b200"), "--gpu is given twice; several stand with commas: --gpu GPU[,GPU...]"),
        ((*FIT, "--price=h100=2", "--price", "b200=4"), "commas: --price [GPU=]USD[,...]"),
        (("prices", "own", "h200", "--kw", "1", "--kw", "2"), "--kw is given twice; several stand"),
        (("fit", "--model", "lama-3.1-8b", "--gpu", "h100"), "; `planner models TEXT` searches"),
        (("fit", "--model", "llama-3.1-8b", "--gpu", "h1000"), "unknown gpu 'h1000'; nearest: "),
        (("fit", "--model", "llama-3.1-8b", "--gpu", "h100,"), "gpu: an empty name"),
        (("gpus", "show", "mi35x"), "unknown gpu 'mi35x'; nearest: "),
        ((*FIT, "--tp", "0"), "--tp: '0' is out of range; a whole number of GPUs from 1 to 4,096"),
        ((*FIT, "--tp", "-1"), "--tp: '-1' is not possible; a whole number of GPUs from 1 to 4,096"),
        ((*FIT, "--tp", "1.5"), "--tp: '1.5' is not possible"),
        ((*FIT, "--gpus", "1e9"), "--gpus: '1e9' is out of range"),
        (
            ("fit", "--model", "deepseek-r1", "--gpu", "h200", "--tp", "8", "--ep", "16"),
            "EP 16 does not divide the 8 ranks (TP x DP) of experts; legal: 1, 2, 4, 8",
        ),
        ((*FIT, "--pp", "nan"), "--pp: 'nan' is not possible"),
        ((*FIT, "--context", "inf"), "--context: 'inf' is not possible; a whole number of tokens from 1"),
        ((*FIT, "--concurrency", "0"), "--concurrency: '0' is out of range; a whole number of requests"),
        ((*FIT, "--isl", "-5"), "--isl: '-5' is not possible"),
        ((*FIT, "--memory-fraction", "nan"), "--memory-fraction: 'nan' is out of range; a number above 0"),
        ((*FIT, "--memory-fraction", "1.01"), "--memory-fraction: '1.01' is out of range"),
        ((*FIT, "--price", "h100"), "--price: 'h100' is no price; write it like b200=4.25"),
        ((*FIT, "--price", "h100=inf"), "--price: 'inf' for h100 is no number of USD per GPU-hour"),
        ((*FIT, "--price", "h100=$3"), "--price: '$3' for h100 is no number of USD per GPU-hour"),
        ((*FIT, "--price", "0"), "--price: '0' for all GPUs is out of range; 0.01 to 1,000 USD"),
        ((*FIT, "--price", "h100=-2"), "--price: '-2' for h100 is out of range"),
        ((*FIT, "--price", "h100=1,h100=2"), "--price: h100 has two prices"),
        ((*FIT, "--price", "h100=3,h100-sxm=4"), "h100 and h100-sxm are both h100-sxm"),
        ((*FIT, "--weight-dtype", ""), "weight_dtype: '' is not possible: a name is needed"),
        ((*FIT, "--price", "b200=4"), "price: b200-sxm is priced, but not among the GPUs asked about"),
        ((*FIT, "--price-kind", "on-demnd"), "unknown price kind 'on-demnd'; nearest: on-demand"),
        ((*FIT, "--gpus", "6", "--tp", "4"), "gpus 6 and tp 4 contradict each other"),
        ((*FIT, "--tp", "3"), "TP 3 does not divide the 32 attention heads"),
        ((*FIT, "--context", "200k"), "over the model's maximum of 131,072 tokens"),
        (
            (*FIT, "--isl", "200k", "--osl", "1k"),
            "isl + osl = 201,000 is over the model's maximum of 131,072",
        ),
        ((*FIT, "--weight-dtype", "fp3"), "fp3"),
        ((*FIT, "--kv-dtype", "fp3"), "fp3"),
        ((*FIT, "--engine", "vlm"), "unknown engine 'vlm'; nearest: vllm"),
        ((*FIT, "--json", "--csv"), "--json and --csv exclude each other"),
        (("--catalogue", "/no/such.yaml", "gpus"), "/no/such.yaml: cannot be read: No such file"),
        (("fit", "--model", "kimi", "--gpu", "h100"), "nearest: kimi-k3, kimi-k2, kimi-k2.6; `planner"),
        (("validate", "/no/such.csv"), "/no/such.csv: cannot be read: No such file"),
    ],
)
def test_a_mistake_is_one_line_and_exit_code_2(planner, words, complaint):
    ran = planner(*words)
    assert complaint in ran.err
    assert ran.err.startswith("planner: ")
    assert ran.err.count("\n") == 1
    assert (ran.code, ran.out) == (2, "")


@pytest.mark.parametrize(
    ("words", "same"),
    [
        ((*FIT, "--price", "2.50"), (*FIT, "--price", "h100=2.50")),
        ((*FIT, "--memory-fraction", "85%"), (*FIT, "--memory-fraction", "0.85")),
        (("prices", "own", "h200", "--resale", "20 %"), ("prices", "own", "h200", "--resale", "0.2")),
    ],
)
def test_a_price_for_all_and_a_percentage_are_understood(planner, words, same):
    ran = planner(*words)
    assert ran.code == 0
    assert ran.out == planner(*same).out != planner(*words[:-2]).out


def test_of_an_option_with_one_value_the_last_counts(planner):
    assert planner(*FIT, "--tp", "2", "--tp", "1").out == planner(*FIT, "--tp", "1").out


def test_a_folder_in_place_of_a_table_is_said_to_be_one(planner, tmp_path):
    (tmp_path / "serving").mkdir()
    ran = planner("validate", str(tmp_path))
    assert ran.code == 2
    assert ran.err.endswith(": is a folder, and there is no .csv in it\n")
    (tmp_path / "serving" / "imported.csv").touch()
    ran = planner("calibrate", str(tmp_path))
    assert ran.code == 2
    assert f": is a folder; name a file in it, such as {tmp_path}/serving/imported.csv" in ran.err


def test_an_absurdly_long_word_is_not_repeated(planner):
    ran = planner(*FIT, "--tp", "9" * 5000)
    assert ran.code == 2
    assert len(ran.err) < 300


def test_a_broken_catalogue_names_file_and_line(planner, tmp_path):
    file = tmp_path / "own.yaml"
    file.write_text("gpus:\n  mine:\n    nmae: Mine\n", encoding="utf-8")
    ran = planner("--catalogue", str(file), "gpus")
    assert ran.code == 2
    assert f"{file}:" in ran.err


def test_an_internal_error_is_one_line_and_exit_code_1(planner, monkeypatch):
    def broken(**_):
        raise RuntimeError("a bug\nof two lines")

    monkeypatch.setattr("planner.api.fit", broken)
    ran = planner(*FIT)
    assert (ran.code, ran.out) == (1, "")
    assert ran.err == "planner: internal error: RuntimeError: a bug of two lines; --debug shows where\n"
    with pytest.raises(RuntimeError):
        planner("--debug", *FIT)


def test_no_words_show_the_help_and_count_as_a_mistake(planner):
    ran = planner()
    assert (ran.code, ran.out) == (2, "")
    assert ran.err.startswith("Usage: planner [OPTIONS] COMMAND")


@pytest.mark.parametrize("words", [("models", "--json"), ("models",), FIT])
def test_a_reader_that_goes_away_is_not_an_error(words):
    program = "from planner.cli import main; main()"
    process = subprocess.Popen(
        [sys.executable, "-c", program, *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    process.stdout.close()
    complaint = process.stderr.read()
    process.stderr.close()
    assert process.wait() == 141
    assert complaint == b""


def test_a_terminal_without_unicode_gets_an_answer():
    program = "from planner.cli import main; main()"
    done = subprocess.run(
        [sys.executable, "-c", program, *FIT],
        capture_output=True,
        check=False,
        env={"PYTHONIOENCODING": "ascii", "PYTHONPATH": ":".join(sys.path)},
    )
    assert (done.returncode, done.stderr) == (0, b"")
    assert b"Llama-3.1-8B fits on 1 x H100-SXM" in done.stdout


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        (
            ("--isl", "4000", "--osl", "1000", "--context", "4999"),
            "isl + osl = 5,000 is over the context of 4,999",
        ),
        (("--concurrency", "9", "--max-num-seqs", "8"), "max_num_seqs 8 is under the concurrency of 9"),
        (
            ("--concurrency", "17", "--max-num-seqs", "8", "--dp", "2"),
            "max_num_seqs 8 on each of 2 copies is under the concurrency of 17; legal: 9 or more",
        ),
    ],
)
def test_what_is_asked_for_must_not_contradict_the_engine_limits(planner, words, complaint):
    ran = planner(*FIT, *words)
    assert (ran.code, ran.out) == (2, "")
    assert complaint in ran.err


def test_what_the_engine_limits_just_allow_is_answered(planner):
    words = (
        "--isl",
        "4000",
        "--osl",
        "1000",
        "--context",
        "5000",
        "--concurrency",
        "16",
        "--max-num-seqs",
        "8",
    )
    assert planner(*FIT, *words, "--dp", "2").code == 0


@pytest.mark.parametrize("columns", ["0", "1", "20", "40", "60"])
def test_a_narrow_terminal_cuts_no_figure(planner, monkeypatch, columns):
    monkeypatch.setenv("COLUMNS", columns)
    listed = planner("models", "list", "kimi-k3").out
    assert all(figure in listed for figure in ("2.78 T", "104 B", "1,561", "1,048,576"))
    compared = planner("fit", "--model", "kimi-k3", "--gpu", "mi355x,b200").out
    assert "MI355X" in compared
    assert "191.8    288.0    2.37 M" in compared
