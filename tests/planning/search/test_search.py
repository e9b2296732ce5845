"""A search says what `predict` says, its frontier is exact, and limits are kept to one request."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from planner.errors import InvalidInput, UnknownName
from planner.performance.breakdown import fastest_step_s
from planner.performance.predict import make_service
from planner.planning.search import SearchSpace, search
from planner.planning.search.evaluation import Found
from planner.planning.search.explaining import explain
from planner.planning.search.result import keeps
from planner.scenario import Workload
from planner.scenario.slo import LatencySlo
from tests.planning.search.made_search import APART, CATALOGUE, ISL, LLAMA, OSL, R1, asked, searched

CASES = {
    "dense": (*LLAMA, "vllm", None),
    "experts, drafts": (*R1, "vllm", None),
    "over nodes": ("kimi-k3", "b200", "vllm", None),
    "prefill apart": (*R1, "tensorrt-llm", APART),
}


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_points_are_what_predict_says(case) -> None:
    result = searched(*case)
    every = np.arange(len(result.found.option))
    for place in every[:: max(1, len(every) // 12)]:
        point = result.point(result.found, int(place))
        prediction = explain(result, point)
        for name in ("output_tps_total", "output_tps_per_gpu", "total_tps_per_gpu", "tps_per_user"):
            found, expected = getattr(point, name), getattr(prediction, name)
            assert (found.value, found.low, found.high) == pytest.approx(
                (expected.value, expected.low, expected.high), rel=1e-9
            )
            assert found.provenance == expected.provenance
        assert point.ttft_ms.value == pytest.approx(prediction.ttft_ms.value, rel=1e-9)
        assert point.tpot_ms.low == pytest.approx(prediction.tpot_ms.low, rel=1e-9)
        assert point.request_rate_per_s == pytest.approx(prediction.request_rate_per_s, rel=1e-9)
        assert point.candidate.gpus == prediction.gpus
        seconds = prediction.ttft_ms.value / 1e3 + (OSL - 1) * prediction.tpot_ms.value / 1e3
        assert point.e2e_s == pytest.approx(seconds, rel=1e-9)


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_no_point_runs_more_than_its_pool_holds(case) -> None:
    result = searched(*case)
    assert (result.found.concurrency <= result.most[result.found.option]).all()
    assert (result.found.concurrency == np.floor(result.found.concurrency)).all()
    for place in (0, len(result.found.option) // 2, -1):
        point = result.point(result.found, place)
        assert point.concurrency <= explain(result, point).most_requests * point.candidate.copies


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_the_frontier_is_that_of_all_points(case) -> None:
    result = searched(*case)
    users = 1 / result.found.tpot_s
    each = result.found.output_tps / result.evaluator.gpus[result.found.option]
    frontier = result.frontier()
    shown = [(p.tps_per_user.value, p.output_tps_per_gpu.value) for p in frontier]
    assert shown == sorted(shown, key=lambda pair: -pair[0])
    assert all(a[1] < b[1] and a[0] > b[0] for a, b in pairwise(shown))
    for user, one in shown:  # none is dominated
        assert not ((users > user * (1 + 1e-12)) & (each >= one)).any()
        assert not ((users >= user) & (each > one * (1 + 1e-12))).any()
    for user, one in zip(users, each, strict=True):  # and every point is, or is on it
        assert any(a >= user * (1 - 1e-12) and b >= one * (1 - 1e-12) for a, b in shown)


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_no_point_is_faster_than_physics(case) -> None:
    result = searched(*case)
    frontier = result.frontier()
    for point in frontier[:: max(1, len(frontier) // 6)]:
        candidate = point.candidate
        service = make_service(
            model=result.asked.model,
            gpu=result.gpu,
            deployment=candidate.deployment,
            workload=Workload(isl=ISL, osl=OSL),
            catalogue=CATALOGUE,
            copies=candidate.copies,
        )
        prediction = explain(result, point)
        fastest = fastest_step_s(service, prediction.batch, ISL + OSL / 2)
        assert point.tpot_ms.value / 1e3 * prediction.tokens_per_step >= fastest


def test_more_gpus_never_lose_a_point() -> None:
    few = searched(*R1, space=SearchSpace(gpus=(8,))).frontier()
    more = searched(*R1, space=SearchSpace(gpus=(8, 16))).frontier()
    for point in few:
        assert any(
            one.tps_per_user.value >= point.tps_per_user.value
            and one.output_tps_per_gpu.value >= point.output_tps_per_gpu.value
            for one in more
        )


LIMITS = st.floats(-2.2, 1.5).map(lambda power: 10**power)


@settings(max_examples=25)
@given(
    tpot=st.floats(0.004, 0.2),
    ttft=st.none() | LIMITS,
    tighter=st.floats(0.3, 1.0),
    by=st.sampled_from(["throughput", "interactivity"]),
)
def test_a_stricter_slo_is_never_better(tpot: float, ttft: float | None, tighter: float, by: str) -> None:
    result = searched(*R1)
    loose = result.best(LatencySlo(tpot_s=tpot, ttft_s=ttft), by)
    strict_slo = LatencySlo(tpot_s=tpot * tighter, ttft_s=None if ttft is None else ttft * tighter)
    strict = result.best(strict_slo, by)
    if strict is None:
        return
    assert loose is not None
    assert strict.tpot_ms.value <= 1e3 * tpot * tighter
    # Of copies within 1 % those on the fewest GPUs are named.
    assert strict.merit(by) <= loose.merit(by) * 1.0102


@pytest.mark.parametrize("tpot", [0.005, 0.01, 0.02])
def test_the_load_at_which_an_slo_is_just_kept_is_solved(tpot: float) -> None:
    result = searched(*LLAMA)
    slo = LatencySlo(tpot_s=tpot)
    found = result.meeting(slo)
    assert keeps(slo, found, result.asked).all()
    for option in np.unique(found.option):
        highest = found.concurrency[found.option == option].max()
        if highest < result.found.concurrency[result.found.option == option].max():
            more = result.evaluator.at(np.array([option]), np.array([highest + 1.0]))
            assert more.tpot_s[0] > tpot
    assert result.best(slo).tpot_ms.value > 0.97 * 1e3 * tpot


def test_the_closest_point_and_the_limits_that_it_fails() -> None:
    result = searched(*LLAMA)
    slo = LatencySlo(ttft_s=10, tpot_s=1e-5)
    assert result.best(slo) is None
    assert not len(result.meeting(slo).option)
    point, failed = result.closest(slo)
    assert [one.name for one in failed] == ["tpot_s"]
    assert failed[0].value_s == pytest.approx(result.found.tpot_s.min(), rel=0.011)
    assert failed[0].over == pytest.approx(point.tpot_ms.value / 1e3 / 1e-5)
    both = result.closest(LatencySlo(ttft_s=1e-4, tpot_s=1e-5))
    assert {one.name for one in both[1]} == {"ttft_s", "tpot_s"}
    assert both[1][0].over >= both[1][1].over


def test_a_concurrency_that_was_given_is_the_only_load() -> None:
    made = asked(*LLAMA, concurrency=300, gpus=1)
    result = search(made, made.gpus[0])
    assert set(result.found.concurrency) == {300.0}
    too_many = asked(*LLAMA, concurrency=100_000, gpus=1)
    nothing = search(too_many, too_many.gpus[0])
    assert nothing.best() is None
    assert nothing.left_out.beyond_pool == nothing.candidates > 0


def test_a_rate_is_brought_by_as_many_requests_as_it_leaves_in_the_system() -> None:
    made = asked(*LLAMA, request_rate=3.0)
    result = search(made, made.gpus[0])
    assert result.found.output_tps / OSL == pytest.approx(3.0, rel=1e-6)
    fast = asked(*LLAMA, request_rate=1e4, gpus=1)
    nothing = search(fast, fast.gpus[0])
    assert nothing.frontier() == ()
    assert nothing.left_out.beyond_pool == nothing.candidates > 0


def test_overloaded_points_are_left_out_and_counted() -> None:
    result = searched(*LLAMA, space=SearchSpace(gpus=(8,), disaggregated=True))
    assert (result.found.busy <= 0.95).all()
    assert result.left_out.overloaded > 0


def test_separate_prefill_is_not_credited_with_what_another_runtime_explains() -> None:
    result = searched(*R1, "tensorrt-llm", APART)
    separate = np.flatnonzero(result.evaluator.filling[result.found.option] >= 0)
    assert len(separate)
    alone = result.evaluator.quickest_token_s(result.found.option[separate])
    assert (result.found.tpot_s[separate] >= alone).all()
    assert result.left_out.unlikely > 0


def test_prefill_is_apart_by_default_only_where_it_was_measured_so() -> None:
    assert not searched("kimi-k3", "mi355x").apart
    assert searched(*R1, "tensorrt-llm", SearchSpace(gpus=(8,))).apart


def test_money_follows_the_rate() -> None:
    made = asked(*LLAMA, price={"b200": 4.0}, gpus=2)
    result = search(made, made.gpus[0])
    best = result.best(by="cost")
    cost = best.usd_per_million_output_tokens
    assert cost.value == pytest.approx(4.0 * 2 / 3600 / best.output_tps_total.value * 1e6)
    assert cost.low < cost.value < cost.high
    assert best == result.best(by="throughput")
    with pytest.raises(InvalidInput, match="no price"):
        searched(*LLAMA).best(by="cost")
    with pytest.raises(UnknownName, match="aim"):
        searched(*LLAMA).best(by="speed")


def test_the_best_layouts_are_each_named_once_on_the_fewest_gpus() -> None:
    ranked = searched(*LLAMA).ranked(most=3)
    assert len({point.candidate.deployment.layout for point in ranked}) == 3
    assert ranked[0].candidate.gpus == ranked[0].candidate.deployment.gpus
    values = [point.output_tps_per_gpu.value for point in ranked]
    assert values == sorted(values, reverse=True)


def test_lengths_are_needed() -> None:
    made = asked(*LLAMA)
    for lengths in ({"osl": None}, {"isl": None}):
        short = replace(made, workload=made.workload.model_copy(update=lengths))
        with pytest.raises(InvalidInput, match="isl and osl are needed"):
            search(short, made.gpus[0])


def test_some_points_can_be_taken() -> None:
    found = searched(*LLAMA).found
    some = found.take(np.array([3, 1]))
    for name in Found.__dataclass_fields__:
        assert getattr(some, name).tolist() == [getattr(found, name)[i] for i in (3, 1)]
