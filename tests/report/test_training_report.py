"""Reports of training: figures that hang together, intervals, fields explained, what is missing."""

from __future__ import annotations

import csv
import io
import math
import re
from pathlib import Path

import pytest

import planner
from planner.errors import PlannerError, UnknownName, Unsupported
from planner.performance.training_rates import training_model
from planner.planning.training import spread_of
from planner.report.training_records import FIGURES

PAGE = (Path(__file__).parents[2] / "docs" / "glossary.md").read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def report(catalogue):
    return planner.train(
        model="llama-3.1-8b",
        gpu="h100,mi300x,rtx-4090",
        gpus=8,
        tokens="2T",
        price={"h100": 2.0},
        availability=0.9,
        kw=1.4,
        catalogue=catalogue,
    )


@pytest.fixture(scope="module")
def h100(report):
    return report.answers[0].to_dict()


def fields(value):
    if isinstance(value, list):
        return {name for item in value for name in fields(item)}
    if not isinstance(value, dict):
        return set()
    return {*value, *(name for item in value.values() for name in fields(item))}


def test_every_field_is_in_the_glossary_and_nothing_else(catalogue, report):
    table = PAGE.split("## Fields of `planner.train/1`")[1].split("\n## ")[0]
    cells = re.findall(r"^\| (`.*?`) \|", table, re.MULTILINE)
    explained = {name for cell in cells for name in re.findall(r"`(\w+)`", cell)}
    in_fp8 = planner.train(model="llama-3.1-8b", gpu="h100", gpus=8, dtype="fp8", catalogue=catalogue)
    whole = {name: value for name, value in report.to_dict().items() if name != "reproduction"}
    found = fields(whole) | fields(in_fp8.answer.to_dict())
    of_prices = {"usd_per_gpu_hour", "usd_per_hour", "kind", "quotes", "parts"}
    assert sorted(found - explained - of_prices) == []
    assert sorted(explained - found) == []


def test_figures_follow_from_one_another(h100):
    def value(name):
        return h100[name]["value"]

    assert value("tokens_per_s") == pytest.approx(8 * value("tokens_per_s_per_gpu"))
    assert value("step_s") * value("tokens_per_s") == pytest.approx(
        h100["global_batch_sequences"] * h100["sequence_tokens"]
    )
    assert sum(row["time_s"] for row in h100["step_breakdown"]) == pytest.approx(value("step_s"))
    assert sum(row["share"] for row in h100["step_breakdown"]) == pytest.approx(1)
    assert value("mfu") == pytest.approx(value("tflop_per_s_per_gpu") / 989)
    assert value("tflop_per_s_per_gpu") == pytest.approx(value("tokens_per_s_per_gpu") * 51.4704e-3)
    hours = 2e12 / value("tokens_per_s") / 3600 / 0.9
    assert value("run_hours") == pytest.approx(hours)
    assert value("usd_of_run") == pytest.approx(hours * 8 * 2.0)
    assert value("usd_per_trillion_tokens") == pytest.approx(hours * 8 * 2.0 / 2)
    assert value("mwh_of_run") == pytest.approx(hours * 8 * 1.4e-3)
    parts = [
        size for name, size in h100["memory"].items() if not name.startswith(("total", "usable", "paged"))
    ]
    assert sum(parts) == pytest.approx(h100["memory"]["total_gib"])


def test_every_figure_has_its_interval(catalogue, h100):
    model, step = training_model(catalogue), {row["part"]: row["share"] for row in h100["step_breakdown"]}
    low = -math.hypot(model.interval[0], math.log(1 + 0.75 * step["attention"]))
    high = model.interval[1]
    for name in FIGURES:
        found = h100[name]
        assert found["low"] < found["value"] < found["high"], name
    rate = h100["tokens_per_s_per_gpu"]
    assert math.log(rate["low"] / rate["value"]) == pytest.approx(low)
    assert math.log(rate["high"] / rate["value"]) == pytest.approx(high)
    cost = h100["usd_per_trillion_tokens"]
    assert math.log(cost["high"] / cost["value"]) == pytest.approx(-low)


def test_an_assumed_rate_widens_the_interval_and_is_said(catalogue, report):
    answer = next(answer for answer in report.answers if answer.gpu == "rtx-4090")
    rate = answer.trained.tokens_per_s_per_gpu
    model = training_model(catalogue)
    low, high = spread_of(model, answer.trained.plan.step)
    assert math.log(rate.high / rate.low) == pytest.approx(high - low + 2 * model.unmeasured)
    assert any("nobody measured it" in said for said in answer.warnings)


def test_what_has_no_price_says_why_and_still_answers(report):
    answer = next(answer for answer in report.answers if answer.gpu == "mi300x")
    assert answer.trained.usd_per_trillion_tokens is None
    assert answer.fits


def test_the_csv_has_a_line_for_each_accelerator(report):
    rows = list(csv.DictReader(io.StringIO(report.to_csv())))
    assert [row["gpu"] for row in rows] == ["h100-sxm", "mi300x", "rtx-4090"]
    assert float(rows[0]["usd_of_run"]) == pytest.approx(report.answers[0].trained.usd_of_run.value)


def test_the_lesson_stands_in_the_report(report):
    """Datasheet against achieved by stack and date, with what the answer takes marked."""
    table = next(table for table in report.tables() if "by stack and date" in table.title)
    mi300x = [row for row in table.rows if row["gpu"] == "mi300x" and row["dtype"] == "bf16"]
    shares = [(row["channel"], row["date"], round(row["share"], 2), row["taken"]) for row in mi300x]
    assert shares == [
        ("stable", "2024-10-13", 0.27, None),
        ("development", "2024-12-22", 0.47, None),
        ("stable", "2025-04-24", 0.47, "*"),
    ]
    assert "SemiAnalysis" in report.sources().to_csv()


def test_a_run_that_does_not_fit_has_no_figures(catalogue):
    answer = planner.train(model="llama-3.1-70b", gpu="h100", gpus=8, catalogue=catalogue).answer
    record = answer.to_dict()
    assert not answer.fits
    assert all(record[name] is None for name in FIGURES)
    assert "does not fit" in record["sentence"]
    assert record["memory"]["total_gib"] > record["memory"]["usable_gib"]


def test_accelerators_without_the_format_are_left_out_and_named(catalogue):
    report = planner.train(model="llama-3.1-8b", gpu="h100,a100", gpus=8, dtype="fp8", catalogue=catalogue)
    assert [answer.gpu for answer in report.answers] == ["h100-sxm"]
    assert list(report.left_out) == ["a100-sxm-80"]
    assert any("a100" in said for said in report.warnings)


def test_the_first_stable_fp8_of_mi300x_was_slower_than_its_bf16(catalogue):
    """As its issues of October 2024 say, and no longer so with the stack of 2025."""

    def rate(**asked):
        report = planner.train(
            model="llama-3.1-8b", gpu="mi300x", gpus=8, dp=8, fsdp=1, catalogue=catalogue, **asked
        )
        return report.answer.trained.tokens_per_s_per_gpu.value

    assert rate(dtype="fp8", as_of="2024-12") < 0.7 * rate(dtype="bf16", as_of="2024-12")
    assert rate(dtype="fp8") > 1.2 * rate(dtype="bf16")


@pytest.mark.parametrize(
    ("asked", "error", "said"),
    [
        ({"model": "deepseek-r1"}, Unsupported, "experts"),
        ({"model": "llama-3.1-9b"}, UnknownName, "llama-3.1-8b"),
        ({"stack": "nightly"}, PlannerError, "stable"),
        ({"as_of": "soon"}, PlannerError, "2024-12-31"),
        ({"tokens": "many"}, PlannerError, "tokens"),
        ({"dtype": "fp4"}, PlannerError, "fp8"),
        ({"micro_batches": 3}, PlannerError, "micro_batch"),
        ({"availability": 1.5}, PlannerError, "availability"),
        ({"gpus": 0}, PlannerError, "gpus"),
        ({"gpus": 2.5}, PlannerError, "gpus"),
        ({"capex": 31000}, PlannerError, "price kind own"),
    ],
)
def test_what_cannot_be_asked_is_one_line(catalogue, asked, error, said):
    question = {"model": "llama-3.1-8b", "gpu": "h100", "gpus": 8, "catalogue": catalogue, **asked}
    with pytest.raises(error) as raised:
        planner.train(**question)
    assert said in str(raised.value)
    assert "\n" not in str(raised.value)


def test_achieved_lists_every_accelerator_that_somebody_measured(catalogue):
    report = planner.achieved(catalogue=catalogue)
    names = {rate.gpu for rate in report.rates}
    assert {"mi300x", "h100-sxm", "h200-sxm", "a100-sxm-80"} <= names
    assert all(rate.date and rate.source for rate in report.rates)
    one = planner.achieved(gpu="h200", catalogue=catalogue)
    assert {rate.gpu for rate in one.rates} == {"h200-sxm"}
    assert "of 989 TFLOP/s in BF16" in one.sentence
    with pytest.raises(PlannerError, match="nobody published"):
        planner.achieved(gpu="rtx-4090", catalogue=catalogue)
