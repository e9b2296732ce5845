"""What a point's requests say together: latencies, rates over the steady part, errors by kind, and doubts."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from statistics import median

import numpy as np

from planner.measurement.endpoint.records import EndpointLoad, Outcome
from planner.measurement.endpoint.run import Point
from planner.performance.simulation.summary import Summary, summarise

NEAR = 0.02
"""Lengths within this of what was asked count as what was asked."""

SEVERAL_TOKENS = 1.05
LATE_S = 0.010
GROWTH = 1.5
GROWTH_REQUESTS = 8
WAVES = 2
"""A closed loop has a steady part when each user has sent so many requests after the warm-up."""


@dataclass(frozen=True, slots=True)
class PointSummary:
    """The figures of one point; times in seconds, rates per second.

    Parameters
    ----------
    concurrency : int or None
        Users of a closed loop.
    rate_per_s : float or None
        Requests asked in a second, of an open loop.
    requests : int
        Requests that counted and ended well.
    errors : dict of str to int
        Requests that failed, by kind, without the warm-up.
    error_example : str
        What the first of the commonest kind said.
    isl, osl : float
        Mean tokens in and out, as the server counts them.
    cached_share : float or None
        Share of the input that the server says came from its cache; None where it does not say.
    tokens_per_chunk : float
        Output tokens for each event that carried some.
    ttft_s, tpot_s, itl_s, e2e_s : Summary or None
        Time to first token, time per output token, gaps between chunks, whole request [s].
    window_s : float
        Length of the part over which rates are taken [s].
    output_tps, total_tps, requests_per_s : float
        Output tokens, input and output tokens, and requests in a second.
    mean_in_flight : float
        Requests under way at once, on average over the window.
    ended : bool
        Whether all requests of the point were answered.
    doubts : tuple of str
        What makes the figures less than they seem.
    """

    concurrency: int | None
    rate_per_s: float | None
    requests: int
    errors: dict[str, int]
    error_example: str
    isl: float
    osl: float
    cached_share: float | None
    tokens_per_chunk: float
    ttft_s: Summary | None
    tpot_s: Summary | None
    itl_s: Summary | None
    e2e_s: Summary | None
    window_s: float
    output_tps: float
    total_tps: float
    requests_per_s: float
    mean_in_flight: float
    ended: bool
    doubts: tuple[str, ...]


def summarise_point(point: Point, load: EndpointLoad) -> PointSummary:
    """Return the figures of one point.

    Rates are taken from the first requests after the warm-up to the last that were sent, so that neither the
    start nor the drain is in them; a point too short for that is taken whole. The tokens of a request count
    where they fall into that span: the first at TTFT, the others evenly up to E2E.

    Parameters
    ----------
    point : Point
        Its requests.
    load : EndpointLoad
        What was asked.

    Returns
    -------
    PointSummary
    """
    counted = [one for one in point.outcomes if one.counts]
    good = [one for one in counted if one.error is None]
    every = [one for one in point.outcomes if one.error is None]
    begin, end = _window(counted, point.concurrency)
    length = end - begin
    tokens = sum(_tokens_within(one, begin, end) for one in every)
    isl = _mean(one.asked_isl if one.input_tokens is None else one.input_tokens for one in good)
    osl = _mean(one.tokens for one in good)
    output_tps = tokens / length if length > 0 else 0.0
    errors = Counter(one.error for one in counted if one.error is not None)
    commonest = errors.most_common(1)[0][0] if errors else None
    cached = [one.cached_tokens for one in good if one.cached_tokens is not None]
    chunks = sum(one.chunks for one in good)
    return PointSummary(
        concurrency=point.concurrency,
        rate_per_s=load.rate_per_s,
        requests=len(good),
        errors=dict(errors.most_common()),
        error_example=next((one.detail for one in counted if one.error == commonest), ""),
        isl=isl,
        osl=osl,
        cached_share=sum(cached) / (len(good) * isl) if cached and isl else None,
        tokens_per_chunk=sum(one.tokens for one in good) / chunks if chunks else 0.0,
        ttft_s=_summary(one.ttft_s for one in good),
        tpot_s=_summary(one.tpot_s for one in good),
        itl_s=_summary(gap for one in good for gap in one.gaps_s),
        e2e_s=_summary(one.e2e_s for one in good),
        window_s=length,
        output_tps=output_tps,
        total_tps=output_tps * (isl + osl) / osl if osl else 0.0,
        requests_per_s=output_tps / osl if osl else 0.0,
        mean_in_flight=_in_flight(every, begin, end),
        ended=point.ended,
        doubts=tuple(_doubts(point, counted, good, load)),
    )


def _window(counted: Sequence[Outcome], concurrency: int | None) -> tuple[float, float]:
    """Return the span over which rates are taken, from the start of the point [s].

    In a closed loop users that began together also ask together, and which is first and last of such a wave
    is chance: the span goes from the middle of the first wave that counts to the middle of the last.
    """
    if not counted:
        return 0.0, 0.0
    sent = sorted(one.sent_s for one in counted)
    wave = concurrency or 1
    if len(sent) >= WAVES * wave:
        begin, end = median(sent[:wave]), median(sent[-wave:])
        if end > begin:
            return begin, end
    return sent[0], max(one.sent_s + (one.e2e_s or 0.0) for one in counted)


def _tokens_within(one: Outcome, begin: float, end: float) -> float:
    if one.ttft_s is None or one.e2e_s is None:
        return 0.0
    first, last = one.sent_s + one.ttft_s, one.sent_s + one.e2e_s
    tokens = 1.0 if begin <= first < end else 0.0
    if last > first:
        return tokens + (one.tokens - 1) * max(0.0, min(last, end) - max(first, begin)) / (last - first)
    return tokens * one.tokens


def _in_flight(every: Iterable[Outcome], begin: float, end: float) -> float:
    if end <= begin:
        return 0.0
    spans = ((one.sent_s, one.sent_s + (one.e2e_s or 0.0)) for one in every)
    return sum(max(0.0, min(last, end) - max(first, begin)) for first, last in spans) / (end - begin)


def _summary(values: Iterable[float | None]) -> Summary | None:
    return summarise(np.array([value for value in values if value is not None], dtype=np.float64))


def _mean(values: Iterable[float]) -> float:
    listed = list(values)
    return sum(listed) / len(listed) if listed else 0.0


def _doubts(
    point: Point, counted: Sequence[Outcome], good: Sequence[Outcome], load: EndpointLoad
) -> Iterable[str]:
    if not point.ended:
        yield "interrupted: some of its requests were not sent or not answered"
    if len(good) < len(counted):
        yield f"{len(counted) - len(good):,} of {len(counted):,} requests failed and are left out"
    if not good:
        return
    yield from _length_doubts(good)
    chunks = sum(one.chunks for one in good)
    per_chunk = sum(one.tokens for one in good) / chunks
    if per_chunk > SEVERAL_TOKENS:
        yield f"ITL is between chunks of {per_chunk:.1f} tokens; TPOT is per token"
    cached = sum(one.cached_tokens or 0 for one in good) / max(1, sum(one.input_tokens or 0 for one in good))
    if cached > load.prefix_hit + NEAR:
        yield f"the server took {cached:.0%} of the input from its cache".replace("%", " %")
    late = float(np.percentile([one.late_s for one in counted], 99))
    if late > LATE_S:
        yield f"1 % of requests were sent more than {1e3 * late:.0f} ms late: this machine was too busy"
    if point.concurrency is None and _grows(good):
        yield "more came than was answered: the queue grew, and latencies depend on how long one looks"


def _length_doubts(good: Sequence[Outcome]) -> Iterable[str]:
    measured_in = [(one.input_tokens, one.asked_isl) for one in good if one.input_tokens is not None]
    measured_out = [(one.tokens, one.asked_osl) for one in good]
    for name, pairs in (("inputs", measured_in), ("outputs", measured_out)):
        found, asked = _mean(pair[0] for pair in pairs), _mean(pair[1] for pair in pairs)
        if pairs and abs(found / asked - 1) > NEAR:
            yield f"{name} have {found:,.0f} tokens on average where {asked:,.0f} were asked"


def _grows(good: Sequence[Outcome]) -> bool:
    """Return whether many more requests were under way in the second half than in the first."""
    begin, end = min(one.sent_s for one in good), max(one.sent_s for one in good)
    middle = (begin + end) / 2
    early, late = _in_flight(good, begin, middle), _in_flight(good, middle, end)
    return late > GROWTH * early and late - early > GROWTH_REQUESTS
