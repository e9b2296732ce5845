"""Options of a load and of how it is served, for the commands that ask about speed."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import click

from planner.cli.options import LARGEST_SIZE, Count, F, share_of, stacked
from planner.errors import InvalidInput, shorten
from planner.units import whole_number

HIGHEST_RATE = 1e6
LARGEST_SEED = 2**63
SPANS_S = {"s": 1.0, "second": 1.0, "minute": 60.0, "hour": 3600.0, "day": 86400.0, "month": 730 * 3600.0}
_SPANS = "N/minute, N/hour, N/day and N/month (730 hours)"
LEAST_STEP, MOST_STEP = 1.0, 65.0


class Number(click.ParamType[float]):
    """A number in a range, the lower end excluded where it is 0 and no zero is meant."""

    name = "number"

    def __init__(self, least: float, most: float, what: str, *, zero: bool = False) -> None:
        self.above = least == 0 and not zero
        self.least = least
        self.most = most
        self.what = what

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        """Read the number, or say which range is legal."""
        try:
            number = float(value)
        except ValueError:
            number = math.nan
        enough = number > 0 if self.above else number >= self.least
        if not (enough and number <= self.most):
            begin = "above 0 and" if self.above else f"from {self.least:g} and"
            most = f"{self.most:,.0f}"
            self.fail(f"{value!r} is not possible; {self.what} {begin} at most {most}", param, ctx)
        return number


class Rate(Number):
    """Requests a second, or a number of them for another span of time: ``10000/month``."""

    def __init__(self) -> None:
        super().__init__(0, HIGHEST_RATE, "requests/s")

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        """Read the number and the span, or say which spans there are."""
        number, divided, span = str(value).partition("/")
        seconds = SPANS_S.get(span.strip().lower() or "s") if divided else 1.0
        if seconds is None:
            self.fail(
                f"{value!r} is not possible; a number alone is per second; others are {_SPANS}", param, ctx
            )
        return super().convert(number, param, ctx) / seconds


class Hits(click.ParamType[float]):
    """A share from 0 to below 1."""

    name = "share"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        """Read the share, or say which range is legal."""
        number = share_of(value)
        if not 0 <= number < 1:
            self.fail(f"{value!r} is out of range; a share from 0 to below 1 is needed", param, ctx)
        return number


class Pair(click.ParamType[tuple[int, int]]):
    """GPUs that only prefill and GPUs that decode: ``8:16``."""

    name = "prefill:decode"

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> tuple[int, int]:
        """Read both numbers, or say how they are written."""
        if isinstance(value, tuple):
            return value
        prefill, _, decode = value.partition(":")
        counts = whole_number(prefill) or 0, whole_number(decode) or 0
        if not all(1 <= count <= LARGEST_SIZE for count in counts):
            self.fail(
                f"{shorten(value)} is no pair of GPU counts; write it like 8:16 (prefill:decode)", param, ctx
            )
        return counts


class Quantity(click.ParamType[float]):
    """A quantity with its unit, as `planner.units.parse` reads it."""

    name = "quantity"

    def __init__(self, dimension: str) -> None:
        self.dimension = dimension

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        """Read the quantity, or say how one is written."""
        if isinstance(value, float):
            return value
        from planner.units import parse

        try:
            number = parse(value, self.dimension)
        except InvalidInput as error:
            self.fail(str(error), param, ctx)
        if number <= 0:
            self.fail(f"{value!r} is not above zero", param, ctx)
        return number


rate_option = click.option(
    "--rate",
    "request_rate",
    type=Rate(),
    metavar="N",
    help="Requests that arrive in a second, or 500/minute, 90000/day, 1000000/month (730 hours), whether or "
    "not others have ended.",
)

prefix_option = click.option(
    "--prefix-hit",
    type=Hits(),
    metavar="SHARE",
    default="0",
    show_default=True,
    help="Share of the input that a prefix cache holds, 0 to below 1.",
)

speculation_options = stacked(
    click.option(
        "--draft", metavar="KIND", help="Kind of draft with --speculative-tokens: mtp, eagle3, dspark, ..."
    ),
    click.option(
        "--tokens-per-step",
        type=Number(LEAST_STEP, MOST_STEP, "tokens"),
        metavar="N",
        help="Tokens that a step with drafts yields.  [default: from measured tables of acceptance]",
    ),
)

network_option = click.option(
    "--network",
    "network_bytes_per_s",
    type=Quantity("bytes/s"),
    metavar="RATE",
    help="Line rate between nodes for each GPU, one way, such as '25 GB/s'.  [default: the catalogue's]",
)

disaggregated_option = click.option(
    "--disaggregated",
    type=Pair(),
    metavar="PREFILL:DECODE",
    help="GPUs that only prefill and GPUs that decode, such as 8:16; sizes are those of one copy.",
)

throughput_option = click.option(
    "--throughput",
    type=click.Choice(["auto", "measured", "simulated"]),
    default="auto",
    show_default=True,
    help="Where figures come from; auto: measured where the load was, and the model for the rest.",
)

provider_throughput_option = click.option(
    "--throughput",
    metavar="SOURCE",
    default="auto",
    show_default=True,
    help="Where figures come from: auto (measured where the load was, and the model for the rest), measured, "
    "simulated, or the name of a provider, such as aiconfigurator.",
)

slo_options = stacked(
    click.option(
        "--slo-ttft",
        "slo_ttft_s",
        type=Quantity("s"),
        metavar="TIME",
        help="Longest time to the first token that is good, such as 2s.",
    ),
    click.option(
        "--slo-tpot",
        "slo_tpot_s",
        type=Quantity("s"),
        metavar="TIME",
        help="Longest time per output token that is good, such as 50ms.",
    ),
    click.option(
        "--slo-e2e",
        "slo_e2e_s",
        type=Quantity("s"),
        metavar="TIME",
        help="Longest time of a whole request that is good, such as 30s.",
    ),
)

arrival_options = stacked(
    click.option(
        "--arrivals",
        type=click.Choice(["poisson", "gamma", "fixed"]),
        default="poisson",
        show_default=True,
        help="How requests come at --rate: at random, in bursts (with --cv), or evenly.",
    ),
    click.option(
        "--cv",
        type=Number(0, 100, "a spread", zero=True),
        metavar="N",
        help="Standard deviation of the gaps over their mean, for gamma; above 1 they come in bursts.",
    ),
)

spread_options = stacked(
    click.option(
        "--lengths",
        type=click.Choice(["fixed", "uniform", "lognormal"]),
        default="fixed",
        show_default=True,
        help="How lengths are drawn: --isl and --osl, 80 to 100 % of them, or around them with a long tail.",
    ),
    click.option(
        "--length-cv",
        type=Number(0, 10, "a spread", zero=True),
        metavar="N",
        default="0.5",
        show_default=True,
        help="Standard deviation of lognormal lengths over their mean.",
    ),
)

trace_option = click.option(
    "--trace",
    metavar="FILE",
    help="Recorded requests, a CSV or lines of JSON with arrival_s, isl and osl: replayed, or their "
    "lengths drawn with --rate or --concurrency.",
)


def seed_option(of: str) -> Callable[[F], F]:
    """Return the option of a seed, which says what is drawn from it."""
    return click.option(
        "--seed",
        type=Count(0, LARGEST_SEED, "draws"),
        metavar="N",
        default="0",
        show_default=True,
        help=of,
    )
