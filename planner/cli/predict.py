"""`planner predict`: what throughput, TTFT and TPOT to expect, how sure that is, and what it costs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from planner.cli.load_options import (
    disaggregated_option,
    network_option,
    prefix_option,
    provider_throughput_option,
    rate_option,
    speculation_options,
)
from planner.cli.media_options import media_options
from planner.cli.money_options import owning_options, purchase_options
from planner.cli.options import (
    Settings,
    engine_limits_options,
    engine_options,
    gpu_option,
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

DOES_NOT_FIT, OVERLOADED = 3, 2


@click.command(short_help="Say what throughput and latencies to expect, how sure that is, and what it costs.")
@model_option
@gpu_option
@sizes_options
@engine_options
@media_options
@speed_load_options
@rate_option
@prefix_option
@provider_throughput_option
@engine_limits_options
@offload_options
@speculation_options
@disaggregated_option
@network_option
@price_option
@price_kind_option
@owning_options
@purchase_options
@report_options
@click.pass_obj
def command(
    settings: Settings,
    /,
    as_json: bool,
    as_csv: bool,
    out: str | None,
    **asked: Any,
) -> int:
    """Say what throughput, TTFT and TPOT to expect of a model under a load, how sure that is, and its cost.

    Every figure has an interval that holds four of five measurements, and says where it comes from: measured
    at this operating point (or between two loads of one sweep), or simulated. The working is shown: the parts
    of a decode step, the kernels assumed and what they cost, and the bounds of physics.

    Memory comes first: what does not fit has no figures, and neither has a load that cannot be carried.
    Without sizes it is the smallest deployment that holds the load; sizes that are given need to hold one
    request, and more of them wait. --isl and --osl are needed; the load is --concurrency (1 by default), all
    of whose requests are there at any time, or --rate.

    \b
    Examples:
      planner predict --model kimi-k3 --gpu mi355x --isl 1024 --osl 400 --concurrency 32
      planner predict --model kimi-k3 --gpu mi355x,b300 --isl 8k --osl 1k --rate 2 \\
        --price mi355x=2.50,b300=6.00
      planner predict --model deepseek-r1 --gpu mi355x --tp 8 --isl 1k --osl 1k --json \\
        --concurrency 64 --engine sglang
      planner predict --model deepseek-r1 --gpu h200 --isl 4k --osl 1k --concurrency 64 \\
        --speculative-tokens 1 --draft mtp --throughput simulated
      planner predict --model deepseek-r1 --gpu b200 --tp 8 --isl 8k --osl 1k --concurrency 256 \\
        --disaggregated 8:16
      planner predict --model qwen3-32b --gpu h200 --tp 2 --isl 1k --osl 1k --concurrency 64 \\
        --throughput aiconfigurator
      planner predict --model flux.1-dev --gpu mi355x --size 1024x1024 --steps 50
      planner predict --model wan2.2-t2v-a14b --gpu mi355x,b200 --size 1280x720 --frames 81

    Exit codes: 0 figures for at least one of the GPUs named, 2 wrong usage or a load that cannot be carried,
    3 it does not fit.
    """
    from planner.api import predict

    report = predict(catalogue=settings.catalogue(), **asked)

    def draw(console: Console) -> None:
        from planner.cli.draw_media import drawn_as_media
        from planner.cli.draw_predict import draw_predict

        if not drawn_as_media(console, report):
            draw_predict(console, report)

    answer(report, draw, as_json=as_json, as_csv=as_csv, out=out)
    if report.answered:
        return 0
    return OVERLOADED if report.fits else DOES_NOT_FIT
