"""`planner prices`: what a GPU-hour costs, by whom, on which terms and when."""

from __future__ import annotations

import click

from planner.cli.catalogue_commands import ListingGroup, print_detail, print_listing, search_argument
from planner.cli.options import (
    Settings,
    catalogue_option,
    json_option,
    out_option,
    output_options,
    price_kind_option,
)


@click.group(cls=ListingGroup, short_help="List, search and show prices per GPU-hour.")
def command() -> None:
    """List, search and show prices in USD per GPU-hour, each with its kind and date.

    Without a command it lists. Prices of different kinds (on-demand, spot, reserved, cost of owning) do not
    compare. A date marked "(read)" is the day on which an undated price list was read.

    \b
    Examples:
      planner prices
      planner prices h200
      planner prices --price-kind on-demand
      planner prices show b200
    """


@command.command("list", short_help="List all prices, or those that match every word.")
@search_argument
@price_kind_option
@output_options
@click.pass_obj
def list_prices(
    settings: Settings,
    search: tuple[str, ...],
    price_kind: str | None,
    as_json: bool,
    as_csv: bool,
    out: str | None,
) -> None:
    """List all prices, or those that match every word of SEARCH in GPU, provider, kind or date.

    They stand by GPU, the lowest first; * marks the lowest of its kind. A word matches where a word begins,
    so b200 does not find GB200.

    \b
    Examples:
      planner prices list b200 spot
      planner prices list --price-kind 3y-rental --csv
    """
    from planner.report.listings import prices_table

    table = prices_table(settings.catalogue(), " ".join(search), price_kind)
    print_listing(table, name="prices", search=search, as_json=as_json, as_csv=as_csv, out=out)


@command.command(short_help="Show the prices of one accelerator with their sources.")
@click.argument("gpu")
@json_option
@out_option
@catalogue_option
@click.pass_obj
def show(settings: Settings, gpu: str, as_json: bool, out: str | None) -> None:
    """Show the prices of one accelerator with provider, terms, date, source and confidence.

    \b
    Examples:
      planner prices show b200
      planner prices show mi355x --json
    """
    from planner.report.details import price_detail

    catalogue = settings.catalogue()
    print_detail(price_detail(catalogue.gpu(gpu), catalogue), as_json=as_json, out=out)
