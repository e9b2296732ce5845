"""Options of `planner plan`: the traffic, what is kept free, and how a plan is made."""

from __future__ import annotations

from typing import Any

import click

from planner.cli.load_options import Number, Quantity, seed_option, spread_options
from planner.cli.options import Count, Fraction, lengths_options, requests, share_of, stacked
from planner.errors import PlannerError

__all__ = ["headroom_options", "lengths_options", "plan_options", "traffic_options"]

MOST_USERS = 1_000_000_000
MOST_SPARES = 10_000
MOST_RACK_KW = 10_000.0


class Profile(click.ParamType["str | tuple[float, ...]"]):
    """A day: ``flat``, ``daily``, or 24 shares with commas."""

    name = "profile"

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> str | tuple[float, ...]:
        """Read the name or the numbers, or say how they are written."""
        if not isinstance(value, str):
            return value  # type: ignore[no-any-return]
        from planner.planning.traffic import profile_of

        try:
            return profile_of(value)
        except PlannerError as error:
            self.fail(str(error).removeprefix("profile: "), param, ctx)


class Below(click.ParamType[float]):
    """A share above 0 and below 1."""

    name = "share"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        """Read the share, or say which range is legal."""
        number = share_of(value)
        if not 0 < number < 1:
            self.fail(f"{value!r} is out of range; a share above 0 and below 1, like 0.999", param, ctx)
        return number


traffic_options = stacked(
    click.option(
        "--users", type=Count(1, MOST_USERS, "users"), metavar="N", help="Users, instead of --rate."
    ),
    click.option(
        "--requests-per-user",
        "requests_per_user_hour",
        type=Number(0, 1e5, "requests an hour"),
        metavar="N",
        help="Requests of each user in an hour.",
    ),
    click.option(
        "--think",
        "think_s",
        type=Quantity("s"),
        metavar="TIME",
        help="Pause of a user between an answer and the next request, instead of --requests-per-user.",
    ),
    click.option(
        "--peak-factor",
        type=Number(1, 1000, "times the mean"),
        metavar="N",
        help="The rate to plan for over the mean of the day.  [default: that of the profile]",
    ),
    click.option(
        "--profile",
        type=Profile(),
        metavar="DAY",
        help="Shares of the hours: flat, daily (an assumed shape with one peak), or 24 numbers with commas.  "
        "[default: flat]",
    ),
    click.option(
        "--cv",
        type=Number(0, 100, "a spread", zero=True),
        metavar="SPREAD",
        help="Standard deviation of the gaps between requests over their mean; above 1 they come in bursts.  "
        "[default: 1, independent users, or the trace's]",
    ),
    click.option(
        "--trace",
        metavar="TRACE",
        help="Recorded requests, a CSV or lines of JSON with arrival_s, isl and osl; --rate scales them.",
    ),
    spread_options,
)

headroom_options = stacked(
    click.option(
        "--slo-share",
        type=Fraction(),
        metavar="SHARE",
        default="0.95",
        show_default=True,
        help="Share of the requests that must keep the limits.",
    ),
    click.option(
        "--peak-utilisation",
        type=Fraction(),
        metavar="SHARE",
        help="Peak load over what the replicas carry within the limits.  [default: 0.8, assumed]",
    ),
    click.option(
        "--spare",
        type=Count(0, MOST_SPARES, "spares"),
        metavar="N",
        help="Nodes (or replicas of several nodes) that stand by.  [default: 1, which is N+1]",
    ),
    click.option(
        "--availability-target",
        type=Below(),
        metavar="SHARE",
        help="Share of time in which enough must work, instead of --spare; with --node-availability or "
        "--gpu-availability.",
    ),
    click.option(
        "--node-availability", type=Below(), metavar="SHARE", help="Share of time in which a node works."
    ),
    click.option(
        "--gpu-availability", type=Below(), metavar="SHARE", help="Share of time in which a GPU works."
    ),
)

plan_options = stacked(
    click.option(
        "--disaggregated",
        is_flag=False,
        flag_value="yes",
        hidden=True,
        help="Refused, with what is possible instead.",
    ),
    click.option("--part-nodes", is_flag=True, help="Pay for GPUs one by one, and not for whole nodes."),
    click.option(
        "--rack-kw",
        type=Number(0, MOST_RACK_KW, "kW"),
        metavar="KW",
        help="Power that a rack can take; with it racks are counted.",
    ),
    click.option(
        "--requests",
        type=requests(),
        metavar="COUNT",
        default="2000",
        show_default=True,
        help="Requests of the simulation at the chosen size.",
    ),
    seed_option("Of the random numbers: the same seed gives the same answer."),
    click.option("--mixed-kinds", is_flag=True, help="Compare prices of different kinds all the same."),
    click.option(
        "--fleet",
        metavar="FILE",
        help="Several models and GPU types in a YAML file, instead of --model and --gpu.",
    ),
)
