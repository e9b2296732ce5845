"""What the dashboard shows beside the tables of reports: sentences for who buys, memory, costs, errors."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import planner
from planner.report.accuracy import memory_accuracy_table, serving_accuracy
from planner.report.buying import buying_sentence, card_facts, place_text
from planner.report.figures.accuracy import accuracy_figure
from planner.report.figures.owning import owning_figure, owning_table
from planner.report.figures.token_costs import COUNTED, token_costs_figure
from planner.report.figures.whole_memory import whole_memory_figure
from planner.report.points import points_table
from planner.report.whole_memory import node_bytes, whole_parts, whole_table

GPUS = "mi355x,b200,b300"
PRICES = {"mi355x": 2.50, "b200": 4.25, "b300": 6.00}
LOAD = {"model": "kimi-k3", "gpu": GPUS, "isl": 1024, "osl": 400}


@pytest.fixture(scope="module")
def compared(catalogue):
    return planner.compare(**LOAD, price=PRICES, catalogue=catalogue)


@pytest.fixture(scope="module")
def fitted(catalogue):
    return planner.fit(model="kimi-k3", gpu=GPUS, context=131072, catalogue=catalogue)


def test_who_buys_reads_what_to_take_at_what_cost_how_sure_and_what_flips_it(compared):
    cost = compared["mi355x"].costs.usd_per_million_output_all
    assert cost.value == pytest.approx(8 * 2.50 / 3600 / 952 * 1e6 / (0.7 * 0.99), rel=2e-3)
    assert buying_sentence(compared) == (
        f"Kimi K3: take 8 x MI355X, at USD {cost.value:.2f} per million output tokens "
        f"(80 % interval {cost.low:.2f} to {cost.high:.2f}), measured. MI355X is ahead of B300-SXM by 46 % "
        "per dollar, more than the uncertainty (over 0.99 probability). B300-SXM wins if its price is under "
        "1.65 times MI355X's (80 % interval 1.40 to 1.93), under 4.12 USD/h at MI355X's 2.50; "
        "it is 2.40 times now."
    )


def test_without_prices_it_is_output_a_gpu_and_without_figures_the_answer_itself(catalogue):
    unpriced = planner.compare(**LOAD, catalogue=catalogue)
    assert "take 8 x B300-SXM, for 196 output tok/s a GPU" in buying_sentence(unpriced)
    nowhere = planner.compare(**{**LOAD, "gpu": "l4"}, tp=8, catalogue=catalogue)
    assert buying_sentence(nowhere) == nowhere.sentence
    assert card_facts(nowhere.answer) == (("no figures", nowhere.answer.reason),)
    assert place_text(nowhere.answer) == "L4"


def test_a_card_has_figures_with_their_intervals(compared):
    facts = dict(card_facts(compared["b200-sxm"]))
    assert place_text(compared["b200-sxm"]) == "3. B200-SXM"
    assert facts["deployment"] == "16 GPUs, 2 nodes"
    assert facts["output"] == "498 tok/s (445 to 558), measured"
    assert facts["price"] == "4.25 USD per GPU-hour, given by you"


def test_the_memory_of_all_gpus_is_what_they_have(fitted):
    for answer in fitted:
        usable = answer.gpus * answer.memory.per_rank.usable_bytes
        assert sum(whole_parts(answer).values()) == pytest.approx(usable, rel=1e-9)
        assert node_bytes(answer) * answer.nodes == pytest.approx(usable, rel=1e-9)
    weights = {answer.gpu: whole_parts(answer)["weights"] for answer in fitted}
    assert weights["b200-sxm"] > node_bytes(fitted["b200-sxm"])  # why it takes two nodes
    assert weights["b200-sxm"] == pytest.approx(weights["b300-sxm"], rel=0.02)


def test_figures_have_the_numbers_of_their_tables(fitted, compared):
    figure, table = whole_memory_figure(fitted.answers), whole_table(fitted.answers)
    drawn = sorted(size for bar in figure.data if bar.type == "bar" for size in bar.x if size)
    assert drawn == pytest.approx(sorted(row["gib"] for row in table.rows))
    (ends,) = (trace for trace in figure.data if trace.name == "end of a node")
    assert len(ends.x) == sum(answer.nodes for answer in fitted)
    costs = token_costs_figure(compared)
    assert [bar.name for bar in costs.data[:3]] == ["8 x MI355X", "8 x B300-SXM", "16 x B200-SXM"]
    for bar, answer in zip(costs.data[:3], compared, strict=True):
        shown = [getattr(answer.costs, key) for key, _ in COUNTED]
        assert list(bar.y) == pytest.approx([cost.value for cost in shown if cost is not None])


def test_hosted_apis_stand_beside_accelerators_in_a_colour_of_their_own(catalogue, compared):
    bars, hosted = token_costs_figure(compared).data, compared.to_dict()["hosted"]
    accelerators, offers = bars[: -len(hosted)], bars[-len(hosted) :]
    assert [bar.name for bar in offers] == [one["name"] for one in hosted]
    assert not {bar.marker.color for bar in offers} & {bar.marker.color for bar in accelerators}
    assert len({bar.marker.pattern.shape for bar in offers}) == len(offers)
    for bar, one in zip(offers, hosted, strict=True):
        assert dict(zip(bar.x, bar.y, strict=True)) == {label: one[key] for key, label in COUNTED}
        assert {cell[1] for cell in bar.customdata} == {one["price_provenance"]}
    free = planner.compare(**LOAD, price=PRICES, api_price=(0, 15), catalogue=catalogue)
    assert list(token_costs_figure(free).data[-1].x) == ["all on the output", "output", "every token"]


def test_owned_hours_add_up_in_the_figure(catalogue):
    report = planner.own(gpu=GPUS, catalogue=catalogue)
    bars = [trace for trace in owning_figure(report).data if trace.type == "bar"]
    for place, answer in enumerate(report.priced):
        assert sum(bar.x[place] for bar in bars) == pytest.approx(answer.price.usd_per_gpu_hour)
    rents = [trace for trace in owning_figure(report).data if trace.type == "scatter"]
    rows = owning_table(report).to_records()
    drawn = sorted(value for trace in (*bars, *rents) for value in trace.x if value)
    assert drawn == sorted(row["usd_per_gpu_hour"] for row in rows if row["part"] != "all")
    assert sum(len(trace.x) for trace in rents) == sum(len(answer.rents) for answer in report.priced)


def test_every_point_of_the_frontiers_stands_in_the_table(catalogue):
    report = planner.frontier(
        model="llama-3.1-8b", gpu="h100", isl=1024, osl=128, gpus=1, catalogue=catalogue
    )
    table = points_table(report)
    assert len(table.rows) == len(report.answer.points)
    assert set(table.keys) == set(report.to_records()[0])


def test_the_errors_are_those_that_the_pages_of_the_docs_have():
    rows = serving_accuracy().rows
    page = (Path(__file__).parents[2] / "docs" / "accuracy.md").read_text(encoding="utf-8")
    shown = re.search(r"^\| a group \| output tok/s per GPU \| (\d+) \| ([\d.]+)% \|", page, re.M)
    assert shown is not None
    assert rows[0]["n"] == int(shown[1])
    assert 100 * rows[0]["median_ape"] == pytest.approx(float(shown[2]), abs=0.051)
    worst = max(row["median_ape"] for row in rows[3:] if row["quantity"] != "TTFT")
    assert worst in [row["median_ape"] for row in rows if row["slice"] == rows[3]["slice"]]
    assert {row["engine"] for row in memory_accuracy_table().rows} >= {"vllm", "sglang"}
    points = [len(trace.x) for trace in accuracy_figure().data]
    assert sum(points) == len(rows)
