"""What kind of figure a measured serving point is: the warnings that a reader of public benchmarks needs."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from enum import Flag, auto
from functools import cache
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from planner.measurement.serving_points import ServingPoint

CACHED_SHARE = 0.05
"""A prefix hit rate above this counts as cached input."""
CONCURRENCY_RATIO = (0.3, 1.35)
"""Between these, output rate / (concurrency x tok/s/user) is what a closed loop at that concurrency gives."""
SHORT_SHARE = 0.97
"""Below this share of OSL/(ISL+OSL) the output tokens of a run are fewer than OSL says."""
LONGEST = 1e9
"""No request is longer [tokens]; a larger mean in notes is a slip and not taken."""
DRAWN_MEAN = 0.9
"""Mean of lengths drawn evenly from 0.8 to 1.0 of the nominal one (`random-range-ratio` 0.8)."""
LIGHT_MARGIN = 1.02
"""A rate above the limit by less than this is rounding of what was published."""


class ServingFlag(Flag):
    """What to know about a serving point before it is compared with a prediction.

    `docs/measurements.md` explains each and counts them in the shipped points.
    """

    MEAN_ONLY = auto()
    """TTFT and TPOT are means; no median was published."""
    ODD_CONCURRENCY = auto()
    """Output rate / (concurrency x tok/s/user) is below 0.3 or above 1.35: queueing, or another load."""
    PREFILL_ONLY = auto()
    """Rates are input tokens of the prefill part alone."""
    DECODE_ONLY = auto()
    """Rates are those of decoding alone, without the time of the prefill."""
    CACHED_INPUT = auto()
    """Much of the input came from a prefix cache, and the total rate counts it."""
    STATIC_BATCH = auto()
    """A batch that starts and ends together; no arrivals, latency of the whole batch."""
    OFFLINE = auto()
    """All requests are there at once; the batch is whatever fits, and latency does not count."""
    SERVER = auto()
    """MLPerf Server: the largest rate at which the round's latency limit holds."""
    INTERACTIVE = auto()
    """MLPerf Interactive: as Server, with a tighter limit."""
    OPEN_LOOP = auto()
    """Requests arrive at a rate, whether or not others have ended; a concurrency is a cap or a mean."""
    DISAGGREGATED = auto()
    """Prefill and decode run on GPUs of their own."""
    SPECULATIVE = auto()
    """With a draft model, MTP or the like."""
    SPECULATION_UNKNOWN = auto()
    """Whether drafts were used is not stated."""
    ITL_AS_TPOT = auto()
    """The TPOT columns hold the gaps between streamed chunks, which may carry several tokens."""
    SHORT_OUTPUT = auto()
    """Requests stopped before OSL: the share of output tokens is below OSL/(ISL+OSL)."""
    NOMINAL_LENGTHS = auto()
    """ISL and OSL are upper ends; lengths are drawn from 0.8 to 1.0 of them."""
    USER_RATE_OVER_E2E = auto()
    """tok/s/user is OSL / E2E and so contains the prefill; it is not 1/TPOT."""
    REPEATED = auto()
    """The same run stands in another row that says more."""
    FASTER_THAN_LIGHT = auto()
    """The rate is above what peak and bandwidth allow."""
    RUN_UNDATED = auto()
    """The date is that of a copy, or rates are medians of runs of many months: the software is not known."""

    NONE = 0
    """A figure of a service with fresh prompts at a concurrency."""
    ONE_PHASE = PREFILL_ONLY | DECODE_ONLY
    """Rates of one phase alone."""
    NOT_A_SERVICE = PREFILL_ONLY | DECODE_ONLY | STATIC_BATCH | CACHED_INPUT | OFFLINE | REPEATED
    """Not to be compared with a service at a concurrency and fresh prompts."""


_PHRASES: tuple[tuple[ServingFlag, tuple[str, ...]], ...] = (
    (
        ServingFlag.PREFILL_ONLY,
        (
            "prefill only",
            "prefill rate only",
            "prefill pool:",
            "single-request prefill",
            "cold prefill ttft",
            "batch of simultaneous prompts",
        ),
    ),
    (
        ServingFlag.DECODE_ONLY,
        (
            "decode only",
            "decode nodes only",
            "decode rate only",
            "decode rate;",
            "decode rate derived",
            "decode pool:",
            "sustained decode",
            "steady-state decode",
            "single stream decode",
            "wide-ep decode",
            "decode, speed-bench",
        ),
    ),
    (
        ServingFlag.CACHED_INPUT,
        (
            "agentic",
            "multi-turn",
            "coding-agent traces",
            "shared_prefix",
            "prefix cached",
            "cached input",
            "cache hits",
        ),
    ),
    (ServingFlag.STATIC_BATCH, ("static offline batch",)),
    (
        ServingFlag.OFFLINE,
        ("closed offline", "open offline", "loadgen offline", "offline maximum throughput"),
    ),
    (ServingFlag.SERVER, ("closed server", "open server", "loadgen server")),
    (ServingFlag.INTERACTIVE, ("closed interactive", "open interactive", "loadgen interactive")),
    (ServingFlag.ITL_AS_TPOT, ("hold itl", "hold inter-token")),
    (
        ServingFlag.NOMINAL_LENGTHS,
        ("random-range 0.8", "random range ratio 0.8", "random lengths ratio 0.8", "random length ratio 0.8"),
    ),
)
"""What notes say, in lower case, and what it means."""
_ACHIEVED_RATE = "request_rate column = achieved"
_NO_DRAFT = ("none", "off", "no", "false", "0")


def flags_of(values: Mapping[str, Any]) -> ServingFlag:
    """Return what a row says about itself.

    Parameters
    ----------
    values : mapping
        The columns of a serving point by name.

    Returns
    -------
    ServingFlag
    """
    notes = (values["notes"] or "").lower()
    bits = sum(flag for flag, phrases in _BITS if any(phrase in notes for phrase in phrases))
    for flag, holds in _RULES:
        if holds(values):
            bits |= flag
    rate = values["request_rate"]
    stated_rate = rate is not None and math.isfinite(rate) and _ACHIEVED_RATE not in notes
    if stated_rate or bits & _ARRIVING:
        bits |= ServingFlag.OPEN_LOOP.value
    return _flag(bits)


def flag_names(flags: ServingFlag) -> tuple[str, ...]:
    """Return the names of flags, in lower case and in the order of `ServingFlag`."""
    return tuple(flag.name.lower() for flag in ServingFlag if flag in flags and flag.name)


def mean_lengths(point: ServingPoint) -> tuple[float | None, float | None]:
    """Return the mean input and output of the requests of a point [tokens].

    Parameters
    ----------
    point : ServingPoint
        The point.

    Returns
    -------
    tuple of float or None
        Measured means where the notes give them, else 0.9 of nominal lengths that are drawn from 0.8 to 1.0,
        else ISL and OSL as they stand.
    """
    measured = _measured_means(point.notes or "")
    if measured:
        return measured
    share = DRAWN_MEAN if point.flags & ServingFlag.NOMINAL_LENGTHS else 1.0
    return (
        None if point.isl is None else point.isl * share,
        None if point.osl is None else point.osl * share,
    )


def repeated(points: Sequence[ServingPoint]) -> frozenset[int]:
    """Return which points are a run that another point tells more of.

    Two rows are one run when they agree on model, accelerator, concurrency and input, and on both mean
    latencies, or on rate and median TPOT, to four digits; repeated runs of one set-up differ by more.

    Parameters
    ----------
    points : sequence of ServingPoint
        Points of all sources.

    Returns
    -------
    frozenset of int
        Positions of the points that say less; of equals, the first is kept.
    """
    by_content = sorted(range(len(points)), key=lambda i: -_published(points[i]))
    seen: set[tuple[Any, ...]] = set()
    found = set()
    for i in by_content:
        marks = _fingerprints(points[i])
        if any(mark in seen for mark in marks):
            found.add(i)
        seen.update(marks)
    return frozenset(found)


def faster_than_light(
    points: Iterable[ServingPoint], limit: Callable[[ServingPoint], float | None]
) -> list[ServingPoint]:
    """Flag the points whose output rate is above a physical limit: to be doubted, not to be learnt from.

    Parameters
    ----------
    points : iterable of ServingPoint
        The points.
    limit : callable
        The largest possible output rate of a point [tok/s per GPU], from peak FLOP/s and bandwidth; None
        where it is not known.

    Returns
    -------
    list of ServingPoint
        All points, those above their limit with `FASTER_THAN_LIGHT`.
    """
    return [replace(p, flags=p.flags | _LIGHT) if _beats(p, limit(p)) else p for p in points]


def _beats(point: ServingPoint, bound: float | None) -> bool:
    return bound is not None and (point.output_tps_per_gpu or 0.0) > bound * LIGHT_MARGIN


def _means_only(values: Mapping[str, Any]) -> bool:
    means = values["ttft_ms_mean"] is not None or values["tpot_ms_mean"] is not None
    return means and values["ttft_ms_median"] is None and values["tpot_ms_median"] is None


def _odd_concurrency(values: Mapping[str, Any]) -> bool:
    out, users, each = values["output_tps_total"], values["concurrency"], values["tps_per_user"]
    if not (out and users and each):
        return False
    low, high = CONCURRENCY_RATIO
    return not low <= out / (users * each) <= high


def _cached(values: Mapping[str, Any]) -> bool:
    return (values["prefix_hit"] or 0.0) > CACHED_SHARE


def _disaggregated(values: Mapping[str, Any]) -> bool:
    return bool(values["disagg"])


def _unknown_speculation(values: Mapping[str, Any]) -> bool:
    return not values["spec_decode"]


def _speculative(values: Mapping[str, Any]) -> bool:
    return bool(values["spec_decode"]) and values["spec_decode"].lower() not in _NO_DRAFT


def _short_output(values: Mapping[str, Any]) -> bool:
    out, total, isl, osl = (
        values[name] for name in ("output_tps_per_gpu", "total_tps_per_gpu", "isl", "osl")
    )
    if not (out and total and isl is not None and osl):
        return False
    return bool(out / total < SHORT_SHARE * osl / (isl + osl))


def _user_rate_over_e2e(values: Mapping[str, Any]) -> bool:
    rate, latency, osl = values["tps_per_user"], values["e2e_s_median"], values["osl"]
    if not (rate and latency and osl) or values["tpot_ms_median"] or values["tpot_ms_mean"]:
        return False
    return bool(abs(rate * latency / osl - 1) < 1 - SHORT_SHARE)


_LIGHT = ServingFlag.FASTER_THAN_LIGHT
_BITS = tuple((flag.value, phrases) for flag, phrases in _PHRASES)
_ARRIVING = (ServingFlag.SERVER | ServingFlag.INTERACTIVE).value
_RULES: tuple[tuple[int, Callable[[Mapping[str, Any]], bool]], ...] = (
    (ServingFlag.MEAN_ONLY.value, _means_only),
    (ServingFlag.ODD_CONCURRENCY.value, _odd_concurrency),
    (ServingFlag.CACHED_INPUT.value, _cached),
    (ServingFlag.DISAGGREGATED.value, _disaggregated),
    (ServingFlag.SPECULATIVE.value, _speculative),
    (ServingFlag.SPECULATION_UNKNOWN.value, _unknown_speculation),
    (ServingFlag.SHORT_OUTPUT.value, _short_output),
    (ServingFlag.USER_RATE_OVER_E2E.value, _user_rate_over_e2e),
)


@cache
def _flag(bits: int) -> ServingFlag:
    return ServingFlag(bits)


def _measured_means(notes: str) -> tuple[float, float] | None:
    """Read "measured mean input 921 / output 924 tokens"."""
    _, mark, rest = notes.partition("measured mean input ")
    words = rest.split(maxsplit=4)
    if not mark or len(words) < 4:
        return None
    try:
        means = float(words[0]), float(words[3])
    except ValueError:
        return None
    return means if all(0 < mean <= LONGEST for mean in means) else None


_FIGURES = (
    "output_tps_per_gpu",
    "total_tps_per_gpu",
    "tps_per_user",
    "ttft_ms_median",
    "ttft_ms_p99",
    "ttft_ms_mean",
    "tpot_ms_median",
    "tpot_ms_p99",
    "tpot_ms_mean",
    "e2e_s_median",
)
_PAIRS = (
    ("ttft_ms_mean", "tpot_ms_mean"),
    ("total_tps_per_gpu", "tpot_ms_median"),
    ("output_tps_per_gpu", "e2e_s_median"),
)
"""Two figures that are real numbers with many digits: equal only when the run is the same."""


def _published(point: ServingPoint) -> int:
    return sum(getattr(point, name) is not None for name in _FIGURES)


def _fingerprints(point: ServingPoint) -> list[tuple[Any, ...]]:
    found: list[tuple[Any, ...]] = []
    for first, second in _PAIRS:
        a, b = getattr(point, first), getattr(point, second)
        if a and b:
            found.append(
                (first, point.model, point.gpu, point.concurrency, point.isl, f"{a:.4g}", f"{b:.4g}")
            )
    return found
