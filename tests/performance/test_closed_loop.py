"""What a service must do whatever its parameters: serve what was asked, and no more than requests take."""

from __future__ import annotations

import numpy as np
import pytest

from planner.catalogue import load_catalogue
from planner.errors import InvalidInput, UnknownName
from planner.performance import steady
from planner.performance.predict import make_service, predict_deployment
from planner.scenario import Deployment, Workload

CATALOGUE = load_catalogue()


def service(model="llama-3.1-8b", gpu="h100", sizes=None, **more):
    return make_service(
        model=CATALOGUE.model(model),
        gpu=CATALOGUE.gpu(gpu),
        deployment=Deployment(**(sizes or {})),
        workload=Workload(isl=1000, osl=100),
        catalogue=CATALOGUE,
        **more,
    )


LOADS = np.array([1.0, 4, 64, 512, 4096, 100_000])


@pytest.mark.parametrize(
    "asked",
    [
        service(),
        service("llama-3.1-70b", "mi355x", copies=16, prefill_deployment=Deployment(), prefill_copies=8),
        service("deepseek-r1", "b200", {"tp": 8}),
    ],
)
def test_a_closed_loop_never_yields_more_than_its_requests_take(asked):
    found = asked.at(1000, 100, LOADS)
    latency = found.ttft_mean_s + 99 * found.tpot_s
    assert (found.output_tps / 100 * latency <= LOADS * 1.3).all()


def test_requests_beyond_the_pool_wait_and_slow_nobody_down():
    found = service().at(1000, 100, LOADS)
    full = found.most < LOADS
    assert full.sum() >= 2
    assert found.tpot_s[full] == pytest.approx(found.tpot_s[full][0], rel=0.02)
    assert found.output_tps[full] == pytest.approx(found.output_tps[full][0], rel=0.02)
    assert (np.diff(found.ttft_s[full]) > 0).all()


def test_more_of_the_input_cached_is_never_slower():
    found = service().at(1000, 100, 16, np.linspace(0, 0.95, 20))
    assert (np.diff(found.output_tps) >= -1e-6 * found.output_tps[0]).all()
    assert (np.diff(found.ttft_s) <= 1e-9).all()


@pytest.mark.parametrize("rate", [1e-6, 0.01, 0.1, 1.0])
def test_a_rate_is_served_at_that_rate(rate):
    found = predict_deployment(
        model=CATALOGUE.model("llama-3.1-8b"),
        gpu=CATALOGUE.gpu("h100"),
        deployment=Deployment(),
        workload=Workload(isl=1000, osl=100, request_rate=rate),
        catalogue=CATALOGUE,
    )
    assert found.request_rate_per_s == pytest.approx(rate, rel=0.01)


def drafting(model, draft):
    return service(model, sizes={"speculative_tokens": 2}, draft=draft)


def test_a_kind_of_draft_that_nobody_measured_is_refused():
    with pytest.raises(UnknownName, match="kind of draft 'zz'"):
        drafting("llama-3.1-8b", "zz")
    assert drafting("llama-3.1-8b", "eagle-3").acceptance.tokens > 1


@pytest.mark.parametrize("rate", [1e-300, 1e3, 1e200])
def test_a_network_that_cannot_be_is_refused(rate):
    with pytest.raises(InvalidInput, match="a rate between nodes of"):
        service(network_bytes_per_s=rate)


def test_a_batch_that_only_memory_heeds_is_said_to_be_so():
    asked = {
        "model": CATALOGUE.model("llama-3.1-8b"),
        "gpu": CATALOGUE.gpu("h100"),
        "workload": Workload(isl=1000, osl=100, concurrency=16),
        "catalogue": CATALOGUE,
    }
    told = predict_deployment(deployment=Deployment(max_num_batched_tokens=256), **asked).warnings
    assert any("max_num_batched_tokens" in line and "simulate" in line for line in told)
    assert not any(
        "max_num_batched_tokens" in line
        for line in predict_deployment(deployment=Deployment(), **asked).warnings
    )


def test_a_gpu_without_measurements_is_said_to_have_none():
    def told(gpu):
        return predict_deployment(
            model=CATALOGUE.model("llama-3.1-8b"),
            gpu=CATALOGUE.gpu(gpu),
            deployment=Deployment(),
            workload=Workload(isl=1000, osl=100, concurrency=16),
            catalogue=CATALOGUE,
        ).warnings

    assert any("no point of rtx-5090 was measured" in line for line in told("rtx-5090"))
    assert not any("was measured" in line for line in told("h100"))


def test_pools_apart_settle(monkeypatch):
    """Long prompts and short outputs: rounds once swung between 13 and 4 tok/s."""
    tp8 = {"tp": 8}
    apart = service(
        "deepseek-r1", "h200", tp8, copies=2, prefill_deployment=Deployment(**tp8), prefill_copies=2
    )
    loads = np.geomspace(1.0, 512.0, 40)
    found = []
    for rounds in (7, 8):
        monkeypatch.setattr(steady, "ROUNDS", rounds)
        found.append(apart.at(32_000, 16, loads))
    assert found[0].output_tps == pytest.approx(found[1].output_tps, rel=0.01)
    assert found[0].ttft_s == pytest.approx(found[1].ttft_s, rel=0.02)
    rates = found[0].output_tps
    assert (rates > 0.97 * np.maximum.accumulate(rates)).all()
    assert (np.diff(found[0].ttft_s) > -1e-6 * found[0].ttft_s[1:]).all()


def test_who_waits_behind_others_never_waits_less_than_they_take():
    """T >= the prefills of all others, T >= its own time, and nobody waits where nobody else is."""
    alone, cost = np.full(5, 2.0), np.full(5, 0.5)
    others = np.array([0.0, 1.0, 4.0, 40.0, 400.0])
    waited = steady._behind_others(cost, others, alone, np.ones(5))
    assert waited[0] == 0
    assert (alone + waited >= others * cost).all()
    assert (np.diff(waited) > 0).all()
    # Light load: the wait of M/D/1, r / (2 (1 - r)) x cost with r = 0.5 x 1 / 2.
    assert waited[1] == pytest.approx(0.25 / (2 * 0.75) * 0.5, rel=0.06)
