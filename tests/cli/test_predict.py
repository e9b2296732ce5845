"""`planner predict`: the drawing to the letter on answers made by hand, and the main job on real input."""

from __future__ import annotations

import csv
import io
import json
import os
from pathlib import Path

import pytest
from rich.console import Console

from planner.cli.draw_predict import draw_predict
from planner.cli.output import json_text
from planner.report.prediction_records import FIGURES
from planner.report.prediction_tables import side_by_side
from tests.report.made_prediction import answer, disaggregated, measured, overloaded, refused, report

GOLDEN = Path(__file__).with_name("golden")

REPORTS = {
    "predict_one": lambda: report(answer(price=2.5)),
    "predict_measured": lambda: report(answer(price=2.5, seen=measured())),
    "predict_several": lambda: report(
        answer(price=2.5), answer(gpu="b200-sxm", tps=1600.0, price=4.0), overloaded(), refused()
    ),
    "predict_disaggregated": lambda: report(disaggregated()),
    "predict_overloaded": lambda: report(overloaded()),
    "predict_refused": lambda: report(refused()),
}


def drawn(made, width):
    text = io.StringIO()
    draw_predict(Console(file=text, width=width, no_color=True, highlight=False), made)
    return "".join(f"{line.rstrip()}\n" for line in text.getvalue().splitlines())


def check(name, text):
    """Compare with the golden file; UPDATE_GOLDEN=1 writes it anew."""
    file = GOLDEN / name
    if os.environ.get("UPDATE_GOLDEN"):
        file.write_text(text, encoding="utf-8")
    assert text == file.read_text(encoding="utf-8")


@pytest.mark.parametrize("name", REPORTS)
def test_drawing_to_the_letter(name):
    text = drawn(REPORTS[name](), 100)
    assert max(map(len, text.splitlines())) <= 100
    check(f"{name}.txt", text)


@pytest.mark.parametrize("name", ["predict_measured", "predict_several"])
def test_json_to_the_letter(name):
    check(f"{name}.json", json_text(REPORTS[name]().to_dict()))


def test_csv_to_the_letter():
    check("predict_several.csv", REPORTS["predict_several"]().to_csv())


LLAMA = ("predict", "--model", "llama-3.1-8b", "--gpu", "h100", "--isl", "1024", "--osl", "512")


def test_the_fields_that_others_rely_on(planner):
    ran = planner(*LLAMA, "--concurrency", "16", "--price", "h100=2", "--json")
    assert ran.code == 0
    made = json.loads(ran.out)
    assert made["schema"] == "planner.predict/1"
    for name in FIGURES:
        found = made[name]
        assert 0 < found["low"] <= found["value"] <= found["high"]
        assert found["source"] in ("measured", "simulated")
        assert found["provenance"]
    assert made["bound_by"]
    assert sum(row["share"] for row in made["step_breakdown"]) == pytest.approx(1, abs=0.02)
    assert made["bounds"]["full_overlap_step_ms"] < made["bounds"]["no_overlap_step_ms"]
    rate = made["output_tps_total"]["value"]
    assert made["usd_per_million_output_tokens"] == pytest.approx(2 / 3600 / rate * 1e6)
    assert made["tokens_per_dollar"] == pytest.approx(3600 * rate / 2)
    assert made["output_tps_per_gpu"]["value"] * made["gpus"] == pytest.approx(rate)


def test_measured_comes_first_and_can_be_put_aside(planner):
    words = ("predict", "--model", "kimi-k3", "--gpu", "mi355x", "--isl", "1024", "--osl", "400", "--json")
    auto, alone, model = (
        json.loads(planner(*words, "--throughput", choice).out)
        for choice in ("auto", "measured", "simulated")
    )
    assert (auto["output_tps_total"]["value"], auto["output_tps_total"]["source"]) == (118.0, "measured")
    assert auto["ttft_ms"]["source"] == "simulated"
    assert alone["ttft_ms"] is None
    assert model["output_tps_total"]["source"] == "simulated"
    assert auto["simulated"]["output_tps_total"]["value"] == model["output_tps_total"]["value"]
    assert auto["measured"]["points"][0]["source_url"]


def test_an_accelerator_that_was_not_measured_has_no_figures_beside_one_that_was(planner):
    words = ("predict", "--model", "kimi-k3", "--isl", "1024", "--osl", "400", "--throughput", "measured")
    ran = planner(*words, "--gpu", "mi355x,mi325x", "--json")
    first, second = json.loads(ran.out)["results"]
    assert ran.code == 0
    assert first["output_tps_total"]["value"] == 118
    assert second["output_tps_total"] is None
    assert "nothing was measured of kimi-k3 on" in second["sentence"]


def test_one_line_for_each_accelerator_in_csv(planner):
    ran = planner(
        *LLAMA[:3],
        "--gpu",
        "h100,mi300x",
        *LLAMA[5:],
        "--concurrency",
        "8",
        "--price-kind",
        "on-demand",
        "--csv",
    )
    rows = list(csv.DictReader(io.StringIO(ran.out)))
    assert [row["gpu"] for row in rows] == ["h100-sxm", "mi300x"]
    assert all(float(row["output_tps_total"]) > 0 for row in rows)


def test_what_does_not_fit_has_the_sentence_of_fit_and_code_3(planner):
    words = ("--model", "deepseek-r1", "--gpu", "h100", "--tp", "8")
    ran = planner("predict", *words, "--isl", "1k", "--osl", "1k", "--json")
    fit = planner("fit", *words, "--isl", "1k", "--osl", "1k", "--json")
    assert (ran.code, fit.code) == (3, 3)
    made = json.loads(ran.out)
    assert made["sentence"] == json.loads(fit.out)["sentence"]
    assert (made["fits"], made["output_tps_total"], made["step_breakdown"]) == (False, None, None)


def test_an_overload_is_named_and_has_no_figures(planner):
    ran = planner(*LLAMA, "--rate", "100000", "--json")
    made = json.loads(ran.out)
    assert ran.code == 2
    assert (made["overloaded"], made["fits"], made["output_tps_total"]) == (True, True, None)
    assert "the nearest steady rate is" in made["sentence"]


def test_a_rate_that_can_be_carried_is_served(planner):
    made = json.loads(planner(*LLAMA, "--rate", "2", "--json").out)
    assert made["request_rate_per_s"] == pytest.approx(2, rel=0.02)


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        (("--context", "1k"), "isl + osl = 1,536 is over the context of 1,000 tokens"),
        (("--rate", "1", "--concurrency", "4"), "exclude each other"),
        (("--rate", "0"), "--rate: '0' is not possible"),
        (("--prefix-hit", "1"), "--prefix-hit: '1' is out of range"),
        (("--throughput", "guess"), "unknown throughput 'guess'; there is auto, measured, sim"),
        (("--tp", "3"), "legal: 1, 2, 4, 8"),
        (("--draft", "mtp"), "nothing is drafted"),
        (("--speculative-tokens", "2", "--tokens-per-step", "4"), "1 to 3"),
        (("--disaggregated", "8"), "write it like 8:16"),
        (("--tp", "2", "--disaggregated", "2:3"), "the nearest is 4"),
        (("--network", "200"), "has no unit"),
        (("--throughput", "measured", "--concurrency", "12345"), "nearest: "),
        (("--throughput", "measured", "--rate", "1"), "state a concurrency"),
        (("--price", "b200=4"), "not among the GPUs asked about"),
    ],
)
def test_a_mistake_is_one_line_that_says_what_would_be_right(planner, words, complaint):
    ran = planner(*LLAMA, *words)
    assert (ran.code, ran.out) == (2, "")
    assert complaint in ran.err
    assert ran.err.count("\n") == 1


def test_lengths_are_needed(planner):
    ran = planner(*LLAMA[:7])
    assert ran.code == 2
    assert "osl: give input and output tokens" in ran.err


def test_a_dtype_or_gpu_that_the_stack_cannot_run(planner):
    ran = planner(
        "predict", "--model", "llama-3.1-8b", "--gpu", "mi355x", "--engine", "tensorrt-llm", *LLAMA[5:]
    )
    assert ran.code == 2
    assert "NVIDIA GPUs alone" in ran.err


def test_a_file_is_written_in_the_form_of_its_ending(planner, tmp_path):
    target = tmp_path / "answer.json"
    assert planner(*LLAMA, "--out", str(target)).code == 0
    assert json.loads(target.read_text())["schema"] == "planner.predict/1"


def test_a_row_names_a_first_token_that_nobody_measured():
    """A source that states a rate alone once lent its name to the simulated TTFT beside it."""
    rows = side_by_side([answer(seen=measured()), answer(gpu="b200-sxm")]).rows
    assert [row["source"] for row in rows] == ["measured, TTFT simulated", "simulated"]
