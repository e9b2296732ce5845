"""`planner prices own`, and the price kind "own" of other commands."""

from __future__ import annotations

import json

import pytest


def test_it_shows_the_parts_and_when_owning_beats_renting(planner):
    ran = planner("prices", "own", "b300")
    assert ran.code == 0
    for text in ("hardware", "colocation", "53,000 USD per GPU (inferred", "owning is cheaper above 35%"):
        assert text in " ".join(ran.out.split())
    assert "the exception" in ran.out


def test_a_capex_that_nobody_quoted_and_missing_staff_are_said_in_the_answer(planner):
    made = json.loads(planner("prices", "own", "h200", "--json").out)
    caveat, others = made["gpus"][0]["caveats"]
    assert caveat == (
        "the capex is implied at hyperscaler volume (inferred) and no staff is counted; "
        "give your own with --capex and --staff"
    )
    assert "37,500 USD (a node of 300 kUSD over 8; unverified, 2026-11-30)" in others
    assert "1.15 USD/h, own: $300k server / 5 years + $60k support / 3 years" in others
    shown = " ".join(planner("prices", "own", "h200").out.split())
    assert f"T{caveat[1:]}." in shown
    assert others in shown


@pytest.mark.parametrize(
    ("words", "left"), [(["--staff", "2000"], "capex"), (["--capex", "35000"], "staff"), ([], "both")]
)
def test_what_you_give_is_no_caveat(planner, words, left):
    made = json.loads(planner("prices", "own", "h200", *words, "--json").out)
    caveat = made["gpus"][0]["caveats"][0]
    assert ("--capex" in caveat) == (left in ("capex", "both"))
    assert ("--staff" in caveat) == (left in ("staff", "both"))
    given = planner("prices", "own", "h200", "--capex", "35000", "--staff", "2000", "--json")
    assert not any("give your own" in said for said in json.loads(given.out)["gpus"][0]["caveats"])


def test_json_is_in_usd_and_names_the_command(planner):
    found = json.loads(planner("prices", "own", "mi355x,b300", "--capex", "mi355x=25000", "--json").out)
    assert found["schema"] == "planner.owning/1"
    ours, theirs = found["gpus"]
    assert ours["terms"]["capex_usd_per_gpu"] == 25_000
    assert ours["terms_provenance"]["capex_usd_per_gpu"] == "given by you"
    assert sum(part["usd_per_gpu_hour"] for part in ours["parts"]) == pytest.approx(ours["usd_per_gpu_hour"])
    assert theirs["usd_per_gpu_hour"] == pytest.approx(2.26, abs=0.02)
    command = found["reproduction"]["command"]
    assert command == "planner prices own mi355x,b300 --capex mi355x=25000"


@pytest.mark.parametrize("command", ["fit", "predict"])
def test_an_own_price_comes_with_its_parts(planner, command):
    load = () if command == "fit" else ("--isl", "1k", "--osl", "400", "--concurrency", "8")
    asked = (command, "--model", "llama-3.1-8b", "--gpu", "b300", "--price-kind", "own", *load, "--json")
    price = json.loads(planner(*asked).out)["price"]
    assert {part["part"] for part in price["parts"]} == {"hardware", "colocation"}
    parts = sum(part["usd_per_gpu_hour"] for part in price["parts"])
    assert parts == pytest.approx(price["usd_per_gpu_hour"], rel=1e-12)
    assert price["usd_per_hour"] == price["usd_per_gpu_hour"]  # one GPU


def test_csv_has_a_row_for_each_part(planner):
    lines = planner("prices", "own", "mi355x", "--csv").out.splitlines()
    assert lines[0] == "gpu,part,usd_per_gpu_hour,share,provenance"
    assert [line.split(",")[1] for line in lines[1:]] == ["hardware", "colocation"]


def test_another_currency_is_shown_with_its_rate(planner):
    ran = planner("prices", "own", "mi355x", "--currency", "eur", "--usd-rate", "0.92")
    assert "EUR per" in ran.out
    assert "1 USD = 0.92 EUR (given by you)" in ran.out
    assert "1.369" in ran.out


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--capex", "-3"], "--capex: '-3' is not possible; above 0 and at most 10,000,000 USD"),
        (["--capex", "b300=1,b300=2"], "--capex: b300 has two figures"),
        (["--capex", "mi355x=31000"], "capex: mi355x is given, but not among the GPUs asked about"),
        (
            ["--cost-of-capital", "1"],
            "--cost-of-capital: '1' is not possible; a share a year from 0 to below 1",
        ),
        (["--life-years", "nan"], "--life-years: 'nan' is not possible"),
        (["--pue", "0.9"], "--pue: '0.9' is not possible"),
        (["--electricity", "0.08"], "colocation: 130 USD per kW-month of the catalogue includes power"),
        (["--currency", "eur"], "currency: no rate of EUR"),
        (["--currency", "euro", "--usd-rate", "1"], "no currency of ISO 4217; nearest: EUR"),
        (["--usd-rate", "0.92"], "usd_rate: 0.92 is a rate of no currency"),
    ],
)
def test_bad_input_is_one_line(planner, words, said):
    ran = planner("prices", "own", "b300", *words)
    assert ran.code == 2
    assert said in ran.err
    assert ran.err.count("\n") == 1


def test_a_gpu_without_a_capex_asks_for_one(planner):
    ran = planner("prices", "own", "a100")
    assert ran.code == 2
    assert "give it: --capex a100-sxm-80=USD" in ran.err
    both = planner("prices", "own", "a100", "--capex", "10000", "--kw", "0.8", "--json")
    assert json.loads(both.out)["gpus"][0]["usd_per_gpu_hour"] == pytest.approx(0.5026, abs=5e-5)


FIT = ("fit", "--model", "llama-3.1-8b", "--gpu", "mi355x", "--json")


def test_other_commands_take_the_price_kind_and_the_terms(planner):
    plain = json.loads(planner(*FIT, "--price-kind", "own").out)["price"]
    assert (plain["kind"], plain["usd_per_gpu_hour"]) == ("own", pytest.approx(1.4886, abs=5e-5))
    longer = json.loads(planner(*FIT, "--price-kind", "own", "--life-years", "6").out)["price"]
    assert longer["usd_per_gpu_hour"] < plain["usd_per_gpu_hour"]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--life-years", "6"], "life_years: a term of owning needs the price kind own"),
        (["--price-kind", "api"], "a hosted API asks a price per token"),
        (["--price-kind", "owned"], "unknown price kind 'owned'; nearest: own"),
    ],
)
def test_terms_and_kinds_that_do_not_go_together(planner, words, said):
    ran = planner(*FIT, *words)
    assert ran.code == 2
    assert said in ran.err


def test_a_report_can_be_made_again(planner, tmp_path):
    saved = tmp_path / "own.json"
    planner("prices", "own", "mi355x", "--capex", "25000", "--life-years", "5", "--out", str(saved))
    ran = planner("verify", str(saved))
    assert ran.code == 0
    assert "are the same" in ran.out
