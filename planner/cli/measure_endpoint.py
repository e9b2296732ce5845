"""`planner measure endpoint`: load a live endpoint, and keep what was measured."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import click
from click.core import ParameterSource

from planner.cli.load_options import (
    Hits,
    Quantity,
    arrival_options,
    rate_option,
    seed_option,
    spread_options,
    trace_option,
)
from planner.cli.options import Count, Settings, output_options, requests, size, stacked, tokens
from planner.cli.output import deliver, form_of, json_text, render
from planner.errors import InvalidInput

if TYPE_CHECKING:
    from rich.console import Console

    from planner.report.endpoint import EndpointReport

INTERRUPTED = 130
NOTHING_ANSWERED = 2
MOST_POINTS = 50
REFRESH = 2
"""Of the progress bar in a second: drawing it takes the clock's time."""

BESIDE_RESUME = ("resume", "api_key_env", "folder")
"""What may be given beside --resume; the rest is in the file."""


class Points(click.ParamType[tuple[int, ...]]):
    """Numbers of requests at once, with commas: ``1,8,32``."""

    name = "points"

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> tuple[int, ...]:
        """Read each number."""
        if isinstance(value, tuple):
            return value
        points = tuple(requests().convert(part.strip(), param, ctx) for part in value.split(","))
        if len(points) > MOST_POINTS or len(set(points)) < len(points):
            self.fail(f"name each point once, and at most {MOST_POINTS} of them", param, ctx)
        return points


how_options = stacked(
    click.option(
        "--api",
        type=click.Choice(["completions", "chat"]),
        default="completions",
        show_default=True,
        help="What is asked: /v1/completions, or /v1/chat/completions.",
    ),
    click.option(
        "--served-model",
        metavar="NAME",
        help="Name of the model on the server.  [default: the one it lists]",
    ),
    click.option(
        "--temperature",
        type=click.FloatRange(0, 5),
        metavar="N",
        default="1",
        show_default=True,
        help="Of the sampling.",
    ),
    click.option(
        "--timeout",
        "timeout_s",
        type=Quantity("s"),
        metavar="TIME",
        default="600 s",
        show_default=True,
        help="Longest time for a whole request.",
    ),
    click.option(
        "--api-key-env",
        metavar="NAME",
        help="Environment variable that holds the API key, which is never kept or shown.  "
        "[default: OPENAI_API_KEY, where it is set]",
    ),
)

load_options = stacked(
    click.option(
        "--concurrency",
        type=Points(),
        metavar="N[,N...]",
        help="Requests at once; several are measured in turn.",
    ),
    rate_option,
    arrival_options,
    click.option("--isl", type=tokens(), metavar="TOKENS", help="Input tokens of a request."),
    click.option("--osl", type=tokens(), metavar="TOKENS", help="Output tokens of a request."),
    spread_options,
    trace_option,
    click.option(
        "--requests",
        type=requests(),
        metavar="N",
        help="Requests that count at each point.  [default: ten for each at once and 50 at least, 100 at a "
        "rate, or the whole trace]",
    ),
    click.option(
        "--warmup",
        type=Count(0, 1_000_000, "requests"),
        metavar="N",
        help="Requests before those that count.  [default: one for each at once, or a tenth]",
    ),
    click.option(
        "--prefix-hit",
        type=Hits(),
        metavar="SHARE",
        default="0",
        show_default=True,
        help="Share of each prompt that all have in common, 0 to below 1, for a prefix cache.",
    ),
    seed_option(
        "Of lengths and arrivals; the words of prompts are new each time, so that no cache knows them."
    ),
)

deployment_options = stacked(
    click.option(
        "--model",
        metavar="MODEL",
        help="What is served, by id or alias of the catalogue.  [default: the served name]",
    ),
    click.option("--gpu", metavar="GPU", help="Accelerator it runs on, by id or alias."),
    click.option("--gpus", type=size(), metavar="N", help="GPUs of the whole deployment."),
    click.option("--tp", type=size(), metavar="N", help="Tensor-parallel size."),
    click.option("--pp", type=size(), metavar="N", help="Pipeline stages."),
    click.option("--ep", type=size(), metavar="N", help="Expert-parallel size."),
    click.option("--dp", type=size(), metavar="N", help="Data-parallel copies of attention (DP attention)."),
    click.option("--weight-dtype", metavar="DTYPE", help="Quantisation of the weights that are served."),
    click.option("--kv-dtype", metavar="DTYPE", help="Dtype of the KV cache: bf16, fp8, ..."),
    click.option(
        "--engine",
        metavar="ENGINE[==VERSION]",
        help="What serves, such as vllm==0.20.2.  [default: what the server says]",
    ),
    click.option("--spec-decode", metavar="METHOD", help="Draft method it runs with: none, mtp, eagle3, ..."),
)

file_options = stacked(
    click.option(
        "--save",
        metavar="FILE",
        help="Every answer, as soon as it is there.  [default: a new file in your measurements folder]",
    ),
    click.option("--resume", metavar="FILE", help="Go on with an interrupted run; points that ended stay."),
    click.option("--folder", metavar="DIR", help="Where the rows go.  [default: your measurements folder]"),
)


@click.command(short_help="Load an OpenAI-compatible server and keep what each request took.")
@click.argument("url", required=False)
@load_options
@how_options
@deployment_options
@file_options
@output_options
@click.pass_context
def command(
    ctx: click.Context, /, url: str | None, as_json: bool, as_csv: bool, out: str | None, **asked: Any
) -> int:
    """Load the OpenAI-compatible server at URL and measure TTFT, TPOT, ITL and E2E of each request.

    The load is a closed loop of --concurrency users, requests at a --rate, or a --trace. Prompts are random
    and of a known number of tokens; outputs are as long as asked where the server takes ignore_eos and
    min_tokens. Lengths are those that the server counts. With --gpu and --gpus the points are added to your
    measurements, which `planner validate` and `planner calibrate` read.

    Every answer is written to a file at once. Ctrl-C ends a run with what it has; --resume goes on with it,
    also when the process was killed. The API key comes from the environment alone.

    \b
    Examples:
      planner measure endpoint http://localhost:8000 --isl 1k --osl 256 --concurrency 1,8,32
      planner measure endpoint http://localhost:8000 --isl 1k --osl 256 --rate 4
      planner measure endpoint https://host/v1 --api chat --trace requests.csv \\
        --api-key-env MY_KEY
      planner measure endpoint http://localhost:8000 --isl 8k --osl 1k --concurrency 32 \\
        --model llama-3.1-8b --gpu h200 --gpus 1 --tp 1 --weight-dtype bf16 --engine vllm==0.20.2
      planner measure endpoint --resume run.jsonl

    Exit codes: 0 measured, 2 wrong usage or a server that does not answer, 130 interrupted.
    """
    from planner.cli.endpoint_run import finished, planned

    form = form_of(as_json=as_json, as_csv=as_csv, out=out)
    _check_resume(ctx, url, asked)
    settings: Settings = ctx.obj
    plan = planned(settings, url, asked)
    with _progress() as progress:
        run = plan.measure(progress)
    if not run.points:
        raise click.Abort
    report = finished(run, asked["folder"])
    if form == "json":
        deliver(json_text(report.to_dict()), out)
    elif form == "csv":
        deliver(report.to_csv(), out)
    else:
        render(lambda console: _draw(console, report), out)
    if run.interrupted:
        return INTERRUPTED
    return 0 if report.answered else NOTHING_ANSWERED


def _check_resume(ctx: click.Context, url: str | None, asked: dict[str, Any]) -> None:
    """Refuse a run without address, and options beside --resume that the file already holds."""
    if asked["resume"] is None:
        if url is None:
            raise InvalidInput("URL is missing; write it like http://localhost:8000")
        return
    given = [
        name
        for name in asked
        if name not in BESIDE_RESUME and ctx.get_parameter_source(name) is not ParameterSource.DEFAULT
    ]
    if given:
        option = next(one.opts[0] for one in ctx.command.params if one.name == given[0])
        raise InvalidInput(f"{option}: the load of a run that is resumed is in its file; leave it out")


@contextmanager
def _progress() -> Iterator[Callable[[int, int, str], None] | None]:
    """Give a function that moves a progress bar on a terminal, and None elsewhere."""
    if not sys.stderr.isatty():
        yield None
        return
    from rich.console import Console
    from rich.progress import Progress

    with Progress(console=Console(stderr=True), transient=True, refresh_per_second=REFRESH) as bar:
        task = bar.add_task("requests", total=None)
        yield lambda done, every, name: bar.update(task, completed=done, total=every, description=name)


def _draw(console: Console, report: EndpointReport) -> None:
    from planner.cli.draw import draw_facts, draw_lines, draw_table

    console.print(report.sentence, style="bold", markup=False)
    for table in report.tables():
        if table.rows:
            console.print()
            draw_table(console, table)
    console.print()
    draw_facts(console, [("kept", report.kept), ("every answer", str(report.run.path))])
    if report.warnings:
        console.print()
        draw_lines(console, "Notes", report.warnings)
