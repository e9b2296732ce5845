"""What is wrong with an entry, in one line: the field, the file's line, and what would be right."""

from __future__ import annotations

import typing
from typing import Any

from pydantic import BaseModel, ValidationError

from planner.catalogue.documents import Entry
from planner.errors import CatalogueError, nearest_names

_EXPECTED = {
    "string_type": "expected text",
    "int_type": "expected a whole number",
    "float_type": "expected a number",
    "bool_type": "expected true or false",
    "dict_type": "expected a mapping",
    "model_type": "expected a mapping",
    "tuple_type": "expected a list",
    "missing": "is missing",
}


def catalogue_error(
    error: ValidationError, record: type[BaseModel], kind: str, entries: list[Entry]
) -> CatalogueError:
    """Turn pydantic's report on an entry into one line with file and line.

    Parameters
    ----------
    error : ValidationError
        What pydantic found.
    record : type
        The record that was to be made.
    kind : str
        What the entry is, for the message, such as "gpus.b200-sxm".
    entries : list of Entry
        The pieces the entry was merged from, the last one winning.

    Returns
    -------
    CatalogueError
        Naming the first problem, and how many more there are.
    """
    problems = error.errors(include_url=False)
    # A misspelt field is also a missing one: the misspelling is what the user can see.
    first = next((problem for problem in problems if problem["type"] == "extra_forbidden"), problems[0])
    path = tuple(step for step in first["loc"] if isinstance(step, int) or not step.endswith("]"))
    field = ".".join(str(step) for step in path)
    shown = ".".join(filter(None, (kind, field)))
    more = f" (and {len(problems) - 1} more)" if len(problems) > 1 else ""
    entry = next((piece for piece in reversed(entries) if _holds(piece.data, path)), entries[-1])
    return CatalogueError(
        f"{entry.piece.file}:{entry.line_of(path)}: {shown}: {_say(first, record, path)}{more}"
    )


def _say(problem: Any, record: type[BaseModel], path: tuple[int | str, ...]) -> str:
    kind = problem["type"]
    if kind == "extra_forbidden":
        fields = _fields_at(record, path[:-1])
        near = nearest_names(str(path[-1]), fields)
        right = f"nearest: {', '.join(near)}" if near else f"fields here: {', '.join(sorted(fields))}"
        return f"unknown field; {right}"
    if kind == "value_error":
        return str(problem["ctx"]["error"])
    said = _EXPECTED.get(kind) or str(problem["msg"])
    if kind == "missing":
        return said
    got = repr(problem["input"])
    return f"{said}, not {got if len(got) <= 60 else got[:57] + '...'}"


def _holds(data: Any, path: tuple[int | str, ...]) -> bool:
    for step in path:
        if isinstance(data, dict) and str(step) in data:
            data = data[str(step)]
        elif isinstance(data, list) and isinstance(step, int) and step < len(data):
            data = data[step]
        else:
            return False
    return True


def _fields_at(record: type[BaseModel], path: tuple[int | str, ...]) -> list[str]:
    """Return the fields of the record that stands at a path, walking the annotations."""
    current: type[BaseModel] = record
    for step in path:
        field = current.model_fields.get(str(step))
        inner = _record_in(field.annotation) if field is not None else None
        if inner is not None:
            current = inner
    return list(current.model_fields)


def _record_in(annotation: Any) -> type[BaseModel] | None:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return annotation
    for part in typing.get_args(annotation):
        found = _record_in(part)
        if found is not None:
            return found
    return None
