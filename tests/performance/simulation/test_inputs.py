"""Loads and limits: what they draw, and the one line for what cannot be."""

from __future__ import annotations

import math

import numpy as np
import pytest

from planner.catalogue import Catalogue
from planner.errors import InvalidInput
from planner.memory import fit_memory
from planner.performance.simulation import (
    Batching,
    ClosedLoop,
    EmpiricalLengths,
    FixedArrivals,
    FixedLength,
    GammaArrivals,
    KvPool,
    LatencySlo,
    LognormalLength,
    PoissonArrivals,
    Trace,
    UniformLength,
)
from planner.scenario import Deployment, Workload
from tests.performance.simulation.loads import fixed, simulated


def stream(seed: int = 0) -> np.random.Generator:
    return np.random.default_rng(seed)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: PoissonArrivals(rate_per_s=0), "0 requests/s is not above zero"),
        (lambda: PoissonArrivals(rate_per_s=-2), "-2 requests/s is not above zero"),
        (lambda: PoissonArrivals(rate_per_s=math.nan), "rate_per_s: nan is not possible"),
        (lambda: PoissonArrivals(rate_per_s=math.inf), "rate_per_s: inf is not possible"),
        (lambda: GammaArrivals(rate_per_s=1, cv=-0.5), "cv: -0.5 is below zero; the nearest is 0"),
        (lambda: GammaArrivals(rate_per_s=0, cv=1), "not above zero"),
        (lambda: FixedArrivals(interval_s=-1), "interval_s: -1 is below zero; the nearest is 0"),
        (lambda: ClosedLoop(concurrency=0), "concurrency: 0 is not possible"),
        (lambda: ClosedLoop(concurrency=2, think_s=-1), "think_s: -1 is below zero; the nearest is 0"),
        (lambda: ClosedLoop(concurrency=2, think="never"), "think: 'never' is not possible"),
        (lambda: FixedLength(tokens=0), "tokens: 0 is not possible"),
        (lambda: UniformLength(tokens=9, low_share=1.2), "low_share: 1.2 .* the nearest is 1"),
        (lambda: UniformLength(tokens=9, low_share=-1), "low_share: -1 .* the nearest is 0"),
        (lambda: LognormalLength(mean=0.5, cv=1, longest=10), "mean: 0.5 .* the nearest is 1"),
        (lambda: LognormalLength(mean=50, cv=1, longest=10), "mean: 50 .* the nearest is 10"),
        (lambda: LognormalLength(mean=5, cv=-1, longest=10), "cv: -1 is below zero; the nearest is 0"),
        (
            lambda: KvPool(tokens=8, block_size=16),
            "tokens: 8 is less than one block of 16; the nearest is 16",
        ),
        (lambda: KvPool(tokens=0), "tokens: 0 is not possible"),
        (lambda: KvPool(tokens=8, state_tokens=-1), "state_tokens: -1 is below zero"),
        (lambda: Batching(prefix_hit=1), "prefix_hit: 1 .* the nearest is 0.999"),
        (lambda: Batching(prefix_hit=-0.1), "prefix_hit: -0.1 .* the nearest is 0"),
        (lambda: Batching(speculative_tokens=-1), "speculative_tokens: -1 is below zero"),
        (lambda: Batching(accepted_tokens=2), "2 a step is not possible with 0 drafted; the nearest is 1"),
        (lambda: Batching(speculative_tokens=3, accepted_tokens=0.5), "0.5 a step .* the nearest is 1"),
        (lambda: Batching(speculative_tokens=3, accepted_tokens=5), "5 a step .* the nearest is 4"),
        (
            lambda: Batching(max_num_batched_tokens=100),
            "100 is less than the 256 tokens .* the nearest is 256",
        ),
        (lambda: Batching(policy="lifo"), "policy: 'lifo' is not possible"),
        (lambda: LatencySlo(), "no limit is given; give one of ttft_s, tpot_s, e2e_s"),
        (lambda: LatencySlo(ttft_s=0), "ttft_s: 0 s is not above zero"),
        (lambda: LatencySlo(ttft_s=1, share=1.5), "share: 1.5 is not possible"),
        (lambda: simulated(requests=0), "requests: 0 is not from 1 .* the nearest is 1"),
        (lambda: simulated(requests=10**9), "the nearest is 10,000,000"),
        (lambda: simulated(requests=None), "say how many"),
        (lambda: simulated(requests=""), "requests: '' is no whole number"),
        (lambda: simulated(requests=2.5), "requests: 2.5 is no whole number"),
        (lambda: simulated(seed=-1), "seed: -1 is below zero"),
        (lambda: simulated(warmup_share=1), "warmup_share: 1 is no share"),
        (lambda: Trace.from_lists("log", [], [], []), "log: the trace has no request"),
        (lambda: Trace.from_lists("log", [1, 0], [1, 1], [1, 1]), "must not fall"),
        (lambda: Trace.from_lists("log", [0, math.nan], [1, 1], [1, 1]), "must be finite"),
        (lambda: Trace.from_lists("log", [0, 1], [1, 0], [1, 1]), "a length is below 1"),
        (lambda: Trace.from_lists("log", [0, 1], [1], [1, 1]), "2 times, 1 input and 2 output"),
        (lambda: Trace.from_lists("log", [0], [1], [1]).times(2, stream()), "the nearest is 1"),
    ],
)
def test_what_cannot_be_is_said_in_one_line(make, message):
    with pytest.raises(InvalidInput, match=message) as caught:
        make()
    assert "\n" not in str(caught.value)


def test_a_request_longer_than_the_pool():
    pool = KvPool(tokens=160, block_size=16)
    with pytest.raises(
        InvalidInput, match="need 11 blocks of 16 of the KV pool, which has 10; the nearest is 161"
    ):
        simulated(pool=pool, lengths=fixed(150, 20))
    assert simulated(pool=pool, lengths=fixed(150, 11)).preemptions == 0


def test_a_request_longer_than_the_context():
    batching = Batching(max_context=200)
    with pytest.raises(InvalidInput, match="input 150 and output 51 tokens are over the context of 200"):
        simulated(batching=batching, lengths=fixed(150, 51))
    assert simulated(batching=batching, lengths=fixed(150, 50)).output_tps > 0


def test_a_prompt_longer_than_a_step_that_may_not_be_cut():
    batching = Batching(max_num_seqs=8, max_num_batched_tokens=128, chunked_prefill=False)
    with pytest.raises(InvalidInput, match="prompts are not chunked; set it to 150, or"):
        simulated(batching=batching, lengths=fixed(140, 10))


@pytest.mark.parametrize("seconds", [0.0, -1.0, math.nan, math.inf])
def test_a_step_that_takes_no_possible_time(seconds):
    class Broken:
        def step_s(self, *arguments):
            return seconds

    with pytest.raises(InvalidInput, match="a step takes a finite time above zero"):
        simulated(step_times=Broken())


@pytest.mark.parametrize(
    ("arrivals", "cv"),
    [
        (PoissonArrivals(rate_per_s=4), 1.0),
        (GammaArrivals(rate_per_s=4, cv=2.0), 2.0),
        (GammaArrivals(rate_per_s=4, cv=0.3), 0.3),
        (GammaArrivals(rate_per_s=4, cv=0), 0.0),
        (FixedArrivals(interval_s=0.25), 0.0),
    ],
)
def test_arrivals_have_the_asked_rate_and_spread(arrivals, cv):
    times = arrivals.times(100_000, stream())
    gaps = np.diff(times)
    assert times[0] == 0
    assert gaps.mean() == pytest.approx(0.25, rel=0.03)
    assert gaps.std() / gaps.mean() == pytest.approx(cv, rel=0.03, abs=1e-6)
    assert arrivals.cv == cv


def test_lengths_have_the_asked_range_and_moments():
    nominal = UniformLength(tokens=1024).sample(50_000, stream())
    assert (nominal.min(), nominal.max()) == (819, 1024)
    assert UniformLength(tokens=1, low_share=0).sample(5, stream()).tolist() == [1] * 5
    tail = LognormalLength(mean=500, cv=0.8, longest=1_000_000).sample(200_000, stream())
    assert tail.mean() == pytest.approx(500, rel=0.01)
    assert tail.std() / tail.mean() == pytest.approx(0.8, rel=0.03)
    assert LognormalLength(mean=500, cv=0.8, longest=600).sample(1000, stream()).max() == 600


def test_lengths_of_a_trace_stay_together():
    trace = Trace.from_lists("log", [0, 1, 3], [10, 20, 30], [1, 2, 3])
    isl, osl = EmpiricalLengths(trace).draw(1000, stream(), stream(1))
    assert set(zip(isl.tolist(), osl.tolist(), strict=True)) == {(10, 1), (20, 2), (30, 3)}
    assert trace.cv == pytest.approx(1 / 3)
    assert Trace.from_lists("log", [0], [1], [1]).cv == 0


def fit(catalogue: Catalogue, model: str, **deployment):
    return fit_memory(
        model=catalogue.model(model),
        gpu=catalogue.gpu("h200"),
        deployment=Deployment(**deployment),
        workload=Workload(context=8192),
        catalogue=catalogue,
    )


def test_the_pool_of_a_model_with_plain_attention_is_the_fitted_one(catalogue):
    found = fit(catalogue, "llama-3.1-8b")
    pool = KvPool.from_fit(found)
    assert pool.tokens == found.kv_tokens
    assert (pool.block_size, pool.state_tokens, pool.slots) == (16, 0, None)


def test_the_pool_of_a_copy_is_that_of_one_copy(catalogue):
    found = fit(catalogue, "deepseek-r1", tp=1, dp=8, ep=8)
    assert KvPool.from_fit(found).tokens == pytest.approx(found.kv_tokens / 8, rel=1e-3)


def test_states_take_room_of_a_hybrid(catalogue):
    found = fit(catalogue, "qwen3-next-80b-a3b", tp=2)
    pool = KvPool.from_fit(found)
    assert pool.state_tokens > 0
    holds = pool.blocks / pool.request_blocks(8192)
    assert holds == pytest.approx(found.pool.bytes / found.pool.request_bytes, rel=0.02)


def test_a_deployment_that_does_not_fit_has_no_pool(catalogue):
    with pytest.raises(InvalidInput, match="has no KV pool to simulate"):
        KvPool.from_fit(fit(catalogue, "kimi-k3", tp=8))


def test_prompts_and_outputs_that_take_too_many_steps_are_refused_before_the_first():
    one = Batching(max_num_seqs=1, max_num_batched_tokens=1)
    large = KvPool(tokens=10**9)
    with pytest.raises(
        InvalidInput, match=r"1,000 take 100,000,000 steps or more.* the nearest is 500 requests"
    ):
        simulated(batching=one, pool=large, lengths=fixed(100_000, 1), requests=1000)
    with pytest.raises(InvalidInput, match=r"max_num_batched_tokens of 2 instead of 1$"):
        simulated(batching=one, pool=large, lengths=fixed(100_000, 1), requests=1000)
    cached = Batching(max_num_seqs=64, max_num_batched_tokens=64, prefix_hit=0.999)
    with pytest.raises(InvalidInput, match=r"1,000 take 62,499,985 steps.* the nearest is 800 requests$"):
        simulated(batching=cached, pool=large, lengths=fixed(100_000, 4_000_000), requests=1000)


def test_a_simulation_ends_at_its_last_step(monkeypatch):
    lengths = fixed(10, 1000)
    steps = 20 * 1000
    far_apart = {"arrivals": FixedArrivals(interval_s=100), "lengths": lengths, "requests": 20}
    monkeypatch.setattr("planner.performance.simulation.machine.MOST_STEPS", steps + 1)
    assert simulated(**far_apart).requests.finish_s.size == 20
    monkeypatch.setattr("planner.performance.simulation.machine.MOST_STEPS", steps // 2)
    with pytest.raises(InvalidInput, match=r"of 20 have ended after 10,000 steps.* ask for 10 or fewer"):
        simulated(**far_apart)
