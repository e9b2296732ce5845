"""A report read back from its file: the JSON itself, or the one that an HTML page holds."""

from __future__ import annotations

import json
import os
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NoReturn

from planner.catalogue.textfiles import read_plain
from planner.errors import InvalidInput, shorten
from planner.report.page import DATA_ID
from planner.report.reproduction import MARK, SCHEMA, InputFile, Reproduction

MOST_BYTES = 256 * 2**20
"""No report is as large; a page with figures has 2 MB."""

_HELD = re.compile(rf'<script type="application/json" id="{DATA_ID}">([^<]*)</script>')


@dataclass(frozen=True, slots=True)
class SavedReport:
    """A report as its file has it.

    Parameters
    ----------
    file : str
        Where it was read.
    record : dict
        The report but for its question.
    reproduction : Reproduction
        The question, and what it was answered from.
    command : str or None
        The command line that is said to ask the same.
    page : str
        The HTML page that holds it; empty for JSON.
    """

    file: str
    record: dict[str, Any]
    reproduction: Reproduction
    command: str | None
    page: str = ""

    @property
    def function(self) -> str:
        """Return the function of the front door that made it."""
        return self.reproduction.function


def read_report(path: str | os.PathLike[str]) -> SavedReport:
    """Read a report that planner wrote as JSON or HTML.

    Parameters
    ----------
    path : path
        The file.

    Returns
    -------
    SavedReport

    Raises
    ------
    InvalidInput
        With the file and what is wrong, when it is no such report or cannot be asked again.
    """
    file = os.fspath(path)
    text = _text(Path(file))
    page = text if text.lstrip()[:1] == "<" else ""
    record = _object(file, _held(file, page) if page else text)
    made = record.pop(MARK, None)
    if not isinstance(record.get("schema"), str) or not isinstance(made, dict):
        raise InvalidInput(f"{file}: no report of planner: it holds no {MARK}")
    if made.get("schema") != SCHEMA:
        raise InvalidInput(
            f"{file}: its {MARK} is of schema {shorten(made.get('schema'))}; {SCHEMA} is needed"
        )
    unrecorded = _field(file, made, "unrecorded", list)
    if unrecorded:
        names = ", ".join(map(str, unrecorded))
        raise InvalidInput(
            f"{file}: it cannot be made again: {shorten(names)} was given as a record, not written down"
        )
    recorded = Reproduction(
        function=_field(file, made, "function", str),
        arguments=_field(file, made, "arguments", dict),
        files=tuple(_recorded(file, one) for one in _field(file, made, "files", list)),
        catalogue_digest=_field(file, made, "catalogue_digest", str),
        planner_version=_field(file, made, "planner_version", str),
        made_on=_field(file, made, "made_on", str),
    )
    return SavedReport(file, record, recorded, made.get("command"), page)


def _text(path: Path) -> str:
    return read_plain(path, most_bytes=MOST_BYTES, otherwise="not a report of planner")


def _held(file: str, page: str) -> str:
    """Return the JSON that a page holds."""
    held: list[str] = _HELD.findall(page)
    if len(held) != 1:
        raise InvalidInput(f"{file}: a page that holds {len(held)} reports of planner; one is needed")
    return held[0]


def _object(file: str, text: str) -> dict[str, Any]:
    try:
        record = json.loads(text, parse_constant=_refuse)
    except json.JSONDecodeError as error:
        raise InvalidInput(f"{file}:{error.lineno}:{error.colno}: not JSON: {error.msg}") from None
    except RecursionError:
        raise InvalidInput(f"{file}: nested too deeply for a report of planner") from None
    except ValueError as error:
        raise InvalidInput(f"{file}: {str(error)[:80]}") from None
    if not isinstance(record, dict):
        raise InvalidInput(f"{file}: holds a {type(record).__name__}; a report is a JSON object")
    return record


def _refuse(name: str) -> NoReturn:
    raise ValueError(f"{name} is no number that a report may hold")


def _field(file: str, made: dict[str, Any], name: str, kind: type) -> Any:
    value = made.get(name)
    if not isinstance(value, kind):
        raise InvalidInput(f"{file}: {MARK}.{name} is {shorten(value)}; a {kind.__name__} is needed")
    return value


def _recorded(file: str, one: Any) -> InputFile:
    if not isinstance(one, dict):
        raise InvalidInput(f"{file}: {MARK}.files holds {shorten(one)}; a dict is needed")
    return InputFile(*(_field(file, one, name, str) for name in ("role", "name", "sha256")))
