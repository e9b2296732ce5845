"""`planner gpus`: the accelerators of the catalogue."""

from __future__ import annotations

import click

from planner.cli.catalogue_commands import (
    ListingGroup,
    names_in,
    print_detail,
    print_listing,
    search_argument,
)
from planner.cli.options import Settings, catalogue_option, json_option, out_option, output_options


@click.group(cls=ListingGroup, short_help="List, search and show accelerators.")
def command() -> None:
    """List, search and show the accelerators of the catalogue.

    Without a command it lists: the memory a process really gets, the memory bandwidth, and dense peaks in
    TFLOP/s (empty where the silicon lacks the format).

    \b
    Examples:
      planner gpus
      planner gpus amd
      planner gpus show mi355x
      planner gpus show h200 --json
    """


@command.command("list", short_help="List all accelerators, or those that match every word.")
@search_argument
@output_options
@click.pass_obj
def list_gpus(
    settings: Settings, search: tuple[str, ...], as_json: bool, as_csv: bool, out: str | None
) -> None:
    """List all accelerators, or those that match every word of SEARCH in name, vendor, alias or status.

    \b
    Examples:
      planner gpus list
      planner gpus list blackwell
    """
    from planner.report.listings import gpus_table

    book = settings.catalogue()
    print_listing(
        gpus_table(book, " ".join(search)),
        name="gpus",
        search=search,
        known=lambda: names_in(book, "gpus"),
        as_json=as_json,
        as_csv=as_csv,
        out=out,
    )


@command.command(short_help="Show one accelerator with the source of every figure.")
@click.argument("gpu")
@json_option
@out_option
@catalogue_option
@click.pass_obj
def show(settings: Settings, gpu: str, as_json: bool, out: str | None) -> None:
    """Show one accelerator: every figure with unit, confidence, date and source, and what others say.

    \b
    Examples:
      planner gpus show mi355x
      planner gpus show b200
    """
    from planner.report.details import gpu_detail

    catalogue = settings.catalogue()
    print_detail(gpu_detail(catalogue.gpu(gpu), catalogue), as_json=as_json, out=out)
