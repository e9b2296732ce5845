"""`planner measure`: a group of commands that measure the real thing, each imported when it is asked for."""

from __future__ import annotations

import difflib
import importlib
from importlib.util import find_spec

import click

from planner.errors import shorten

MODULES = {
    "endpoint": "planner.cli.measure_endpoint",
    "gpu": "planner.cli.measure_gpu",
    "engine": "planner.cli.measure_engine",
}
"""Where the `command` of each name stands, in the order of the help."""


class MeasureGroup(click.Group):
    """A group whose commands are modules of their own, since each needs other libraries."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the commands in the order in which help shows them."""
        return [name for name, module in MODULES.items() if find_spec(module)]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import the module of a command."""
        if cmd_name not in self.list_commands(ctx):
            return None
        command = importlib.import_module(MODULES[cmd_name]).command
        assert isinstance(command, click.Command)
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Find the command, or name the nearest ones."""
        known = self.list_commands(ctx)
        if args and args[0] not in known and not args[0].startswith("-"):
            near = difflib.get_close_matches(args[0].lower(), known)
            hint = f"nearest: {', '.join(near)}" if near else f"there are {', '.join(known)}"
            raise click.UsageError(f"no command measure {shorten(args[0])}; {hint}", ctx)
        return super().resolve_command(ctx, args)


@click.group(cls=MeasureGroup, short_help="Measure a live endpoint, this machine's GPUs, or an engine.")
def command() -> None:
    """Measure the real thing, so that predictions can be held against it.

    What is measured goes to your measurements folder as rows that `planner validate` and `planner calibrate`
    read.

    \b
    Examples:
      planner measure endpoint http://localhost:8000 --isl 1k --osl 256 --concurrency 1,8,32
      planner measure gpu --suite full
      planner measure engine --model qwen3-30b-a3b --gpu h200
    """
