"""`planner import`: result files of benchmark tools and start-up logs as measurements of your own."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from planner.cli.load_options import HIGHEST_RATE, Number
from planner.cli.options import (
    Fraction,
    Settings,
    catalogue_option,
    json_option,
    requests,
    size,
    stacked,
    tokens,
)
from planner.cli.output import deliver, json_text, render

USAGE_ERROR = 2

if TYPE_CHECKING:
    from rich.console import Console

    from planner.report.imported import ImportReport

stated_options = stacked(
    click.option("--model", metavar="MODEL", help="The model, by a name that the catalogue knows."),
    click.option("--gpu", metavar="GPU", help="The accelerator."),
    click.option("--gpus", type=size(), metavar="N", help="GPUs of the whole deployment."),
    click.option("--nodes", type=size(), metavar="N", help="Nodes of the whole deployment."),
    click.option("--tp", type=size(), metavar="N", help="Tensor-parallel size."),
    click.option("--pp", type=size(), metavar="N", help="Pipeline stages."),
    click.option("--ep", type=size(), metavar="N", help="Expert-parallel size."),
    click.option("--dp", type=size(), metavar="N", help="Data-parallel copies of attention (DP attention)."),
    click.option(
        "--weight-dtype", metavar="DTYPE", help="Quantisation of the weights: bf16, fp8, mxfp4, ..."
    ),
    click.option("--kv-dtype", metavar="DTYPE", help="Dtype of the KV cache."),
    click.option("--engine", metavar="ENGINE[==VERSION]", help="vllm, sglang, trtllm, ...: vllm==0.20.2."),
    click.option("--engine-version", metavar="VERSION", help="Version of the engine."),
    click.option("--isl", type=tokens(), metavar="TOKENS", help="Input tokens of a request."),
    click.option("--osl", type=tokens(), metavar="TOKENS", help="Output tokens of a request."),
    click.option("--concurrency", type=requests(), metavar="N", help="Requests at once, of a closed loop."),
    click.option(
        "--rate",
        type=Number(0, HIGHEST_RATE, "requests/s"),
        metavar="N",
        help="Requests that arrive in a second.",
    ),
    click.option("--spec-decode", metavar="KIND", help="Kind of draft: mtp, eagle3, ...; none for none."),
    click.option(
        "--prefix-hit", type=Fraction(), metavar="SHARE", help="Share of the input that a cache held."
    ),
    click.option(
        "--memory-fraction", type=Fraction(), metavar="SHARE", help="The engine's memory fraction, of a log."
    ),
    click.option("--date", metavar="DAY", help="When it was measured: 2026-11-30."),
    click.option("--source", metavar="TEXT", help="Who measured it."),
    click.option("--source-url", metavar="TEXT", help="Where it is written up."),
    click.option("--notes", metavar="TEXT", help="What else is to be known of it."),
)


@click.command(
    short_help="Read results of benchmark tools and start-up logs as measurements of your own.",
    epilog="Exit codes: 0 each file gave rows, 2 one gave none or lacks something.",
)
@click.argument("files", nargs=-1, required=True, metavar="FILES...")
@stated_options
@click.option("--into", metavar="DIR", help="Folder of measurements.  [default: your own, see below]")
@click.option("--dry-run", is_flag=True, help="Show what was read and what is missing; write nothing.")
@json_option
@catalogue_option
@click.pass_obj
def command(
    settings: Settings,
    /,
    files: tuple[str, ...],
    into: str | None,
    dry_run: bool,
    as_json: bool,
    **stated: Any,
) -> int:
    """Read FILES and add what was measured to your measurements, which validate and calibrate use.

    Each file is recognised by what stands in it: results of vLLM bench serve, SGLang bench_serving, GuideLLM,
    AIPerf, GenAI-Perf, inference-perf, InferenceX, MLPerf, llama-bench and trtllm-bench, and start-up logs of
    vLLM, SGLang, TensorRT-LLM and llama.cpp. What a file does not say is asked for and never guessed: state
    it by option, in FILE.planner.yaml or in a planner-import.yaml beside it. A run that is there already, in
    this format or another, is not added again.

    Your measurements lie in $PLANNER_MEASUREMENTS, else in planner/measurements under $XDG_DATA_HOME or
    ~/.local/share.

    \b
    Examples:
      planner import result.json --gpu h200 --gpus 8 --tp 8 --engine vllm==0.22.0
      planner import *.json server.log --dry-run
      planner import sweep/*.jsonl --model qwen3-32b --gpu mi300x --gpus 1 --into ours
    """
    from planner.api import import_results

    report = import_results(list(files), into=into, dry_run=dry_run, catalogue=settings.catalogue(), **stated)
    if as_json:
        deliver(json_text(report.to_dict()), None)
    else:
        render(lambda console: _draw(console, report), None)
    for line in report.problems:
        click.echo(f"planner: {line}", err=True)
    if not as_json:
        for line in report.warnings:
            click.echo(f"note: {line}", err=True)
    return 0 if report.complete else USAGE_ERROR


def _draw(console: Console, report: ImportReport) -> None:
    from planner.cli.draw import draw_table

    console.print(report.sentence, style="bold", markup=False)
    tables = [report.files_table()]
    if report.imported.dry_run:
        tables += [report.rows_table(), report.logs_table()]
    for table in tables:
        if table.rows:
            console.print()
            draw_table(console, table)
