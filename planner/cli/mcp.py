"""`planner mcp`: the functions as tools for an agent, by the Model Context Protocol."""

from __future__ import annotations

import click

from planner.cli.load_options import Number
from planner.distribution import installing
from planner.errors import InvalidInput, Unsupported

LONGEST_S = 3600.0


@click.command(short_help="Serve fit, predict, compare and plan as tools for an agent (MCP).")
@click.option(
    "--http",
    "http_port",
    type=click.IntRange(1, 65535),
    metavar="PORT",
    help="Serve HTTP at this port of this machine, path /mcp.  [default: standard input and output]",
)
@click.option("--hub", is_flag=True, help="Let tools ask the hub for models that the catalogue lacks.")
@click.option(
    "--timeout",
    "seconds",
    type=Number(0, LONGEST_S, "seconds"),
    default="60",
    show_default=True,
    metavar="SECONDS",
    help="Longest time of a call; it is given up then.",
)
def command(http_port: int | None, hub: bool, seconds: float) -> None:
    """Serve the questions of the command line as tools, by the Model Context Protocol.

    The tools are fit, predict, compare, plan, breakeven, launch, train, achieved, media, models and gpus.

    A client starts this command and speaks with it over standard input and output. Tools read the catalogue
    and your own measurements, write nothing, take no path of a file, and ask nobody unless --hub is given.
    Over HTTP only this machine is answered.

    \b
    Examples:
      planner mcp
      planner mcp --http 8765
    """
    try:
        from planner.mcp.server import serve
    except ImportError as error:
        if (error.name or "").partition(".")[0] not in ("anyio", "mcp", "mcp_types"):
            raise
        raise Unsupported(f"mcp needs the MCP SDK, 2.0 or later: {installing('mcp')}") from None
    try:
        serve(http_port=http_port, hub=hub, seconds=seconds)
    except OSError as error:
        raise InvalidInput(f"--http {http_port}: cannot be served: {error.strerror or error}") from None
