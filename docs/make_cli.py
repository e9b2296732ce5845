"""Write docs/cli.md from the help of every command, so that the two cannot part.

python docs/make_cli.py
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import click

from planner.cli.entry import cli

PAGE = Path(__file__).with_name("cli.md")
COLUMNS = 96

INTRODUCTION = """\
# Command line

Every command with its options and exit codes, as `--help` prints them (written by `python docs/make_cli.py`).

Answers go to standard output, complaints to standard error, always in one line. Colour obeys `NO_COLOR`, and
the width of the terminal is used up to 100 columns.

| exit code | meaning |
|---|---|
| 0 | yes, or done; also where it fits tightly, with a margin within the error of the estimate |
| 1 | an internal error; `--debug` shows where |
| 2 | wrong usage, a catalogue, model or file that cannot be, or a load that cannot be carried |
| 3 | the model does not fit; also where it is tight and does not fit as set up |
| 4 | no plan meets the objective |
| 5 | `planner verify`: a report differs from what planner says now |

Counts may be written `4096`, `128k` (x 1,000) or `128Ki` (x 1,024). Shares may be written
`0.95` or `95%`. `GB` is 1e9 bytes and `GiB` is 2**30.

`--json` prints one object with its `schema`; units are in the names of its fields. `--out FILE` writes the
file whole or not at all; its ending chooses the form where no option does: `.json` or `.csv` everywhere, and
`.md` or `.html` for every report ([exports](export.md)); any other ending is text, but for those
of PDFs, spreadsheets and pictures, which are refused.
"""


def commands(command: click.Command, context: click.Context) -> Iterator[tuple[str, str]]:
    """Yield the full name and the help of a command and of all below it."""
    yield context.command_path, command.get_help(context)
    if isinstance(command, click.Group):
        for name in command.list_commands(context):
            below = command.get_command(context, name)
            assert below is not None
            yield from commands(below, click.Context(below, info_name=name, parent=context))


def page() -> str:
    """Return the text of docs/cli.md."""
    context = click.Context(
        cli,
        info_name="planner",
        terminal_width=COLUMNS,
        max_content_width=COLUMNS,
        help_option_names=["-h", "--help"],
    )
    parts = [f"## {name}\n\n```text\n{help_text}\n```\n" for name, help_text in commands(cli, context)]
    return "\n".join([INTRODUCTION, *parts])


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
