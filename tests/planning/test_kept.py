"""What is kept from an earlier question is what a fresh one finds, and bears the prices of the new one."""

from __future__ import annotations

import pytest

import planner
from planner.catalogue import load_catalogue
from planner.planning.kept import kept, unpriced
from planner.planning.question import question

ASKED = {"model": "gpt-oss-120b", "gpu": "mi355x,b300-sxm", "isl": 1024, "osl": 400}
FIRST, LATER = {"mi355x": 2.5, "b300-sxm": 6.0}, {"mi355x": 7.5, "b300-sxm": 1.25}


def numbers(report):
    """Return all that an answer says."""
    return report.to_dict(), report.sentence


@pytest.mark.parametrize(
    ("function", "further"),
    [
        ("frontier", {}),
        ("frontier", {"slo_ttft_s": 1.0, "by": "interactivity"}),
        ("compare", {}),
        ("compare", {"slo_ttft_s": 2.0, "throughput": "simulated"}),
        ("breakeven", {}),
        ("breakeven", {"over": "isl"}),
    ],
)
def test_an_answer_at_other_prices_is_that_of_a_fresh_catalogue(catalogue, function, further):
    ask = getattr(planner, function)
    before = ask(**ASKED, **further, price=FIRST, catalogue=catalogue)
    after = ask(**ASKED, **further, price=LATER, catalogue=catalogue)
    assert numbers(after) == numbers(ask(**ASKED, **further, price=LATER, catalogue=load_catalogue()))
    assert numbers(after) != numbers(before)
    assert numbers(before) == numbers(ask(**ASKED, **further, price=FIRST, catalogue=catalogue))


def test_a_plan_at_another_price_is_that_of_a_fresh_catalogue_and_simulates_nothing(catalogue):
    def ask(price, book, progress=None):
        asked = {"model": "llama-3.1-8b", "gpu": "h100-sxm", "isl": 1000, "osl": 100, "requests": 500}
        limits = {"request_rate": 2.0, "slo_ttft_s": 2.0}
        return planner.plan(**asked, **limits, price=price, catalogue=book, progress=progress)

    before = ask(2.0, catalogue)
    steps = []
    after = ask(9.0, catalogue, lambda done, every: steps.append(done))
    assert not steps
    assert numbers(after) == numbers(ask(9.0, load_catalogue()))
    assert numbers(after) != numbers(before)


def asked_of(catalogue, gpu="b300-sxm", **other):
    given = {"load": {"isl": 1024, "osl": 400}, "options": {}, "price": 6.0, **other}
    return question(model="gpt-oss-120b", gpu=gpu, catalogue=catalogue, **given)


def test_prices_alone_make_no_other_question(catalogue):
    first = asked_of(catalogue)
    key = unpriced(first, first.gpus[0])
    same = asked_of(catalogue, price=1.0)
    assert key == unpriced(same, same.gpus[0])
    assert hash(key) == hash(unpriced(same, same.gpus[0]))
    for other in (
        asked_of(catalogue, gpu="b200-sxm"),
        asked_of(catalogue, load={"isl": 1024, "osl": 401}),
        asked_of(catalogue, options={"tp": 2}),
        asked_of(catalogue, options={"kv_dtype": "fp8"}),
        asked_of(load_catalogue()),
    ):
        assert key != unpriced(other, other.gpus[0])
    assert key != "something else"


def test_a_finding_is_made_once_and_a_failure_is_not_kept(catalogue):
    calls = []

    @kept
    def found(asked, gpu, *, word):
        calls.append((asked, word))
        if len(calls) == 1:
            raise ValueError(word)
        return [gpu.id, word]

    first, second = asked_of(catalogue), asked_of(catalogue, price=9.0)
    with pytest.raises(ValueError, match="one"):
        found(first, first.gpus[0], word="one")
    made = found(first, first.gpus[0], word="one")
    assert found(second, second.gpus[0], word="one") is made
    assert found(second, second.gpus[0], word="two") == ["b300-sxm", "two"]
    assert [word for _, word in calls] == ["one", "one", "two"]


def test_an_answer_for_other_lengths_is_that_of_a_fresh_catalogue(catalogue):
    asked = {"model": "llama-3.1-70b", "gpu": "h100-sxm", "osl": 200}
    others = ({"isl": 700}, {"isl": 9000, "weight_dtype": "fp8"}, {"isl": 700, "kv_dtype": "fp8"})
    for other in others:
        for engine in ("sglang", "vllm"):
            planner.frontier(**asked, **other, engine=engine, catalogue=catalogue)
    for more in ({}, {"weight_dtype": "fp8"}, {"network_bytes_per_s": 12.5e9}, {"speculative_tokens": 0}):
        later = {**asked, **more, "isl": 3000, "engine": "sglang"}
        assert numbers(planner.frontier(**later, catalogue=catalogue)) == numbers(
            planner.frontier(**later, catalogue=load_catalogue())
        )
