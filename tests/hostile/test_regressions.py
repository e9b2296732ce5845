"""The smallest inputs that once gave a traceback, no end or a page of text, as fuzzing found them."""

from __future__ import annotations

import pytest

import planner
from planner.catalogue import load_catalogue
from planner.cli.sweep import _read
from planner.errors import LONGEST_MESSAGE, InvalidInput, PlannerError, UnknownName, unknown_name
from planner.measurement.csvtable import read_csv

ASKED = {"model": "llama-3.1-8b", "gpu": "h200", "isl": 1000, "osl": 100}
LAUGHS = "a: &a [x,x]\n" + "".join(
    f"{b}: &{b} [*{a},*{a}]\n" for a, b in zip("abcdefgh", "bcdefghi", strict=True)
)


def refusal(ask) -> str:
    """Return the one line with which a question is refused."""
    with pytest.raises(PlannerError) as refused:
        ask()
    line = str(refused.value)
    assert "\n" not in line
    assert len(line) <= LONGEST_MESSAGE + 10
    line.encode()
    return line


@pytest.mark.parametrize("throughput", [1.5, {}, [], 10**30, True, "\0"])
def test_a_throughput_that_is_no_name(throughput, catalogue):
    assert "throughput" in refusal(
        lambda: planner.predict(**ASKED, tp=1, throughput=throughput, catalogue=catalogue)
    )


@pytest.mark.parametrize("seed", [[], "1e9999", 1.5, True])
def test_a_seed_that_is_no_number(seed, catalogue):
    asked = {**ASKED, "concurrency": 2, "requests": 3, "tp": 1}
    assert "seed" in refusal(lambda: planner.simulate(**asked, seed=seed, catalogue=catalogue))


def test_a_plan_of_media_without_a_limit_that_nothing_answers(catalogue):
    report = planner.plan(model="flux.1-dev", gpu="rtx-4060", request_rate=10.0, catalogue=catalogue)
    assert report.sentence


@pytest.mark.parametrize(
    ("name", "given"),
    [
        ("engine", [{}]),
        ("weight_dtype", {"a": [1]}),
        ("tp", [{}]),
        ("model", 0),
        ("model", [None]),
        ("isl", [[]]),
        ("request_rate", 10**400),
        ("prefix_hit", 10**400),
        ("request_rate", "nan"),
    ],
)
def test_axes_of_a_sweep_that_are_none(name, given, catalogue):
    refusal(lambda: planner.sweep(**{**ASKED, name: given}, catalogue=catalogue))


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (LAUGHS, "aliases"),
        ("model: !!python/object/apply:os.system ['true']", "tags"),
        ("model: !!timestamp 2026-01-01", "tags"),
        ("model: a\nmodel: b", "twice"),
        ("model: " + "[" * 200 + "]" * 200, "deep"),
        ("colour: red", ":1: unknown name 'colour'"),
        ("- model", "names and values"),
        ("", "names and values"),
    ],
)
def test_sweep_files_are_plain_data(tmp_path, text, said):
    file = tmp_path / "sweep.yaml"
    file.write_text(text, encoding="utf-8")
    line = refusal(lambda: _read(str(file)))
    assert said in line
    assert str(file) in line


@pytest.mark.parametrize(
    "text",
    [
        "sources:\n  a: {title: t, date: " + "x" * 5000 + "}\n",
        "gpus:\n  a: {name: A, source: " + "x" * 5000 + "}\n",
        "kernels:\n  a: {when: {models: ['a\\nb']}}\n",
        'gpus:\n  "\\ud800": {name: 1}\n',
        "\ufeff\ufeffgpus:\n  a: {name: 1}\n",
        "x" * 200_000 + ": 1\n",
    ],
)
def test_catalogue_files_with_long_and_odd_values(tmp_path, text):
    file = tmp_path / "ours.yaml"
    file.write_text(text, encoding="utf-8")
    refusal(lambda: load_catalogue(extra=file))


def test_the_table_named_for_a_folder_is_looked_for_nearby(tmp_path):
    deep = tmp_path / "a" / "b" / "c"
    deep.mkdir(parents=True)
    (deep / "far.csv").touch()
    assert "no .csv in it" in refusal(lambda: read_csv(tmp_path))
    (tmp_path / "a" / "near.csv").touch()
    assert "near.csv" in refusal(lambda: read_csv(tmp_path))


@pytest.mark.parametrize(
    "given", ["a\nb", "a\rb", "\x1b[31mred", "\u2028", "\ud800", "\u202egnp.exe", "x" * 10**6]
)
def test_a_message_is_one_bounded_line_that_steers_nothing(given):
    line = str(InvalidInput(f"name: {given} is none"))
    assert len(line) <= LONGEST_MESSAGE + 10
    assert line.isprintable()
    assert line.startswith("name: ")
    assert line.endswith(" is none")
    line.encode()


def test_a_message_that_is_one_stays_as_it_is():
    said = "größer als 5 µm: 3 × 4 — “so”"
    assert str(InvalidInput(said)) == said
    assert isinstance(unknown_name("thing", 3.5, ["a"]), UnknownName)


@pytest.mark.parametrize(("gpu", "dtype"), [("v100s-32", "f16"), ("h100", "bf16")])
def test_the_dtype_of_a_cache_can_be_asked_as_it_is_answered(gpu, dtype, catalogue):
    asked = {"model": "llama-3.1-8b", "gpu": gpu, "catalogue": catalogue}
    first = planner.fit(**asked).to_dict()
    assert first["kv_dtype"] == dtype
    assert planner.fit(**asked, kv_dtype=dtype).to_dict()["kv_tokens"] == first["kv_tokens"]


def test_a_page_of_a_sweep_with_a_default_that_was_given_is_verified(tmp_path, catalogue):
    asked = {"model": "llama-3.1-8b", "gpu": "h100", "isl": 100, "osl": 10, "text_only": False}
    page = tmp_path / "sweep.html"
    page.write_text(planner.sweep(**asked, catalogue=catalogue).to_html())
    assert planner.verify(page, catalogue=catalogue).same


@pytest.mark.parametrize(
    "words",
    [
        "simulate --isl 9 --osl 9 --rate 1 --arrivals gamma --cv 0 --lengths lognormal --length-cv 0",
        "predict --guidance 0",
    ],
)
def test_a_zero_that_the_library_takes_is_taken_by_the_command_line(words, capsys):
    from planner.cli.entry import run

    model = "flux.1-dev" if "--guidance" in words else "llama-3.1-8b"
    assert run([*words.split(), "--model", model, "--gpu", "h100"]) == 0
    assert capsys.readouterr().err == ""


DIGITS = "9" * 5000
"""More than Python makes a number of."""


@pytest.mark.parametrize(
    "words",
    [
        ("predict", "--gpu", "h100", "--disaggregated", f"{DIGITS}:1"),
        ("breakeven", "--gpu", "h100,h200", "--gpus", DIGITS),
        ("train", "--gpu", "h100", "--as-of", DIGITS),
    ],
)
def test_thousands_of_digits_are_refused_in_one_line(words, capsys):
    from planner.cli.entry import run

    load = () if words[0] == "train" else ("--isl", "8", "--osl", "8")
    assert run([*words, "--model", "llama-3.1-8b", *load]) == 2
    assert len(capsys.readouterr().err) < LONGEST_MESSAGE


def test_thousands_of_digits_in_a_table_of_llama_bench_are_no_test():
    from planner.measurement.importers.llama_bench import read_table

    rows = ("| model | backend | ngl | test | t/s |", f"| llama 8B Q4_0 | CUDA | 99 | pp{DIGITS} | 1 |")
    problems: list[str] = []
    assert list(read_table("x.md", enumerate(rows, 1), problems)) == []
    assert "one like pp512" in problems[0]
