"""Break-evens on real deployments: flips put back cost the same, anchors hold, and money is counted once."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest

from planner.api.breaking_even import breakeven
from planner.economics import flip_price, flip_utilisation, flip_volume
from planner.errors import PlannerError
from planner.measurement.breaking_even import cost_ratio, decide, flip_at, moved
from planner.planning.breakeven_volume import monthly_usd

PAIR = {"model": "kimi-k3", "gpu": "mi355x,b300", "isl": 1024, "osl": 400}


@pytest.fixture(scope="module")
def owned_or_hosted(catalogue):
    return breakeven(
        model="kimi-k3",
        gpu="b300",
        price_kind="own,api",
        isl=1024,
        osl=400,
        over="volume",
        api_price=(3.0, 15.0, 0.3),
        catalogue=catalogue,
    )


@pytest.mark.parametrize("over", ["isl", "concurrency"])
def test_at_the_flip_both_options_cost_the_same(catalogue, over):
    def asked(price):
        prices = {"mi355x": 2.5, "b300": price}
        return breakeven(**PAIR, over=over, price=prices, throughput="simulated", catalogue=catalogue).decided

    # A price between those at which the ends of the range cost the same: the order flips on the way.
    ends = asked(3.0).result.ratios
    made = asked(3.0 * math.sqrt(math.prod(ends)))
    assert made.result.flips
    for flip in made.result.flips:
        one, other = flip_at(made, flip)
        assert one == pytest.approx(other, rel=1e-9)


def test_beside_a_flip_the_named_option_is_the_cheaper_one(catalogue):
    made = breakeven(**PAIR, over="isl", price={"mi355x": 2.5, "b300": 4.0}, catalogue=catalogue).decided
    flip = made.result.flips[0]
    for factor, cheaper in ((0.97, flip.below), (1.03, flip.above)):
        loads = [moved(made.load, "isl", flip.at * factor)]
        costs = {side.name: side.usd_per_million_at(loads)[0] for side in (made.first, made.second)}
        assert min(costs, key=costs.get) == cheaper


def test_other_loads_start_from_what_was_measured(catalogue):
    made = breakeven(**PAIR, over="isl", catalogue=catalogue).decided
    for side in (made.first, made.second):
        assert side.found.source == "measured"
        assert float(side.rates([made.load])[0]) == pytest.approx(side.rate.value, rel=1e-12)


def test_swapping_the_options_inverts_the_ratio_and_keeps_the_points(catalogue):
    made = breakeven(**PAIR, over="isl", price={"mi355x": 2.5, "b300": 4.0}, catalogue=catalogue).decided
    back = decide(made.second, made.first, made.load, "isl")
    assert back.ratio.value * made.ratio.value == pytest.approx(1)
    assert back.ratio.low * made.ratio.high == pytest.approx(1)
    points = [flip.at for flip in made.result.flips]
    assert [flip.at for flip in back.result.flips] == pytest.approx(points, rel=1e-9)


def test_the_closed_forms_agree_with_those_of_economics(catalogue, owned_or_hosted):
    made = owned_or_hosted.decided
    own, api = made.first, made.second
    month = {
        "isl": 1024,
        "osl": 400,
        "output_tps_total": 1568,
        "gpus": 8,
        "usd_per_gpu_hour": own.price.usd_per_gpu_hour,
        "use": own.use,
    }
    assert made.result.flip.at == pytest.approx(flip_volume(hosted=api.hosted, **month), rel=1e-12)
    prices = decide(own, api, made.load, "price")
    hourly = api.hosted.usd_per_million_output_all(isl=1024, osl=400) / 1e6
    per_hour = hourly * 1568 * 3600 * own.use.served
    known = flip_price(output_tps=1568, gpus=8, other_output_tps=1568, other_usd_per_hour=per_hour)
    assert prices.result.flip.at == pytest.approx(known, rel=1e-12)


def test_at_the_flip_volume_a_month_costs_the_same(owned_or_hosted):
    made = owned_or_hosted.decided
    at = made.result.flip.at
    bills = [monthly_usd(*side.by_month(made.load), at) for side in (made.first, made.second)]
    assert bills[0] == pytest.approx(bills[1], rel=1e-9)


def test_renting_and_owning_one_deployment_have_an_exact_ratio(catalogue):
    asked = {"model": "kimi-k3", "gpu": "b300", "isl": 1024, "osl": 400, "price_kind": "on-demand,own"}
    made = breakeven(**asked, over="utilisation", catalogue=catalogue).decided
    rent, own = (side.price.usd_per_gpu_hour for side in (made.first, made.second))
    assert made.ratio.low == made.ratio.value == made.ratio.high
    flip = flip_utilisation(rent_usd_per_gpu_hour=rent, own_usd_per_gpu_hour=own)
    assert made.result.flip.at == pytest.approx(flip, rel=1e-9)
    # At the planned use renting pays for the hours of use alone, owning for all.
    assert made.ratio.value == pytest.approx(rent / (own / made.first.use.utilisation))


def test_the_interval_of_the_ratio_is_that_of_both_rates(catalogue):
    made = breakeven(**PAIR, catalogue=catalogue).decided
    width = math.sqrt(2) * math.log(1.12)
    assert math.log(made.ratio.high / made.ratio.value) == pytest.approx(width)
    assert math.log(made.ratio.value / made.ratio.low) == pytest.approx(width)
    alone = replace(made.second, found=made.first.found)
    assert cost_ratio(made.first, alone, made.load).low == cost_ratio(made.first, alone, made.load).high


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"over": 5}, "unknown quantity to vary '5'"),
        ({"over": "isle"}, "nearest: isl"),
        ({"throughput": None}, "unknown throughput"),
        ({"between": (5,)}, "between: "),
        ({"between": (None, 3)}, "between: "),
        ({"gpus": 8.5}, "gpus: 8.5"),
        ({"gpus": "x"}, "gpus: 'x'"),
        ({"weight_dtype": "fp8,"}, "weight_dtype: 'fp8,'"),
        ({"price": {"b300": float("nan")}}, "price nan"),
        ({"price_kind": "own,api", "gpu": "b300", "api_price": (1, "a")}, "a number is needed"),
        ({"price_kind": "bogus,own", "gpu": "b300"}, "unknown price kind"),
        ({"nonsense": 3}, "unknown argument"),
    ],
)
def test_what_cannot_be_is_one_line(catalogue, given, said):
    with pytest.raises(PlannerError) as refused:
        breakeven(**{**PAIR, **given}, catalogue=catalogue)
    assert said in str(refused.value)
    assert "\n" not in str(refused.value)


def test_the_first_screen_needs_no_prices_and_says_so(catalogue):
    made = breakeven(**PAIR, catalogue=catalogue)
    assert any(said.startswith("no price of") for said in made.warnings)
    assert [table.title for table in made.tables()][1].startswith("Where the answer flips, price of B300-SXM")
    assert made.plot("tornado").data[0].orientation == "h"
    assert made.plot("prices").data[0].type == "heatmap"


def test_a_hosted_price_moves_with_its_price_of_cached_input(catalogue):
    made = breakeven(
        model="kimi-k3",
        gpu="b300",
        price_kind="own,api",
        api_price=(3.0, 15.0, 0.3),
        isl=100_000,
        osl=10,
        prefix_hit=0.9,
        catalogue=catalogue,
    )
    (swing,) = (swing for swing in made.swings if swing.name == "price of API")
    ratio = cost_ratio(*made.sides, made.decided.load).value
    assert swing.low_ratio == pytest.approx(ratio / 0.8, rel=1e-12)
    assert swing.high_ratio == pytest.approx(ratio / 1.2, rel=1e-12)


def test_no_length_is_doubled_beyond_what_both_hold(catalogue):
    made = breakeven(**{**PAIR, "isl": 900_000, "concurrency": 4}, catalogue=catalogue)
    swings = {swing.name: swing for swing in made.swings}
    held = min(side.found.memory.max_context for side in made.sides)
    assert swings["input length"].high == f"{held - 400:,} tokens"
    assert swings["input length"].why == "half, all that both hold (model)"
    assert swings["output length"].high == "800 tokens"
    assert swings["requests at once"].high == "8 requests"
    assert "." in swings["throughput of B300-SXM"].low  # 2.3 tok/s, not 2


def test_by_format_without_prices_gpu_hours_are_not_called_usd(catalogue):
    asked = {**PAIR, "over": "weight-dtype", "weight_dtype": "mxfp4,bf16"}
    (row, *_) = breakeven(**asked, catalogue=catalogue).to_dict()["by_weight_dtype"]
    assert row["usd_per_million_output"] is None
    assert len(row["gpu_hours_per_million_output"]) == 2
    (row, *_) = breakeven(**asked, price=2.0, catalogue=catalogue).to_dict()["by_weight_dtype"]
    assert row["gpu_hours_per_million_output"] is None
    assert len(row["usd_per_million_output"]) == 2


def test_a_format_that_is_named_twice_is_one(catalogue):
    asked = {**PAIR, "over": "weight-dtype", "catalogue": catalogue}
    with pytest.raises(PlannerError, match="name the formats"):
        breakeven(**asked, weight_dtype="mxfp4,mxfp4")
    made = breakeven(**asked, weight_dtype="mxfp4,bf16,mxfp4")
    assert [row.dtype for row in made.dtypes] == ["mxfp4", "bf16"]
