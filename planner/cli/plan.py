"""`planner plan`: how many GPUs a traffic needs, what they cost, and which fleet serves several models."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from planner.cli.load_options import prefix_option, rate_option, slo_options
from planner.cli.media_options import media_options
from planner.cli.money_options import owning_options
from planner.cli.options import (
    Settings,
    engine_limits_options,
    engine_options,
    price_kind_option,
    price_option,
    report_options,
    sizes_options,
)
from planner.cli.output import answer
from planner.cli.plan_options import headroom_options, lengths_options, plan_options, traffic_options
from planner.cli.progress import progress_bar

if TYPE_CHECKING:
    from rich.console import Console

DOES_NOT_FIT, NO_PLAN = 3, 4


@click.command(short_help="Say how many GPUs a traffic needs, and at what cost; or choose a fleet.")
@click.option(
    "--model",
    metavar="MODEL",
    help="Id or alias of the catalogue, a config.json or the directory of one, or a hub id.",
)
@click.option("--gpu", metavar="GPU[,GPU...]", help="Accelerator by id or alias; several with commas.")
@lengths_options("[needed, but with --trace or --fleet]")
@rate_option
@traffic_options
@slo_options
@headroom_options
@plan_options
@prefix_option
@sizes_options
@engine_options
@media_options
@engine_limits_options
@price_option
@price_kind_option
@owning_options
@report_options
@click.pass_obj
def command(settings: Settings, /, as_json: bool, as_csv: bool, out: str | None, **asked: Any) -> int:
    """Size a deployment for a traffic: replicas, GPUs, nodes, racks, cost and goodput, every step shown.

    The traffic is --rate (requests a second, on average over the day), or --users with --requests-per-user
    or --think, or a --trace; --peak-factor and --profile say how it spreads over the day. Limits are
    percentiles: --slo-share of the requests must keep all of them, which is judged by simulating them one
    by one. Deployments are tried on each GPU type, the one that needs the fewest GPUs is taken, and types
    are ranked by cost, those without a price last; without any price by GPUs.

    Peak load is --peak-utilisation of what the replicas carry within the limits, never all of it unless you
    say so. Nodes stand by for those that fail: --spare, or as many as --availability-target asks for.

    --fleet FILE plans several models on several GPU types at once, under stocks, budgets and power: see
    docs/plan.md.

    \b
    Examples:
      planner plan --model llama-3.3-70b --gpu h100,mi300x,b200 --rate 20 --peak-factor 3 \\
        --isl 2k --osl 300 --slo-ttft 2s --slo-tpot 50ms --price h100=2.5,mi300x=2,b200=4.25
      planner plan --model llama-3.1-8b --gpu h100 --users 5000 --requests-per-user 12 \\
        --profile daily --isl 1k --osl 250 --slo-ttft 1s --slo-tpot 30ms
      planner plan --model llama-3.3-70b --gpu h200 --trace requests.csv --slo-e2e 20s \\
        --availability-target 0.999 --node-availability 0.995
      planner plan --model flux.1-dev --gpu mi355x,b200 --rate 4 --size 1024x1024 --slo-e2e 10s
      planner plan --fleet fleet.yaml --out fleet.html

    Exit codes: 0 a plan, 2 wrong usage or input, 3 it fits on none, 4 nothing keeps the limits.
    """
    from planner.api import plan

    fleet = asked["fleet"]
    if fleet is None:
        for name in ("model", "gpu"):
            if asked[name] is None:
                raise click.UsageError(f"--{name} is missing, or --fleet")
    with progress_bar("planned") as progress:
        report = plan(catalogue=settings.catalogue(), progress=progress, **asked)

    def draw(console: Console) -> None:
        from planner.cli.draw_media import drawn_as_media
        from planner.cli.draw_plan import draw_fleet, draw_plan
        from planner.report.plan import PlanReport

        if drawn_as_media(console, report):
            return
        if isinstance(report, PlanReport):
            draw_plan(console, report)
        else:
            draw_fleet(console, report)

    answer(report, draw, as_json=as_json, as_csv=as_csv, out=out)
    if report.answered:
        return 0
    return NO_PLAN if report.fits else DOES_NOT_FIT
