"""`planner breakeven`: the drawing to the letter on options made by hand, and solved points on real input."""

from __future__ import annotations

import json
import os
from dataclasses import replace
from pathlib import Path

import pytest

from planner.cli.output import json_text
from tests.cli.test_compare import drawn
from tests.report.made_compare import breakeven, side

GOLDEN = Path(__file__).with_name("golden")


OWNED = side("own", "b300-sxm", 1568.0, 2.3, "own")


def rented():
    """Return the same deployment by the hour, so that its rate cancels."""
    return replace(side("on-demand", "b300-sxm", 1568.0, 6.9, "on-demand"), found=OWNED.found)


REPORTS = {
    "breakeven_price": breakeven,
    "breakeven_utilisation": lambda: breakeven(over="utilisation", first=OWNED, second=rented()),
    "breakeven_never": lambda: breakeven(over="utilisation"),
}


def check(name, text):
    """Compare with the golden file; UPDATE_GOLDEN=1 writes it anew."""
    file = GOLDEN / name
    if os.environ.get("UPDATE_GOLDEN"):
        file.write_text(text, encoding="utf-8")
    assert text == file.read_text(encoding="utf-8")


@pytest.mark.parametrize("name", REPORTS)
def test_drawing_and_json_to_the_letter(name):
    text = drawn(REPORTS[name]())
    assert max(map(len, text.splitlines())) <= 100
    check(f"{name}.txt", text)
    check(f"{name}.json", json_text(REPORTS[name]().to_dict()))


def test_csv_has_a_line_for_each_flip():
    lines = breakeven().to_csv().splitlines()
    assert len(lines) == 2
    assert lines[0].startswith("model,over,unit,first,second,cost_ratio")


ARTICLE = ("breakeven", "--model", "kimi-k3", "--isl", "1024", "--osl", "400")
PAIR = ("--gpu", "mi355x,b300")


@pytest.mark.parametrize("pair", ["mi355x,b300", "b300,mi355x"])
def test_the_flip_price_of_the_article_is_exact(planner, pair):
    ran = planner(*ARTICLE, "--gpu", pair, "--over", "price", "--json")
    assert ran.code == 0
    made = json.loads(ran.out)
    assert made["schema"] == "planner.breakeven/1"
    flip = made["flips"][0]
    assert flip["at"] == pytest.approx(1568 / 952, rel=1e-12)
    assert (flip["cheaper_below"], flip["cheaper_above"]) == ("B300-SXM", "MI355X")
    assert flip["low"] < flip["at"] < flip["high"]
    assert made["decided_by"] == "gpu_hours_per_million_output"
    assert "under 1.65 times MI355X's" in made["sentence"]


def test_owning_meets_renting_at_the_ratio_of_their_prices(planner):
    words = ("--gpu", "b300", "--price-kind", "on-demand,own", "--over", "utilisation", "--json")
    made = json.loads(planner(*ARTICLE, *words).out)
    rent, own = (each["usd_per_gpu_hour"] for each in made["options"])
    assert made["flips"][0]["at"] == pytest.approx(own / rent, rel=1e-9)
    assert made["flips"][0]["cheaper_above"] == "own"
    assert not any("different kinds" in warning for warning in made["warnings"])
    assert "implied at hyperscaler volume (inferred) and no staff is counted" in made["sentence"]
    assert "give your own with --capex and --staff." in made["sentence"]
    assert any(
        warning.startswith("own: others say of owning one: 42,500 USD") for warning in made["warnings"]
    )


def test_terms_that_you_give_are_no_caveat(planner):
    words = ("--gpu", "b300", "--price-kind", "on-demand,own", "--over", "utilisation", "--json")
    made = json.loads(planner(*ARTICLE, *words, "--capex", "60000", "--staff", "2000").out)
    assert "hyperscaler" not in made["sentence"]
    assert "no staff" not in made["sentence"]
    rented = planner(*ARTICLE, "--gpu", "b300", "--price-kind", "on-demand,spot", "--capex", "60000")
    assert rented.code == 2
    assert "a term of owning needs the price kind own" in rented.err


def test_two_gpus_at_prices_of_different_kinds_are_told_of(planner):
    words = (*PAIR, "--price-kind", "on-demand", "--price", "mi355x=2.5", "--mixed-kinds", "--json")
    made = json.loads(planner(*ARTICLE, *words).out)
    assert any("prices of different kinds are compared" in warning for warning in made["warnings"])


def test_a_kind_that_nobody_quotes_names_those_akin(planner):
    words = (
        "--model",
        "llama-3.1-8b",
        "--isl",
        "1k",
        "--osl",
        "400",
        "--gpu",
        "h200",
        "--over",
        "utilisation",
    )
    ran = planner("breakeven", *words, "--price-kind", "reserved,own")
    assert ran.code == 2
    assert "h200-sxm has no reserved price; nearest: reserved-short; kinds quoted: " in ran.err


def test_a_month_of_owning_over_the_price_of_a_hosted_token(planner):
    words = (
        "--gpu",
        "b300",
        "--price-kind",
        "own,api",
        "--api-price",
        "3,15,0.3",
        "--over",
        "volume",
        "--json",
    )
    made = json.loads(planner(*ARTICLE, *words).out)
    own = made["options"][0]["usd_per_gpu_hour"]
    hosted = (3 * 1024 + 15 * 400) / 400
    assert made["flips"][0]["at"] == pytest.approx(8 * own * 730 / hosted * 1e6, rel=1e-9)
    assert made["flips"][0]["cheaper_below"] == "API"


def test_two_terms_paid_idle_or_not_never_flip_over_utilisation(planner):
    words = ("--price", "mi355x=2.5,b300=6", "--over", "utilisation", "--json")
    made = json.loads(planner(*ARTICLE, *PAIR, *words).out)
    assert made["never_flips"]
    assert made["flips"] == []
    assert "utilisation cancels" in made["reason"]
    assert made["cost_ratio_at_ends"][0] == pytest.approx(made["cost_ratio"]["value"])


def test_a_load_is_solved_in_a_bracket_that_is_stated(planner):
    words = ("--price", "mi355x=2.5,b300=4", "--over", "isl", "--between", "128:64k", "--json")
    made = json.loads(planner(*ARTICLE, *PAIR, *words).out)
    assert made["bracket"] == [128, 64000]
    assert "Brent's method on ln(cost ratio)" in made["flips"][0]["solved_by"]
    assert made["unit"] == "input tokens"


def test_formats_of_the_weights_are_compared_one_by_one(planner):
    words = ("breakeven", "--model", "deepseek-r1", "--gpu", "mi355x,b300", "--gpus", "8", "--isl", "1024")
    more = (
        "--osl",
        "400",
        "--concurrency",
        "64",
        "--over",
        "weight-dtype",
        "--weight-dtype",
        "fp8,mxfp4",
        "--json",
    )
    made = json.loads(planner(*words, *more).out)
    assert [row["weight_dtype"] for row in made["by_weight_dtype"]] == ["fp8", "mxfp4"]
    for row in made["by_weight_dtype"]:
        one, other = row["gpu_hours_per_million_output"]
        assert row["cost_ratio"]["value"] == pytest.approx(one / other)
        assert row["winner"] == ("MI355X" if one <= other else "B300-SXM")


def test_bars_of_the_tornado_fall_and_say_what_flips(planner):
    made = json.loads(planner(*ARTICLE, *PAIR, "--price", "mi355x=2.5,b300=4", "--json").out)
    swings = [row["swing"] for row in made["sensitivity"]]
    assert swings == sorted(swings, reverse=True)
    base = made["cost_ratio"]["value"]
    for row in made["sensitivity"]:
        ends = (row["cost_ratio_at_low"], row["cost_ratio_at_high"])
        assert row["flips_the_answer"] == any((end > 1) != (base > 1) for end in ends)
    use = [row for row in made["sensitivity"] if row["input"] in ("utilisation", "availability")]
    assert [row["why"] for row in use] == ["cancels", "cancels"]


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        (("--gpu", "mi355x"), 2, "nothing names two"),
        (("--gpu", "mi355x,b200,b300"), 2, "3 are named; a break-even is between two"),
        (("--gpu", "mi355x,b300", "--engine", "vllm,sglang"), 2, "--gpu and --engine names two"),
        ((*PAIR, "--over", "speed"), 2, "'speed' is not one of"),
        ((*PAIR, "--price", "mi355x=0,b300=1"), 2, "'0' for mi355x is out of range"),
        ((*PAIR, "--price", "mi355x=-1,b300=1"), 2, "'-1' for mi355x is out of range"),
        ((*PAIR, "--price", "mi355x=2", "--price-kind", "on-demand"), 2, "different kinds do not compare"),
        ((*PAIR, "--over", "volume"), 2, "no price of MI355X and B300-SXM"),
        ((*PAIR, "--over", "isl", "--between", "9:3"), 2, "is no range"),
        ((*PAIR, "--over", "isl", "--between", "100:2M"), 2, "lies outside of what both hold"),
        ((*PAIR, "--over", "weight-dtype"), 2, "name the formats"),
        ((*PAIR, "--gpus", "0"), 2, "is no number of GPUs"),
        (("--gpu", "mi355x,b200", "--gpus", "8"), 3, "kimi-k3 on b200-sxm does not fit"),
        (("--gpu", "b300", "--price-kind", "api,given"), 2, "given needs a price of b300-sxm"),
    ],
)
def test_bad_input_is_one_line(planner, words, code, said):
    ran = planner(*ARTICLE, *words)
    assert (ran.code, ran.out) == (code, "")
    assert said in ran.err
    assert len(ran.err.splitlines()) == 1


def test_a_price_against_an_api_is_shown_in_another_currency(planner):
    words = ("breakeven", "--model", "kimi-k3", "--gpu", "b300", "--price-kind", "own,api")
    asked = (*words, "--isl", "1024", "--osl", "400")
    euro = ("--currency", "eur", "--usd-rate", "0.5")
    usd, eur = (json.loads(planner(*asked, *more, "--json").out) for more in ((), euro))
    assert eur["flips"] == usd["flips"]
    assert eur["unit"] == usd["unit"] == "USD per GPU-hour"
    shown = " ".join(planner(*asked, *euro).out.split())
    assert f"while its GPU-hour costs under {usd['flips'][0]['at'] / 2:,.2f} EUR (80 %" in shown
    assert "Where the answer flips, EUR per GPU-hour" in shown
    own = next(option for option in usd["options"] if option["name"] == "own")
    assert f"{own['usd_per_gpu_hour'] / 2:.2f} {own['usd_per_million_output'] / 2:.2f} paid" in shown
    assert f"price of own {own['usd_per_gpu_hour'] * 0.8 / 2:.2f} EUR/h" in shown
    assert "USD" not in shown.split("Notes")[0]
    assert "1 USD = 0.5 EUR (given by you)" in shown


def test_a_ratio_of_prices_is_the_same_in_any_currency(planner):
    euro = ("--currency", "eur", "--usd-rate", "0.5", "--price", "mi355x=2.5,b300=4")
    shown = " ".join(planner(*ARTICLE, *PAIR, *euro).out.split())
    assert "1.65 times MI355X's (80 % interval 1.40 to 1.93), 2.06 EUR/h at MI355X's 1.25" in shown


def test_an_exact_flip_has_no_empty_brackets(planner):
    words = ("breakeven", "--model", "kimi-k3", "--gpu", "b300", "--price-kind", "own,3y-rental")
    assert "()" not in planner(*words, "--isl", "1024", "--osl", "400").out


def test_words_are_not_broken_where_the_terminal_is_narrow(planner, monkeypatch):
    monkeypatch.setenv("COLUMNS", "40")
    words = planner(*ARTICLE, *PAIR).out.split()
    for word in ("B300-SXM", "interval,", "measured", "throughput"):
        assert word in words
