"""`planner launch`: from a deployment to the commands that start it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from planner.cli.load_options import disaggregated_option, rate_option
from planner.cli.options import (
    Count,
    Settings,
    catalogue_option,
    csv_option,
    engine_limits_options,
    engine_options,
    json_option,
    load_options,
    offload_options,
    report_out_option,
    sizes_options,
    stacked,
)
from planner.cli.output import answer

if TYPE_CHECKING:
    from rich.console import Console

FORMS = ("command", "kubernetes", "compose", "json")

what_options = stacked(
    click.option(
        "--model",
        metavar="MODEL",
        help="Id or alias of the catalogue, a config.json or the directory of one, or a hub id.",
    ),
    click.option("--gpu", metavar="GPU", help="Accelerator by id or alias."),
    click.option(
        "--from",
        "saved",
        metavar="FILE",
        help="A saved report of fit, plan or compare (.json, .html), instead or beside.",
    ),
    click.option(
        "--format",
        type=click.Choice(FORMS),
        default="command",
        show_default=True,
        help="Shell commands, Kubernetes objects, a Compose file, or everything as JSON.",
    ),
)

start_options = stacked(
    click.option(
        "--draft", metavar="KIND", help="Kind of draft with --speculative-tokens: mtp, eagle3, dspark, ..."
    ),
    click.option("--draft-model", metavar="MODEL", help="A draft model, by id or alias of the catalogue."),
    disaggregated_option,
    click.option(
        "--replicas",
        type=Count(1, 4096, "servers"),
        metavar="N",
        help="Servers.  [default: those of a plan, else 1]",
    ),
    click.option(
        "--checkpoint",
        metavar="REPO|PATH",
        help="What the engine loads, where the catalogue names no checkpoint.",
    ),
    click.option(
        "--block-size",
        type=Count(1, 4096, "tokens"),
        metavar="TOKENS",
        help="Tokens of a block of the KV cache.  [default: the engine's]",
    ),
    click.option(
        "--image", metavar="IMAGE", help="Container image.  [default: the engine's own for this version]"
    ),
    click.option(
        "--head", metavar="ADDRESS", help="Address of the first of several nodes.  [default: $HEAD_ADDRESS]"
    ),
    click.option("--name", metavar="NAME", help="Of the Kubernetes objects.  [default: from the model's]"),
    click.option(
        "--hf-secret",
        metavar="NAME",
        help="Kubernetes Secret whose key HF_TOKEN holds the token; no token is ever printed.  "
        "[default: hf-token]",
    ),
    click.option(
        "--port",
        type=Count(1, 65535, "a port"),
        metavar="PORT",
        help="Of the server.  [default: the engine's]",
    ),
)


@click.command(short_help="Print the commands or manifest that start a deployment, and its load test.")
@what_options
@sizes_options
@engine_options
@load_options
@rate_option
@engine_limits_options
@offload_options
@start_options
@json_option
@csv_option
@report_out_option
@catalogue_option
@click.pass_obj
def command(
    settings: Settings, /, as_json: bool, as_csv: bool, out: str | None, format: str, **asked: Any
) -> int:
    """Print what starts a deployment: the engine's command line on every node, or a Kubernetes manifest.

    Memory flags come from the fit. Every flag is known to the version of the engine that is asked for, and
    the flags are read back and fitted again: the verdict and the KV pool are the same, else nothing is
    printed. What the engine does not run is refused with the reason.

    With --isl and --osl the load test is printed too, whose result `planner import` reads.

    \b
    Examples:
      planner launch --model kimi-k3 --gpu b200 --engine vllm==0.33.0
      planner launch --model deepseek-r1 --gpu h200 --tp 8 --engine sglang --isl 4k --osl 1k
      planner launch --model llama-3.3-70b --gpu mi300x --format kubernetes --replicas 2
      planner launch --from plan.json --format kubernetes > llama.yaml
      planner launch --model deepseek-r1 --gpu h200 --tp 8 --context 64k --disaggregated 8:16

    Exit codes: 0 it is printed, 2 wrong usage, or refused with the reason, 3 it does not fit.
    """
    from planner.api import launch

    report = launch(format=format, catalogue=settings.catalogue(), **asked)

    def draw(console: Console) -> None:
        for warning in report.warnings:
            click.echo(f"note: {warning}", err=True)
        console.print(report.to_text(), end="", soft_wrap=True, markup=False, highlight=False)

    answer(report, draw, as_json=as_json or (format == "json" and not as_csv), as_csv=as_csv, out=out)
    return 0
