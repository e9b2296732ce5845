"""`planner frontier`: the drawing to the letter on answers made by hand, and the main job on real input."""

from __future__ import annotations

import csv
import io
import json
import os
from pathlib import Path

import pytest
from rich.console import Console

from planner.cli.draw_frontier import draw_frontier
from planner.report.frontier_records import KEYS
from tests.report.made_frontier import SLO, answer, refused, report, unmet

GOLDEN = Path(__file__).with_name("golden")
REPORTS = {
    "frontier_one": lambda: report(answer()),
    "frontier_slo": lambda: report(answer(price=2.5, slo=SLO)),
    "frontier_several": lambda: report(
        answer(price=2.5), answer(gpu="b300", scale=1.5, price=6.0), refused("b200")
    ),
    "frontier_unmet": lambda: report(unmet()),
    "frontier_refused": lambda: report(refused()),
}


def drawn(made, width):
    text = io.StringIO()
    draw_frontier(Console(file=text, width=width, no_color=True, highlight=False), made)
    return "".join(f"{line.rstrip()}\n" for line in text.getvalue().splitlines())


@pytest.mark.parametrize("name", REPORTS)
def test_drawing_to_the_letter(name):
    text = drawn(REPORTS[name](), 100)
    assert max(map(len, text.splitlines())) <= 100
    file = GOLDEN / f"{name}.txt"
    if os.environ.get("UPDATE_GOLDEN"):
        file.write_text(text, encoding="utf-8")
    assert text == file.read_text(encoding="utf-8")


LLAMA = (
    "frontier",
    "--model",
    "llama-3.1-8b",
    "--gpu",
    "h100",
    "--isl",
    "1k",
    "--osl",
    "256",
    "--gpus",
    "1,2",
)


def test_the_fields_that_others_rely_on(planner):
    ran = planner(*LLAMA, "--price", "h100=2", "--slo-tpot", "30ms", "--json")
    assert ran.code == 0
    made = json.loads(ran.out)
    assert made["schema"] == "planner.frontier/1"
    assert (made["by"], made["slo"]["tpot_s"], made["fits"], made["answered"]) == ("cost", 0.03, True, True)
    best = made["best"]
    assert best["tpot_ms"]["value"] <= 30
    total, gpus = best["output_tps_total"]["value"], best["gpus"]
    assert best["usd_per_million_output_tokens"]["value"] == pytest.approx(2 * gpus / 3600 / total * 1e6)
    assert made["bound_by"] == made["layouts"][0]["bound_by"]
    users = [one["tps_per_user"]["value"] for one in made["frontier"]]
    each = [one["output_tps_per_gpu"]["value"] for one in made["frontier"]]
    assert users == sorted(users, reverse=True)
    assert each == sorted(each)
    for one in made["frontier"]:
        assert one["output_tps_per_gpu"]["low"] < one["output_tps_per_gpu"]["high"]
        assert one["output_tps_per_gpu"]["provenance"]
        assert one["kv_pool_requests"] > 0
    assert made["candidates"] > 0
    assert made["reproduction"]["command"].startswith("planner frontier --model llama-3.1-8b")


def test_csv_has_every_point_of_every_frontier(planner):
    ran = planner(*LLAMA, "--kv-dtype", "auto,fp8", "--csv")
    assert ran.code == 0
    rows = list(csv.DictReader(io.StringIO(ran.out)))
    assert tuple(rows[0]) == KEYS
    assert {"fp8"} <= {row["kv_dtype"] for row in rows} <= {"auto", "fp8"}
    assert {row["gpus"] for row in rows} <= {"1", "2"}


def test_limits_that_nothing_keeps_are_exit_code_4_with_the_closest(planner):
    ran = planner(*LLAMA, "--slo-tpot", "1us", "--json")
    assert ran.code == 4
    made = json.loads(ran.out)
    assert made["best"] is None
    assert made["frontier"] == []
    assert [one["limit"] for one in made["closest"]["failed"]] == ["tpot_s"]
    assert made["closest"]["failed"][0]["over"] > 1000


def test_what_does_not_fit_is_exit_code_3(planner):
    ran = planner(
        "frontier", "--model", "kimi-k3", "--gpu", "b200", "--gpus", "8", "--isl", "1k", "--osl", "1k"
    )
    assert ran.code == 3
    assert "weights alone are more than a GPU has" in ran.out


def pairs(words):
    return zip(words[::2], words[1::2], strict=True)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--gpus", "0"), "'0' is out of range"),
        (("--tp", "3"), "tp 3: no whole copies"),
        (("--by", "cost"), "has no price"),
        (("--slo-ttft", "2"), "has no unit"),
        (("--price-kind", "cheap"), "unknown price kind"),
        (("--draft", "mtp"), "nothing is drafted"),
        (("--osl", "1"), "no time to the next"),
    ],
)
def test_what_cannot_be_meant_is_refused_in_one_line(planner, words, said):
    other = [word for pair in pairs(LLAMA[1:]) if pair[0] != words[0] for word in pair]
    ran = planner(LLAMA[0], *other, *words)
    assert ran.code == 2
    assert said in ran.err
    assert len(ran.err.strip().splitlines()) == 1
