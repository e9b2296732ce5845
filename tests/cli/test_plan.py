"""`planner plan`: the drawing to the letter on plans made by hand, and the command on real input."""

from __future__ import annotations

import csv
import io
import json
import os
from pathlib import Path

import pytest
from rich.console import Console

from planner.cli.draw_plan import draw_fleet, draw_plan
from planner.cli.output import json_text
from tests.report.made_plan import fleet, made_answer, made_missed, plans

GOLDEN = Path(__file__).with_name("golden")
ASKED = ("plan", "--model", "llama-3.1-8b", "--gpu", "h100", "--tp", "1", "--isl", "500", "--osl", "40")
LOAD = ("--rate", "200", "--requests", "500")
LIMITS = ("--slo-ttft", "500ms", "--slo-tpot", "30ms")

PLANS = {
    "plan_several": lambda: plans(
        made_answer("h100-sxm", price=2.5, kw=1.5, rack_kw=40.0),
        made_answer("mi300x", vendor="AMD", gpus=1, rate=1.5, price=2.0, kw=1.4, rack_kw=40.0),
        made_missed("mi250x"),
    ),
    "plan_daily": lambda: plans(made_answer("h100-sxm", profile="daily")),
    "plan_missed": lambda: plans(made_missed("mi250x")),
}
FLEETS = {"plan_fleet": fleet, "plan_no_fleet": lambda: fleet(usd_per_hour=50.0, power_kw=30.0)}


def drawn(draw, made, width=100):
    text = io.StringIO()
    draw(Console(file=text, width=width, no_color=True, highlight=False), made)
    return "".join(f"{line.rstrip()}\n" for line in text.getvalue().splitlines())


def check(name, text):
    """Compare with the golden file; UPDATE_GOLDEN=1 writes it anew."""
    file = GOLDEN / name
    if os.environ.get("UPDATE_GOLDEN"):
        file.write_text(text, encoding="utf-8")
    assert text == file.read_text(encoding="utf-8")


@pytest.mark.parametrize("name", PLANS)
def test_plans_are_drawn_to_the_letter(name):
    check(f"{name}.txt", drawn(draw_plan, PLANS[name]()))


@pytest.mark.parametrize("name", FLEETS)
def test_fleets_are_drawn_to_the_letter(name):
    check(f"{name}.txt", drawn(draw_fleet, FLEETS[name]()))


@pytest.mark.parametrize("name", ["plan_several", "plan_missed"])
def test_the_json_of_plans_to_the_letter(name):
    check(f"{name}.json", json_text(PLANS[name]().to_dict()))


def test_the_csv_of_plans_to_the_letter():
    check("plan_several.csv", PLANS["plan_several"]().to_csv())


def test_the_cheapest_comes_first_and_what_has_no_plan_last():
    assert [answer.gpu for answer in PLANS["plan_several"]()] == ["mi300x", "h100-sxm", "mi250x"]
    dear = plans(made_answer("h100-sxm", price=9.0), made_answer("mi300x", price=2.0))
    assert [answer.gpu for answer in dear] == ["mi300x", "h100-sxm"]


def test_what_has_no_price_comes_after_what_has_one_with_its_reason():
    some = plans(made_answer("mi300x"), made_answer("h100-sxm", price=9.0), made_answer("b200", price=2.0))
    assert [answer.gpu for answer in some] == ["b200", "h100-sxm", "mi300x"]
    assert "Cheapest: B200" in some.sentence
    assert some.to_dict()["ranked_by"] == "usd_per_hour"
    assert "last for want of a price: MI300X; --price GPU=USD ranks them too" in some.warnings
    assert "MI300X: no cost: no price was given" in some.warnings


def test_without_prices_the_fewest_gpus_come_first_and_alone_are_told_in_detail():
    none = plans(made_answer("h100-sxm", rate=3.0), made_answer("mi300x"), made_missed("mi250x"))
    assert [answer.gpu for answer in none] == ["mi300x", "h100-sxm", "mi250x"]
    assert none[0].plan.sized.gpus < none[1].plan.sized.gpus
    assert "Fewest GPUs (no prices): MI300X" in none.sentence
    assert "H100" not in none.sentence
    assert none.to_dict()["ranked_by"] == "gpus"
    assert any("no prices: ranked by GPUs" in warning for warning in none.warnings)
    assert "Working for MI300X" in drawn(draw_plan, none)


@pytest.mark.parametrize("name", ["plan_several", "plan_daily"])
def test_the_answer_stands_in_three_lines_and_its_steps_hold(name):
    text = drawn(draw_plan, PLANS[name]())
    assert len(text.split("\n\n")[0].splitlines()) <= 3
    assert len(drawn(draw_plan, PLANS[name](), 80).split("\n\n")[0].splitlines()) <= 3
    assert "given: given by you" not in text
    spares = next(line for line in text.splitlines() if line.startswith("spares "))
    assert "=" not in spares


@pytest.mark.parametrize("made", [*PLANS.values(), *FLEETS.values()])
def test_every_report_becomes_a_page_with_its_figures(made):
    report = made()
    page = report.to_html()
    assert report.title in page
    assert bool(report.figures()) == report.answered
    for figure in report.figures():
        assert figure.draw().data
    assert report.to_markdown()


def test_a_plan_on_real_input(planner):
    ran = planner(*ASKED, *LOAD, *LIMITS, "--price", "h100=2.5", "--json")
    assert ran.code == 0, ran.err
    record = json.loads(ran.out)
    (result,) = record["results"]
    assert record["schema"] == "planner.plan/1"
    assert result["gpus"] == 8 * result["nodes"]
    assert result["usd_per_hour"] == pytest.approx(2.5 * result["gpus"])
    assert result["slo_share_percent"] >= 95
    assert record["headroom"]["peak_utilisation"] == 0.8
    assert record["reproduction"]["arguments"]["request_rate"] == 200.0


def test_a_gpu_without_a_price_of_the_kind_comes_last(planner):
    words = list(ASKED)
    words[words.index("h100")] = "mi355x,h100"
    ran = planner(*words, *LOAD, *LIMITS, "--price-kind", "on-demand", "--json")
    assert ran.code == 0, ran.err
    made = json.loads(ran.out)
    assert [each["gpu"] for each in made["results"]] == ["h100-sxm", "mi355x"]
    assert made["results"][0]["usd_per_hour"] > 0
    assert made["results"][1]["usd_per_hour"] is None
    assert "Cheapest: H100-SXM" in made["sentence"]
    assert any(text.startswith("MI355X: no cost: mi355x has no on-demand price") for text in made["warnings"])


def test_an_owned_price_comes_with_its_caveat(planner):
    made = json.loads(planner(*ASKED, *LOAD, *LIMITS, "--price-kind", "own", "--json").out)
    assert any(
        text.startswith("own: the capex is implied at hyperscaler volume") for text in made["warnings"]
    )


def test_the_csv_has_one_line_for_each_gpu(planner):
    ran = planner(*ASKED, *LOAD, *LIMITS, "--csv")
    (row,) = csv.DictReader(io.StringIO(ran.out))
    assert row["gpu"] == "h100-sxm"
    assert int(row["gpus"]) % 8 == 0


def test_limits_that_nothing_keeps_exit_with_4(planner):
    ran = planner(*ASKED, *LOAD, "--slo-tpot", "1ms")
    assert ran.code == 4
    assert "closest is TP1" in " ".join(ran.out.split())
    assert "TPOT" in ran.out


def test_a_model_that_fits_nowhere_exits_with_3(planner):
    words = ("--model", "kimi-k3", "--gpu", "h100", "--gpus", "1", "--isl", "500", "--osl", "40")
    ran = planner("plan", *words, *LOAD, *LIMITS)
    assert ran.code == 3
    assert "Traceback" not in ran.out + ran.err


def test_a_fleet_whose_limit_binds_exits_with_4(planner, tmp_path):
    path = tmp_path / "fleet.yaml"
    path.write_text(
        "models:\n  - {model: llama-3.1-8b, tp: 1, rate: 100, isl: 500, osl: 40, slo_ttft: 1 s}\n"
        "gpus:\n  - {gpu: h100, price: 2.5 USD/h}\nlimits: {usd_per_hour: 10}\n"
    )
    ran = planner("plan", "--fleet", str(path))
    assert ran.code == 4
    assert "usd_per_hour: 40 USD/h are needed, 10 are allowed" in " ".join(ran.out.split())
    assert planner("plan", "--fleet", str(path), "--model", "llama-3.1-8b").code == 2


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--rate", "0"), "--rate"),
        (("--rate", "-1"), "--rate"),
        (("--rate", "nan"), "--rate"),
        (("--users", "0"), "--users"),
        (("--rate", "1", "--users", "3", "--think", "1s"), "both given"),
        (("--rate", "1", "--peak-factor", "0.5"), "--peak-factor"),
        (("--rate", "1", "--profile", "noon"), "--profile"),
        (("--rate", "1", "--profile", "1,2,3"), "3 numbers"),
        (("--rate", "1", "--peak-utilisation", "0"), "--peak-utilisation"),
        (("--rate", "1", "--peak-utilisation", "1.2"), "--peak-utilisation"),
        (("--rate", "1", "--availability-target", "1"), "--availability-target"),
        (("--rate", "1", "--availability-target", "0.99"), "node or a GPU"),
        (("--rate", "1", "--price", "h100=-1"), "--price"),
        (("--rate", "1", "--trace", "none.csv"), "none.csv"),
        ((), "neither given"),
    ],
)
def test_bad_input_is_one_line_and_exits_with_2(planner, words, said):
    ran = planner(*ASKED, *LIMITS, *words)
    assert ran.code == 2
    assert said in ran.err
    assert len(ran.err.strip().splitlines()) == 1


def test_a_trace_with_a_time_that_falls_is_named_with_its_line(planner, tmp_path):
    path = tmp_path / "trace.csv"
    path.write_text("arrival_s,isl,osl\n0,10,5\n2,10,5\n1,10,5\n")
    ran = planner("plan", "--model", "llama-3.1-8b", "--gpu", "h100", "--trace", str(path), *LIMITS)
    assert ran.code == 2
    assert f"{path}:4: arrival_s '1' is before that of the request above" in ran.err


def test_a_trace_is_planned_for_with_its_own_lengths(planner, tmp_path):
    path = tmp_path / "trace.csv"
    lines = [f"{i * 0.02},{400 + i % 5 * 50},{30 + i % 3 * 10}" for i in range(400)]
    path.write_text("\n".join(["arrival_s,isl,osl", *lines]) + "\n")
    words = (
        "--model",
        "llama-3.1-8b",
        "--gpu",
        "h100",
        "--tp",
        "1",
        "--trace",
        str(path),
        "--requests",
        "500",
    )
    ran = planner("plan", *words, *LIMITS, "--json")
    assert ran.code == 0, ran.err
    record = json.loads(ran.out)
    assert (record["isl_tokens"], record["osl_tokens"]) == (500, 40)
    assert record["traffic"]["mean_requests_per_s"] == pytest.approx(50.0)
    assert record["traffic"]["cv"] == pytest.approx(0.0, abs=1e-6)
    assert planner("plan", *words, *LIMITS, "--isl", "5").code == 2
