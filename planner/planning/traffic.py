"""What comes in: users or requests a second, over the hours of a day, as arrival rates to plan for."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Annotated, Any

from pydantic import Field

from planner.errors import InvalidInput, shorten, unknown_name
from planner.scenario.records import Count, Plain, Scenario

if TYPE_CHECKING:
    from planner.performance.simulation import Trace

HOURS = 24
SECONDS_PER_HOUR = 3600.0

FLAT, DAILY = "flat", "daily"
PROFILES = (FLAT, DAILY)
"""Named profiles: every hour alike, and one smooth peak a day."""

DAILY_PEAK_HOUR = 14
"""Hour in which the profile ``daily`` is highest: assumed."""

USUAL_DAILY_FACTOR = 2.0
"""Busiest hour over the mean of the profile ``daily`` where no peak factor is given: assumed."""

HIGHEST_FACTOR = 1000.0

Rate = Annotated[float, Plain, Field(gt=0, le=1e6)]
Factor = Annotated[float, Plain, Field(ge=1, le=HIGHEST_FACTOR)]


class Demand(Scenario):
    """How much is asked, in the terms of who asks: users, or requests a second."""

    rate_per_s: Rate | None = None
    """Requests a second, on average over the day."""
    users: Count | None = None
    """Users who are there on average over the day."""
    requests_per_user_hour: Annotated[float, Plain, Field(gt=0, le=1e5)] | None = None
    """Requests of each user in an hour."""
    think_s: Annotated[float, Plain, Field(ge=0, le=1e6)] | None = None
    """Pause of a user between an answer and the next request, instead of requests an hour [s]."""
    peak_factor: Factor | None = None
    """The rate to plan for over the mean of the day."""
    profile: tuple[float, ...] | str | None = None
    """Share of each hour, 24 numbers of any sum; ``flat`` or ``daily``; None is ``flat``."""
    cv: Annotated[float, Plain, Field(ge=0, le=100)] = 1.0
    """Standard deviation of the gaps between arrivals over their mean: 1 for independent users."""

    def model_post_init(self, context: Any, /) -> None:
        """Refuse a demand that is stated twice, or not at all."""
        if (self.rate_per_s is None) == (self.users is None):
            said = "both" if self.users is not None else "neither"
            raise InvalidInput(f"demand: users and requests a second are {said} given; one of them is needed")
        each = (self.requests_per_user_hour, self.think_s)
        if self.users is None and any(value is not None for value in each):
            raise InvalidInput("demand: requests of a user or think time are given, but no users")
        if self.users is not None and (each[0] is None) == (each[1] is None):
            said = "both are" if each[0] is not None else "neither is"
            raise InvalidInput(f"demand: users need either requests an hour or a think time; {said} given")


@dataclass(frozen=True, slots=True)
class Traffic:
    """Arrivals to plan for.

    Parameters
    ----------
    hourly_per_s : tuple of float
        Mean rate in each of 24 hours [requests/s].
    burst : float
        The rate to plan for in an hour over its mean.
    cv : float
        Spread of the gaps between arrivals.
    profile : str
        What the hours are like, and where that comes from.
    stated : str
        The demand as it was given.
    users : int or None
        Users who think, whose requests come the more slowly the longer an answer takes.
    think_s : float or None
        Their pause [s].
    hours_known : bool
        Whether the hours differ, or nobody said how.
    """

    hourly_per_s: tuple[float, ...]
    burst: float
    cv: float
    profile: str
    stated: str
    users: int | None = None
    think_s: float | None = None
    hours_known: bool = True

    @property
    def mean_per_s(self) -> float:
        """Return the mean of the day [requests/s]."""
        return math.fsum(self.hourly_per_s) / len(self.hourly_per_s)

    @property
    def planned_per_s(self) -> tuple[float, ...]:
        """Return the rate to plan for in each hour [requests/s]."""
        return tuple(rate * self.burst for rate in self.hourly_per_s)

    @property
    def peak_per_s(self) -> float:
        """Return the rate to plan for in the busiest hour [requests/s]."""
        return max(self.planned_per_s)

    @property
    def peak_factor(self) -> float:
        """Return the peak over the mean."""
        return self.peak_per_s / self.mean_per_s

    def answered_in(self, e2e_s: float) -> Traffic:
        """Return the traffic where a request takes so long: users who think ask again only after it.

        Parameters
        ----------
        e2e_s : float
            Time of a whole request [s].

        Returns
        -------
        Traffic
            The same where the demand does not depend on it; else by the interactive response time law,
            ``rate = users / (think + e2e)``.
        """
        if self.users is None or self.think_s is None:
            return self
        scale = self.users / (self.think_s + e2e_s) / self.mean_per_s
        return replace(self, hourly_per_s=tuple(scale * rate for rate in self.hourly_per_s))


def traffic_of(demand: Demand) -> Traffic:
    """Return the arrivals that a demand means.

    Parameters
    ----------
    demand : Demand
        Users or requests, and how they spread over the day.

    Returns
    -------
    Traffic
        The mean of its hours is the mean rate. A profile has a busiest hour of its own; a peak factor above
        that of the profile is what the rate to plan for exceeds the mean of each hour by. The rate
        of users who think is known only with the time of an answer: see `Traffic.answered_in`.

    Raises
    ------
    InvalidInput
        For a profile that has not 24 hours, or one with a higher peak than the factor.
    """
    mean, stated = _mean(demand)
    shares, said = _shares(demand.profile, demand.peak_factor)
    own = HOURS * max(shares)
    factor = own if demand.peak_factor is None else demand.peak_factor
    if factor < own * (1 - 1e-9):
        raise InvalidInput(
            f"peak factor {factor:g} is below that of the profile: its busiest hour has {own:.3g} times the "
            "mean; leave the factor out, or give one above"
        )
    return Traffic(
        hourly_per_s=tuple(mean * HOURS * share for share in shares),
        burst=max(factor / own, 1.0),
        cv=demand.cv,
        profile=said,
        stated=stated,
        users=demand.users if demand.think_s is not None else None,
        think_s=demand.think_s,
        hours_known=demand.profile is not None and demand.profile != FLAT,
    )


def trace_traffic(
    trace: Trace, *, peak_factor: float | None = None, rate_per_s: float | None = None
) -> Traffic:
    """Return the arrivals that a trace shows, hour by hour of its length.

    Parameters
    ----------
    trace : Trace
        Recorded requests.
    peak_factor : float, optional
        The rate to plan for over the mean, where it is higher than the trace's busiest hour.
    rate_per_s : float, optional
        Mean rate to scale the trace to [requests/s].

    Returns
    -------
    Traffic
        A trace of less than two hours is one rate for all hours. A longer one is cut into hours from its
        first request on, a remainder of less than half an hour left out; hours a day apart are averaged, and
        hours that it does not reach are taken to be as its mean. The spread of the gaps is that within hours.

    Raises
    ------
    InvalidInput
        For a trace without any span of time, and a peak factor below that of the trace.
    """
    import numpy as np

    times = np.asarray(trace.arrival_s) - trace.arrival_s[0]
    span = float(times[-1])
    if not span > 0:
        raise InvalidInput(f"{trace.name}: all requests come at once; a rate needs a span of time")
    if span < 2 * SECONDS_PER_HOUR:
        rates = [(len(times) - 1) / span] * HOURS
        said = f"one rate for all hours: the trace spans {span / 60:.3g} minutes"
    else:
        hours = max(1, round(span / SECONDS_PER_HOUR))
        counts = np.bincount((times // SECONDS_PER_HOUR).astype(int), minlength=hours)[:hours]
        seconds = np.full(hours, SECONDS_PER_HOUR)
        # The last hour may be cut short: it lasts up to its last request, and a gap more.
        cut, came_last = span - SECONDS_PER_HOUR * (hours - 1), int(counts[-1])
        seconds[-1] = min(SECONDS_PER_HOUR, cut * came_last / max(came_last - 1, 1))
        mean = float(counts.sum() / seconds.sum())
        each = [(counts[hour::HOURS].sum(), seconds[hour::HOURS].sum()) for hour in range(HOURS)]
        rates = [float(came / of_s) if of_s > 0 else mean for came, of_s in each]
        said = f"{hours} hours of the trace, hour 0 from its first request on"
    mean = math.fsum(rates) / HOURS
    scale = 1.0 if rate_per_s is None else rate_per_s / mean
    own = max(rates) / mean
    if peak_factor is not None and peak_factor < own * (1 - 1e-9):
        raise InvalidInput(
            f"peak factor {peak_factor:g} is below that of the trace: its busiest hour has {own:.3g} times "
            "the mean; leave the factor out, or give one above"
        )
    return Traffic(
        hourly_per_s=tuple(scale * rate for rate in rates),
        burst=1.0 if peak_factor is None else max(peak_factor / own, 1.0),
        cv=_gap_spread(times),
        profile=said,
        stated=f"{len(times):,} requests of {trace.name}"
        + ("" if rate_per_s is None else f", scaled to {rate_per_s:g} requests/s"),
        hours_known=span >= 2 * SECONDS_PER_HOUR,
    )


def _gap_spread(times: Any) -> float:
    """Return standard deviation over mean of the gaps, each over the mean of its hour."""
    import numpy as np

    gaps = np.diff(times)
    hour = (times[1:] // SECONDS_PER_HOUR).astype(int)
    counts = np.bincount(hour)
    sums = np.bincount(hour, weights=gaps)
    usual = (sums / np.maximum(counts, 1))[hour]
    return float(np.std(gaps[usual > 0] / usual[usual > 0])) if len(gaps) else 0.0


def _mean(demand: Demand) -> tuple[float, str]:
    if demand.rate_per_s is not None:
        return demand.rate_per_s, f"{demand.rate_per_s:g} requests/s"
    assert demand.users is not None
    if demand.requests_per_user_hour is not None:
        rate = demand.users * demand.requests_per_user_hour / SECONDS_PER_HOUR
        return rate, f"{demand.users:,} users with {demand.requests_per_user_hour:g} requests an hour each"
    assert demand.think_s is not None
    # Any rate does: it is scaled as soon as it is known how long an answer takes.
    return float(demand.users), f"{demand.users:,} users who pause {demand.think_s:g} s"


def _shares(profile: tuple[float, ...] | str | None, factor: float | None) -> tuple[tuple[float, ...], str]:
    """Return the share of each hour, and what is to be said of it."""
    if profile is None or profile == FLAT:
        return (1 / HOURS,) * HOURS, "flat: every hour alike"
    if profile == DAILY:
        busiest = USUAL_DAILY_FACTOR if factor is None else factor
        given = "assumed" if factor is None else "as given"
        return daily_shares(busiest), (
            f"daily: one smooth peak a day at hour {DAILY_PEAK_HOUR} (assumed shape), "
            f"{busiest:g} times the mean ({given})"
        )
    if isinstance(profile, str):
        raise unknown_name("profile", profile, PROFILES)
    if len(profile) != HOURS:
        raise InvalidInput(
            f"profile: {len(profile)} numbers are given; {HOURS} are needed, one for each hour"
        )
    for hour, share in enumerate(profile):
        if not (math.isfinite(share) and share >= 0):
            raise InvalidInput(f"profile: hour {hour} has {share:g}; each share is a number from 0 on")
    total = math.fsum(profile)
    if total <= 0:
        raise InvalidInput("profile: all 24 shares are zero; at least one hour needs requests")
    return tuple(share / total for share in profile), "24 shares, given by you"


def daily_shares(busiest: float) -> tuple[float, ...]:
    """Return a day with one smooth peak: ``exp(k cos(2 pi (h - 14) / 24))``, with the k of the factor.

    Parameters
    ----------
    busiest : float
        Busiest hour over the mean, from 1 to below 24.

    Returns
    -------
    tuple of float
        24 shares that add up to 1.

    Raises
    ------
    InvalidInput
        For a factor that no day has.
    """
    if not 1 <= busiest < HOURS:
        raise InvalidInput(
            f"profile {DAILY}: a busiest hour of {busiest:g} times the mean is not possible; "
            f"1 to below {HOURS}"
        )
    low, high = 0.0, 1e4
    for _ in range(200):
        middle = (low + high) / 2
        if HOURS * max(_bell(middle)) < busiest:
            low = middle
        else:
            high = middle
    return _bell(low)


def _bell(k: float) -> tuple[float, ...]:
    values = [
        math.exp(k * (math.cos(2 * math.pi * (hour - DAILY_PEAK_HOUR) / HOURS) - 1)) for hour in range(HOURS)
    ]
    total = math.fsum(values)
    return tuple(value / total for value in values)


def profile_of(text: str) -> tuple[float, ...] | str:
    """Read a profile as it is written on a command line: a name, or 24 numbers with commas.

    Parameters
    ----------
    text : str
        Such as "daily" or "1,1,1,1,1,2,...".

    Returns
    -------
    tuple of float or str

    Raises
    ------
    InvalidInput
        For what is neither.
    """
    if text in PROFILES:
        return text
    parts: Sequence[str] = text.split(",")
    if len(parts) == 1:
        raise unknown_name("profile", text, PROFILES)
    try:
        return tuple(float(part) for part in parts)
    except ValueError:
        raise InvalidInput(
            f"profile: {shorten(text)} is neither {' nor '.join(PROFILES)} nor 24 numbers with commas"
        ) from None
