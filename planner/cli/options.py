"""Every option that more than one command takes, spelt once."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeVar

import click

from planner.errors import InvalidInput

if TYPE_CHECKING:
    from planner.catalogue import Catalogue

F = TypeVar("F", bound=Callable[..., Any])

LARGEST_SIZE = 4096
LARGEST_TOKENS = 1_000_000_000
LARGEST_REQUESTS = 1_000_000
HIGHEST_PRICE = 1000.0
LOWEST_PRICE = 0.01


@dataclass
class Settings:
    """What the group's options say to every command."""

    catalogue_files: list[str] = field(default_factory=list)
    debug: bool = False

    def catalogue(self) -> Catalogue:
        """Open the catalogue with the user's own calibration and files over it."""
        from planner.measurement.own_file import own_catalogue

        return own_catalogue(self.catalogue_files)


class Count(click.ParamType[int]):
    """A whole number in a range, such as 4096, 128k (x1,000) or 128Ki (x1,024)."""

    name = "count"

    def __init__(self, least: int, most: int, what: str) -> None:
        self.least = least
        self.most = most
        self.what = what

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:
        """Read the number, or say which range is legal."""
        if isinstance(value, int):
            return value
        from planner.units import parse_count

        legal = f"a whole number of {self.what} from {self.least:,} to {self.most:,} is needed"
        try:
            number = parse_count(value)
        except InvalidInput:
            self.fail(f"{_shown(value)} is not possible; {legal}", param, ctx)
        if not self.least <= number <= self.most:
            self.fail(f"{_shown(value)} is out of range; {legal}", param, ctx)
        return number


class Fraction(click.ParamType[float]):
    """A number above 0 and at most 1, or a percentage."""

    name = "fraction"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        """Read the number, or say which range is legal."""
        number = share_of(value)
        if not 0 < number <= 1:
            self.fail(
                f"{_shown(value)} is out of range; a number above 0 and at most 1 is needed", param, ctx
            )
        return number


class Prices(click.ParamType["float | dict[str, float]"]):
    """Prices by GPU, ``b200=4.25,mi355x=2.50``, or one for all: ``4.25``."""

    name = "usd or gpu=usd"

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> float | dict[str, float]:
        """Read a number or every pair, or say how they are written."""
        if not isinstance(value, str):
            return value  # type: ignore[no-any-return]
        if _number(value) is not None:
            return self._price(value, "all GPUs", param, ctx)
        prices: dict[str, float] = {}
        for pair in value.split(","):
            gpu, equals, text = (part.strip() for part in pair.partition("="))
            if not gpu or not equals:
                self.fail(f"{_shown(pair)} is no price; write it like b200=4.25,mi355x=2.50", param, ctx)
            if gpu in prices:
                self.fail(f"{gpu} has two prices", param, ctx)
            prices[gpu] = self._price(text, gpu, param, ctx)
        return prices

    def _price(self, text: str, gpu: str, param: click.Parameter | None, ctx: click.Context | None) -> float:
        number = _number(text)
        if number is None:
            self.fail(f"{_shown(text)} for {gpu} is no number of USD per GPU-hour", param, ctx)
        if not LOWEST_PRICE <= number <= HIGHEST_PRICE:
            legal = f"{LOWEST_PRICE:g} to {HIGHEST_PRICE:,.0f} USD per GPU-hour"
            self.fail(f"{_shown(text)} for {gpu} is out of range; {legal}", param, ctx)
        return number


def share_of(text: str) -> float:
    """Return a share that is written as a number or a percentage, 0.95 or 95%; NaN where it is neither."""
    percent = text.endswith("%")
    number = _number(text.removesuffix("%"))
    return math.nan if number is None else number / 100 if percent else number


def _number(text: str) -> float | None:
    try:
        number = float(text)
    except ValueError:
        return None
    return number if math.isfinite(number) else None


def _shown(text: str) -> str:
    return repr(text) if len(text) <= 40 else f"{text[:36]!r}..."


def size() -> Count:
    """Return the type of a parallel size or a number of GPUs."""
    return Count(1, LARGEST_SIZE, "GPUs")


def tokens() -> Count:
    """Return the type of a length in tokens."""
    return Count(1, LARGEST_TOKENS, "tokens")


def requests() -> Count:
    """Return the type of a number of requests."""
    return Count(1, LARGEST_REQUESTS, "requests")


def stacked(*options: Callable[[F], F]) -> Callable[[F], F]:
    """Return one decorator for several options, shown in this order."""

    def decorate(function: F) -> F:
        for option in reversed(options):
            function = option(function)
        return function

    return decorate


def _remember_files(ctx: click.Context, _: click.Parameter, files: tuple[str, ...]) -> None:
    ctx.ensure_object(Settings).catalogue_files.extend(files)


catalogue_option = click.option(
    "--catalogue",
    metavar="FILE",
    multiple=True,
    expose_value=False,
    callback=_remember_files,
    help="Your own catalogue file over the shipped one; may be given several times.",
)

model_option = click.option(
    "--model",
    required=True,
    metavar="MODEL",
    help="Id or alias of the catalogue, a config.json or the directory of one, or a hub id.",
)

gpu_option = click.option(
    "--gpu", required=True, metavar="GPU[,GPU...]", help="Accelerator by id or alias; several with commas."
)

gpus_option = click.option(
    "--gpus",
    type=size(),
    metavar="N",
    help="GPUs of the deployment; without --tp and --pp the first layout of them that fits is judged.  "
    "[default: the fewest that fit]",
)

layout_options = stacked(
    click.option("--tp", type=size(), metavar="N", help="Tensor-parallel size."),
    click.option("--pp", type=size(), metavar="N", help="Pipeline stages."),
    click.option("--ep", type=size(), metavar="N", help="Expert-parallel size."),
    click.option("--dp", type=size(), metavar="N", help="Data-parallel copies of attention (DP attention)."),
    click.option("--dcp", type=size(), metavar="N", help="Decode-context parallel size."),
)

sizes_options = stacked(gpus_option, layout_options)

engine_option = click.option(
    "--engine",
    metavar="ENGINE[==VERSION]",
    default="vllm",
    show_default=True,
    help="vllm, sglang, tensorrt-llm, llama.cpp, mlc-llm or exllamav2; with a version: vllm==0.20.2.",
)

engine_options = stacked(
    click.option(
        "--weight-dtype", metavar="DTYPE", help="Quantisation of the weights.  [default: as the checkpoint]"
    ),
    click.option(
        "--kv-dtype",
        metavar="DTYPE",
        default="auto",
        show_default=True,
        help="Dtype of the KV cache: bf16, fp8, ...",
    ),
    engine_option,
)

context_option = click.option(
    "--context",
    type=tokens(),
    metavar="TOKENS",
    help="Longest request, input and output (128k = 128,000).  [default: ISL + OSL, else the maximum]",
)


def lengths_options(needed: str = "") -> Callable[[F], F]:
    """Return the options of a request's lengths, marked where they are needed, such as by "[needed]"."""
    mark = f"  {needed}" if needed else ""
    return stacked(
        click.option("--isl", type=tokens(), metavar="TOKENS", help=f"Input tokens of a request.{mark}"),
        click.option("--osl", type=tokens(), metavar="TOKENS", help=f"Output tokens of a request.{mark}"),
        context_option,
    )


NEEDED = "[needed]"

concurrency_option = click.option(
    "--concurrency", type=requests(), metavar="N", help="Requests that must run at once."
)

load_options = stacked(lengths_options(), concurrency_option)
speed_load_options = stacked(lengths_options(NEEDED), concurrency_option)
"""The load where the question is how fast: lengths must be stated."""

most_seqs_option = click.option(
    "--max-num-seqs", type=requests(), metavar="N", help="Requests the engine runs at once, at most."
)

engine_limits_options = stacked(
    click.option(
        "--memory-fraction", type=Fraction(), metavar="SHARE", help="The engine's memory fraction, 0 to 1."
    ),
    click.option(
        "--max-num-batched-tokens",
        type=tokens(),
        metavar="TOKENS",
        help="Tokens of one engine step, at most.",
    ),
    most_seqs_option,
    click.option(
        "--speculative-tokens",
        type=Count(0, 64, "tokens"),
        metavar="N",
        default="0",
        show_default=True,
        help="Tokens drafted each step; above 0 the checkpoint's draft layers are loaded.",
    ),
    click.option("--text-only", is_flag=True, help="Do not load vision and audio towers."),
)

offload_options = stacked(
    click.option(
        "--ngl",
        type=Count(0, LARGEST_SIZE, "layers"),
        metavar="N",
        help="llama.cpp: the output and N - 1 layers on the GPU, the others on the CPU.  [default: all]",
    ),
    click.option(
        "--n-cpu-moe",
        type=Count(0, LARGEST_SIZE, "layers"),
        metavar="N",
        help="llama.cpp: routed experts of the first N layers on the CPU.",
    ),
    click.option(
        "--cpu-offload-gb",
        type=float,
        metavar="GIB",
        help="vllm, sglang: weights of each GPU that stay in the host's memory, streamed in each step.",
    ),
    click.option(
        "--host",
        metavar="HOST",
        help="The machine around the card: desktop-ddr5-5600, epyc-9004-ddr5-4800, ...  "
        "[default: desktop-ddr5-5600, said as an assumption]",
    ),
)
"""What of a model the GPU does not hold."""

price_option = click.option(
    "--price",
    type=Prices(),
    metavar="[GPU=]USD[,...]",
    help="Your prices per GPU-hour: b200=4.25,mi355x=2.50, or 4.25 for all.",
)

price_kind_option = click.option(
    "--price-kind",
    metavar="KIND",
    help="Prices of this kind from the catalogue: on-demand, spot, reserved, 3y-rental, TCO-neocloud, ...; "
    "own works out what owning costs, purchase what a bought card does.",
)

json_option = click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
csv_option = click.option("--csv", "as_csv", is_flag=True, help="Print CSV.")
out_option = click.option(
    "--out", metavar="FILE", help="Write the answer to FILE, whole or not at all, instead of printing it."
)
report_out_option = click.option(
    "--out",
    metavar="FILE",
    help="Write the answer to FILE, whole or not at all, in the form of its ending: .json, .csv, .md, .html "
    "(a page with figures that needs no network), else text.",
)
report_options = stacked(json_option, csv_option, report_out_option, catalogue_option)
output_options = stacked(json_option, csv_option, out_option, catalogue_option)
