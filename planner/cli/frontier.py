"""`planner frontier`: every deployment of a model on accelerators, to what nothing beats."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from planner.cli.load_options import network_option, prefix_option, slo_options, speculation_options
from planner.cli.money_options import owning_options
from planner.cli.options import (
    LARGEST_SIZE,
    NEEDED,
    Count,
    Settings,
    engine_option,
    gpu_option,
    lengths_options,
    model_option,
    most_seqs_option,
    price_kind_option,
    price_option,
    report_options,
    stacked,
)
from planner.cli.output import answer

if TYPE_CHECKING:
    from rich.console import Console

DOES_NOT_FIT, MISSES_SLO = 3, 4


class Counts(click.ParamType[tuple[int, ...]]):
    """One whole number or several with commas."""

    name = "n[,n...]"

    def __init__(self, least: int, most: int, what: str) -> None:
        self.each = Count(least, most, what)

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> tuple[int, ...]:
        """Read every number, or say which are legal."""
        if isinstance(value, tuple):
            return value
        return tuple(self.each.convert(part.strip(), param, ctx) for part in value.split(","))


def _sizes(name: str, what: str) -> Any:
    return click.option(name, type=Counts(1, LARGEST_SIZE, "GPUs"), metavar="N[,N...]", help=what)


space_options = stacked(
    _sizes("--gpus", "GPUs of all copies together.  [default: 1 to 16, as the type comes]"),
    _sizes("--tp", "Tensor-parallel sizes to try.  [default: all]"),
    _sizes("--pp", "Pipeline stages to try.  [default: those that are needed]"),
    _sizes("--ep", "Expert-parallel sizes to try.  [default: 1 and all ranks]"),
    _sizes("--dp", "Data-parallel copies of attention to try.  [default: all]"),
    _sizes("--dcp", "Decode-context parallel sizes to try.  [default: all]"),
    click.option(
        "--weight-dtype",
        metavar="DTYPE[,DTYPE...]",
        help="Quantisations to try.  [default: as the checkpoint]",
    ),
    click.option(
        "--kv-dtype",
        metavar="DTYPE[,DTYPE...]",
        help="Dtypes of the KV cache to try: auto, fp8, ...  [default: auto]",
    ),
    click.option(
        "--speculative-tokens",
        type=Counts(0, 64, "tokens"),
        metavar="N[,N...]",
        help="Tokens drafted each step, 0 for none.  [default: 0; by an own draft 1 and 3 too]",
    ),
    speculation_options,
    click.option(
        "--disaggregated/--no-disaggregated",
        default=None,
        help="Whether prefill may have GPUs of its own.  [default: where it was measured so]",
    ),
    click.option(
        "--every-layout", is_flag=True, help="Try pipelines and copies over nodes that nothing calls for too."
    ),
)


@click.command(short_help="Search all deployments, to the frontier of output, interactivity and cost.")
@model_option
@gpu_option
@lengths_options(NEEDED)
@prefix_option
@slo_options
@click.option(
    "--by",
    type=click.Choice(["throughput", "cost", "interactivity"]),
    help="What is best: output of a GPU, its cost, or tok/s of a request.  [default: cost where priced]",
)
@space_options
@engine_option
@most_seqs_option
@network_option
@price_option
@price_kind_option
@owning_options
@report_options
@click.pass_obj
def command(settings: Settings, /, as_json: bool, as_csv: bool, out: str | None, **asked: Any) -> int:
    """Search the deployments of a model on accelerators, to what nothing beats.

    Every legal layout of every number of GPUs is tried under loads from one request to what its KV pool
    holds: tensor, pipeline and expert parallelism, attention in copies, a shared context, several copies of
    the whole, the formats that are named, and drafts. What is left is the frontier: points that none beats in
    output tok/s of a GPU without being slower for each request. With limits (--slo-...) only points whose
    medians keep them count, and the load at which each deployment just does is solved for.

    \b
    Examples:
      planner frontier --model kimi-k3 --gpu mi355x,b200,b300 --isl 8k --osl 1k
      planner frontier --model deepseek-r1 --gpu b200 --isl 8k --osl 1k --slo-tpot 50ms
      planner frontier --model llama-3.1-70b --gpu h100,mi300x --isl 1k --osl 1k --gpus 4,8 \\
        --kv-dtype auto,fp8 --price h100=2.20,mi300x=1.90 --out frontier.html

    Exit codes: 0 a frontier for at least one of the GPUs named, 2 wrong usage, 3 it fits on none of them,
    4 nothing keeps the limits: the closest deployment is named, with the limit that it fails.
    """
    from planner.api import frontier

    report = frontier(catalogue=settings.catalogue(), **asked)

    def draw(console: Console) -> None:
        from planner.cli.draw_frontier import draw_frontier

        draw_frontier(console, report)

    answer(report, draw, as_json=as_json, as_csv=as_csv, out=out)
    if report.answered:
        return 0
    return MISSES_SLO if report.fits else DOES_NOT_FIT
