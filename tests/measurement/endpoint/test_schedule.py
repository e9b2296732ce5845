"""What is sent: lengths, arrivals and prompts from seeds, and bodies that servers understand."""

import json

import numpy as np
import pytest

from planner.errors import InvalidInput
from planner.measurement.endpoint.prompts import (
    HIGHEST_ID,
    LOWEST_ID,
    WORDS,
    Prompts,
    PromptStyle,
    request_body,
)
from planner.measurement.endpoint.records import EndpointLoad
from planner.measurement.endpoint.schedule import open_trace, schedule

IDS, TEXT = PromptStyle("ids"), PromptStyle("words")


def load(**changes):
    return EndpointLoad(**{"isl": 100, "osl": 50, "concurrency": (4,), **changes})


def test_a_closed_loop_has_one_warm_up_request_for_each_user_and_ten_that_count():
    asked = schedule(load(concurrency=(1, 32)), None, 1)
    assert (asked.warmup, len(asked), asked.concurrency, asked.planned_s) == (32, 32 + 320, 32, None)
    assert set(asked.isl) == {100}
    assert set(asked.osl) == {50}


def test_the_same_seed_draws_the_same_and_points_differ():
    drawn = load(concurrency=(2, 4), lengths="lognormal", requests=50, warmup=0)
    assert schedule(drawn, None, 0) == schedule(drawn, None, 0)
    assert schedule(drawn, None, 0).isl != schedule(drawn, None, 1).isl
    assert schedule(drawn.model_copy(update={"seed": 1}), None, 0).isl != schedule(drawn, None, 0).isl


def test_lengths_are_those_of_the_distribution():
    uniform = schedule(load(lengths="uniform", requests=2000), None, 0)
    assert (min(uniform.isl), max(uniform.isl)) == (80, 100)
    assert np.mean(uniform.osl) == pytest.approx(45, rel=0.02)
    lognormal = schedule(load(lengths="lognormal", length_cv=0.5, requests=20_000, isl=1000), None, 0)
    assert np.mean(lognormal.isl) == pytest.approx(1000, rel=0.02)
    assert np.std(lognormal.isl) / np.mean(lognormal.isl) == pytest.approx(0.5, rel=0.05)


@pytest.mark.parametrize(
    ("arrivals", "cv", "spread"), [("poisson", None, 1.0), ("gamma", 2.0, 2.0), ("fixed", None, 0.0)]
)
def test_arrivals_come_at_the_rate_with_their_spread(arrivals, cv, spread):
    asked = schedule(load(concurrency=(), rate_per_s=5.0, arrivals=arrivals, cv=cv, requests=20_000), None, 0)
    gaps = np.diff(asked.planned_s)
    assert gaps.mean() == pytest.approx(0.2, rel=0.05)
    assert gaps.std() / gaps.mean() == pytest.approx(spread, rel=0.05, abs=1e-9)


def test_a_trace_is_replayed_or_its_lengths_are_drawn(tmp_path):
    file = tmp_path / "trace.csv"
    file.write_text("arrival_s,isl,osl\n" + "".join(f"{10 + i / 2},{100 + i},{i + 1}\n" for i in range(20)))
    replayed = EndpointLoad(trace=str(file))
    asked = schedule(replayed, open_trace(replayed), 0)
    assert asked.isl == tuple(range(100, 120))
    assert asked.planned_s == tuple(i / 2 for i in range(20))
    assert asked.warmup == 2
    drawn = EndpointLoad(trace=str(file), concurrency=(8,), requests=500)
    asked = schedule(drawn, open_trace(drawn), 0)
    assert asked.planned_s is None
    assert {i - o for i, o in zip(asked.isl, asked.osl, strict=True)} == {99}


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"rate_per_s": 1.0}, "not both"),
        ({"concurrency": ()}, "no load"),
        ({"isl": None}, "no lengths"),
        ({"trace": "x.csv"}, "leave out --isl"),
        ({"concurrency": (), "rate_per_s": 1.0, "arrivals": "gamma"}, "needs --cv"),
        ({"concurrency": (0,)}, "greater than or equal to 1"),
        ({"prefix_hit": 1.0}, "less than 1"),
    ],
)
def test_loads_that_are_none_are_refused(changes, said):
    with pytest.raises(InvalidInput, match=said):
        load(**changes)


def test_prompts_have_their_length_and_differ_from_the_first_token_on():
    prompts = Prompts(IDS, 0.0, (1, 2))
    first, second = prompts.make(0, 500), prompts.make(1, 500)
    assert len(first) == len(second) == 500
    assert first[:16] != second[:16]
    assert LOWEST_ID <= min(first) < max(first) <= HIGHEST_ID
    assert Prompts(IDS, 0.0, (1, 2)).make(0, 500) == first
    assert Prompts(IDS, 0.0, (1, 3)).make(0, 500) != first


def test_a_prefix_is_shared_as_far_as_asked_and_no_further():
    prompts = Prompts(IDS, 0.6, (1,))
    long, short = prompts.make(0, 1000), prompts.make(1, 500)
    assert long[:300] == short[:300]
    assert long[300:320] != short[300:320]
    assert prompts.make(2, 1000)[:600] == long[:600]


def test_words_are_as_many_as_give_the_tokens_that_the_server_counts():
    style = PromptStyle("words", base_tokens=7.0, tokens_per_word=1.25)
    assert len(Prompts(style, 0.0, (1,)).make(0, 1007).split()) == 800
    assert style.units(3) == 1
    assert len(set(WORDS)) == len(WORDS) > 200


def test_bodies_ask_for_exactly_the_output():
    options = {"model": "m", "min_tokens": 1, "ignore_eos": True}
    assert json.loads(request_body("completions", [5, 6], 9, options, "max_tokens")) == {
        "model": "m",
        "min_tokens": 9,
        "ignore_eos": True,
        "max_tokens": 9,
        "prompt": [5, 6],
    }
    chat = json.loads(request_body("chat", "hi", 9, {"model": "m"}, "max_completion_tokens"))
    assert chat == {"model": "m", "max_completion_tokens": 9, "messages": [{"role": "user", "content": "hi"}]}
