"""The fast simulation equals the one that takes every step by itself."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import event, given, settings
from hypothesis import strategies as st

from planner.performance.simulation import (
    Batching,
    ClosedLoop,
    FixedLength,
    GammaArrivals,
    IndependentLengths,
    KvPool,
    UniformLength,
    simulate,
)
from planner.performance.simulation.logs import GapLog
from planner.performance.simulation.summary import PERCENTILES
from tests.performance.simulation.models import Affine, Roofline
from tests.performance.simulation.reference import Reference

POLICIES = ("decode-first", "prefill-first", "static")


class Given:
    """Lengths and times that are known beforehand."""

    def __init__(self, isl, osl, times=None):
        self.isl, self.osl, self.known = np.array(isl), np.array(osl), times
        self.cv = 1.0

    def draw(self, count, isl_rng, osl_rng):
        return self.isl, self.osl

    def times(self, count, rng):
        return np.array(self.known)


@st.composite
def cases(draw):
    count = draw(st.integers(1, 24))
    isl = draw(st.lists(st.integers(1, 90), min_size=count, max_size=count))
    osl = draw(st.lists(st.integers(1, 40), min_size=count, max_size=count))
    drafted = draw(st.sampled_from([0, 0, 3]))
    accepted = draw(st.sampled_from([1.0, 2.0, 2.5, 1.7])) if drafted else 1.0
    seqs = draw(st.integers(1, 8))
    batching = Batching(
        policy=draw(st.sampled_from(POLICIES)),
        max_num_seqs=seqs,
        max_num_batched_tokens=draw(st.integers(seqs * (1 + drafted), 150)),
        chunked_prefill=draw(st.booleans()),
        prefix_hit=draw(st.sampled_from([0.0, 0.5, 0.9])),
        speculative_tokens=drafted,
        accepted_tokens=accepted,
    )
    if not batching.chunked_prefill:
        batching = batching.model_copy(update={"max_num_batched_tokens": 150})
    block = draw(st.sampled_from([1, 4, 16]))
    state = draw(st.sampled_from([0, 0, 5]))
    least = max(batching.longest_hold(a, b) for a, b in zip(isl, osl, strict=True)) + state + 2 * block
    pool = KvPool(
        tokens=least + draw(st.one_of(st.integers(0, 40), st.integers(0, 300))),
        block_size=block,
        state_tokens=state,
        slots=draw(st.sampled_from([None, 3])),
    )
    if draw(st.booleans()):
        gaps = draw(st.lists(st.floats(0, 0.3), min_size=count, max_size=count))
        arrivals = np.cumsum(gaps) - gaps[0]
    else:
        arrivals = ClosedLoop(
            concurrency=draw(st.integers(1, 12)),
            think_s=draw(st.sampled_from([0.0, 0.05])),
            think="exponential",
        )
    model = draw(st.sampled_from([Affine(), Roofline()]))
    return isl, osl, batching, pool, arrivals, model


def both(isl, osl, batching, pool, arrivals, model):
    given_lengths = Given(isl, osl, arrivals)
    closed = isinstance(arrivals, ClosedLoop)
    result = simulate(
        step_times=model,
        pool=pool,
        batching=batching,
        arrivals=arrivals if closed else given_lengths,
        lengths=given_lengths,
        requests=len(isl),
        measure="all",
    )
    how = {"times": None if closed else list(arrivals)}
    if closed:
        stream = np.random.Generator(np.random.PCG64(np.random.SeedSequence(0).spawn(4)[3]))
        how |= {"users": arrivals.concurrency, "pauses": arrivals.pauses(len(isl), stream).tolist()}
    slow = Reference(step_times=model, pool=pool, batching=batching, isl=isl, osl=osl, **how)
    slow.run()
    return result, slow


@settings(max_examples=150, deadline=None)
@given(cases())
def test_it_equals_stepping_one_by_one(case):
    result, slow = both(*case)
    event(f"{case[2].policy}, preempted: {result.preemptions > 0}")
    rows = result.requests
    for name in ("arrival_s", "admitted_s", "first_token_s", "finish_s"):
        expected = [getattr(one, name) for one in slow.all]
        np.testing.assert_allclose(getattr(rows, name), expected, rtol=1e-12, atol=1e-12, err_msg=name)
    assert rows.preemptions.tolist() == [one.preemptions for one in slow.all]
    gaps = np.concatenate([np.diff(one.outputs_s) for one in slow.all])
    if not len(gaps):
        assert result.itl_s is None
        return
    assert result.itl_s.mean == pytest.approx(gaps.mean(), rel=1e-9)
    for share in PERCENTILES:
        exact = np.percentile(gaps, share, method="inverted_cdf")
        assert getattr(result.itl_s, f"p{share}") == pytest.approx(exact, rel=1.1e-3)


def test_the_cases_of_the_comparison_preempt_where_the_pool_is_small():
    lengths = ([40] * 12, [30] * 12)
    batching = Batching(max_num_seqs=8, max_num_batched_tokens=64)
    for policy, preempts in (("decode-first", True), ("prefill-first", True), ("static", False)):
        how = batching.model_copy(update={"policy": policy})
        result, slow = both(*lengths, how, KvPool(tokens=200, block_size=4), np.zeros(12), Affine())
        assert (result.preemptions > 0) is preempts
        assert result.preemptions == sum(one.preemptions for one in slow.all)


@pytest.mark.parametrize("policy", POLICIES)
def test_a_longer_run_equals_stepping_one_by_one(policy):
    lengths = IndependentLengths(isl=UniformLength(tokens=300, low_share=0.1), osl=UniformLength(tokens=200))
    arrivals = GammaArrivals(rate_per_s=30, cv=2)
    batching = Batching(policy=policy, max_num_seqs=32, max_num_batched_tokens=512)
    pool = KvPool(tokens=10_000, block_size=16)
    result = simulate(
        step_times=Roofline(),
        pool=pool,
        batching=batching,
        arrivals=arrivals,
        lengths=lengths,
        requests=300,
        measure="all",
    )
    rows = result.requests
    slow = Reference(
        step_times=Roofline(),
        pool=pool,
        batching=batching,
        isl=rows.isl.tolist(),
        osl=rows.osl.tolist(),
        times=rows.arrival_s.tolist(),
    )
    slow.run()
    np.testing.assert_allclose(rows.finish_s, [one.finish_s for one in slow.all], rtol=1e-12)
    np.testing.assert_allclose(rows.first_token_s, [one.first_token_s for one in slow.all], rtol=1e-12)


def test_long_contexts_are_evaluated_in_more_than_one_piece():
    result, slow = both(
        [10, 10], [10_000, 9_000], Batching(), KvPool(tokens=30_000), np.array([0.0, 1.0]), Affine()
    )
    np.testing.assert_allclose(result.requests.finish_s, [one.finish_s for one in slow.all], rtol=1e-12)


def test_gaps_keep_their_mean_and_percentiles():
    log = GapLog()
    gaps = np.random.default_rng(3).lognormal(-4, 0.5, size=100_000)
    log.add_steps(gaps.tolist(), 2)
    log.add(0.5, 0)
    summary = log.summary()
    assert summary.mean == pytest.approx(gaps.mean(), rel=1e-12)
    for share in PERCENTILES:
        assert getattr(summary, f"p{share}") == pytest.approx(np.percentile(gaps, share), rel=1e-3)


def test_gaps_of_one_request_grow_with_its_context():
    lengths = IndependentLengths(isl=FixedLength(tokens=8), osl=FixedLength(tokens=50))
    result = simulate(
        step_times=Affine(),
        pool=KvPool(tokens=1000),
        batching=Batching(max_num_seqs=1),
        arrivals=ClosedLoop(concurrency=1),
        lengths=lengths,
        requests=3,
        measure="all",
    )
    first = Affine().step_s(1, 9, 0, 0)
    last = Affine().step_s(1, 57, 0, 0)
    assert first <= result.itl_s.p50 <= last
    assert result.itl_s.mean == pytest.approx((first + last) / 2)


class Calls(Roofline):
    """Counts how often it is asked, and takes arrays."""

    asked = 0

    def step_s(self, *arguments):
        self.asked += 1
        return super().step_s(*arguments)


@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize("tokens", [1, 4])
def test_small_parts_of_long_prompts_are_evaluated_at_once(policy, tokens):
    isl, osl = [700, 650, 900, 500], [40, 3, 70, 20]
    batching = Batching(policy=policy, max_num_seqs=tokens, max_num_batched_tokens=tokens)
    model = Calls()
    how = (batching, KvPool(tokens=3000, block_size=16), np.array([0.0, 0.01, 0.5, 40.0]), model)
    result, slow = both(isl, osl, *how)
    one_by_one = model.asked
    rows = result.requests
    for name in ("admitted_s", "first_token_s", "finish_s"):
        expected = [getattr(one, name) for one in slow.all]
        np.testing.assert_allclose(getattr(rows, name), expected, rtol=1e-12, err_msg=name)
    simulate(
        step_times=model,
        pool=how[1],
        batching=batching,
        arrivals=Given(isl, osl, how[2]),
        lengths=Given(isl, osl, how[2]),
        requests=4,
        measure="all",
    )
    assert model.asked - one_by_one < one_by_one / 5
