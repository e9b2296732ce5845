"""200 random scenarios, and that what they check would be seen."""

from __future__ import annotations

import math

import pytest
from agreement import better, faults
from scenarios import WEIGHTS, Drawing, run_one

RUNS, PARTS = 200, 4


@pytest.mark.parametrize("part", range(PARTS))
def test_random_scenarios_are_answered_or_refused_and_agree(part, catalogue):
    drawing = Drawing(catalogue)
    made = [run_one(drawing, 11, number) for number in range(part, RUNS, PARTS)]
    assert [(one.function, one.asked, one.wrong) for one in made if one.wrong] == []
    assert sum(one.state == "answered" for one in made) >= RUNS / PARTS / 8


def test_scenarios_are_the_same_for_a_seed_and_ask_everything(catalogue):
    import random

    drawing = Drawing(catalogue)
    drawn = [drawing.draw(random.Random(f"1:{number}")) for number in range(400)]
    # As text: NaN is among what is asked, and differs from itself.
    assert repr(drawn) == repr([drawing.draw(random.Random(f"1:{number}")) for number in range(400)])
    assert {function for function, _ in drawn} == set(WEIGHTS) - {"media"}


GIB = {
    "usable_gib": 80.0,
    "weights_gib": 10.0,
    "kv_pool_gib": 60.0,
    "activation_gib": 2.0,
    "graph_gib": 1.0,
    "non_torch_gib": 1.0,
    "reserve_gib": 6.0,
}


@pytest.mark.parametrize(
    ("record", "count"),
    [
        ({"a": {"value": 2.0, "low": 1.0, "high": 3.0}, "usd_per_hour": 2.0, "per_rank": GIB}, 0),
        ({"a": {"value": 4.0, "low": 1.0, "high": 3.0}}, 1),
        ({"cost": 1.0, "cost_low": 2.0, "cost_high": 3.0}, 1),
        ({"a": [{"b": math.nan}]}, 1),
        ({"usd_per_hour": 0}, 1),
        ({"per_rank": {**GIB, "weights_gib": 11.0}}, 1),
        ({"per_rank": {**GIB, "weights_gib": -1.0, "kv_pool_gib": 71.0}}, 1),
        ({"verdict": "fits", "per_rank": {**GIB, "graph_gib": 20.0, "reserve_gib": 0.0}}, 1),
    ],
)
def test_what_does_not_agree_is_seen(record, count):
    assert len(list(faults(record))) == count


def test_a_better_accelerator_is_better(catalogue):
    card = catalogue.gpu("h200")
    twice = better(card)
    assert twice.memory.bandwidth.value == 2 * card.memory.bandwidth.value
    assert all(twice.peaks[dtype].value == 2 * card.peaks[dtype].value for dtype in card.peaks)
