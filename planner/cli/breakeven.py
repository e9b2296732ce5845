"""`planner breakeven`: the price, utilisation, volume or load at which the cheaper of two options changes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from planner.cli.load_options import network_option, prefix_option, speculation_options, throughput_option
from planner.cli.media_options import media_options
from planner.cli.money_options import (
    api_price_option,
    currency_options,
    owning_options,
    purchase_options,
    use_options,
)
from planner.cli.options import (
    Settings,
    engine_limits_options,
    engine_options,
    gpu_option,
    layout_options,
    load_options,
    model_option,
    offload_options,
    price_option,
    report_options,
)
from planner.cli.output import answer

if TYPE_CHECKING:
    from rich.console import Console

OVER = ("price", "utilisation", "volume", "isl", "osl", "context", "concurrency", "weight-dtype")


class Range(click.ParamType[tuple[float, float]]):
    """Two numbers above 0, the smaller first: ``128:65536``."""

    name = "low:high"

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> tuple[float, float]:
        """Read both ends, or say how they are written."""
        if isinstance(value, tuple):
            return value
        from planner.errors import InvalidInput
        from planner.units import parse_count

        try:
            ends = tuple(parse_count(part.strip()) for part in value.split(":"))
        except InvalidInput:
            ends = ()
        if len(ends) != 2 or not 0 < ends[0] < ends[1]:
            self.fail(f"{value!r} is no range; write it like 128:64k, the smaller above 0 first", param, ctx)
        return float(ends[0]), float(ends[1])


@click.command(short_help="Say at which price, utilisation, volume or load the answer flips.")
@model_option
@gpu_option
@click.option(
    "--over",
    type=click.Choice(OVER),
    default="price",
    show_default=True,
    metavar="WHAT",
    help=f"What varies: {', '.join(OVER)}; volume is output tokens a month.",
)
@click.option(
    "--between",
    type=Range(),
    metavar="LOW:HIGH",
    help="Where lengths and concurrencies are searched.  [default: what both deployments hold]",
)
@click.option("--gpus", metavar="N[,N]", help="GPUs of the deployment.  [default: the fewest that fit]")
@layout_options
@engine_options
@media_options
@load_options
@prefix_option
@throughput_option
@engine_limits_options
@offload_options
@speculation_options
@network_option
@price_option
@click.option(
    "--price-kind",
    metavar="KIND[,KIND]",
    help="Kind of price from the catalogue; own: what owning costs, api: a hosted API, given: --price.",
)
@click.option("--mixed-kinds", is_flag=True, help="Compare prices of different kinds all the same.")
@api_price_option
@owning_options
@purchase_options
@use_options
@currency_options
@report_options
@click.pass_obj
def command(settings: Settings, /, as_json: bool, as_csv: bool, out: str | None, **asked: Any) -> int:
    """Say where the cheaper of two options changes, how sure that is, and what else would move the answer.

    One of --gpu, --gpus, --weight-dtype, --engine and --price-kind names two with a comma: those are the
    options. Two kinds of prices hold renting, owning (own) or a hosted API (api) against one another;
    on-demand and spot prices are paid in the hours of use alone, all others for idle hours too.

    The point is solved, in closed form or by Brent's method in a bracket that is stated, with the interval
    that the uncertainty of the throughput gives it. Without prices it is GPU time that is compared. The table
    of sensitivity moves one input at a time and marks those that flip the answer.

    \b
    Examples:
      planner breakeven --model kimi-k3 --gpu mi355x,b300 --isl 1024 --osl 400 --over price
      planner breakeven --model kimi-k3 --gpu b300 --price-kind on-demand,own --isl 8k --osl 1k \\
        --over utilisation
      planner breakeven --model kimi-k3 --gpu b300 --price-kind own,api --api-price 3,15,0.3 \\
        --isl 8k --osl 1k --over volume
      planner breakeven --model deepseek-r1 --gpu b300 --weight-dtype fp8,nvfp4 --isl 1k \\
        --osl 1k --concurrency 64 --over isl
      planner breakeven --model wan2.2-t2v-a14b --gpu mi355x,b200 --size 1280x1280

    Exit codes: 0 an answer (that it never flips is one), 2 wrong usage, 3 an option does not fit.
    """
    from planner.api import breakeven

    report = breakeven(catalogue=settings.catalogue(), **asked)

    def draw(console: Console) -> None:
        from planner.cli.draw_compare import draw_report
        from planner.cli.draw_media import drawn_as_media

        if not drawn_as_media(console, report):
            draw_report(console, report)

    answer(report, draw, as_json=as_json, as_csv=as_csv, out=out)
    return 0
