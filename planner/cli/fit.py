"""`planner fit`: does a model fit on these accelerators, and on how many."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from planner.cli.media_options import media_options
from planner.cli.money_options import owning_options, purchase_options
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
    sizes_options,
)
from planner.cli.output import answer

if TYPE_CHECKING:
    from rich.console import Console

DOES_NOT_FIT = 3


@click.command(short_help="Say whether a model fits, on how many GPUs and nodes, and why.")
@model_option
@gpu_option
@sizes_options
@engine_options
@media_options
@load_options
@engine_limits_options
@offload_options
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
    price: dict[str, float] | None,
    **asked: Any,
) -> int:
    """Say whether a model fits on an accelerator, on how many GPUs and nodes, and what limits it.

    Without sizes the answer is the smallest deployment that fits (of cards every number is tried; boards
    come by divisors of a node and whole nodes), and what one node does. Parallel sizes (--tp, --pp, ...) are
    judged as given; those left out are 1. --gpus without --tp and --pp leaves the layout open: TP as wide as
    a node, then pipeline stages; the first that fits is judged. Memory is per GPU; the fullest one decides.

    "Tight" is a margin within the error of the estimate: a deployment that fits tightly may fail to start,
    and is still a yes (exit code 0). One that is tight and does not fit as set up would fit with other
    options, or lacks less than that error; it is a no (exit code 3).

    \b
    Examples:
      planner fit --model kimi-k3 --gpu b200
      planner fit --model kimi-k3 --gpu mi355x,b200,b300 --price mi355x=2.50,b200=4.25,b300=6.00
      planner fit --model deepseek-r1 --gpu h200 --tp 8 --kv-dtype fp8 --context 128k
      planner fit --model qwen3-32b --gpu l40s --gpus 2 --isl 4k --osl 1k --concurrency 16
      planner fit --model ./config.json --gpu h100 --weight-dtype fp8 --json
      planner fit --model flux.1-dev --gpu rtx-4090 --weight-dtype fp8 --size 1024x1024

    Exit codes: 0 it fits, tightly or not (on at least one of the GPUs named), 2 wrong usage, 3 it does not
    fit as set up.
    """
    from planner.api import fit

    report = fit(price=price, catalogue=settings.catalogue(), **asked)

    def draw(console: Console) -> None:
        from planner.cli.draw_fit import draw_fit
        from planner.cli.draw_media import drawn_as_media

        if not drawn_as_media(console, report):
            draw_fit(console, report)

    answer(report, draw, as_json=as_json, as_csv=as_csv, out=out)
    return 0 if report.fits else DOES_NOT_FIT
