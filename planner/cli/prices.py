"""`planner prices`: what a GPU-hour costs, by whom, on which terms and when."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import click

from planner.cli.catalogue_commands import ListingGroup, print_detail, print_listing, search_argument
from planner.cli.money_options import currency_options, owning_options
from planner.cli.options import (
    Settings,
    catalogue_option,
    json_option,
    out_option,
    output_options,
    price_kind_option,
    report_options,
)
from planner.cli.output import answer

if TYPE_CHECKING:
    from rich.console import Console


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
      planner prices own mi355x
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

    book = settings.catalogue()

    def known() -> Iterator[str]:
        for price in book.prices(kind=price_kind):
            yield from (price.gpu, price.provider, price.kind.value)

    print_listing(
        prices_table(book, " ".join(search), price_kind),
        name="prices",
        search=search,
        known=known,
        among=f"of kind {price_kind}" if price_kind else "",
        as_json=as_json,
        as_csv=as_csv,
        out=out,
    )


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


@command.command(short_help="Show what a GPU costs to own, part by part, and when that beats renting.")
@click.argument("gpu")
@owning_options
@currency_options
@report_options
@click.pass_obj
def own(settings: Settings, /, gpu: str, as_json: bool, as_csv: bool, out: str | None, **asked: Any) -> None:
    """Show what an hour of an owned GPU costs, part by part, and when owning is cheaper than renting.

    Hardware is paid by an annuity over its life; colocation, electricity, staff, network, spares and resale
    are added where they are given. Every hour of the year counts, used or not: how far a GPU is used is no
    part of its price. What is not given is the catalogue's, each figure with its source and date.

    \b
    Examples:
      planner prices own mi355x
      planner prices own mi355x,b300 --capex mi355x=31000,b300=45000
      planner prices own b200 --life-years 5 --resale 0.1 --cost-of-capital 0.08
      planner prices own b200 --colocation 90 --electricity 0.08 --pue 1.3
      planner prices own h100 --currency eur --usd-rate 0.92
    """
    from planner.api import own as cost_of_owning

    report = cost_of_owning(gpu=gpu, catalogue=settings.catalogue(), **asked)

    def draw(console: Console) -> None:
        from planner.cli.draw_owning import draw_owning

        draw_owning(console, report)

    answer(report, draw, as_json=as_json, as_csv=as_csv, out=out)
