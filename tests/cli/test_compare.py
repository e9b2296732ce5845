"""`planner compare`: the drawing to the letter on answers made by hand, and the article on real input."""

from __future__ import annotations

import csv
import io
import json
import os
from dataclasses import replace
from pathlib import Path

import pytest
from rich.console import Console

from planner.cli.draw_compare import draw_report
from planner.cli.output import json_text
from planner.measurement.compared import MISSES
from planner.report.compare_tables import figures_table
from planner.report.table import Column, Table
from tests.report.made_compare import answer, refused, report

GOLDEN = Path(__file__).with_name("golden")


def three(catalogue=None):
    return report(
        answer("mi355x", 952.0, price=2.5, seen=True, vendor="AMD"),
        answer("b300-sxm", 1568.0, price=6.0, seen=True),
        answer("b200-sxm", 600.0, price=4.25),
        catalogue=catalogue,
    )


REPORTS = {
    "compare_three": three,
    "compare_unpriced": lambda: report(answer("b300-sxm", 1000.0), answer("mi355x", 960.0)),
    "compare_refused": lambda: report(answer("b300-sxm", 1000.0), refused()),
    "compare_missed": lambda: report(refused(MISSES)),
}


def drawn(made):
    text = io.StringIO()
    draw_report(Console(file=text, width=100, no_color=True, highlight=False), made)
    return "".join(f"{line.rstrip()}\n" for line in text.getvalue().splitlines())


def check(name, text):
    """Compare with the golden file; UPDATE_GOLDEN=1 writes it anew."""
    file = GOLDEN / name
    if os.environ.get("UPDATE_GOLDEN"):
        file.write_text(text, encoding="utf-8")
    assert text == file.read_text(encoding="utf-8")


@pytest.mark.parametrize("name", REPORTS)
def test_drawing_to_the_letter(name):
    text = drawn(REPORTS[name]())
    assert max(map(len, text.splitlines())) <= 104  # a figure is not cut short for the width
    check(f"{name}.txt", text)


@pytest.mark.parametrize("name", REPORTS)
def test_json_to_the_letter(name):
    check(f"{name}.json", json_text(REPORTS[name]().to_dict()))


def test_csv_to_the_letter():
    check("compare_three.csv", three().to_csv())


ARTICLE = ("compare", "--model", "kimi-k3", "--isl", "1024", "--osl", "400")
PRICES = ("--price", "mi355x=2.50,b200=4.25,b300=6.00")


def test_the_articles_ranking_and_its_three_figures(planner):
    ran = planner(*ARTICLE, *PRICES, "--json")
    assert ran.code == 0
    made = json.loads(ran.out)
    assert made["schema"] == "planner.compare/1"
    assert [each["gpu"] for each in made["results"]] == ["mi355x", "b300-sxm", "b200-sxm"]
    assert [each["rank"] for each in made["results"]] == [1, 2, 3]
    assert [each["output_tps_total"]["value"] for each in made["results"]] == [952, 1568, 498]
    assert [each["gpus"] for each in made["results"]] == [8, 8, 16]
    assert {each["source"] for each in made["results"]} == {"measured"}
    shown = [round(each["output_tps_per_usd_per_hour"]["value"], 1) for each in made["results"]]
    assert shown == [47.6, 32.7, 7.3]
    pair = made["pairs"][0]
    assert 1 / pair["flip_price_ratio"]["value"] == pytest.approx(1568 / 952, rel=1e-12)
    assert pair["larger_than_uncertainty"]
    assert "B300-SXM wins if its price is under 1.65 times MI355X's" in made["sentence"]


def test_the_flip_is_told_in_money_too_where_the_price_of_the_other_is_known(planner):
    made = json.loads(planner(*ARTICLE, *PRICES, "--json").out)
    usd = 2.5 * 1568 / 952
    assert f"under {usd:,.2f} USD/h at MI355X's 2.50; it is 2.40 times now" in made["sentence"]
    assert f"under {4.25 * 119 / 31.125:,.2f} USD/h at B200-SXM's 4.25" in " ".join(made["warnings"])
    euro = planner(*ARTICLE, *PRICES, "--currency", "eur", "--usd-rate", "0.5")
    assert f"under {usd / 2:,.2f} EUR/h at MI355X's 1.25" in " ".join(euro.out.split())
    one = json.loads(planner(*ARTICLE, "--price", "mi355x=2.50", "--json").out)
    assert f"under {usd:,.2f} USD/h at MI355X's 2.50." in one["sentence"]  # B300 has no price
    none = json.loads(planner(*ARTICLE, "--json").out)
    assert "USD/h" not in none["sentence"]


def test_a_run_and_the_model_that_lie_apart_are_warned_of(planner):
    made = json.loads(planner(*ARTICLE, *PRICES, "--json").out)
    (said,) = (text for text in made["warnings"] if text.startswith("measured and model differ"))
    for each in made["results"]:
        seen, model = each["output_tps_per_gpu"], each["simulated"]["output_tps_per_gpu"]
        apart = seen["high"] < model["low"] or model["high"] < seen["low"]
        assert (f"{'MI355X' if each['gpu'] == 'mi355x' else each['gpu'].upper()} " in said) == apart
    assert "B200-SXM 31.1 measured" in said
    agreed = report(answer("mi355x", 952.0, seen=True), answer("b300-sxm", 900.0))
    assert not any(text.startswith("measured and model differ") for text in agreed.warnings)


def test_columns_that_no_row_fills_are_left_out_and_their_keys_kept(planner):
    head = planner(*ARTICLE, *PRICES).out.split("\n\n")[1]
    assert "TTFT" not in head
    assert "TPOT" not in head
    assert "interval" in head
    full = figures_table(three())
    assert {"ttft_ms", "tpot_ms"} <= {column.key for column in full.columns}
    bare = Table((Column("a", "a"), Column("b", "b")), ({"a": 1}, {"a": None}))
    assert [column.key for column in bare.filled().columns] == ["a"]
    assert bare.filled().keys == ("a", "b")


@pytest.mark.parametrize(
    ("load", "said"),
    [(1.0, "with 1 request at once"), (None, "of a run that does not state its load"), (32.0, None)],
)
def test_tokens_of_a_user_say_at_which_load(load, said):
    one = answer("mi355x", 952.0, seen=True)
    made = report(replace(one, found=replace(one.found, concurrency=load)))
    found = [text for text in made.warnings if "tok/s a user" in text]
    assert found == ([f"MI355X: tok/s a user is {said}, and no rate under load"] if said else [])


def test_an_owned_price_comes_with_its_caveat(planner):
    made = json.loads(planner(*ARTICLE, "--price-kind", "own", "--json").out)
    assert any(
        text.startswith("own: the capex is implied at hyperscaler volume") for text in made["warnings"]
    )


def test_the_kind_of_price_flips_the_winner_and_the_table_shows_it(planner):
    made = json.loads(planner(*ARTICLE, "--json").out)
    assert made["ranked_by"] == "output_tps_per_gpu"
    winners = {each["kind"]: each["order"][0] for each in made["price_kinds"]}
    assert winners["TCO-hyperscaler"] == "b300-sxm"
    assert winners["assumption"] == "mi355x"
    assert any("the kind of price alone flips the winner" in said for said in made["warnings"])
    assert any(said.startswith("no price of") for said in made["warnings"])


def test_figures_hold_together(planner):
    ran = planner(*ARTICLE, *PRICES, "--concurrency", "32", "--json")
    for each in json.loads(ran.out)["results"]:
        rate, gpus = each["output_tps_total"]["value"], each["gpus"]
        assert each["usd_per_hour"] == pytest.approx(gpus * each["usd_per_gpu_hour"])
        assert each["output_tps_per_usd_per_hour"]["value"] == pytest.approx(rate / each["usd_per_hour"])
        assert each["joules_per_output_token"]["value"] == pytest.approx(1e3 * each["kw"] / rate)
        served = 0.7 * 0.99
        all_on_output = each["usd_per_hour"] / 3600 / rate / served * 1e6
        assert each["usd_per_million_output_all"]["value"] == pytest.approx(all_on_output)
        assert each["tokens_per_usd"]["value"] == pytest.approx(1e6 / all_on_output)
        paid = each["usd_per_million_output"]["value"] * 400 + each["usd_per_million_input"]["value"] * 1024
        assert paid == pytest.approx(all_on_output * 400)
        assert each["concurrency"] == 32


def test_a_csv_has_a_line_for_each_accelerator(planner):
    rows = list(csv.DictReader(io.StringIO(planner(*ARTICLE, *PRICES, "--csv").out)))
    assert [row["gpu"] for row in rows] == ["mi355x", "b300-sxm", "b200-sxm"]
    assert float(rows[0]["output_tps_per_usd_per_hour"]) == pytest.approx(47.6)


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        (("--gpu", "b200", "--gpus", "8"), 3, "does not fit on 8 x B200-SXM"),
        (("--slo-tpot", "1ms"), 4, "where 0.001 s is the limit"),
        (("--rate", "2000"), 2, "overloaded"),
    ],
)
def test_exit_codes_where_nothing_answers(planner, words, code, said):
    ran = planner(*ARTICLE, *words)
    assert ran.code == code
    assert said in " ".join(ran.out.split())


def test_an_accelerator_that_does_not_fit_stays_in_the_table(planner):
    ran = planner(*ARTICLE, "--gpu", "b200,b300", "--gpus", "8", "--json")
    assert ran.code == 0
    made = json.loads(ran.out)["results"]
    assert [each["state"] for each in made] == ["answered", "does not fit"]
    assert "weights alone take" in made[1]["reason"]


def test_within_an_slo_each_is_at_the_most_that_keeps_it(planner):
    made = json.loads(planner(*ARTICLE, "--slo-tpot", "50ms", "--json").out)
    assert made["slo"] == {"tpot_s": 0.05}
    for each in made["results"]:
        assert each["tpot_ms"]["value"] <= 50
        assert each["tpot_ms"]["value"] > 45, "one more request would still keep it"


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--price", "mi355x=2.5", "--price-kind", "on-demand"), "prices of different kinds do not compare"),
        (("--price", "mi355x=-2"), "'-2' for mi355x is out of range"),
        (("--price", "mi355x=0"), "'0' for mi355x is out of range"),
        (("--concurrency", "4", "--rate", "1"), "exclude each other"),
        (("--throughput", "measured", "--concurrency", "7"), "nothing was measured of kimi-k3"),
        (("--utilisation", "1.2"), "above 0 and at most 1"),
        (("--price", "h100=2"), "not among the GPUs asked about"),
    ],
)
def test_bad_input_is_one_line(planner, words, said):
    ran = planner(*ARTICLE, *words)
    assert (ran.code, ran.out) == (2, "")
    assert said in ran.err
    assert len(ran.err.splitlines()) == 1


def test_mixed_kinds_are_compared_where_they_are_asked_for(planner):
    words = ("--gpu", "mi355x,b300", "--price", "mi355x=2.5", "--price-kind", "on-demand", "--mixed-kinds")
    ran = planner(*ARTICLE, *words, "--json")
    assert ran.code == 0
    assert any("prices of different kinds are compared" in said for said in json.loads(ran.out)["warnings"])


def test_a_hosted_api_stands_beside_the_order_and_not_in_it(planner):
    made = json.loads(planner(*ARTICLE, *PRICES, "--json").out)
    moonshot = made["hosted"][0]
    assert moonshot["name"] == "hosted API (Moonshot)"
    assert moonshot["price_kind"] == "api"
    # (1024 x 3 + 400 x 15) / 400 = 22.68 USD per million output tokens with their input.
    assert moonshot["usd_per_million_output_all"] == pytest.approx(22.68, rel=1e-12)
    assert moonshot["usd_per_million_total"] == pytest.approx(22.68 * 400 / 1424, rel=1e-12)
    first = made["results"][0]["usd_per_million_output_all"]
    assert moonshot["held_against"] == made["results"][0]["gpu"]
    assert moonshot["cost_ratio"]["value"] == pytest.approx(22.68 / first["value"], rel=1e-12)
    assert moonshot["cost_ratio"]["low"] == pytest.approx(22.68 / first["high"], rel=1e-12)
    assert all("hosted" not in pair["ahead"] + pair["behind"] for pair in made["pairs"])
    shown = " ".join(planner(*ARTICLE, *PRICES).out.split())
    assert "hosted API (Moonshot) 22.7 15 3 0.3 6.37 44,100" in shown
    assert "another kind of price, and so has no place in the order" in shown


def test_a_hosted_price_that_is_stated_needs_no_price_of_a_gpu(planner):
    made = json.loads(planner(*ARTICLE, "--api-price", "1,2", "--prefix-hit", "0.5", "--json").out)
    (hosted,) = made["hosted"]
    assert hosted["usd_per_million_output_all"] == pytest.approx((1024 * 1 + 400 * 2) / 400, rel=1e-12)
    assert (hosted["price_provenance"], hosted["cost_ratio"]) == ("given by you", None)
    assert made["ranked_by"] == "output_tps_per_gpu"
    assert planner(*ARTICLE, "--api-price", "0,0").code == 2


def test_money_is_shown_in_another_currency_and_numbers_stay_in_usd(planner):
    euro = ("--currency", "eur", "--usd-rate", "0.8")
    usd, eur = (json.loads(planner(*ARTICLE, *PRICES, *more, "--json").out) for more in ((), euro))
    assert eur["currency"]["per_usd"] == 0.8
    assert eur["results"] == usd["results"]
    assert eur["hosted"] == usd["hosted"]
    shown = " ".join(planner(*ARTICLE, *PRICES, *euro).out.split())
    assert "MI355X 59.5, B300-SXM 40.8, B200-SXM 9.2 tok/s per EUR/h" in shown  # 47.6 / 0.8
    assert "ahead of B300-SXM by 46 % per EUR" in shown
    assert "MI355X 1 16.7 2.00 16.00 59.5" in shown
    assert "EUR per million tokens" in shown
    assert "1 USD = 0.8 EUR (given by you)" in shown
    assert "USD" not in shown.split("Notes")[0]
    assert planner(*ARTICLE, *PRICES, "--currency", "eur").code == 2


def test_an_accelerator_that_cannot_run_it_is_left_out_and_named(planner):
    asked = ("compare", "--model", "deepseek-r1", "--engine", "trtllm", "--isl", "1024", "--osl", "400")
    ran = planner(*asked, "--json")
    assert ran.code == 0
    made = json.loads(ran.out)
    assert {each["gpu"] for each in made["results"]} == {"b200-sxm", "b300-sxm"}
    assert "runs on NVIDIA GPUs alone" in made["left_out"]["mi355x"]
    assert made["sentence"].endswith("MI355X: left out.")
    assert any(said.startswith("MI355X is left out: TensorRT-LLM") for said in made["warnings"])
    alone = planner(*asked, "--gpu", "mi355x")
    assert alone.code == 2
    assert "runs on NVIDIA GPUs alone" in alone.err


def test_a_rate_of_next_to_nothing_is_not_told_as_nothing(planner):
    asked = ("compare", "--model", "llama-3.1-8b", "--gpu", "b200", "--isl", "1024", "--osl", "400")
    assert "B200-SXM 0.004 tok/s a GPU" in " ".join(planner(*asked, "--rate", "0.00001").out.split())


def test_the_weight_of_a_cached_token_is_told_as_assumed(planner):
    made = json.loads(planner(*ARTICLE, *PRICES, "--json").out)["results"][0]
    cached, whole = (made[f"usd_per_million_{name}"]["value"] for name in ("cached", "input"))
    assert cached == pytest.approx(made["cached_weight"] * whole, rel=1e-12)
    assert "cached input at 0.1 times input (assumed)" in " ".join(planner(*ARTICLE, *PRICES).out.split())


def test_of_many_accelerators_only_pairs_with_the_first_are_told(catalogue):
    made = report(*(answer(gpu, 100.0 * place) for place, gpu in enumerate(catalogue.gpu_ids()[:12], 1)))
    assert len(made.ranking.pairs) == 66
    assert len(made.to_dict()["pairs"]) == 66
    text = drawn(made)
    assert "The first against each other, by output tok/s of each GPU" in text
    assert " ".join(text.split()).count(" wins if its price is under ") == 11
    assert len(drawn(three()).split("Two by two")[1].split("\n\n")[0].splitlines()) == 4 + 3
