"""`planner models`: the language models of the catalogue."""

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


@click.group(cls=ListingGroup, short_help="List, search and show models.")
def command() -> None:
    """List, search and show the models of the catalogue: language models, and media models after them.

    Without a command it lists. The column config says whether a model's configuration was read (published)
    or is recalled or inferred; parameters and weights are counted from the checkpoint.

    \b
    Examples:
      planner models
      planner models qwen3
      planner models recalled --csv
      planner models media
      planner models show kimi-k3
      planner models show deepseek-r1 --json
    """


@command.command("list", short_help="List all models, or those that match every word.")
@search_argument
@output_options
@click.pass_obj
def list_models(
    settings: Settings, search: tuple[str, ...], as_json: bool, as_csv: bool, out: str | None
) -> None:
    """List all models, or those that match every word of SEARCH in name, alias or status.

    \b
    Examples:
      planner models list
      planner models list kimi
    """
    from planner.report.media_listing import all_models_table

    book = settings.catalogue()
    print_listing(
        all_models_table(book, " ".join(search)),
        name="models",
        search=search,
        known=lambda: [*names_in(book, "models"), *names_in(book, "media_models")],
        as_json=as_json,
        as_csv=as_csv,
        out=out,
    )


@command.command(short_help="Show one model with its sizes, variants and sources.")
@click.argument("model")
@json_option
@out_option
@catalogue_option
@click.pass_obj
def show(settings: Settings, model: str, as_json: bool, out: str | None) -> None:
    """Show one model: sizes computed from its blocks, quantised variants, aliases and sources.

    MODEL is an id or alias, a config.json or the directory of one, or a hub id.

    \b
    Examples:
      planner models show kimi-k3
      planner models show flux.1-dev
      planner models show ./my-model/config.json
    """
    from planner.api.media_door import is_media
    from planner.catalogue.imported import model_from
    from planner.report.details import model_detail

    catalogue = settings.catalogue()
    if is_media(catalogue, model):
        from planner.catalogue.media import media_model
        from planner.report.media_listing import media_detail

        print_detail(media_detail(media_model(catalogue, model), catalogue), as_json=as_json, out=out)
        return
    print_detail(model_detail(model_from(model, catalogue).model, catalogue), as_json=as_json, out=out)
