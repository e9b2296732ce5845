"""The figures of a point, in closed form, and the doubts that go with them."""

import math

import pytest

from planner.measurement.endpoint.records import EndpointLoad, Outcome
from planner.measurement.endpoint.rows import keeps
from planner.measurement.endpoint.run import Point
from planner.measurement.endpoint.summary import summarise_point

TTFT, TPOT, OSL, ISL = 0.5, 0.05, 11, 100
E2E = TTFT + (OSL - 1) * TPOT


def outcome(number, sent, **changes):
    values = {
        "number": number,
        "counts": True,
        "sent_s": sent,
        "late_s": 0.0,
        "ttft_s": TTFT,
        "e2e_s": E2E,
        "gaps_s": (TPOT,) * (OSL - 1),
        "input_tokens": ISL,
        "output_tokens": OSL,
        "cached_tokens": None,
        "chunks": OSL,
        "asked_isl": ISL,
        "asked_osl": OSL,
        "finish": "length",
        **changes,
    }
    return Outcome(**values)


def closed(users=4, waves=6, **changes):
    """Return a loop of which every wave takes exactly E2E; the first wave is warm-up."""
    outcomes = [
        outcome(wave * users + user, wave * E2E, **{"counts": wave > 0, **changes})
        for wave in range(waves)
        for user in range(users)
    ]
    return Point(users, outcomes, ended=True)


LOAD = EndpointLoad(concurrency=(4,), isl=ISL, osl=OSL)


def test_a_closed_loop_gives_users_times_tokens_over_the_time_of_a_request():
    found = summarise_point(closed(), LOAD)
    assert found.output_tps == pytest.approx(4 * OSL / E2E, rel=1e-9)
    assert found.total_tps == pytest.approx(4 * (ISL + OSL) / E2E, rel=1e-9)
    assert found.requests_per_s == pytest.approx(4 / E2E, rel=1e-9)
    assert found.mean_in_flight == pytest.approx(4)
    assert (found.requests, found.window_s) == (20, pytest.approx(4 * E2E))
    assert found.ttft_s.p50 == found.ttft_s.mean == TTFT
    assert found.tpot_s.p99 == pytest.approx(TPOT)
    assert found.e2e_s.p90 == pytest.approx(E2E)
    assert (found.errors, found.doubts) == ({}, ())


def test_stragglers_of_a_wave_do_not_move_the_rate():
    point = closed(users=8)
    for number, one in enumerate(point.outcomes):
        late = 0.2 if one.number % 8 == 7 else 0.0
        point.outcomes[number] = outcome(one.number, one.sent_s + late, counts=one.counts)
    assert summarise_point(point, LOAD).output_tps == pytest.approx(8 * OSL / E2E, rel=0.01)


def test_a_short_point_is_taken_whole():
    found = summarise_point(closed(users=4, waves=2), LOAD)
    assert found.output_tps == pytest.approx(4 * OSL / E2E)


def test_percentiles_and_means_are_those_of_the_requests_that_count():
    outcomes = [outcome(n, n * 1.0, ttft_s=0.1 * (n + 1), e2e_s=2.0) for n in range(10)]
    found = summarise_point(Point(1, outcomes, ended=True), LOAD)
    assert found.ttft_s.p50 == pytest.approx(0.55)
    assert found.ttft_s.mean == pytest.approx(0.55)
    assert found.ttft_s.p90 == pytest.approx(0.91)


def test_failures_are_counted_by_kind_and_left_out():
    point = closed()
    for number in (4, 5, 6):
        kind = "http-500" if number < 6 else "timeout"
        point.outcomes[number] = outcome(number, E2E, error=kind, detail="busy", ttft_s=None, e2e_s=None)
    found = summarise_point(point, LOAD)
    assert found.errors == {"http-500": 2, "timeout": 1}
    assert (found.requests, found.error_example) == (17, "busy")
    assert "3 of 20 requests failed" in found.doubts[0]
    assert not keeps(found)


def test_nothing_answered_gives_no_figures_and_no_error():
    outcomes = [outcome(n, 0.0, error="connect", ttft_s=None, e2e_s=None, chunks=0) for n in range(8)]
    found = summarise_point(Point(4, outcomes, ended=True), LOAD)
    assert (found.requests, found.output_tps, found.ttft_s) == (0, 0.0, None)
    assert not keeps(found)


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"chunks": 4}, "ITL is between chunks of 2.8 tokens"),
        ({"cached_tokens": 50}, "50 % of the input from its cache"),
        ({"output_tokens": 8}, "outputs have 8 tokens on average where 11 were asked"),
        ({"input_tokens": 120}, "inputs have 120 tokens on average where 100 were asked"),
        ({"late_s": 0.05}, "more than 50 ms late"),
    ],
)
def test_doubts_are_named(changes, said):
    assert said in " ".join(summarise_point(closed(**changes), LOAD).doubts)


def test_a_rate_above_what_is_answered_is_named():
    load = EndpointLoad(rate_per_s=10.0, isl=ISL, osl=OSL)
    slow = [outcome(n, n / 10, e2e_s=1 + n / 20) for n in range(400)]
    assert "the queue grew" in " ".join(summarise_point(Point(None, slow, ended=True), load).doubts)
    steady = [outcome(n, n / 10) for n in range(400)]
    found = summarise_point(Point(None, steady, ended=True), load)
    assert not found.doubts
    assert found.requests_per_s == pytest.approx(10, rel=0.03)


def test_tokens_are_chunks_where_the_server_counts_none():
    found = summarise_point(closed(output_tokens=None, input_tokens=None), LOAD)
    assert (found.osl, found.isl) == (OSL, ISL)
    assert math.isclose(found.output_tps, 4 * OSL / E2E)
