"""Media models on the command line: answers, exit codes, one line for what is wrong."""

from __future__ import annotations

import json

import pytest


def test_the_answer_of_a_prediction(planner):
    ran = planner(
        "predict", "--model", "flux.1-dev", "--gpu", "mi355x", "--size", "1024x1024", "--steps", "50"
    )
    assert ran.code == 0
    assert "images an hour" in ran.out.replace("\n", " ")
    assert "T5-XXL" in ran.out
    assert "attention" in ran.out


@pytest.mark.parametrize(
    ("words", "schema"),
    [
        (("fit", "--model", "wan2.2", "--gpu", "rtx-4090"), "planner.media_fit/1"),
        (("predict", "--model", "hunyuan3d-2.1", "--gpu", "b200"), "planner.media_predict/1"),
        (
            ("compare", "--model", "wan2.2", "--gpu", "mi355x,b200", "--frames", "41"),
            "planner.media_compare/1",
        ),
        (("plan", "--model", "flux.1-dev", "--gpu", "b200", "--rate", "2"), "planner.media_plan/1"),
        (("breakeven", "--model", "wan2.2", "--gpu", "mi355x,b200"), "planner.media_breakeven/1"),
    ],
)
def test_json(planner, words, schema):
    ran = planner(*words, "--json")
    assert ran.code == 0, ran.err
    record = json.loads(ran.out)
    assert record["schema"] == schema
    again = planner(*record["reproduction"]["command"].split()[1:], "--json")
    assert json.loads(again.out) == record


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        (("--model", "flux.1-dev", "--gpu", "mi355x", "--size", "1000x1000"), 2, "no multiple of 16"),
        (("--model", "flux.1-dev", "--gpu", "mi355x", "--size", "big"), 2, "like 1280x720"),
        (("--model", "flux.1-dev", "--gpu", "mi355x", "--steps", "0"), 2, "from 1 to 1,000"),
        (("--model", "wan2.2", "--gpu", "mi355x", "--frames", "80"), 2, "not 4n + 1"),
        (("--model", "flux.1-dev", "--gpu", "mi355x", "--isl", "9"), 2, "makes images and has no isl"),
        (("--model", "llama-3.1-8b", "--gpu", "h100", "--size", "64x64"), 2, "is a language model"),
        (
            ("--model", "wan2.2", "--gpu", "mi355x", "--speculative-tokens", "2"),
            2,
            "has no speculative_tokens",
        ),
    ],
)
def test_bad_input_is_one_line(planner, words, code, said):
    ran = planner("predict", *words)
    assert ran.code == code
    assert ran.out == ""
    assert said in ran.err
    assert len(ran.err.strip().splitlines()) == 1


def test_exit_codes_of_a_small_card_and_of_a_limit(planner):
    assert planner("fit", "--model", "flux.1-dev", "--gpu", "rtx-4090").code == 3
    assert planner("predict", "--model", "flux.1-dev", "--gpu", "rtx-4090").code == 3
    assert planner("predict", "--model", "flux.1-dev", "--gpu", "rtx-4090", "--offload").code == 0
    late = ("plan", "--model", "wan2.2", "--gpu", "b200", "--rate", "1", "--slo-e2e", "1s")
    assert planner(*late).code == 4


def test_models_lists_and_shows_them(planner):
    listed = planner("models", "media")
    assert [line.split()[0] for line in listed.out.splitlines()[3:6]] == [
        "flux.1-dev",
        "wan2.2-t2v-a14b",
        "hunyuan3d-2.1",
    ]
    shown = planner("models", "show", "Wan2.2")
    assert "34,384,786,035 in all components" in shown.out
    record = json.loads(planner("models", "show", "flux-dev", "--json").out)
    assert record["schema"] == "planner.media_model/1"
    assert record["computed"]["parameters"] == 16_870_599_139


def test_a_plan_counts_units_of_a_month(planner):
    words = ("plan", "--model", "wan2.2", "--gpu", "b200", "--price", "4", "--part-nodes", "--spare", "0")
    ran = planner(*words, "--rate", "10000/month", "--json")
    record = json.loads(ran.out)
    assert record["mean_units_per_s"] * 730 * 3600 == pytest.approx(10_000)
    assert record["plans"][0]["usd_per_month"] == pytest.approx(4 * 730 * record["plans"][0]["gpus"])
    note = " ".join(planner(*words, "--rate", "10000/month").out.split())
    hours = 10_000 * record["plans"][0]["seconds"] / 3600
    assert (
        f"the 10,000 videos of a month take {hours:,.1f} hours of one B200-SXM: {4 * hours:,.0f} USD" in note
    )


def test_a_plan_on_a_card_that_does_not_hold_it_says_so(planner):
    ran = planner("plan", "--model", "flux.1-dev", "--gpu", "rtx-3090", "--rate", "1")
    assert ran.code == 3
    assert ran.err == ""
    assert "does not fit on RTX-3090" in ran.out


def test_what_nobody_published_of_one_card_is_said_beside_another(planner):
    ran = planner("predict", "--model", "hunyuan3d", "--gpu", "b200,h100", "--throughput", "measured")
    assert ran.code == 0
    assert "nobody published its time on H100-SXM" in " ".join(ran.out.split())


@pytest.mark.parametrize("rate", ["10/year", "x/day", "0/month", "/day"])
def test_a_rate_of_another_span_is_refused(planner, rate):
    ran = planner("plan", "--model", "flux.1-dev", "--gpu", "b200", "--rate", rate)
    assert (ran.code, ran.err.count("\n")) == (2, 1)
    assert "--rate" in ran.err


def test_a_sweep_says_that_it_asks_language_models(planner):
    ran = planner("sweep", "--model", "flux.1-dev", "--gpu", "b200", "--isl", "9", "--osl", "9", "--json")
    assert (ran.code, ran.out) == (2, "")
    assert "flux.1-dev is a media model" in ran.err
