"""`planner compare`: which accelerator, how sure that is, and at which price the order flips."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from planner.cli.load_options import (
    network_option,
    prefix_option,
    rate_option,
    slo_options,
    speculation_options,
    throughput_option,
)
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
    model_option,
    offload_options,
    price_kind_option,
    price_option,
    report_options,
    sizes_options,
    speed_load_options,
)
from planner.cli.output import answer

if TYPE_CHECKING:
    from rich.console import Console

OVERLOADED, DOES_NOT_FIT, MISSES_SLO = 2, 3, 4


@click.command(short_help="Say which accelerator wins, how sure that is, and which price would flip it.")
@model_option
@click.option(
    "--gpu",
    default="mi355x,b200,b300",
    show_default=True,
    metavar="GPU[,GPU...]",
    help="Accelerator by id or alias; several with commas.",
)
@sizes_options
@engine_options
@media_options
@speed_load_options
@rate_option
@prefix_option
@slo_options
@throughput_option
@engine_limits_options
@offload_options
@speculation_options
@network_option
@price_option
@price_kind_option
@owning_options
@purchase_options
@use_options
@click.option("--mixed-kinds", is_flag=True, help="Compare prices of different kinds all the same.")
@api_price_option
@currency_options
@report_options
@click.pass_obj
def command(settings: Settings, /, as_json: bool, as_csv: bool, out: str | None, **asked: Any) -> int:
    """Compare accelerators for one model and load: figures, money, order, and what would flip it.

    The load is --concurrency or --rate. Without either each accelerator is compared at its best: the highest
    output measured with these lengths, else the best load that the model finds; with an SLO of those loads
    that keep it in the median. Sizes that are given are taken; without them it is the smallest deployment
    that fits, and with an SLO or --gpus alone the best that a search finds.

    The order is by output for each dollar an hour, or per GPU where prices are missing. It says whether a
    difference is larger than the uncertainty, at which ratio of prices the order flips, and who wins under
    every kind of price that all have. Prices of different kinds are not compared: what a hosted API asks
    (--api-price, or published) stands beside the order.

    \b
    Examples:
      planner compare --model kimi-k3 --isl 1024 --osl 400 --price mi355x=2.50,b200=4.25,b300=6.00
      planner compare --model deepseek-r1 --gpu mi355x,h200,b200 --isl 8k --osl 1k \\
        --concurrency 64 --price-kind TCO-hyperscaler
      planner compare --model gpt-oss-120b --isl 1k --osl 1k --slo-ttft 1s --slo-tpot 20ms \\
        --out answer.html
      planner compare --model wan2.2-t2v-a14b --gpu mi355x,b200 --size 1280x1280 \\
        --price mi355x=2.50,b200=4.25

    Exit codes: 0 figures for at least one, 2 wrong usage or a load that none carries, 3 it fits on none,
    4 none meets the SLO.
    """
    from planner.api import compare

    report = compare(catalogue=settings.catalogue(), **asked)

    def draw(console: Console) -> None:
        from planner.cli.draw_compare import draw_report
        from planner.cli.draw_media import drawn_as_media

        if not drawn_as_media(console, report):
            draw_report(console, report)

    answer(report, draw, as_json=as_json, as_csv=as_csv, out=out)
    if report.answered:
        return 0
    if report.misses:
        return MISSES_SLO
    return OVERLOADED if report.fits else DOES_NOT_FIT
