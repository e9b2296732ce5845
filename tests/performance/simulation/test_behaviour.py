"""What queues and batches must do, whatever the numbers."""

from __future__ import annotations

import json

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from planner.performance.simulation import (
    Batching,
    ClosedLoop,
    FixedArrivals,
    FixedLength,
    GammaArrivals,
    IndependentLengths,
    KvPool,
    PoissonArrivals,
    UniformLength,
)
from tests.performance.simulation.loads import SHORT, fixed, simulated
from tests.performance.simulation.models import Affine, Constant

POLICIES = ("decode-first", "prefill-first", "static")


def same(one, other):
    pairs = zip(one.requests.columns().values(), other.requests.columns().values(), strict=True)
    return all(np.array_equal(a, b, equal_nan=a.dtype.kind == "f") for a, b in pairs)


@pytest.mark.parametrize("arrivals", [PoissonArrivals(rate_per_s=9), ClosedLoop(concurrency=4, think_s=1)])
def test_a_seed_gives_the_same_result_bit_for_bit(arrivals):
    one, again, other = (simulated(arrivals=arrivals, seed=seed) for seed in (7, 7, 8))
    assert same(one, again)
    assert json.dumps(one.to_dict()) == json.dumps(again.to_dict())
    assert not same(one, other)


def test_each_stream_is_its_own():
    base = simulated(arrivals=PoissonArrivals(rate_per_s=5)).requests
    burst = simulated(arrivals=GammaArrivals(rate_per_s=5, cv=3)).requests
    assert np.array_equal(base.isl, burst.isl)
    assert np.array_equal(base.osl, burst.osl)
    longer = IndependentLengths(isl=SHORT.isl, osl=FixedLength(tokens=9))
    other = simulated(arrivals=PoissonArrivals(rate_per_s=5), lengths=longer).requests
    assert np.array_equal(base.isl, other.isl)
    assert np.array_equal(base.arrival_s, other.arrival_s)


def test_one_request_by_hand():
    result = simulated(lengths=fixed(100, 3), requests=1, batching=Batching(max_num_batched_tokens=256))
    model = Affine()
    first = model.step_s(0, 0, 100, 0)
    later = model.step_s(1, 101, 0, 0) + model.step_s(1, 102, 0, 0)
    assert result.window.measure == "all"
    assert result.ttft_s.p50 == pytest.approx(first)
    assert result.e2e_s.mean == pytest.approx(first + later)
    assert result.tpot_s.mean == pytest.approx(later / 2)
    assert result.output_tps == pytest.approx(3 / (first + later))
    assert result.total_tps == pytest.approx(103 / (first + later))


def test_a_prompt_is_cut_into_chunks_that_attend_to_those_before():
    result = simulated(lengths=fixed(600, 1), requests=1, batching=Batching(max_num_batched_tokens=256))
    steps = [Affine().step_s(0, 0, new, before) for new, before in ((256, 0), (256, 256), (88, 512))]
    assert result.ttft_s.p50 == pytest.approx(sum(steps))
    assert result.tpot_s is None
    assert result.itl_s is None


@pytest.mark.parametrize("osl", [1, 5])
@pytest.mark.parametrize("load", [0.3, 0.6, 0.8])
def test_one_place_and_constant_steps_are_an_m_d_1_queue(load, osl):
    service_s = 0.01 * osl
    result = simulated(
        step_times=Constant(0.01),
        batching=Batching(max_num_seqs=1),
        arrivals=PoissonArrivals(rate_per_s=load / service_s),
        lengths=fixed(10, osl),
        requests=40_000,
        seed=11,
    )
    # Pollaczek-Khinchine: load * service / (2 * (1 - load)). Means of 20 batches give the statistical error.
    waits = result.requests.queue_s[result.requests.measured]
    batches = np.array([part.mean() for part in np.array_split(waits, 20)])
    error = batches.std(ddof=1) / np.sqrt(20)
    assert abs(waits.mean() - load * service_s / (2 * (1 - load))) < 4 * error


@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize("think_s", [0.0, 0.4])
def test_littles_law_holds_in_a_closed_loop(policy, think_s):
    result = simulated(
        arrivals=ClosedLoop(concurrency=24, think_s=think_s, think="exponential"),
        batching=Batching(policy=policy, max_num_seqs=16, max_num_batched_tokens=1024),
        requests=4000,
    )
    per_s = result.flow.sustained_per_s
    assert per_s * (result.e2e_s.mean + think_s) == pytest.approx(24, rel=0.03)


@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize(("drafted", "accepted"), [(0, 1.0), (3, 2.6)])
@pytest.mark.parametrize("tokens", [100_000, 1500])
def test_every_request_ends_and_no_token_is_lost(policy, drafted, accepted, tokens):
    batching = Batching(
        policy=policy,
        max_num_seqs=16,
        max_num_batched_tokens=512,
        speculative_tokens=drafted,
        accepted_tokens=accepted,
    )
    pool = KvPool(tokens=tokens, block_size=16)
    result = simulated(batching=batching, pool=pool, arrivals=PoissonArrivals(rate_per_s=30), measure="all")
    rows = result.requests
    assert result.output_tps * result.window.length_s == pytest.approx(rows.osl.sum(), rel=1e-9)
    assert (result.total_tps - result.output_tps) * result.window.length_s == pytest.approx(rows.isl.sum())
    assert (rows.arrival_s <= rows.admitted_s).all()
    assert (rows.admitted_s < rows.first_token_s).all()
    assert (rows.first_token_s <= rows.finish_s).all()
    assert result.kv_utilisation_peak <= 1
    assert (result.preemptions > 0) is (tokens == 1500 and policy != "static")
    assert (result.recomputed_tokens > 0) is (result.preemptions > 0)


@settings(max_examples=30, deadline=None)
@given(
    low=st.floats(0.5, 40),
    more=st.floats(1.05, 4),
    cv=st.sampled_from([0.0, 1.0, 2.0]),
    policy=st.sampled_from(["decode-first", "prefill-first"]),
)
def test_more_load_does_not_lower_the_median_ttft(low, more, cv, policy):
    batching = Batching(policy=policy, max_num_seqs=16, max_num_batched_tokens=1024)

    def median_ttft_s(rate_per_s):
        arrivals = GammaArrivals(rate_per_s=rate_per_s, cv=cv)
        result = simulated(arrivals=arrivals, batching=batching, lengths=fixed(200, 40), measure="all")
        return np.median(result.requests.ttft_s)

    # A request waits for the rest of the running step, and where in a step it arrives is chance.
    chance = Affine().step_s(batching.max_num_seqs, batching.max_num_seqs * 240, 0, 0)
    assert median_ttft_s(low * more) >= median_ttft_s(low) - chance


@settings(max_examples=30, deadline=None)
@given(
    seqs=st.integers(1, 24),
    osl=st.integers(2, 80),
    block=st.sampled_from([1, 16, 64]),
    policy=st.sampled_from(["decode-first", "prefill-first"]),
)
def test_nothing_is_preempted_where_the_pool_holds_all_places(seqs, osl, block, policy):
    batching = Batching(policy=policy, max_num_seqs=seqs, max_num_batched_tokens=2048)
    each = KvPool(tokens=10_000, block_size=block).request_blocks(100 + osl)
    roomy = KvPool(tokens=seqs * each * block, block_size=block)
    how = {
        "batching": batching,
        "lengths": fixed(100, osl),
        "arrivals": ClosedLoop(concurrency=30),
        "requests": 60,
    }
    assert simulated(pool=roomy, **how).preemptions == 0


def test_a_pool_that_is_too_small_preempts_and_costs_throughput():
    how = {"arrivals": ClosedLoop(concurrency=32), "lengths": fixed(100, 200), "requests": 300}
    roomy = simulated(pool=KvPool(tokens=32 * 300), **how)
    tight = simulated(pool=KvPool(tokens=16 * 300), **how)
    assert roomy.preemptions == 0
    assert tight.preemptions > 0
    assert tight.output_tps < roomy.output_tps
    assert tight.mean_batch < roomy.mean_batch


def test_slots_and_states_limit_the_batch():
    how = {"arrivals": ClosedLoop(concurrency=32), "lengths": fixed(100, 50), "measure": "all"}
    slots = simulated(pool=KvPool(tokens=100_000, slots=4), **how)
    assert 3.5 < slots.mean_batch <= 4
    states = simulated(pool=KvPool(tokens=6000, state_tokens=850), **how)
    assert 5 < states.mean_batch <= 6
    assert states.kv_utilisation_peak > 0.9


def test_an_engine_that_computes_prompts_first_makes_the_others_wait():
    how = {"arrivals": PoissonArrivals(rate_per_s=12), "lengths": fixed(900, 60)}
    chunked, first = (
        simulated(batching=Batching(policy=policy, max_num_seqs=64, max_num_batched_tokens=tokens), **how)
        for policy, tokens in (("decode-first", 256), ("prefill-first", 8192))
    )
    assert first.itl_s.p99 > 2 * chunked.itl_s.p99
    assert first.ttft_s.p50 < chunked.ttft_s.p50


def test_nobody_joins_a_static_batch():
    result = simulated(
        batching=Batching(policy="static", max_num_seqs=4),
        arrivals=FixedArrivals(interval_s=0),
        lengths=IndependentLengths(isl=FixedLength(tokens=10), osl=UniformLength(tokens=50, low_share=0.2)),
        requests=12,
    )
    ends = result.requests.finish_s.reshape(3, 4).max(axis=1)
    assert np.array_equal(np.unique(result.requests.admitted_s), [0, *ends[:2]])


def test_prefix_hits_and_speculation_shorten_what_they_should():
    plain = simulated(lengths=fixed(800, 61), step_times=Constant(0.02))
    drafted = Batching(max_num_seqs=32, speculative_tokens=4, accepted_tokens=3)
    quick = simulated(lengths=fixed(800, 61), step_times=Constant(0.02), batching=drafted)
    assert plain.tpot_s.mean == pytest.approx(0.02)
    assert quick.tpot_s.mean == pytest.approx(0.02 / 3)
    assert quick.itl_s.mean == pytest.approx(0.02)
    hit = Batching(max_num_seqs=32, max_num_batched_tokens=1024, prefix_hit=0.5)
    alone = {"arrivals": ClosedLoop(concurrency=1), "lengths": fixed(800, 10)}
    cold, warm = simulated(**alone), simulated(batching=hit, **alone)
    assert cold.ttft_s.p50 == pytest.approx(Affine().step_s(0, 0, 800, 0))
    assert warm.ttft_s.p50 == pytest.approx(Affine().step_s(0, 0, 400, 400))
