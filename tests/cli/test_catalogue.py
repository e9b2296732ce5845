"""`planner models`, `planner gpus`, `planner prices`: list, search, show."""

from __future__ import annotations

import csv
import io
import json

import pytest


@pytest.mark.parametrize("name", ["models", "gpus", "prices"])
def test_listings_fit_80_columns_and_end_with_their_count(planner, name):
    ran = planner(name)
    assert ran.code == 0
    assert max(map(len, ran.out.splitlines())) <= 80
    count = len(json.loads(planner(name, "--json").out)[name])
    assert ran.out.splitlines()[-1] == f"{count} {name}; one in full: planner {name} show ID"
    assert len(list(csv.DictReader(io.StringIO(planner(name, "--csv").out)))) == count


def test_a_search_is_the_same_with_and_without_the_word_list(planner):
    ran = planner("models", "kimi", "k3")
    assert ran.out == planner("models", "list", "kimi", "k3").out
    assert "kimi-k3 " in ran.out
    assert "llama" not in ran.out


@pytest.mark.parametrize("form", [(), ("--json",), ("--csv",)])
@pytest.mark.parametrize(
    ("name", "search", "said"),
    [
        ("models", "kimmi-k3", "no models match 'kimmi-k3'; nearest: kimi-k3, "),
        ("models", "zzz", "no models match 'zzz'; `planner models` lists all there are"),
        ("gpus", "mi355z", "no gpus match 'mi355z'; nearest: MI355, mi355x, "),
        ("prices", "mi355z", "no prices match 'mi355z'; nearest: mi355x, "),
    ],
)
def test_a_search_without_result_is_refused_in_one_line(planner, name, search, said, form):
    ran = planner(name, search, *form)
    assert (ran.code, ran.out) == (2, "")
    assert said in ran.err
    assert len(ran.err.splitlines()) == 1


def test_a_search_among_one_kind_of_price_says_so(planner):
    ran = planner("prices", "abacus", "--price-kind", "spot")
    assert (ran.code, ran.out) == (2, "")
    assert "no prices of kind spot match 'abacus'" in ran.err


def test_a_model_in_full(planner):
    text = planner("models", "show", "moonshotai/Kimi-K3").out
    for figure in (
        "2.78 T, 104 B active",
        "1,560.9 GB",
        "27,648 bytes a token",
        "428.55 MiB a request",
        "published",
    ):
        assert figure in text
    made = json.loads(planner("models", "show", "kimi-k3", "--json").out)
    assert made["schema"] == "planner.model/1"
    assert made["computed"]["parameters"] == 2_779_931_837_184


def test_an_accelerator_in_full(planner):
    text = planner("gpus", "show", "mi355x").out
    for figure in ("287.98 GiB", "288 GB", "8 TB/s", "2.516 PFLOPS", "Sources", "[1]"):
        assert figure in text
    assert json.loads(planner("gpus", "show", "mi355x", "--json").out)["usable_gib"] == pytest.approx(
        287.98, abs=0.01
    )


def test_prices_of_one_accelerator(planner):
    text = planner("prices", "show", "b200").out
    assert text.startswith("B200 SXM")
    assert "on-demand" in text
    made = json.loads(planner("prices", "show", "b200", "--json").out)
    assert made["schema"] == "planner.prices/1"
    assert all(row["source"] and row["date"] and row["kind"] for row in made["prices"])


def test_prices_of_one_kind(planner):
    made = json.loads(planner("prices", "--price-kind", "spot", "--json").out)
    assert {row["kind"] for row in made["prices"]} == {"spot"}


def test_one_match_is_said_in_the_singular(planner):
    assert "1 gpu that matches 'mi355x'" in planner("gpus", "mi355x").out
