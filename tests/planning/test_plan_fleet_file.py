"""Fleet files: what they may say, and the line of what they may not."""

from __future__ import annotations

import pytest

import planner
from planner.errors import PlannerError
from planner.planning.fleet_asked import FleetAsked, read_fleet

GOOD = """\
models:
  - model: llama-3.1-8b
    rate: 30
    peak_factor: 2
    isl: 0.5k
    osl: 40
    slo_ttft: 500 ms
    slo_tpot: 30 ms
    slo_share: 90 %
    tp: 1
  - model: qwen3-8b
    users: 10k
    requests_per_user_hour: 9
    isl: 500
    osl: 40
    slo_e2e: 4 s
    tp: 1
gpus:
  - gpu: h100
    price: 2.5 USD/h
    stock: 16
  - {gpu: mi300x, price: 2 USD/h, power: 1.4 kW}
limits:
  power: 0.1 MW
  usd_per_hour: 200
peak_utilisation: 75 %
spare_nodes: 0
"""


def written(tmp_path, text):
    path = tmp_path / "fleet.yaml"
    path.write_text(text)
    return path


def test_quantities_and_counts_are_read_with_their_units(tmp_path):
    asked = read_fleet(written(tmp_path, GOOD))
    first, second = asked.models
    assert (first.isl, first.osl, first.demand.rate_per_s, first.demand.peak_factor) == (500, 40, 30, 2)
    assert (first.slo.ttft_s, first.slo.tpot_s, first.slo.share) == (0.5, 0.03, 0.9)
    assert first.options == {"tp": 1}
    assert (second.demand.users, second.slo.e2e_s, second.slo.share) == (10_000, 4.0, 0.95)
    assert (asked.gpus[0].usd_per_gpu_hour, asked.gpus[0].stock_gpus) == (2.5, 16)
    assert asked.gpus[1].kw_per_gpu == pytest.approx(1.4)
    assert asked.limits.power_kw == pytest.approx(100.0)
    assert (asked.peak_utilisation, asked.spare_nodes, asked.scaling) == (0.75, 0, "fixed")


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("    rate: 30\n", "    rat: 30\n", r":3: unknown key 'rat'; nearest: rate"),
        ("    rate: 30\n", "    rate: 0\n", r":3: .*rate_per_s"),
        ("    rate: 30\n", "    rate: -1\n", r":3: .*rate_per_s"),
        ("    rate: 30\n", "", r":2: demand: users and requests a second are neither given"),
        ("slo_ttft: 500 ms", "slo_ttft: 500", r":7: slo_ttft: 500 is not a quantity"),
        ("slo_ttft: 500 ms", "slo_ttft: 500 GB", r":7: slo_ttft: .*bytes"),
        ("isl: 0.5k", "isl: some", r":5: isl: .*count"),
        ("    slo_e2e: 4 s\n", "", r":11: an SLO is needed"),
        ("stock: 16", "stock: -1", r":21: .*stock_gpus"),
        ("price: 2.5 USD/h", "price: -2 USD/h", r":20: price: .*negative"),
        ("utilisation: 75 %", "utilisation: 130 %", r":26: .*utilisation"),
        ("usd_per_hour: 200", "usd_per_hour: 0", r":25: .*usd_per_hour"),
        ("spare_nodes: 0", "scaling: sometimes", r":27: .*scaling"),
        ("models:\n", "models: {}\n", "fleet.yaml"),
        ("users: 10k", "users: 10k\n    profile: noon", r":13: profile: unknown profile 'noon'"),
    ],
)
def test_what_a_file_may_not_say_is_one_line_with_its_place(tmp_path, old, new, said):
    assert old in GOOD
    with pytest.raises(PlannerError, match=said) as caught:
        read_fleet(written(tmp_path, GOOD.replace(old, new, 1)))
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    "text", ["", "models: []\ngpus: []\n", "- 1\n", "models:\n  - 3\ngpus: [{gpu: h100}]\n"]
)
def test_a_file_without_a_fleet_is_one_line(tmp_path, text):
    with pytest.raises(PlannerError, match=r"fleet\.yaml:1|fleet\.yaml:2"):
        read_fleet(written(tmp_path, text))


def test_a_file_that_is_not_there_is_one_line(tmp_path):
    with pytest.raises(PlannerError, match="cannot be read"):
        read_fleet(tmp_path / "none.yaml")


@pytest.fixture(scope="module")
def report(catalogue, tmp_path_factory):
    return planner.plan(fleet=written(tmp_path_factory.mktemp("fleet"), GOOD), catalogue=catalogue)


def test_a_fleet_carries_every_model_within_its_limits(report):
    plan = report.plan
    assert plan.status == "optimal"
    for model, demand in (("llama-3.1-8b", 60.0), ("qwen3-8b", 25.0)):
        able = sum(
            one.offer.rate_per_s * one.replicas[0] for one in plan.placements if one.offer.model == model
        )
        assert able >= demand * (1 - 1e-6)
    assert plan.usd_per_hour <= 200
    assert plan.power_kw <= 100


def test_a_record_asks_the_same_as_a_file(tmp_path):
    asked = read_fleet(written(tmp_path, GOOD))
    assert FleetAsked(**asked.model_dump()) == asked


def test_a_mapping_is_a_fleet_too(catalogue):
    model = {"model": "llama-3.1-8b", "isl": 200, "osl": 10, "options": {"tp": 1}}
    wanted = {
        "models": [{**model, "demand": {"rate_per_s": 5.0}, "slo": {"e2e_s": 2.0}}],
        "gpus": [{"gpu": "h100", "usd_per_gpu_hour": 2.5}],
        "limits": {"usd_per_hour": 10},
    }
    report = planner.plan(fleet=wanted, catalogue=catalogue)
    # One node and one that stands by.
    assert [(one["limit"], one["needed"]) for one in report.to_dict()["binding"]] == [("usd_per_hour", 40.0)]
    assert "usd_per_hour" in report.sentence


def test_a_fleet_is_shown_as_tables_json_csv_and_a_page(report):
    record = report.to_dict()
    assert record["schema"] == "planner.plan/1"
    assert record["solver_status"] == "optimal"
    assert record["optimality_gap"] == 0.0
    assert record["reproduction"]["arguments"]["fleet"].endswith("fleet.yaml")
    assert report.to_csv().startswith("model,gpu,layout,")
    assert "Replicas" in report.to_markdown()
    assert report.plot("fleet").data


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("    price: 2.5 USD/h\n", "", "h100-sxm: it has no price"),
        ("gpu: mi300x", "gpu: h100-sxm", "named twice"),
        ("gpu: mi300x", "gpu: mi300y", "unknown gpu"),
        ("    tp: 1\n", "    profile: [1, 2]\n", r"fleet.yaml:2: llama-3.1-8b: profile: 2 numbers"),
        (
            "    slo_e2e: 4 s\n    tp: 1\n",
            "    slo_e2e: 4 s\n    engine: v\n",
            "fleet: qwen3-8b: unknown engine",
        ),
        ("model: qwen3-8b", "model: qwen3-8x", r"yaml:11: qwen3-8x: unknown model"),
    ],
)
def test_a_fleet_that_cannot_be_is_one_line(catalogue, tmp_path, old, new, said):
    with pytest.raises(PlannerError, match=said):
        planner.plan(fleet=written(tmp_path, GOOD.replace(old, new, 1)), catalogue=catalogue)
