"""How the functions of the front door write down what they were asked."""

from __future__ import annotations

import functools
import hashlib
import inspect
import math
import os
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any, ParamSpec, TypeVar

from planner.api.arguments import open_catalogue
from planner.catalogue import Catalogue
from planner.errors import InvalidInput
from planner.report.base import Report
from planner.report.reproduction import InputFile, Reproduction

P = ParamSpec("P")
R = TypeVar("R", bound=Report)

UNASKED = frozenset({"catalogue", "progress", "executor", "processes", "out", "restart"})
"""Arguments that change nothing of the answer, and the catalogue, whose files are recorded apart."""

LOOKED_UP = {"model": "models", "gpu": "gpus"}
"""Arguments that name entries of the catalogue, with their root keys."""

FILE_ARGUMENTS = frozenset({"fleet", "model", "path", "saved", "trace"})
"""Arguments that may name a file."""

YES_ONLY = frozenset({"dropout", "offload"})
"""Options of which a no is the default and has no option of the command line."""

LONGEST_EPOCH = 11
"""Digits of a time in seconds that a date can have."""


class _Unrecorded(Exception):
    """A value that cannot be written down."""


def reproducible(function: Callable[P, R]) -> Callable[P, R]:
    """Let a function of the front door write its question into the report that it returns.

    Parameters
    ----------
    function : callable
        It takes `catalogue` among its arguments, which it gets opened, and returns a `Report`.

    Returns
    -------
    callable
        With the same signature.
    """
    signature = inspect.signature(function)

    @functools.wraps(function)
    def asked(*args: P.args, **kwargs: P.kwargs) -> R:
        bound = signature.bind(*args, **kwargs)
        for name, value in bound.arguments.items():
            if isinstance(value, Iterator):  # it is read twice: by the function, and to be written down
                bound.arguments[name] = tuple(value)
        catalogue = open_catalogue(bound.arguments.get("catalogue"))
        bound.arguments["catalogue"] = catalogue
        report = function(*bound.args, **bound.kwargs)
        return replace(report, reproduction=reproduction(function, bound, catalogue))

    return asked


def reproduction(
    function: Callable[..., Any], bound: inspect.BoundArguments, catalogue: Catalogue
) -> Reproduction:
    """Return a question as it can be put again.

    Parameters
    ----------
    function : callable
        The function of the front door.
    bound : BoundArguments
        What was given to it.
    catalogue : Catalogue
        What it was answered from.

    Returns
    -------
    Reproduction
    """
    import planner

    files = [InputFile("catalogue", str(d.path), d.sha256.hex()) for d in catalogue.own]
    arguments: dict[str, Any] = {}
    unrecorded: list[str] = []
    for name, value in _given(bound):
        try:
            arguments[name] = _plain(value, LOOKED_UP.get(name), catalogue)
        except _Unrecorded:
            unrecorded.append(name)
        except InvalidInput as error:
            raise InvalidInput(f"{name}: {error}") from None
        else:
            files += _named_files(name, arguments[name])
    return Reproduction(
        function=function.__name__,
        arguments=arguments,
        catalogue_digest=catalogue.digest,
        planner_version=planner.__version__,
        made_on=today().isoformat(),
        files=tuple(files),
        unrecorded=tuple(unrecorded),
    )


def today() -> date:
    """Return the date that is written into reports; SOURCE_DATE_EPOCH overrides it, as in other tools."""
    epoch = os.environ.get("SOURCE_DATE_EPOCH", "")
    seconds = int(epoch) if epoch.isdecimal() and len(epoch) <= LONGEST_EPOCH else None
    return (datetime.now(UTC) if seconds is None else datetime.fromtimestamp(seconds, UTC)).date()


def _given(bound: inspect.BoundArguments) -> list[tuple[str, Any]]:
    """Return what differs from its default, in the order of the signature."""
    given: list[tuple[str, Any]] = []
    for name, value in bound.arguments.items():
        kind = bound.signature.parameters[name]
        if kind.kind is inspect.Parameter.VAR_KEYWORD:
            given += [pair for pair in value.items() if not is_usual(*pair)]
        elif name not in UNASKED and value is not None and not _same(value, kind.default):
            given.append((name, value))
    return given


def is_usual(name: str, value: Any) -> bool:
    """Return whether an option says what holds without it; so it is neither shown nor recorded."""
    from planner.planning.sizing import Sizes
    from planner.scenario import Deployment

    if value is None or (name in YES_ONLY and value is False):
        return True
    # A size of 1 says that the layout is given, and so it is no default.
    field = None if name in Sizes.model_fields else Deployment.model_fields.get(name)
    return field is not None and bool(value == field.default)


def _same(value: Any, default: Any) -> bool:
    return type(value) is type(default) and bool(value == default)


def _plain(value: Any, root: str | None, catalogue: Catalogue) -> Any:
    """Return a value as JSON holds it; a record of the catalogue becomes its id."""
    if isinstance(value, float) and not math.isfinite(value):
        raise InvalidInput(f"{value} is no number that an answer can rest on")
    if isinstance(value, bool | str | int | float) or value is None:
        return value
    if isinstance(value, os.PathLike):
        path = os.fspath(value)
        return path if isinstance(path, str) else os.fsdecode(path)
    if root is not None and hasattr(value, "id"):
        return _id_of(value, root, catalogue)
    if isinstance(value, Mapping):
        return {str(key): _plain(one, None, catalogue) for key, one in value.items()}
    if isinstance(value, list | tuple | set | frozenset):
        return [_plain(one, root, catalogue) for one in value]
    if hasattr(value, "model_dump"):
        return value.model_dump(mode="json", exclude_defaults=True)
    if hasattr(value, "item") and getattr(value, "ndim", 1) == 0:
        return value.item()
    raise _Unrecorded


def _id_of(record: Any, root: str, catalogue: Catalogue) -> str:
    """Return the id of a record that the catalogue holds as it is."""
    held = catalogue.ids_everywhere(root)
    if record.id not in held:
        raise _Unrecorded
    same = catalogue.gpu(record.id) if root == "gpus" else catalogue.model(record.id)
    if same != record:
        raise _Unrecorded
    return str(record.id)


def _named_files(argument: str, value: Any) -> list[InputFile]:
    """Return the file that an argument names, if it names one."""
    if argument not in FILE_ARGUMENTS or not isinstance(value, str):
        return []
    path = Path(value).expanduser()
    if argument == "model" and path.is_dir():
        path = path / "config.json"
    elif argument == "model" and path.suffix != ".json":
        return []
    return [InputFile(argument, value, digest_of(path))] if path.is_file() else []


def digest_of(path: Path) -> str:
    """Return the SHA-256 of the bytes of a file [hex]."""
    return hashlib.sha256(path.read_bytes()).hexdigest()
