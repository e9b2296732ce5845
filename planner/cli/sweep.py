"""`planner sweep`: many models, accelerators, settings, loads and prices at once, into CSV or Parquet."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from planner.cli.load_options import network_option, speculation_options
from planner.cli.money_options import use_options
from planner.cli.options import Count, Fraction, Settings, report_options, requests, stacked, tokens
from planner.cli.output import answer, write_page
from planner.cli.progress import progress_bar
from planner.distribution import installing
from planner.errors import InvalidInput, shorten, unknown_name

if TYPE_CHECKING:
    from concurrent.futures import Executor

    from rich.console import Console

    from planner.report.sweep import SweepReport

MOST_FILE_BYTES = 2**20
ROWS = (".csv", ".parquet")
WORK = frozenset({"processes", "dask", "restart", "report", "as_json", "as_csv", "out"})
"""How the work is done and where it goes, which a file may not say."""


class PriceList(click.ParamType["dict[str, list[float]]"]):
    """Prices by GPU, several with a slash: ``b200=4.25/5.00,mi355x=2.50``."""

    name = "gpu=usd[/usd...]"

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> dict[str, list[float]]:
        """Read every pair, or say how one is written; which prices are possible, the library says."""
        if isinstance(value, dict):
            return value
        prices: dict[str, list[float]] = {}
        for pair in value.split(","):
            gpu, equals, text = (part.strip() for part in pair.partition("="))
            try:
                numbers = [float(part) for part in text.split("/")]
            except ValueError:
                numbers = []
            if not gpu or not equals or not numbers or gpu in prices:
                self.fail(f"{pair!r} is no price; write it like b200=4.25/5.00,mi355x=2.50", param, ctx)
            prices[gpu] = numbers
        return prices


def _axis(name: str, what: str, example: str) -> Callable[[Any], Any]:
    return click.option(f"--{name}", metavar="LIST", help=f"{what}, such as {example}.")


axes_options = stacked(
    click.option("--model", metavar="MODEL[,MODEL...]", help="Models by id, alias or path."),
    click.option("--gpu", metavar="GPU[,GPU...]", help="Accelerator by id or alias; several with commas."),
    _axis("isl", "Input tokens", "1k,8k or 128..32Ki (doubling)"),
    _axis("osl", "Output tokens", "256,1k"),
    _axis("concurrency", "Requests at once", "1..256 or 1,7,50  [default: 1]"),
    click.option(
        "--rate",
        "request_rate",
        metavar="LIST",
        help="Requests that arrive in a second, instead of --concurrency, such as 0.5,1,2 or 1..64.",
    ),
    _axis("prefix-hit", "Shares of the input that a prefix cache holds", "0,0.5  [default: 0]"),
    _axis("gpus", "GPUs of a deployment", "8,16  [default: the fewest that fit]"),
    _axis("tp", "Tensor-parallel sizes", "4,8"),
    _axis("pp", "Pipeline stages", "1,2"),
    _axis("ep", "Expert-parallel sizes", "1,8"),
    _axis("dp", "Data-parallel copies of attention", "1,8"),
    _axis("dcp", "Decode-context parallel sizes", "1,8"),
    _axis("engine", "Engines", "vllm,sglang==0.5.6  [default: vllm]"),
    _axis("weight-dtype", "Quantisations of the weights", "fp8,nvfp4  [default: as the checkpoint]"),
    _axis("kv-dtype", "Dtypes of the KV cache", "auto,fp8  [default: auto]"),
)

# Limits of the engine have no default here, so that a file may give them.
limits_options = stacked(
    click.option(
        "--memory-fraction", type=Fraction(), metavar="SHARE", help="The engine's memory fraction, 0 to 1."
    ),
    click.option(
        "--max-num-batched-tokens",
        type=tokens(),
        metavar="TOKENS",
        help="Tokens of one engine step, at most.",
    ),
    click.option(
        "--max-num-seqs", type=requests(), metavar="N", help="Requests the engine runs at once, at most."
    ),
    click.option(
        "--speculative-tokens",
        type=Count(0, 64, "tokens"),
        metavar="N",
        help="Tokens drafted each step; above 0 the checkpoint's draft layers are loaded.",
    ),
    click.option("--text-only", is_flag=True, default=None, help="Do not load vision and audio towers."),
)

work_options = stacked(
    click.option(
        "--processes", type=Count(1, 1024, "processes"), metavar="N", help="Processes to work with."
    ),
    click.option(
        "--dask",
        metavar="ADDRESS",
        help="Spread the work over a Dask cluster: tcp://host:8786 (extra: dask).",
    ),
    click.option("--restart", is_flag=True, help="Throw away what an interrupted sweep left beside --out."),
    click.option("--report", metavar="FILE", help="Write the summary to FILE as well: .json, .md or .html."),
)


@click.command(short_help="Predict every combination of models, GPUs, loads and prices into CSV or Parquet.")
@click.argument("file", required=False)
@axes_options
@limits_options
@speculation_options
@network_option
@click.option(
    "--price", type=PriceList(), metavar="GPU=USD[/USD...]", help="Your prices: b200=4.25/5.00,mi355x=2.50."
)
@click.option(
    "--price-kind", metavar="KIND[,KIND...]", help="Kinds of prices of the catalogue, such as on-demand,spot."
)
@use_options
@work_options
@report_options
@click.pass_obj
def command(
    settings: Settings,
    /,
    file: str | None,
    processes: int | None,
    dask: str | None,
    restart: bool,
    report: str | None,
    as_json: bool,
    as_csv: bool,
    out: str | None,
    **asked: Any,
) -> int:
    """Predict every combination of models, accelerators, settings, loads and prices: one row for each.

    FILE is YAML with the same names as the options (model, gpu, isl, ...), lists where there are several;
    options lie over it. A deployment without sizes is the smallest that holds the longest request of the
    sweep. Rows that have no answer say why in `state` and `reason`; none is left out, and a row has the same
    number however the work is spread.

    --out rows.csv or rows.parquet writes the rows. What is done stands in a file beside it, ending in .part:
    after an interruption, whatever its kind, the same command goes on there. Other endings and no --out keep
    the rows in memory (at most 5 million) and write the summary.

    \b
    Examples:
      planner sweep --model deepseek-r1,kimi-k3 --gpu mi355x,b200,b300 --isl 1k,8k --osl 1k \\
        --concurrency 1..256 --price mi355x=2.50,b200=4.25/5.00,b300=6.00 --out rows.csv
      planner sweep sweep.yaml --out rows.parquet --processes 8 --report sweep.html
      planner sweep sweep.yaml --out rows.parquet --dask tcp://scheduler:8786

    Exit codes: 0 every row is written, 2 wrong usage, 3 no row has figures.
    """
    from planner.api import sweep

    words = {**(_read(file) if file else {}), **{name: one for name, one in asked.items() if one is not None}}
    for name in ("model", "gpu", "isl", "osl"):
        if words.get(name) is None:
            raise InvalidInput(f"--{name} is missing")
    if report is not None and Path(report).suffix.lower() not in (".json", ".md", ".html"):
        raise InvalidInput(f"--report {report}: a name that ends in .json, .md or .html is needed")
    rows = out if out is not None and Path(out).suffix.lower() in ROWS and not (as_json or as_csv) else None
    with progress_bar("rows") as progress, dask_executor(dask) as executor:
        found = sweep(
            **words,
            out=rows,
            restart=restart,
            executor=executor,
            processes=processes,
            progress=progress,
            catalogue=settings.catalogue(),
        )
    if report is not None:
        write_page(found, report)
    if rows is None:
        answer(found, lambda console: _draw(console, found), as_json=as_json, as_csv=as_csv, out=out)
    else:
        click.echo("\n - ".join([f"{rows}: {found.sentence}", *found.warnings]), err=True)
    return 0 if found.answered else 3


def _read(file: str) -> dict[str, Any]:
    """Read what a YAML file asks, every name checked against the options."""
    from planner.catalogue.textfiles import read_plain
    from planner.catalogue.yamltext import Slice, line_of, parse

    piece = Slice(file, read_plain(file, most_bytes=MOST_FILE_BYTES, otherwise="no question of a sweep"))
    said = parse(piece)
    if not isinstance(said, Mapping):
        raise InvalidInput(
            f"{file}: holds {shorten(said)}; names and values such as `model: kimi-k3` are needed"
        )
    known = _names()
    for name in said:
        if name not in known:
            raise InvalidInput(f"{file}:{line_of(piece, (name,))}: {unknown_name('name', name, known)}")
    return {known[name]: value for name, value in said.items()}


def _names() -> dict[str, str]:
    """Return the arguments that a file may give, by the names of their options and their own."""
    options = [one for one in command.params if isinstance(one, click.Option) and one.expose_value]
    kept = [(one.name, one.opts[0]) for one in options if one.name and one.name not in WORK]
    return {spelt: name for name, option in kept for spelt in (option[2:].replace("-", "_"), name)}


@contextmanager
def dask_executor(address: str | None) -> Iterator[Executor | None]:
    """Give the executor of a Dask cluster, and None without an address.

    Parameters
    ----------
    address : str or None
        Of its scheduler.

    Yields
    ------
    Executor or None

    Raises
    ------
    InvalidInput
        Where distributed is not installed, or nothing answers.
    """
    if address is None:
        yield None
        return
    try:
        from distributed import Client
    except ImportError:
        raise InvalidInput(
            f"--dask needs distributed, which is not installed: {installing('dask')}"
        ) from None
    try:
        client = Client(address, timeout="10s")  # type: ignore[no-untyped-call]
    except (OSError, ValueError) as error:
        raise InvalidInput(f"--dask {address}: no cluster answers there: {error}") from None
    with client:
        yield client.get_executor(pure=False)  # type: ignore[no-untyped-call]


def _draw(console: Console, report: SweepReport) -> None:
    from planner.cli.draw import draw_lines, draw_table

    console.print(report.sentence, style="bold", markup=False)
    for table in report.tables():
        console.print()
        draw_table(console, table)
    if report.warnings:
        console.print()
        draw_lines(console, "Rows without figures or price", report.warnings)
