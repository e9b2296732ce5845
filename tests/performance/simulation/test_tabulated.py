"""A table stands in for a step-time model."""

from __future__ import annotations

import numpy as np
import pytest

from planner.errors import InvalidInput
from planner.performance.simulation import (
    Batching,
    ClosedLoop,
    FixedLength,
    IndependentLengths,
    KvPool,
    TabulatedStepTimes,
    UniformLength,
    simulate,
)
from planner.performance.simulation.tabulated import nodes
from tests.performance.simulation.models import Affine, Constant, Roofline

BATCHING = Batching(max_num_seqs=64, max_num_batched_tokens=2048)


class Counted(Roofline):
    """Counts how often it is asked."""

    asked = 0

    def step_s(self, *arguments):
        self.asked += 1
        return super().step_s(*arguments)


def test_nodes_hold_both_ends_and_grow_evenly():
    assert nodes(1, 2) == [1]
    assert nodes(64, 1, first=64) == [64]
    assert nodes(100, 1) == [1, 2, 4, 8, 16, 32, 64, 100]
    ratios = np.array(nodes(4096, 4)[20:])
    assert np.all(ratios[1:] / ratios[:-1] < 1.22)


def test_an_affine_model_is_met_exactly():
    table = TabulatedStepTimes(Affine(), BATCHING, max_context=1000)
    generator = np.random.default_rng(5)
    for _ in range(200):
        n, new = int(generator.integers(0, 65)), int(generator.integers(0, 2049))
        context = n * int(generator.integers(1, 1001))
        cached = int(generator.integers(0, 4001)) if new else 0
        if n or new:
            expected = Affine().step_s(n, context, new, cached)
            assert table.step_s(n, context, new, cached) == pytest.approx(expected, rel=1e-9)


def test_a_bent_model_is_met_within_the_stated_share():
    table, model = TabulatedStepTimes(Roofline(), BATCHING, max_context=1000), Roofline()
    generator = np.random.default_rng(6)
    for _ in range(300):
        n, new = int(generator.integers(1, 65)), int(generator.integers(0, 2049))
        context = n * int(generator.integers(1, 1001))
        assert table.step_s(n, context, new, 0) == pytest.approx(model.step_s(n, context, new, 0), rel=0.04)


def test_outside_the_table_the_model_is_asked():
    table, model = TabulatedStepTimes(Roofline(), BATCHING, max_context=1000), Roofline()
    contexts = np.array([10.0, 1e6])
    np.testing.assert_array_equal(table.step_s(2, contexts, 0, 0), model.step_s(2, contexts, 0, 0))
    assert table.step_s(2, 10, 5000, 0) == model.step_s(2, 10, 5000, 0)
    assert table.step_s(0, 0, 5000, 1e6) == model.step_s(0, 0, 5000, 1e6)


def test_a_simulation_comes_out_alike_with_few_questions():
    how = {
        "pool": KvPool(tokens=100_000, block_size=16),
        "batching": BATCHING,
        "arrivals": ClosedLoop(concurrency=48),
        "lengths": IndependentLengths(isl=FixedLength(tokens=512), osl=UniformLength(tokens=256)),
        "requests": 1000,
    }
    model = Counted()
    quick = simulate(step_times=TabulatedStepTimes(model, BATCHING, 768), **how)
    plain = simulate(step_times=Roofline(), **how)
    assert model.asked <= 2 + 48
    assert quick.output_tps == pytest.approx(plain.output_tps, rel=5e-3)
    assert quick.ttft_s.p50 == pytest.approx(plain.ttft_s.p50, rel=2e-2)


def test_a_constant_model_and_a_bad_context():
    table = TabulatedStepTimes(Constant(0.5), Batching(max_num_seqs=1), max_context=1)
    assert table.step_s(1, 1, 0, 0) == table.step_s(1, 1, 1, 0) == table.step_s(0, 0, 1, 0) == 0.5
    with pytest.raises(InvalidInput, match="max_context: 0 is not above zero"):
        TabulatedStepTimes(Constant(), BATCHING, max_context=0)


@pytest.mark.parametrize("requests", [0, 7])
def test_many_steps_of_a_prompt_are_met_as_one_by_one(requests):
    table = TabulatedStepTimes(Roofline(), BATCHING, max_context=1000)
    cached = np.arange(0, 5000, 37)
    contexts = requests * (100 + np.arange(len(cached)) % 1200)
    many = table.step_s(requests, contexts, 48, cached)
    each = [table.step_s(requests, a, 48, b) for a, b in zip(contexts.tolist(), cached.tolist(), strict=True)]
    np.testing.assert_allclose(many, each, rtol=1e-12)
