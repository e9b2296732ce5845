"""What `planner models`, `planner gpus` and `planner prices` have in common: list, search, show one entry."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

import click

from planner.cli.output import deliver, form_of, json_text, render
from planner.errors import UnknownName, nearest_names, shorten

if TYPE_CHECKING:
    from rich.console import Console

    from planner.catalogue import Catalogue
    from planner.report.details import Detail
    from planner.report.table import Table

LIST = "list"


class ListingGroup(click.Group):
    """A group that lists when no command is named: `planner models qwen` is `planner models list qwen`."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Put the list command in front of a search."""
        if not args or (args[0] not in self.commands and args[0] not in ctx.help_option_names):
            args = [LIST, *args]
        return super().parse_args(ctx, args)


def print_listing(
    table: Table,
    *,
    name: str,
    search: tuple[str, ...],
    known: Callable[[], Iterable[str]],
    among: str = "",
    as_json: bool,
    as_csv: bool,
    out: str | None,
) -> None:
    """Print a listing of the catalogue in the form that was asked for.

    Parameters
    ----------
    table : Table
        The entries.
    name : str
        What they are, in the plural: the key of the JSON object and the word of the count.
    search : tuple of str
        What was searched for.
    known : callable
        Gives the names there are, of which the nearest are named where nothing matches.
    among : str
        What else the entries were chosen by, such as "of kind spot".
    as_json, as_csv : bool
        The form.
    out : str or None
        The file.

    Raises
    ------
    UnknownName
        When something was searched for and nothing matches.
    """
    if search and not table.rows:
        raise _no_match(name, among, " ".join(search), known())
    form = form_of(as_json=as_json, as_csv=as_csv, out=out)
    if form == "json":
        deliver(json_text({"schema": f"planner.{name}/1", name: table.to_records()}), out)
    elif form == "csv":
        deliver(table.to_csv(), out)
    else:
        render(lambda console: _draw_listing(console, table, name, search), out)


def names_in(catalogue: Catalogue, root: str) -> list[str]:
    """Return every id and alias under a root key."""
    return [name for key in catalogue.ids(root) for name in (key, *catalogue.aliases(root, key))]


def _no_match(name: str, among: str, search: str, known: Iterable[str]) -> UnknownName:
    near = nearest_names(search, (one for one in known if one.casefold() != search.casefold()))
    hint = f"nearest: {', '.join(near)}" if near else f"`planner {name}` lists all there are"
    return UnknownName(f"no {f'{name} {among}'.strip()} match {shorten(search)}; {hint}")


def _draw_listing(console: Console, table: Table, name: str, search: tuple[str, ...]) -> None:
    from planner.cli.draw import draw_table

    count = len(table.rows)
    match = "matches" if count == 1 else "match"
    matching = f" that {match} {' '.join(search)!r}" if search else ""
    if not count:
        console.print(f"no {name}{matching}", markup=False)
        return
    draw_table(console, table)
    shown = name.removesuffix("s") if count == 1 else name
    console.print(f"\n{count} {shown}{matching}; one in full: planner {name} show ID", markup=False)


def print_detail(detail: Detail, *, as_json: bool, out: str | None) -> None:
    """Print one entry of the catalogue.

    Parameters
    ----------
    detail : Detail
        The entry.
    as_json : bool
        The form.
    out : str or None
        The file.
    """
    if form_of(as_json=as_json, as_csv=False, out=out) == "json":
        deliver(json_text(detail.to_dict()), out)
    else:
        render(lambda console: _draw_detail(console, detail), out)


def _draw_detail(console: Console, detail: Detail) -> None:
    from planner.cli.draw import draw_facts, draw_lines, draw_table

    console.print(detail.heading, style="bold", markup=False)
    draw_facts(console, detail.facts)
    for table in detail.tables:
        console.print()
        draw_table(console, table)
    for title, lines in detail.lines:
        if lines:
            console.print()
            draw_lines(console, title, lines)
    if detail.sources:
        console.print("\nSources", style="bold")
        draw_facts(console, detail.sources)


def search_argument(function: Callable[..., None]) -> Callable[..., None]:
    """Add the words of a search."""
    return click.argument("search", nargs=-1, metavar="[SEARCH]...")(function)
