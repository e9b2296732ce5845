"""Where an answer goes: the terminal, or a file that is written whole or not at all."""

from __future__ import annotations

import json
import os
import re
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from planner.errors import InvalidInput

if TYPE_CHECKING:
    from rich.console import Console

    from planner.report.base import Report

WIDEST = 100
"""Columns of a report at most; longer lines are hard to read on any screen."""

NARROWEST = 40
"""Columns of a report at least; under that nothing can be read."""

USUAL = 80
"""Columns where the terminal says 0, as one without a size does."""

NOT_WRITTEN = (".pdf", ".xlsx", ".xls", ".ods", ".docx", ".png", ".svg")
"""Endings of files that are no text; one with such a name would not open."""

INSTEAD = "a browser prints .html as PDF, .csv opens in a spreadsheet, and .json, .md and .txt are there"

ASCII_SIGNS = str.maketrans(
    {"█": "#", "▓": "=", "▚": "%", "▒": "+", "░": "-", "╱": "/", "·": ".", "│": "|", "─": "-", "±": "~"}
)
"""What stands for the signs of bars and tables where the output is not in Unicode."""

_TRAILING = re.compile(r"[ ]+((?:\x1b\[[0-9;]*m)*)$", re.MULTILINE)


def form_of(*, as_json: bool, as_csv: bool, out: str | None) -> str:
    """Return the form of the answer: "json", "csv" or "text".

    Parameters
    ----------
    as_json, as_csv : bool
        What the options ask for.
    out : str or None
        The file; its ending decides where the options do not.

    Returns
    -------
    str

    Raises
    ------
    click.UsageError
        When both are asked for.
    """
    if as_json and as_csv:
        raise click.UsageError("--json and --csv exclude each other")
    if as_json or as_csv:
        return "json" if as_json else "csv"
    suffix = Path(out).suffix.lower() if out else ""
    return {".json": "json", ".csv": "csv"}.get(suffix, "text")


def answer(
    report: Report, draw: Callable[[Console], None], *, as_json: bool, as_csv: bool, out: str | None
) -> None:
    """Print a report, or write it to a file in the form that an option or the file's ending asks for.

    Parameters
    ----------
    report : Report
        The report.
    draw : callable
        Draws it on a terminal.
    as_json, as_csv : bool
        What the options ask for.
    out : str or None
        The file; ``.json``, ``.csv``, ``.md`` and ``.html`` choose a form, and any other ending is text.
    """
    form = form_of(as_json=as_json, as_csv=as_csv, out=out)
    if form == "text" and out is not None and Path(out).suffix.lower() in NOT_WRITTEN:
        raise InvalidInput(f"--out {out}: no such file is written; {INSTEAD}")
    if form == "csv":
        deliver(report.to_csv(), out)
    elif form == "json" and (as_json or out is None):
        deliver(json_text(report.to_dict()), out)
    elif out is None or not write_page(report, out):
        render(draw, out)


def write_page(report: Report, out: str) -> bool:
    """Write a report as JSON, Markdown or HTML where the ending of the file says so.

    Parameters
    ----------
    report : Report
        The report.
    out : str
        The file.

    Returns
    -------
    bool
        Whether the ending is one of these; nothing is written otherwise.
    """
    suffix = Path(out).suffix.lower()
    if suffix == ".json":
        deliver(json_text(report.to_dict()), out)
    elif suffix in (".md", ".markdown"):
        deliver(report.to_markdown(), out)
    elif suffix in (".html", ".htm"):
        page = report.to_html()
        deliver(page, out)
        _say_what_is_left_out(page)
    else:
        return False
    return True


def _say_what_is_left_out(page: str) -> None:
    from planner.report.page import LEFT_OUT

    if f">{LEFT_OUT}<" in page:
        click.echo(f"note: {LEFT_OUT}", err=True)


def json_text(data: dict[str, Any]) -> str:
    """Return one JSON object as text; NaN and infinity are errors, not output."""
    return json.dumps(data, indent=2, ensure_ascii=False, allow_nan=False) + "\n"


def deliver(text: str, out: str | None) -> None:
    """Print finished text, or write it to a file.

    Parameters
    ----------
    text : str
        The answer.
    out : str or None
        The file.
    """
    if out is None:
        sys.stdout.write(text)
    else:
        write_whole(Path(out), text)


def render(draw: Callable[[Console], None], out: str | None) -> None:
    """Draw a report on the terminal, or as plain text into a file.

    Parameters
    ----------
    draw : callable
        Prints on the console that it is given.
    out : str or None
        The file.
    """
    from io import StringIO

    from rich.console import Console

    if out is not None:
        text = StringIO()
        draw(Console(file=text, width=WIDEST, no_color=True, highlight=False))
        write_whole(Path(out), without_trailing_spaces(text.getvalue()))
        return
    console = Console(highlight=False, soft_wrap=False)
    console.width = max(NARROWEST, min(console.width or USUAL, WIDEST))
    with console.capture() as captured:
        draw(console)
    drawn = without_trailing_spaces(captured.get())
    sys.stdout.write(drawn.translate(ASCII_SIGNS) if console.options.ascii_only else drawn)


def without_trailing_spaces(text: str) -> str:
    """Return a text without spaces at the ends of its lines; colours that end there stay."""
    return _TRAILING.sub(r"\1", text)


def write_whole(path: Path, text: str) -> None:
    """Write a file so that it is there whole or stays as it was.

    Parameters
    ----------
    path : Path
        The file; one that exists is replaced and keeps its permissions.
    text : str
        All of it, UTF-8.

    Raises
    ------
    InvalidInput
        When it cannot be written.
    """
    try:
        target = path.resolve()
    except RuntimeError:
        # What Python before 3.13 says of a link to itself.
        raise InvalidInput(f"--out {path}: cannot be written: the link leads to itself") from None
    temporary: str | None = None
    try:
        if target.is_dir():
            raise IsADirectoryError(None, "Is a directory")
        if target.exists() and not target.is_file():
            # A device or a pipe cannot be replaced by renaming.
            target.write_text(text, encoding="utf-8")
            return
        handle, temporary = tempfile.mkstemp(
            prefix=f".{target.name[:100]}.", suffix=".part", dir=target.parent
        )
        with os.fdopen(handle, "w", encoding="utf-8", newline="") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        os.chmod(temporary, _permissions(target))
        os.replace(temporary, target)
        temporary = None
    except OSError as error:
        raise InvalidInput(f"--out {path}: cannot be written: {error.strerror or error}") from None
    finally:
        if temporary is not None:
            os.unlink(temporary)


def _permissions(target: Path) -> int:
    if target.exists():
        return target.stat().st_mode & 0o777
    mask = os.umask(0)
    os.umask(mask)
    return 0o666 & ~mask
