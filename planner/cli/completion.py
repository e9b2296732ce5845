"""`planner completion`: what a shell needs to complete commands, options, and names of the catalogue."""

from __future__ import annotations

import click
from click.shell_completion import CompletionItem

SHELLS = ("bash", "zsh", "fish")
VARIABLE = "_PLANNER_COMPLETE"
"""Set by the shell's function; click answers instead of running the command."""


class Listed(click.ParamType[str]):
    """A name of the catalogue, or several with commas, as a shell completes it.

    Parameters
    ----------
    root : str
        Where it stands: "models" or "gpus".
    """

    name = "name"

    def __init__(self, root: str) -> None:
        self.root = root

    def shell_complete(
        self, ctx: click.Context, param: click.Parameter, incomplete: str
    ) -> list[CompletionItem]:
        """Return what begins like the part behind the last comma, with what stands before it."""
        before, comma, last = incomplete.rpartition(",")
        given = before.split(",")
        names = (name for name in _names(self.root, last) if name not in given)
        return [CompletionItem(f"{before}{comma}{name}") for name in names]


LISTED = {"model": Listed("models"), "gpu": Listed("gpus")}


def complete_names(command: click.Command) -> None:
    """Let every parameter of a command that is called model or gpu, and of those below it, be completed."""
    for parameter in command.params:
        if parameter.name in LISTED and parameter.type is click.STRING:
            parameter.type = LISTED[parameter.name]
    if isinstance(command, click.Group):
        context = click.Context(command)
        for name in command.list_commands(context):
            below = command.get_command(context, name)
            if below is not None:
                complete_names(below)


def _names(root: str, incomplete: str) -> list[str]:
    """Return the ids of the shipped catalogue that begin like this, or aliases where no id does."""
    from planner.catalogue import load_catalogue

    book, begin = load_catalogue(), incomplete.casefold()
    ids = book.ids(root)
    found = [name for name in ids if name.casefold().startswith(begin)]
    return found or [
        alias for key in ids for alias in book.aliases(root, key) if alias.casefold().startswith(begin)
    ]


@click.command(short_help="Print what a shell needs to complete commands, options, models and accelerators.")
@click.argument("shell", type=click.Choice(SHELLS))
def command(shell: str) -> None:
    """Print the function that a shell needs to complete commands, options, models and accelerators.

    \b
    Examples:
      planner completion bash >> ~/.bashrc
      planner completion zsh >> ~/.zshrc
      planner completion fish > ~/.config/fish/completions/planner.fish
    """
    from click.shell_completion import get_completion_class

    from planner.cli.entry import cli

    kind = get_completion_class(shell)
    assert kind is not None
    # Its `source` would ask the bash of this machine for its version, which need not be the user's.
    made = kind(cli, {}, "planner", VARIABLE)
    click.echo(made.source_template % made.source_vars())
