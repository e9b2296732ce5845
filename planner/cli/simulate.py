"""`planner simulate`: serve requests one by one, for percentiles, goodput and overload."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from planner.cli.load_options import (
    arrival_options,
    network_option,
    prefix_option,
    rate_option,
    seed_option,
    slo_options,
    speculation_options,
    spread_options,
    trace_option,
)
from planner.cli.money_options import owning_options
from planner.cli.options import (
    Settings,
    engine_limits_options,
    engine_options,
    gpu_option,
    load_options,
    model_option,
    offload_options,
    price_kind_option,
    price_option,
    report_options,
    requests,
    sizes_options,
    stacked,
)
from planner.cli.output import answer
from planner.cli.progress import progress_bar

if TYPE_CHECKING:
    from rich.console import Console

    from planner.report.simulation import SimulateReport

DOES_NOT_FIT, OVERLOADED = 3, 2

simulation_options = stacked(
    arrival_options,
    spread_options,
    trace_option,
    click.option(
        "--requests",
        type=requests(),
        metavar="N",
        help="Requests to simulate.  [default: 2,000, ten for each at once, or the whole trace]",
    ),
    seed_option("Of the random numbers: the same seed gives the same answer."),
)


@click.command(short_help="Serve requests one by one: percentiles, goodput and overload.")
@model_option
@gpu_option
@sizes_options
@engine_options
@load_options
@rate_option
@prefix_option
@simulation_options
@slo_options
@engine_limits_options
@offload_options
@speculation_options
@network_option
@price_option
@price_kind_option
@owning_options
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
    """Simulate a deployment request by request: percentiles of TTFT, TPOT and whole requests, and goodput.

    Requests come at --rate, or from --concurrency users of whom each asks again when answered, or as a
    --trace recorded them. The engine batches them as it does: vLLM decodes first and fills steps with parts
    of prompts, SGLang computes prompts first. Step times are those of `planner predict`; percentiles are of
    the requests simulated. A load above what can be served is named as such and has no latencies.

    --csv gives one line for each request, --json the summary.

    \b
    Examples:
      planner simulate --model llama-3.1-8b --gpu h100 --isl 1k --osl 256 --rate 8
      planner simulate --model kimi-k3 --gpu mi355x --isl 8k --osl 1k --concurrency 64
      planner simulate --model qwen3-32b --gpu h200 --tp 1 --isl 2k --osl 500 --rate 2 \\
        --arrivals gamma --cv 2 --lengths lognormal --slo-ttft 2s --slo-tpot 50ms
      planner simulate --model llama-3.3-70b --gpu mi300x --tp 4 --trace requests.csv \\
        --csv --out served.csv

    Exit codes: 0 simulated, 2 wrong usage or a load that cannot be carried, 3 it does not fit.
    """
    from planner.api import simulate

    catalogue = settings.catalogue()
    with progress_bar("requests served") as progress:
        report = simulate(catalogue=catalogue, progress=progress, **asked)
    answer(report, lambda console: _draw(console, report), as_json=as_json, as_csv=as_csv, out=out)
    if not report.fit.fits:
        return DOES_NOT_FIT
    return OVERLOADED if report.overloaded else 0


def _draw(console: Console, report: SimulateReport) -> None:
    from planner.cli.draw import draw_facts, draw_lines, draw_table
    from planner.report.simulation import latency_table, simulation_facts

    console.print(report.sentence, style="bold", markup=False)
    if report.result is not None:
        console.print()
        draw_table(console, latency_table(report.result))
        console.print()
        draw_facts(console, simulation_facts(report))
    if report.warnings:
        console.print()
        draw_lines(console, "Notes", report.warnings)
