"""`planner train`: how fast a model trains, in what memory, at what cost; datasheet against achieved."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from planner.cli.load_options import Number, network_option
from planner.cli.money_options import owning_options, purchase_options
from planner.cli.options import (
    Count,
    Fraction,
    Settings,
    price_kind_option,
    price_option,
    report_options,
    stacked,
    tokens,
)
from planner.cli.output import answer

if TYPE_CHECKING:
    from rich.console import Console

DOES_NOT_FIT = 3
MOST_GPUS, MOST_SEQUENCES, MOST_TOKENS = 1 << 20, 1 << 24, 1 << 56
ALONE = ("gpu", "as_json", "as_csv", "out")
"""What may stand beside --achieved."""


def _gpus() -> Count:
    return Count(1, MOST_GPUS, "GPUs")


what_options = stacked(
    click.option(
        "--model",
        metavar="MODEL",
        help="Id or alias of the catalogue, a config.json or the directory of one, or a hub id.  [needed]",
    ),
    click.option(
        "--gpu",
        metavar="GPU[,GPU...]",
        help="Accelerator by id or alias; several with commas.  [needed, but for --achieved]",
    ),
    click.option(
        "--gpus",
        type=_gpus(),
        metavar="TOTAL",
        help="GPUs of the run.  [default: what the sizes make, or the fewest that hold it]",
    ),
)

layout_options = stacked(
    click.option("--tp", type=_gpus(), metavar="SIZE", help="Tensor-parallel size.  [default: searched]"),
    click.option("--pp", type=_gpus(), metavar="STAGES", help="Pipeline stages.  [default: searched]"),
    click.option("--dp", type=_gpus(), metavar="COPIES", help="Copies of the model.  [default: searched]"),
    click.option(
        "--fsdp",
        type=Count(0, 3, "stages of ZeRO"),
        metavar="STAGE",
        help="What the copies share (ZeRO): 0 nothing, 1 optimiser states, 2 gradients too, 3 weights too.  "
        "[default: searched]",
    ),
    click.option(
        "--interleave",
        type=Count(1, 256, "parts"),
        metavar="N",
        help="Parts of the model on each pipeline stage.  [default: searched]",
    ),
)

batch_options = stacked(
    click.option(
        "--micro-batch",
        type=Count(1, MOST_SEQUENCES, "sequences"),
        metavar="N",
        help="Sequences that a copy works on at once.  [default: searched]",
    ),
    click.option(
        "--global-batch",
        type=Count(1, MOST_SEQUENCES, "sequences"),
        metavar="N",
        help="Sequences of one optimiser step.  [default: 4 Mi tokens; 512 Ki with adapters]",
    ),
    click.option(
        "--seq-len",
        type=tokens(),
        metavar="TOKENS",
        help="Tokens of a sequence.  [default: 4,096, or the model's maximum]",
    ),
    click.option(
        "--recompute",
        type=click.Choice(["none", "selective", "full"]),
        help="What is computed again in the backward pass: the core of attention, or whole layers.  "
        "[default: none or full, searched]",
    ),
)

method_options = stacked(
    click.option(
        "--dtype",
        type=click.Choice(["bf16", "fp8"]),
        default="bf16",
        show_default=True,
        help="Format of the layers' matrix products.",
    ),
    click.option(
        "--method",
        type=click.Choice(["full", "lora", "qlora"]),
        default="full",
        show_default=True,
        help="All weights, or adapters over frozen weights in 16 bits or in NF4.",
    ),
    click.option(
        "--lora-rank",
        type=Count(1, 4096, "columns"),
        metavar="N",
        help="Width of an adapter.  [default: 16]",
    ),
    click.option(
        "--lora-targets",
        metavar="NAMES",
        help="Matrices that get one: attention, mlp, all, or names such as q_proj,v_proj.  "
        "[default: attention for LoRA, all for QLoRA]",
    ),
    click.option(
        "--attention",
        type=click.Choice(["flash", "unfused"]),
        help="Whether attention keeps its scores to itself.  [default: flash]",
    ),
    click.option(
        "--sequence-parallel/--no-sequence-parallel",
        default=None,
        help="Whether tensor-parallel ranks share what lies between matrices.  [default: they do]",
    ),
    click.option("--dropout", is_flag=True, default=None, help="Keep masks of dropout, as GPT-3 does."),
    click.option(
        "--gradient-bytes",
        type=click.Choice([2, 4]),
        help="Bytes of a gradient: 2 (BF16) or 4 (FP32).  [default: 2]",
    ),
)

run_options = stacked(
    click.option(
        "--tokens",
        type=Count(1, MOST_TOKENS, "tokens"),
        metavar="N",
        help="Tokens of the whole training, such as 15T.",
    ),
    click.option(
        "--days",
        type=Number(0, 36_500, "days"),
        metavar="N",
        help="Days that these may take, instead of --gpus: the fewest GPUs that do it are found.",
    ),
    click.option(
        "--stack",
        type=click.Choice(["stable", "development"]),
        default="stable",
        show_default=True,
        help="Rates of the newest release, or of makers' development builds too.",
    ),
    click.option(
        "--as-of",
        metavar="DATE",
        help="Rates that were known at this date: 2024-12-31, 2024-12 or 2024.  [default: today]",
    ),
    click.option(
        "--availability",
        type=Fraction(),
        metavar="SHARE",
        help="Share of paid time in which a GPU works.  [default: 0.99, assumed]",
    ),
    network_option,
)


@click.command(short_help="Say how fast a dense model trains, in what memory and at what cost.")
@what_options
@layout_options
@batch_options
@method_options
@run_options
@click.option(
    "--achieved",
    is_flag=True,
    help="List instead what matrix products reach beside the datasheet, by stack and date.",
)
@price_option
@price_kind_option
@owning_options
@purchase_options
@report_options
@click.pass_context
def command(
    ctx: click.Context, /, achieved: bool, as_json: bool, as_csv: bool, out: str | None, **asked: Any
) -> int:
    """Say how fast a dense model trains or is fine-tuned, in what memory and at what cost, on some GPUs.

    Tokens/s and TFLOP/s of a GPU, MFU, the time of a step by part (products, attention, other memory traffic,
    communication, bubble, optimiser), memory by part, cost and energy of a trillion tokens, each with an 80 %
    interval. Rates of matrix products are data by stack and date: --achieved lists them beside the datasheet.

    What is not given of layout, micro-batch and recomputation is searched for the fastest that fits; without
    --gpus the fewest GPUs that hold it are taken.

    \b
    Examples:
      planner train --model llama-3.1-8b --gpu mi300x,h100,h200 --gpus 8
      planner train --model llama-3.1-70b --gpu h100 --gpus 64 --tokens 1T --price h100=2.20
      planner train --model llama-3.1-8b --gpu h100 --tokens 1T --days 30 --price-kind on-demand
      planner train --model gpt-3-175b --gpu h100 --tp 4 --pp 8 --dp 16 --micro-batch 2 \\
        --global-batch 2048 --seq-len 2048 --interleave 4 --dtype fp8
      planner train --model llama-3.1-8b --gpu mi300x --gpus 8 --stack development --as-of 2024-12
      planner train --model llama-2-7b --gpu rtx-4090 --method qlora --lora-rank 64 --json
      planner train --achieved --gpu mi300x,h100

    Exit codes: 0 it fits on at least one of the GPUs named, 2 wrong usage or a batch or layout that cannot
    be, 3 it does not fit.
    """
    from planner.cli import draw_train

    settings = ctx.ensure_object(Settings)
    if achieved:
        return _achieved(settings, asked, as_json=as_json, as_csv=as_csv, out=out)
    for name in ("model", "gpu"):
        if asked[name] is None:
            raise click.UsageError(f"--{name} is missing")
    from planner.api import train

    report = train(catalogue=settings.catalogue(), **asked)

    def draw(console: Console) -> None:
        draw_train.draw_train(console, report)

    answer(report, draw, as_json=as_json, as_csv=as_csv, out=out)
    return 0 if report.fits else DOES_NOT_FIT


def _achieved(
    settings: Settings, asked: dict[str, Any], *, as_json: bool, as_csv: bool, out: str | None
) -> int:
    from planner.api import achieved
    from planner.cli import draw_train

    usual = {"dtype": "bf16", "method": "full", "stack": "stable"}
    others = [name for name, value in asked.items() if value is not None and value != usual.get(name)]
    if beside := [name for name in others if name not in ALONE]:
        raise click.UsageError(f"--{beside[0].replace('_', '-')} says nothing to --achieved; --gpu does")
    report = achieved(gpu=asked["gpu"], catalogue=settings.catalogue())

    def draw(console: Console) -> None:
        draw_train.draw_achieved(console, report)

    answer(report, draw, as_json=as_json, as_csv=as_csv, out=out)
    return 0
