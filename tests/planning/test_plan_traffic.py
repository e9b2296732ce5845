"""Traffic: from users, rates, profiles and traces to arrivals by hour."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from planner.errors import InvalidInput, UnknownName
from planner.performance.simulation import GammaArrivals, Trace
from planner.planning.traffic import Demand, daily_shares, profile_of, trace_traffic, traffic_of

rates = st.floats(0.01, 1e4)
factors = st.floats(1.0, 20.0)


@given(rate=rates, factor=factors)
def test_a_peak_factor_is_the_peak_over_the_mean(rate, factor):
    traffic = traffic_of(Demand(rate_per_s=rate, peak_factor=factor))
    assert traffic.mean_per_s == pytest.approx(rate)
    assert traffic.peak_per_s == pytest.approx(rate * factor)
    assert not traffic.hours_known


@given(rate=rates, factor=factors)
def test_the_daily_shape_has_the_mean_and_the_peak_that_were_asked_for(rate, factor):
    traffic = traffic_of(Demand(rate_per_s=rate, peak_factor=factor, profile="daily"))
    assert traffic.mean_per_s == pytest.approx(rate)
    assert traffic.peak_per_s == pytest.approx(rate * factor, rel=1e-6)
    assert traffic.burst == pytest.approx(1.0, rel=1e-6)
    assert max(range(24), key=lambda hour: traffic.hourly_per_s[hour]) == 14 or factor == pytest.approx(1)
    assert "assumed" in traffic.profile


def test_the_daily_shape_is_a_bell_with_one_peak():
    shares = daily_shares(2.0)
    assert math.fsum(shares) == pytest.approx(1.0)
    assert 24 * max(shares) == pytest.approx(2.0)
    assert list(shares[2:15]) == sorted(shares[2:15])
    assert list(shares[14:]) == sorted(shares[14:], reverse=True)


@given(shares=st.lists(st.floats(0.1, 10), min_size=24, max_size=24), rate=rates, burst=st.floats(1, 3))
def test_shares_keep_their_proportions_and_the_burst_lies_within_the_hours(shares, rate, burst):
    own = 24 * max(shares) / math.fsum(shares)
    traffic = traffic_of(Demand(rate_per_s=rate, profile=tuple(shares), peak_factor=own * burst))
    assert traffic.mean_per_s == pytest.approx(rate)
    assert traffic.burst == pytest.approx(burst)
    assert traffic.hourly_per_s[3] * shares[7] == pytest.approx(traffic.hourly_per_s[7] * shares[3])
    assert traffic.planned_per_s[5] == pytest.approx(burst * traffic.hourly_per_s[5])


def test_users_ask_so_many_requests_an_hour():
    # 5,000 users with 12 requests an hour are 60,000 / 3,600 a second.
    assert traffic_of(Demand(users=5000, requests_per_user_hour=12)).mean_per_s == pytest.approx(60000 / 3600)


@given(users=st.integers(1, 10**6), think=st.floats(0, 1000), e2e=st.floats(0.1, 100))
def test_users_who_think_follow_the_interactive_response_time_law(users, think, e2e):
    traffic = traffic_of(Demand(users=users, think_s=think)).answered_in(e2e)
    assert traffic.mean_per_s * (think + e2e) == pytest.approx(users)


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ({}, "neither given"),
        ({"rate_per_s": 1, "users": 5, "think_s": 1}, "both given"),
        ({"rate_per_s": 0}, "rate_per_s"),
        ({"rate_per_s": -1}, "rate_per_s"),
        ({"rate_per_s": math.nan}, "rate_per_s"),
        ({"rate_per_s": math.inf}, "rate_per_s"),
        ({"users": 0, "think_s": 1}, "users"),
        ({"users": 5}, "neither is given"),
        ({"users": 5, "think_s": 1, "requests_per_user_hour": 1}, "both are given"),
        ({"rate_per_s": 1, "think_s": 1}, "no users"),
        ({"rate_per_s": 1, "peak_factor": 0.5}, "peak_factor"),
        ({"rate_per_s": 1, "cv": -1}, "cv"),
    ],
)
def test_a_demand_that_cannot_be_is_one_line(fields, said):
    with pytest.raises(InvalidInput, match=said) as caught:
        Demand(**fields)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("profile", "said"),
    [
        ((1.0,) * 23, "23 numbers"),
        ((0.0,) * 24, "all 24 shares are zero"),
        ((*(1.0,) * 23, -1.0), "hour 23 has -1"),
        ((*(1.0,) * 23, math.nan), "hour 23 has nan"),
    ],
)
def test_a_profile_that_is_no_day_is_refused(profile, said):
    with pytest.raises(InvalidInput, match=said):
        traffic_of(Demand.model_construct(**{**Demand(rate_per_s=1).__dict__, "profile": profile}))


def test_a_peak_factor_below_that_of_the_profile_is_refused():
    with pytest.raises(InvalidInput, match=r"its busiest hour has 2 times the mean"):
        traffic_of(Demand(rate_per_s=1, profile=(2.0, *(22 / 23,) * 23), peak_factor=1.5))


def test_an_unknown_profile_names_the_known_ones():
    with pytest.raises(UnknownName, match="daily"):
        profile_of("dayly")
    with pytest.raises(InvalidInput, match="24 numbers"):
        profile_of("1,2,x")
    assert profile_of("1," * 23 + "2") == (*(1.0,) * 23, 2.0)


def made_trace(times):
    return Trace.from_lists("t.csv", list(times), [100] * len(times), [10] * len(times))


def test_a_short_trace_is_one_rate():
    traffic = trace_traffic(made_trace(np.arange(101) * 0.5))
    assert traffic.mean_per_s == pytest.approx(2.0)
    assert traffic.peak_per_s == pytest.approx(2.0)
    assert traffic.cv == 0.0
    assert not traffic.hours_known


def test_a_trace_of_two_days_is_averaged_by_the_hour():
    hours = [3600 * hour + np.arange(n) * 3600 / n for hour, n in enumerate([60, 120] * 24)]
    traffic = trace_traffic(made_trace(np.concatenate(hours)))
    assert traffic.hours_known
    assert traffic.hourly_per_s[0] == pytest.approx(60 / 3600)
    assert traffic.hourly_per_s[1] == pytest.approx(120 / 3600)
    assert traffic.peak_factor == pytest.approx(120 / 90)


@pytest.mark.parametrize("hours", [2.6, 3.9, 23.7, 24.6])
def test_an_hour_that_a_trace_ends_in_has_the_rate_of_its_part(hours):
    traffic = trace_traffic(made_trace(np.arange(round(hours * 3600 / 30)) * 30.0))
    assert traffic.mean_per_s == pytest.approx(1 / 30, rel=1e-3)
    assert traffic.peak_factor == pytest.approx(1.0, rel=0.01)


def test_a_trace_scaled_to_a_rate_keeps_its_shape():
    hours = [3600 * hour + np.arange(n) * 3600 / n for hour, n in enumerate([60, 120] * 12)]
    traffic = trace_traffic(made_trace(np.concatenate(hours)), rate_per_s=90.0, peak_factor=2.0)
    assert traffic.mean_per_s == pytest.approx(90.0)
    assert traffic.peak_per_s == pytest.approx(180.0)
    with pytest.raises(InvalidInput, match="below that of the trace"):
        trace_traffic(made_trace(np.concatenate(hours)), peak_factor=1.1)


@pytest.mark.parametrize("cv", [0.5, 1.0, 2.0])
def test_the_spread_of_the_gaps_is_that_within_hours(cv):
    times = GammaArrivals(rate_per_s=2.0, cv=cv).times(20_000, np.random.default_rng(1))
    assert trace_traffic(made_trace(times)).cv == pytest.approx(cv, rel=0.05)


def test_a_trace_at_one_moment_has_no_rate():
    with pytest.raises(InvalidInput, match="all requests come at once"):
        trace_traffic(made_trace([0.0, 0.0]))
