"""Ask again what a report asked, and compare the answers."""

from __future__ import annotations

import inspect
import os
import tempfile
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from planner.api.arguments import open_catalogue, path_text
from planner.api.media_door import is_media
from planner.api.recording import FILE_ARGUMENTS, UNASKED, digest_of
from planner.catalogue import Catalogue
from planner.catalogue.imported import check_catalogued
from planner.errors import InvalidInput, PlannerError, shorten
from planner.report.base import Report
from planner.report.reading import SavedReport, read_report
from planner.report.verification import (
    TOLERANCE,
    Difference,
    Verified,
    VerifyReport,
    compared,
    price_dates,
)
from planner.scenario.media_options import MEDIA_OPTIONS

FUNCTIONS = frozenset(
    [
        "fit",
        "predict",
        "simulate",
        "validate",
        "compare",
        "frontier",
        "plan",
        "breakeven",
        "sweep",
        "own",
        "launch",
        "train",
        "achieved",
    ]
)
"""What a report may ask; no other name of a file is ever called."""


def verify(
    report: str | os.PathLike[str] | Iterable[str | os.PathLike[str]],
    *,
    inputs: Iterable[str | os.PathLike[str]] = (),
    tolerance: float = TOLERANCE,
    catalogue: Catalogue | str | os.PathLike[str] | None = None,
) -> VerifyReport:
    """Make reports again from their questions, with the present catalogue, and compare every value.

    Parameters
    ----------
    report : path, or several
        Files that planner wrote as JSON or HTML.
    inputs : paths
        Files that the reports were made from, such as a trace. A report is never taken at its word about a
        path: only files named here are read, each told by its digest or else its name.
    tolerance : float
        Relative difference below which two numbers are the same, from 0 to below 1.
    catalogue : Catalogue or path, optional
        An open catalogue, or the user's own file over the shipped one.

    Returns
    -------
    VerifyReport
        What differs, and whether catalogue, prices, version or files changed.

    Raises
    ------
    PlannerError
        With the file, when it is no report, cannot be asked again, or has no answer any more.
    """
    if isinstance(tolerance, bool) or not isinstance(tolerance, int | float) or not 0 <= tolerance < 1:
        raise InvalidInput(f"tolerance: {shorten(tolerance)} is not possible; from 0 to below 1")
    files = [report] if isinstance(report, str | os.PathLike) else list(report)
    if not files:
        raise InvalidInput("report: no file named")
    book = open_catalogue(catalogue)
    held = {path_text("inputs", one): digest_of(_readable(path_text("inputs", one))) for one in inputs}
    answers = [_verified(read_report(path_text("report", one)), book, held, tolerance) for one in files]
    return VerifyReport(tuple(answers), tolerance)


def _verified(saved: SavedReport, book: Catalogue, held: dict[str, str], tolerance: float) -> Verified:
    arguments, changes = _with_files(saved, book, held)
    made = _asked_again(saved, arguments, book)
    record = made.to_dict()
    count, found = compared(saved.record, record, tolerance)
    changes = [*_meanwhile(saved, made, record), *changes]
    if saved.command != saved.reproduction.command and _same_version(saved, made):
        found.append(Difference("reproduction.command", saved.command, saved.reproduction.command))
    if saved.page and not found:
        values, others, left_out = _page(saved, made, tolerance)
        count, found, changes = count + values, others, [*changes, *left_out]
    return Verified(saved.file, saved.function, count, tuple(found), tuple(changes))


def _page(saved: SavedReport, made: Report, tolerance: float) -> tuple[int, list[Difference], list[str]]:
    """Compare what a page shows, where the version that wrote it is the present one."""
    from planner.report.page_check import page_differences

    if not _same_version(saved, made):
        return 0, [], ["the page was not compared, only its data: another version wrote it"]
    return page_differences(saved, made, tolerance)


def _same_version(saved: SavedReport, made: Report) -> bool:
    now = made.reproduction
    return now is not None and saved.reproduction.planner_version == now.planner_version


def _meanwhile(saved: SavedReport, made: Report, record: dict[str, Any]) -> list[str]:
    """Return what changed between a report and now."""
    now = made.reproduction
    assert now is not None
    changes = []
    if saved.reproduction.planner_version != now.planner_version:
        changes.append(f"planner {shorten(saved.reproduction.planner_version)} is now {now.planner_version}")
    if saved.reproduction.catalogue_digest != now.catalogue_digest:
        changes.append(
            f"catalogue {saved.reproduction.catalogue_digest[:12]} is now {now.catalogue_digest[:12]}"
        )
    before, after = price_dates(saved.record), price_dates(record)
    if before != after:
        changes.append(f"prices of {_span(before)} are now of {_span(after)}")
    return changes


def _span(dates: list[str]) -> str:
    if not dates:
        return "no date"
    return dates[0] if dates[0] == dates[-1] else f"{dates[0]} to {dates[-1]}"


def _with_files(
    saved: SavedReport, book: Catalogue, held: dict[str, str]
) -> tuple[dict[str, Any], list[str]]:
    """Return the arguments with the files that the user named, and which of them changed."""
    arguments, changes = dict(saved.reproduction.arguments), []
    own = {document.sha256.hex() for document in book.own}
    for file in saved.reproduction.files:
        if file.role == "catalogue":
            if not own:
                raise InvalidInput(
                    f"{saved.file}: it was made with the catalogue file {shorten(file.name)}; "
                    "name it with --catalogue"
                )
            if file.sha256 not in own:
                changes.append(f"the catalogue file {shorten(file.name)} is another")
            continue
        same = next((path for path, digest in held.items() if digest == file.sha256), None)
        named = next((path for path in held if Path(path).name == Path(file.name).name), None)
        if same is None and named is None:
            raise InvalidInput(
                f"{saved.file}: it was made from the {shorten(file.role)} file {shorten(file.name)}, "
                "which is not opened unasked; name it with --input"
            )
        if same is None:
            changes.append(f"the file {shorten(file.name)} is another")
        if file.role in arguments:
            arguments[file.role] = same or named
    given = {file.role for file in saved.reproduction.files}
    for name in sorted(FILE_ARGUMENTS & arguments.keys() - given):
        _refuse_path(saved, name, arguments[name], book)
    return arguments, changes


def _refuse_path(saved: SavedReport, name: str, value: Any, book: Catalogue) -> None:
    """Refuse what would be opened as a file, or asked of the hub, on the word of a report."""
    if name != "model":
        raise InvalidInput(f"{saved.file}: its {name} {shorten(value)} has no digest, and is not opened")
    for one in value if isinstance(value, list) else [value]:
        for word in str(one).split(",") if saved.function == "sweep" else [one]:
            _refuse_stranger(saved, word.strip() if isinstance(word, str) else word, book)


def _refuse_stranger(saved: SavedReport, model: Any, book: Catalogue) -> None:
    """Refuse a model that is not the catalogue's by its name."""
    if is_media(book, model):
        return
    try:
        check_catalogued(model, book)
    except PlannerError as error:
        raise InvalidInput(f"{saved.file}: {error}; a report opens no file and asks no hub") from None


def _asked_again(saved: SavedReport, arguments: dict[str, Any], book: Catalogue) -> Report:
    """Call the function of the front door that a report names, with arguments that it takes."""
    import planner.api

    function = getattr(planner.api, saved.function, None) if saved.function in FUNCTIONS else None
    if function is None:
        raise InvalidInput(
            f"{saved.file}: asks {shorten(saved.function)}, which is no function that reports come from"
        )
    _check_arguments(saved.file, function, arguments)
    try:
        report = _answered(saved, function, arguments, book)
    except PlannerError as error:
        raise type(error)(f"{saved.file}: has no answer now: {error}") from None
    except (TypeError, ValueError, AttributeError, KeyError, IndexError, OverflowError) as error:
        # What a function makes of a value of another kind than its own reports hold.
        raise InvalidInput(f"{saved.file}: its question cannot be asked: {error}") from None
    assert isinstance(report, Report)
    return report


def _answered(
    saved: SavedReport, function: Callable[..., Any], arguments: dict[str, Any], book: Catalogue
) -> Any:
    """Ask; the rows of a sweep that went into a file go into one again, however many they are."""
    if saved.function != "sweep" or "results" in saved.record:
        return function(**arguments, catalogue=book)
    with tempfile.TemporaryDirectory() as folder:
        return function(**arguments, catalogue=book, out=Path(folder) / "rows.csv")


def _check_arguments(file: str, function: Callable[..., Any], arguments: dict[str, Any]) -> None:
    """Refuse arguments that the function does not have, and those that a report may not set."""
    from planner.planning.question import check_fields

    parameters = inspect.signature(function).parameters
    kinds = {parameter.kind for parameter in parameters.values()}
    for name in arguments:
        if name in UNASKED:
            raise InvalidInput(f"{file}: a report may not set {name}")
    unknown = [name for name in arguments if name not in parameters and name not in MEDIA_OPTIONS]
    if unknown and inspect.Parameter.VAR_KEYWORD not in kinds:
        raise InvalidInput(f"{file}: {function.__name__} has no argument {shorten(unknown[0])}")
    try:
        check_fields(unknown)
    except PlannerError as error:
        raise type(error)(f"{file}: {error}") from None


def _readable(path: str) -> Path:
    if not Path(path).is_file():
        raise InvalidInput(f"inputs: {path} is no file")
    return Path(path)
