"""What is asked of an endpoint, and what came of each request."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field

from planner.errors import InvalidInput
from planner.scenario.records import Count, Name, Plain, Scenario

Api = Literal["completions", "chat"]
ArrivalKind = Literal["poisson", "gamma", "fixed"]
LengthKind = Literal["fixed", "uniform", "lognormal"]

LONGEST_PROMPT = 10_000_000
MOST_REQUESTS = 1_000_000
FEWEST_REQUESTS = 50
REQUESTS_A_USER = 10

Positive = Annotated[float, Plain, Field(gt=0)]


def _points(value: Any) -> Any:
    return tuple(value) if isinstance(value, list | tuple) else value


class EndpointLoad(Scenario):
    """The load: points of a closed loop, a rate, or a recorded trace; lengths; and how much of it."""

    concurrency: Annotated[tuple[Count, ...], BeforeValidator(_points)] = ()
    """Points of a closed loop: so many users, each of whom asks again when answered."""
    rate_per_s: Positive | None = None
    """Requests that are sent in a second, whether or not others have been answered."""
    arrivals: ArrivalKind = "poisson"
    cv: Positive | None = None
    """Spread of the gaps between arrivals, for gamma."""
    lengths: LengthKind = "fixed"
    length_cv: Positive = 0.5
    isl: Annotated[int, Plain, Field(ge=1, le=LONGEST_PROMPT)] | None = None
    """Input tokens of a request."""
    osl: Annotated[int, Plain, Field(ge=1, le=LONGEST_PROMPT)] | None = None
    """Output tokens of a request."""
    trace: str | None = None
    """A file of recorded requests."""
    requests: Annotated[int, Plain, Field(ge=1, le=MOST_REQUESTS)] | None = None
    """Requests that count at each point, after the warm-up."""
    warmup: Annotated[int, Plain, Field(ge=0, le=MOST_REQUESTS)] | None = None
    """Requests before those that count."""
    prefix_hit: Annotated[float, Plain, Field(ge=0, lt=1)] = 0.0
    """Share of each prompt that is the same in all requests."""
    seed: Annotated[int, Plain, Field(ge=0)] = 0

    def model_post_init(self, context: Any, /) -> None:
        """Refuse a load that is none, or two at once."""
        if self.concurrency and self.rate_per_s is not None:
            raise InvalidInput("a load is --concurrency or --rate, not both")
        if not self.concurrency and self.rate_per_s is None and self.trace is None:
            raise InvalidInput("no load: give --concurrency 1,8,32, --rate or --trace")
        if self.trace is None and (self.isl is None or self.osl is None):
            raise InvalidInput("no lengths: give --isl and --osl, or a --trace")
        if self.trace is not None and not (self.isl is None and self.osl is None):
            raise InvalidInput("lengths are those of the --trace; leave out --isl and --osl")
        if self.arrivals == "gamma" and self.cv is None:
            raise InvalidInput("--arrivals gamma needs --cv, the spread of the gaps")

    @property
    def points(self) -> tuple[int | None, ...]:
        """Return the concurrencies that are measured one after the other; None is an open loop."""
        return self.concurrency or (None,)

    def counted(self, concurrency: int | None) -> int:
        """Return the requests that count at a point.

        Parameters
        ----------
        concurrency : int or None
            Users of a closed loop.
        """
        return self.requests or max(FEWEST_REQUESTS, REQUESTS_A_USER * (concurrency or 10))

    def warmups(self, concurrency: int | None) -> int:
        """Return the requests that are sent before those that count: one for each user, or a tenth."""
        if self.warmup is not None:
            return self.warmup
        return concurrency or math.ceil(self.counted(None) / 10)


class Endpoint(Scenario):
    """The server, and how it is asked."""

    url: Name
    api: Api = "completions"
    served_model: Name | None = None
    """The name that the server knows the model by; that of the only model it serves by default."""
    temperature: Annotated[float, Plain, Field(ge=0, le=5)] = 1.0
    timeout_s: Positive = 600.0
    """Longest time for a whole request."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """What came of one request.

    Parameters
    ----------
    number : int
        Which request of its point, counted from 0; those of the warm-up come first.
    counts : bool
        False for the warm-up.
    sent_s : float
        When it was sent, from the start of its point [s].
    late_s : float
        How much later than planned that was; 0 in a closed loop [s].
    ttft_s, e2e_s : float or None
        From sending to the first and to the last output [s].
    gaps_s : tuple of float
        Times between chunks of output [s].
    input_tokens, output_tokens, cached_tokens : int or None
        As the server counts them.
    chunks : int
        Events that carried output; a chunk may hold several tokens.
    asked_isl, asked_osl : int
        Tokens that were asked for.
    finish : str or None
        Why the output ended, as the server says.
    error : str or None
        The kind of the error; None where all went well.
    detail : str
        What was wrong.
    """

    number: int
    counts: bool
    sent_s: float
    late_s: float
    ttft_s: float | None
    e2e_s: float | None
    gaps_s: tuple[float, ...]
    input_tokens: int | None
    output_tokens: int | None
    cached_tokens: int | None
    chunks: int
    asked_isl: int
    asked_osl: int
    finish: str | None = None
    error: str | None = None
    detail: str = ""

    @property
    def tokens(self) -> int:
        """Return the output tokens: as the server counts them, else one for each chunk."""
        return self.chunks if self.output_tokens is None else self.output_tokens

    @property
    def tpot_s(self) -> float | None:
        """Return the time of an output token: ``(E2E - TTFT) / (OSL - 1)`` [s]; None below two tokens."""
        if self.ttft_s is None or self.e2e_s is None or self.tokens < 2:
            return None
        return (self.e2e_s - self.ttft_s) / (self.tokens - 1)

    def to_dict(self) -> dict[str, Any]:
        """Return a JSON-ready object; times are rounded to a microsecond."""
        values = {name: getattr(self, name) for name in self.__slots__}
        for name in ("sent_s", "late_s", "ttft_s", "e2e_s"):
            values[name] = None if values[name] is None else round(values[name], 6)
        values["gaps_s"] = [round(gap, 6) for gap in self.gaps_s]
        return values

    @classmethod
    def from_dict(cls, values: dict[str, Any]) -> Outcome:
        """Return the outcome that `to_dict` wrote; ValueError or TypeError where it is none."""
        gaps = tuple(values["gaps_s"])
        if not all(_is_number(values[name]) for name in ("number", "sent_s", "late_s", "chunks")):
            raise ValueError("a number is needed")
        if not all(map(_is_number, gaps)) or not all(_is_number(values[name], True) for name in MEASURED):
            raise ValueError("a number is needed")
        return cls(**{**values, "gaps_s": gaps})


MEASURED = ("ttft_s", "e2e_s", "input_tokens", "output_tokens", "cached_tokens", "asked_isl", "asked_osl")


def _is_number(value: object, may_be_none: bool = False) -> bool:
    if value is None:
        return may_be_none
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)
