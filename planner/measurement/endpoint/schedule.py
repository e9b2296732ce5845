"""What is sent at one point, and when: lengths, arrivals and bodies, from seeds."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from planner.errors import InvalidInput
from planner.measurement.endpoint.client import Call
from planner.measurement.endpoint.probe import Server
from planner.measurement.endpoint.prompts import Prompts, request_body
from planner.measurement.endpoint.records import LONGEST_PROMPT, Endpoint, EndpointLoad
from planner.measurement.traces import read_trace
from planner.performance.simulation import (
    EmpiricalLengths,
    FixedArrivals,
    FixedLength,
    GammaArrivals,
    IndependentLengths,
    Lengths,
    LognormalLength,
    OpenArrivals,
    PoissonArrivals,
    Trace,
    UniformLength,
)

LONGEST_FACTOR = 10
"""Lognormal lengths are cut at so many times their mean."""


@dataclass(frozen=True, slots=True)
class Schedule:
    """The requests of one point, warm-up first.

    Parameters
    ----------
    isl, osl : tuple of int
        Tokens of each request.
    planned_s : tuple of float or None
        When each is to be sent, from the start of the point [s]; None in a closed loop.
    warmup : int
        Requests that do not count.
    concurrency : int or None
        Users of a closed loop.
    """

    isl: tuple[int, ...]
    osl: tuple[int, ...]
    planned_s: tuple[float, ...] | None
    warmup: int
    concurrency: int | None

    def __len__(self) -> int:
        """Return the number of requests, with the warm-up."""
        return len(self.isl)


def open_trace(load: EndpointLoad) -> Trace | None:
    """Return the trace of a load, or None where it has none."""
    return None if load.trace is None else read_trace(load.trace)


def schedule(load: EndpointLoad, trace: Trace | None, point: int) -> Schedule:
    """Return the requests of one point.

    Parameters
    ----------
    load : EndpointLoad
        What was asked.
    trace : Trace or None
        The recorded requests that the load names.
    point : int
        Which point, counted from 0. Each draws from streams of its own.

    Returns
    -------
    Schedule
    """
    concurrency = load.points[point]
    warmup, counted = load.warmups(concurrency), load.counted(concurrency)
    lengths: Lengths = _lengths(load, trace)
    arrivals = _arrivals(load)
    if trace is not None and concurrency is None and load.rate_per_s is None:
        # Replayed as it was recorded.
        lengths = arrivals = trace
        warmup = min(warmup, len(trace) // 10) if load.warmup is None else warmup
        counted = load.requests or max(1, len(trace) - warmup)
    count = warmup + counted
    isl_rng, osl_rng, arrival_rng = (np.random.default_rng((load.seed, point, part)) for part in range(3))
    isl, osl = lengths.draw(count, isl_rng, osl_rng)
    planned = None if arrivals is None else tuple(arrivals.times(count, arrival_rng).tolist())
    return Schedule(tuple(isl.tolist()), tuple(osl.tolist()), planned, warmup, concurrency)


def _lengths(load: EndpointLoad, trace: Trace | None) -> Lengths:
    if trace is not None:
        return EmpiricalLengths(trace)
    assert load.isl is not None
    assert load.osl is not None
    if load.lengths == "uniform":
        return IndependentLengths(UniformLength(tokens=load.isl), UniformLength(tokens=load.osl))
    if load.lengths == "lognormal":
        isl, osl = (
            LognormalLength(mean=mean, cv=load.length_cv, longest=min(LONGEST_FACTOR * mean, LONGEST_PROMPT))
            for mean in (load.isl, load.osl)
        )
        return IndependentLengths(isl, osl)
    return IndependentLengths(FixedLength(tokens=load.isl), FixedLength(tokens=load.osl))


def _arrivals(load: EndpointLoad) -> OpenArrivals | None:
    if load.rate_per_s is None:
        return None
    if load.arrivals == "gamma":
        assert load.cv is not None
        return GammaArrivals(rate_per_s=load.rate_per_s, cv=load.cv)
    if load.arrivals == "fixed":
        return FixedArrivals(interval_s=1 / load.rate_per_s)
    return PoissonArrivals(rate_per_s=load.rate_per_s)


class Calls:
    """Makes the requests of a point, one by one.

    Parameters
    ----------
    asked : Schedule
        Lengths and times.
    endpoint : Endpoint
        How the server is asked.
    server : Server
        What it takes.
    prefix_hit : float
        Share of each prompt that all have in common.
    seed : tuple of int
        Of the prompts.
    """

    def __init__(
        self, asked: Schedule, endpoint: Endpoint, server: Server, prefix_hit: float, seed: tuple[int, ...]
    ) -> None:
        self._asked = asked
        self._endpoint = endpoint
        self._server = server
        self._prompts = Prompts(server.style, prefix_hit, seed)

    def make(self, number: int) -> Call:
        """Return one request, ready to be sent."""
        asked, server = self._asked, self._server
        isl, osl = asked.isl[number], asked.osl[number]
        body = request_body(
            self._endpoint.api, self._prompts.make(number, isl), osl, server.options, server.output_name
        )
        planned = None if asked.planned_s is None else asked.planned_s[number]
        return Call(number, number >= asked.warmup, isl, osl, body, planned)


def longest(asked: Schedule) -> tuple[int, int]:
    """Return input and output of the longest request [tokens].

    Raises
    ------
    InvalidInput
        When there is no request.
    """
    if not len(asked):
        raise InvalidInput("no requests to send")
    return max(zip(asked.isl, asked.osl, strict=True), key=sum)
