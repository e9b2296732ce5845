"""Sizing: replicas, groups, spares and GPUs from a rate, and what a replica carries by simulation."""

from __future__ import annotations

import math
from math import comb
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

import planner
from planner.errors import InvalidInput, PlannerError
from planner.planning import replica
from planner.planning.headroom import Headroom, group_of, k_of_n, spares_of
from planner.planning.plan_steps import steps_of
from planner.planning.replica import RATIO, _first_kept, served
from planner.planning.service_simulation import SimulatedLoad
from planner.planning.sized import size
from planner.scenario.slo import LatencySlo

rates = st.floats(0.01, 1e4)
sizes = st.sampled_from([1, 2, 4, 8, 16, 24])
nodes = st.sampled_from([4, 8])
spares = st.integers(0, 3)
shares = st.floats(0.3, 1.0)


def sized(planned, rate, gpus=4, node=8, spare=1, utilisation=0.8, whole=True):
    return size(
        planned_per_s=planned,
        rate_per_s=rate,
        headroom=Headroom(spare=spare, peak_utilisation=utilisation),
        replica_gpus=gpus,
        node_gpus=node,
        whole_nodes=whole,
    )


def test_a_size_worked_out_by_hand():
    # 60 / (3.5 x 0.8) = 21.4: 22 replicas of 4 GPUs, two to a node of 8: 11 nodes, and one stands by.
    found = sized(60, 3.5)
    assert (found.working, found.groups, found.replicas, found.nodes, found.gpus) == (22, 11, 24, 12, 96)
    # Over two nodes each, a replica fails as a whole: 60 / 8 = 7.5.
    found = sized(60, 10, gpus=16)
    assert (found.working, found.replicas, found.nodes, found.gpus) == (8, 9, 18, 144)


@given(
    planned=rates, rate=rates, gpus=sizes, node=nodes, spare=spares, utilisation=shares, whole=st.booleans()
)
def test_what_is_planned_carries_the_peak_with_the_spares_beside(
    planned, rate, gpus, node, spare, utilisation, whole
):
    assume(planned / rate < 1e5)
    found = sized(planned, rate, gpus, node, spare, utilisation, whole)
    assert found.working * rate * utilisation >= planned * (1 - 1e-8)
    assert (found.working - 1) * rate * utilisation < planned
    assert found.groups * found.group.replicas >= found.working
    assert found.gpus >= found.gpus_used == found.replicas * gpus
    none = sized(planned, rate, gpus, node, 0, utilisation, whole)
    assert found.nodes - none.nodes == spare * found.group.nodes
    assert found.replicas - none.replicas == spare * found.group.replicas


@given(planned=rates, more=st.floats(1, 5), rate=rates, gpus=sizes, spare=spares, whole=st.booleans())
def test_more_traffic_and_slower_replicas_never_need_fewer_gpus(planned, more, rate, gpus, spare, whole):
    assume(planned * more / rate < 1e5)
    found = sized(planned, rate, gpus, spare=spare, whole=whole)
    assert sized(planned * more, rate, gpus, spare=spare, whole=whole).gpus >= found.gpus
    assert sized(planned, rate / more, gpus, spare=spare, whole=whole).gpus >= found.gpus


def test_a_whole_number_of_replicas_is_not_rounded_up_by_the_last_bit():
    assert sized(0.1 * 3 * 0.8, 0.1, gpus=8, spare=0).working == 3


def test_no_load_needs_nothing():
    assert sized(0.0, 1.0).gpus == 0


@given(needed=st.integers(1, 12), more=st.integers(0, 6), works=st.floats(0.5, 0.999))
def test_enough_of_them_work_with_the_probability_of_the_binomial(needed, more, works):
    n = needed + more
    sums = sum(comb(n, i) * works**i * (1 - works) ** (n - i) for i in range(needed, n + 1))
    assert k_of_n(needed, n, works) == pytest.approx(sums)


@given(needed=st.integers(1, 50), works=st.floats(0.9, 0.9999), target=st.floats(0.9, 0.99999), gpus=sizes)
def test_spares_are_the_fewest_that_reach_the_target(needed, works, target, gpus):
    group = group_of(gpus, 8)
    found = spares_of(Headroom(availability_target=target, node_availability=works), needed, group, 8)
    each = works**group.nodes
    assert found.works == pytest.approx(each)
    assert k_of_n(needed, needed + found.groups, each) >= target
    assert found.groups == 0 or k_of_n(needed, needed + found.groups - 1, each) < target


def test_a_node_works_while_all_its_gpus_do():
    found = spares_of(
        Headroom(availability_target=0.99, gpu_availability=0.999), 5, group_of(2, 8), node_gpus=8
    )
    assert found.works == pytest.approx(0.999**8)


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ({"availability_target": 0.99}, "needs that of a node or a GPU"),
        ({"node_availability": 0.99}, "no target"),
        ({"availability_target": 0.9, "node_availability": 0.9, "gpu_availability": 0.9}, "exclude"),
        ({"availability_target": 0.9, "node_availability": 0.9, "spare": 1}, "exclude"),
        ({"peak_utilisation": 0.0}, "utilisation"),
        ({"peak_utilisation": 1.01}, "utilisation"),
        ({"spare": -1}, "spare"),
        ({"availability_target": 1.0, "node_availability": 0.9}, "availability_target"),
    ],
)
def test_headroom_that_contradicts_itself_is_one_line(fields, said):
    with pytest.raises(InvalidInput, match=said):
        Headroom(**fields)


def test_an_unreachable_target_is_said():
    with pytest.raises(InvalidInput, match="do not reach"):
        spares_of(Headroom(availability_target=0.999, node_availability=1e-6), 1, group_of(8, 8), node_gpus=8)


def test_utilisation_is_never_all_of_it_by_default():
    assert Headroom().peak_utilisation == 0.8


@given(edge=st.integers(0, 64), begin=st.integers(0, 64))
def test_the_search_on_the_grid_finds_the_first_step_that_keeps_the_slo(edge, begin):
    assert _first_kept(lambda step: step >= edge, begin, 64) == edge


@given(begin=st.integers(0, 64))
def test_the_search_on_the_grid_says_where_none_keeps_it(begin):
    assert _first_kept(lambda step: False, begin, 64) is None


QUESTION = {
    "model": "llama-3.1-8b",
    "gpu": "h100",
    "tp": 1,
    "isl": 500,
    "osl": 40,
    "request_rate": 200.0,
    "slo_ttft_s": 0.5,
    "slo_tpot_s": 0.03,
    "requests": 1500,
}


@pytest.fixture(scope="module")
def answer(catalogue):
    return planner.plan(catalogue=catalogue, price={"h100": 2.5}, **QUESTION)


def test_the_share_keeps_the_slo_at_the_chosen_size(answer):
    plan = answer.answer.plan
    assert plan.carried.result.slo_share >= 0.95
    assert plan.goodput.slo_share >= 0.95
    assert plan.goodput_per_s == pytest.approx(200.0 * plan.goodput.slo_share)
    assert plan.sized.working * plan.sized.rate_per_s * 0.8 >= 200.0


def test_the_next_rate_of_the_grid_fails_the_slo(answer):
    plan = answer.answer.plan
    requests = len(plan.carried.result.requests.isl)
    over = served(
        plan.carried.ready,
        SimulatedLoad(),
        plan.workload,
        plan.carried.rate_per_s / RATIO,
        requests,
        plan.terms.slo,
    )
    assert not over.meets_slo


def test_requests_in_flight_are_rate_times_time(answer):
    plan = answer.answer.plan
    assert plan.in_flight == pytest.approx(200.0 * plan.goodput.e2e_s.mean)
    # What decodes is a part of what is in flight; the rest waits or prefills.
    assert plan.goodput.mean_batch <= plan.in_flight / plan.sized.working * 1.05


def test_cost_is_that_of_all_gpus_over_the_tokens_of_the_mean_load(answer):
    plan = answer.answer.plan
    usd = plan.sized.gpus * 2.5
    assert plan.usd_per_hour == pytest.approx(usd)
    assert plan.costs.usd_per_million_output_all == pytest.approx(usd / (200 * 40 * 3600) * 1e6)
    assert plan.costs.usd_per_million_total == pytest.approx(usd / (200 * 540 * 3600) * 1e6)


def test_every_step_leads_to_the_next(answer):
    plan = answer.answer.plan
    steps = {step.name: step.value for step in steps_of(plan)}
    assert steps["rate to plan for"] == 200.0
    assert steps["rate it is given"] == pytest.approx(steps["rate of a replica"] * 0.8)
    assert steps["replicas for the peak"] == math.ceil(200.0 / steps["rate it is given"])
    assert steps["GPUs"] == 8 * steps["nodes"]
    assert steps["cost"] == pytest.approx(2.5 * steps["GPUs"])
    assert steps["cost of a month"] == pytest.approx(730 * steps["cost"])


def test_the_same_seed_gives_the_same_plan(answer, catalogue):
    again = planner.plan(catalogue=catalogue, price={"h100": 2.5}, **QUESTION)
    assert again.to_dict()["results"] == answer.to_dict()["results"]


def test_a_stricter_slo_and_more_traffic_never_need_fewer_gpus(answer, catalogue):
    gpus = answer.answer.plan.sized.gpus
    for changes in ({"slo_tpot_s": 0.008}, {"slo_share": 0.99}, {"slo_ttft_s": 0.1}, {"request_rate": 400.0}):
        more = planner.plan(catalogue=catalogue, **{**QUESTION, "requests": 200, **changes})
        assert more.answer.plan.sized.gpus >= gpus, changes


def test_an_slo_that_nothing_keeps_names_the_closest_and_the_limit(catalogue):
    report = planner.plan(catalogue=catalogue, **{**QUESTION, "slo_tpot_s": 0.001})
    assert not report.answered
    missed = report.answer.missed
    assert missed.label == "TP1"
    assert [one.name for one in missed.failed] == ["tpot_s"]
    assert "TPOT" in report.sentence


def test_hours_need_no_more_than_the_fixed_size(catalogue):
    report = planner.plan(catalogue=catalogue, profile="daily", **{**QUESTION, "request_rate": 400.0})
    plan = report.answer.plan
    assert len(plan.hours) == 24
    assert max(hour.sized.gpus for hour in plan.hours) == plan.sized.gpus
    assert plan.scaled_gpu_hours < plan.fixed_gpu_hours


@pytest.mark.parametrize("think_s", [0.0, 2.0])
def test_users_who_think_are_all_there(catalogue, think_s):
    """Each of them thinks or waits for an answer: users = rate x (think + time), at the size itself."""
    asked = {**QUESTION, "request_rate": None, "users": 600, "think_s": think_s}
    report = planner.plan(catalogue=catalogue, **asked)
    plan = report.answer.plan
    assert plan.in_flight + think_s * plan.traffic.peak_per_s == pytest.approx(600, rel=0.02)
    # Replicas that are not full answer sooner than full ones, and are asked more often.
    assert plan.traffic.mean_per_s > 600 / (think_s + plan.carried.e2e_s)


def stub_replica(monkeypatch, rates):
    """Let deployments carry so much by medians and by simulation, by GPUs; count what is simulated."""
    steady = [
        SimpleNamespace(
            point=SimpleNamespace(
                candidate=SimpleNamespace(gpus=gpus, label=f"TP{gpus}", deployment=gpus, memory=None),
                request_rate_per_s=by_medians,
                concurrency=1.0,
                e2e_s=1.0,
            ),
            capacity_per_s=3 * by_medians,
        )
        for gpus, (by_medians, _) in rates.items()
    ]
    tried = []

    def serve(gpus, load, workload, rate_per_s, requests, slo):
        tried.append(gpus)
        return SimpleNamespace(meets_slo=rate_per_s <= rates[gpus][1], e2e_s=SimpleNamespace(mean=1.0))

    monkeypatch.setattr(replica, "search_again", lambda *_, **__: None)
    monkeypatch.setattr(replica, "_steady_points", lambda *_: list(steady))
    monkeypatch.setattr(replica, "_ready", lambda asked, card, one, _: one.record.gpus)
    monkeypatch.setattr(replica, "served", serve)
    return tried


def by_rate(candidate, rate_per_s, _):
    return (candidate.gpus / rate_per_s,)


def test_a_deployment_that_simulation_shows_to_be_better_than_its_medians_is_found(monkeypatch):
    tried = stub_replica(monkeypatch, {8: (9.0, 11.5), 4: (5.0, 5.0), 2: (1.0, 1.0)})
    best = replica.carried(None, None, None, None, workload=None, judge=by_rate)
    assert best[0].candidate.gpus == 8
    assert best[0].rate_per_s == pytest.approx(11.5, rel=0.06)
    assert 2 not in tried  # it cannot be better, so it is not simulated
    tried = stub_replica(monkeypatch, {8: (9.0, 9.0), 4: (5.0, 5.0)})
    assert replica.carried(None, None, None, None, workload=None, judge=by_rate)[0].candidate.gpus == 4
    assert tried.count(8) == 1  # at the rate that it would need, and no further


def test_smaller_deployments_are_kept_for_fleets(monkeypatch):
    stub_replica(monkeypatch, {8: (9.0, 9.0), 4: (4.0, 4.0), 2: (2.1, 2.1), 1: (1.0, 1.0)})
    kept = replica.carried(None, None, None, None, workload=None, judge=by_rate, by_size=True)
    assert sorted(one.candidate.gpus for one in kept) == [1, 2, 8]


@pytest.mark.filterwarnings("error")
def test_a_limit_on_a_time_that_no_request_has_is_not_failed():
    requests = SimpleNamespace(
        measured=np.ones(4, bool), ttft_s=np.full(4, 2.0), tpot_s=np.full(4, np.nan), e2e_s=np.full(4, 2.0)
    )
    result = SimpleNamespace(requests=requests, flow=SimpleNamespace(offered_per_s=3.0))
    failed, _ = replica._failed(result, LatencySlo(ttft_s=1.0, tpot_s=1.0))
    assert [(one.name, one.value_s) for one in failed] == [("ttft_s", 2.0)]


def test_limits_that_no_request_keeps_both_are_named():
    """Half of the requests fail one limit, the others the other: each limit alone is kept by enough."""
    slow, fast = np.full(5, 2.0), np.full(5, 0.1)
    requests = SimpleNamespace(
        measured=np.ones(10, bool),
        ttft_s=np.concatenate([slow, fast]),
        tpot_s=np.concatenate([fast, slow]),
        e2e_s=np.full(10, 5.0),
    )
    result = SimpleNamespace(requests=requests, flow=SimpleNamespace(offered_per_s=3.0))
    failed, how = replica._failed(result, LatencySlo(ttft_s=1.0, tpot_s=1.0, share=0.4))
    assert {one.name for one in failed} == {"ttft_s", "tpot_s"}
    assert how == "70 % of simulated requests at 3/s, as 40 % keep all limits"


def test_racks_are_counted_by_whole_nodes_within_their_power(catalogue):
    report = planner.plan(catalogue=catalogue, rack_kw=25.0, kw={"h100": 1.25}, **QUESTION)
    plan = report.answer.plan
    assert plan.racks == math.ceil(plan.sized.nodes / 2)


def test_a_rack_that_powers_no_node_is_refused(catalogue):
    with pytest.raises(InvalidInput, match="holds no node"):
        planner.plan(catalogue=catalogue, rack_kw=9.0, kw={"h100": 1.25}, **QUESTION)


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"request_rate": 0.0}, "rate_per_s"),
        ({"request_rate": -3.0}, "rate_per_s"),
        ({"request_rate": float("nan")}, "rate_per_s"),
        ({"isl": None}, "isl and osl"),
        ({"disaggregated": (2, 2)}, "not planned with"),
        ({"slo_ttft_s": None, "slo_tpot_s": None}, "no limit"),
        ({"lengths": "zipf"}, "lengths"),
        ({"peak_utilisation": 1.5}, "utilisation"),
        ({"slo_share": 0.0}, "share"),
        ({"kw": {"b200": 1.0}}, "kw"),
        ({"model": None}, "model and gpu"),
    ],
)
def test_bad_input_is_one_line(changes, said, catalogue):
    with pytest.raises(PlannerError, match=said) as caught:
        planner.plan(catalogue=catalogue, **{**QUESTION, **changes})
    assert "\n" not in str(caught.value)
