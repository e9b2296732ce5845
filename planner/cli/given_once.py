"""Options that take several values with commas are given once: of two the last alone would count."""

from __future__ import annotations

from collections.abc import Sequence

import click


def check_given_once(command: click.Command, words: Sequence[str]) -> None:
    """Refuse an option given twice that takes several values with commas; of others the last one counts.

    Parameters
    ----------
    command : click.Command
        The command; of a group, the one that the first word names.
    words : sequence of str
        What stands behind its name.

    Raises
    ------
    click.UsageError
        It names the option, and how several values are written.
    """
    if isinstance(command, click.Group):
        inner = command.get_command(click.Context(command), words[0]) if words else None
        if inner is not None:
            check_given_once(inner, words[1:])
        return
    valued = {
        name: one
        for one in command.params
        if isinstance(one, click.Option) and not (one.is_flag or one.count)
        for name in one.opts
    }
    given: set[str] = set()
    left = iter(words)
    for word in left:
        if word == "--":
            return
        name, equals, _ = word.partition("=")
        option = valued.get(name)
        if option is None:
            continue
        if not equals:
            next(left, "")
        if name in given and not option.multiple and "...]" in str(option.metavar):
            raise click.UsageError(
                f"{name} is given twice; several stand with commas: {name} {option.metavar}"
            )
        given.add(name)
