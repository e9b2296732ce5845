"""Importing several files: each is read alone, what is missing is named, and rows go to the user's folder."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from planner.catalogue import Catalogue
from planner.errors import InvalidInput, UnknownName
from planner.measurement.importers.formats import read_results
from planner.measurement.importers.runs import Run
from planner.measurement.importers.settings import beside, suggestion
from planner.measurement.importers.sources import open_source, shown_path
from planner.measurement.importers.tidy import OPTIONS, Row, serving_row, startup_row
from planner.measurement.names import find_model
from planner.measurement.user_folder import Kind, append_rows, find_repeated

IMPORTED = "imported"
"""Name of the CSV that imports go to, in the folder of each kind."""


@dataclass(slots=True)
class ImportedFile:
    """What became of one file.

    Parameters
    ----------
    file : str
        As it was given.
    format : str or None
        Which format it is; None where it is in none.
    serving, startup : list of Row
        Rows that are complete.
    incomplete : list of Row
        Rows that lack what they need.
    problems : list of str
        What could not be read, each with its place.
    warnings : list of str
        What to know of the rows that are kept.
    repeated : list of str
        Rows that are there already, each with the place of the other.
    """

    file: str
    format: str | None = None
    serving: list[Row] = field(default_factory=list)
    startup: list[Row] = field(default_factory=list)
    incomplete: list[Row] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)
    repeated: list[str] = field(default_factory=list)

    @property
    def rows(self) -> int:
        """Return how many rows it gave, those that are there already included."""
        return len(self.serving) + len(self.startup)


@dataclass(frozen=True, slots=True)
class Imported:
    """What became of all files.

    Parameters
    ----------
    files : tuple of ImportedFile
    folder : Path
        The user's folder.
    written : tuple of Path
        The CSVs that took rows.
    added : int
        Rows that are new there.
    dry_run : bool
        Nothing was written.
    """

    files: tuple[ImportedFile, ...]
    folder: Path
    written: tuple[Path, ...]
    added: int
    dry_run: bool

    @property
    def complete(self) -> bool:
        """Return whether every file gave rows and none of them lacks anything."""
        return all(file.rows and not file.incomplete for file in self.files)


def import_results(
    paths: Sequence[str | os.PathLike[str]],
    said: Mapping[str, str],
    *,
    catalogue: Catalogue,
    folder: Path,
    dry_run: bool,
) -> Imported:
    """Read result files and add their rows to the user's folder.

    Parameters
    ----------
    paths : sequence of path
        The files, in any of the known formats.
    said : mapping of str to str
        What the user states, as cells by column; it goes before what stands beside a file.
    catalogue : Catalogue
        Where names are looked up; an unknown one is a warning.
    folder : Path
        The user's folder.
    dry_run : bool
        Read and check, but write nothing.

    Returns
    -------
    Imported
        A file that cannot be read has its one line in `problems`; the others are imported all the same.

    Raises
    ------
    InvalidInput
        When the folder cannot be read or written.
    """
    names = Names(catalogue)
    files = [read_file(os.fspath(path), said, names) for path in paths]
    written, added = [], 0
    kinds: tuple[tuple[Kind, str], ...] = (("serving", "serving"), ("startup_logs", "startup"))
    for kind, attribute in kinds:
        found = [(file, row) for file in files for row in getattr(file, attribute)]
        if not found:
            continue
        repeated = find_repeated(kind, [row.cells for _, row in found], folder=folder)
        for position, other in repeated.items():
            if isinstance(other, int) and _says_more(found[position][1], found[other][1]):
                found[position], found[other] = found[other], found[position]
        cells = [row.cells for _, row in found]
        if not dry_run:
            done = append_rows(kind, cells, name=IMPORTED, folder=folder)
            repeated = done.repeated
            if done.added:
                written.append(done.path)
        added += len(cells) - len(repeated)
        for position, where in repeated.items():
            file, row = found[position]
            other = found[where][1].where if isinstance(where, int) else where
            file.repeated.append(f"{row.where}: the same run as {other}")
    return Imported(tuple(files), folder, tuple(written), added, dry_run)


def _says_more(row: Row, other: Row) -> bool:
    """Return whether one report of a run has more columns or more digits than another."""
    return len("".join(row.cells.values())) > len("".join(other.cells.values()))


def read_file(path: str, said: Mapping[str, str], names: Names) -> ImportedFile:
    """Read one file and join what it says with what the user says; nothing is raised."""
    result = ImportedFile(shown_path(path))
    try:
        source = open_source(path)
        stated = {**beside(path), **said}
        reading = read_results(source)
    except InvalidInput as error:
        result.problems.append(str(error))
        return result
    result.format = reading.format
    result.problems += reading.problems
    for run in reading.runs:
        _sort(
            result,
            serving_row(run, stated, tool=reading.format, vendor=names.vendor(run, stated)),
            result.serving,
        )
    for start in reading.starts:
        _sort(result, startup_row(start, stated), result.startup)
    _remark(result, names)
    if not (result.rows or result.incomplete or result.problems):
        result.problems.append(f"{result.file}: no results in it")
    return result


def _sort(result: ImportedFile, row: Row, complete: list[Row]) -> None:
    """Put a row where it belongs: with the complete ones, the incomplete, or the complaints."""
    if row.unreadable:
        result.problems.append(row.unreadable)
    elif row.missing:
        result.incomplete.append(row)
    else:
        complete.append(row)


def _remark(result: ImportedFile, names: Names) -> None:
    """Say what is missing, what contradicts, what does not agree and which names are unknown."""
    lacking = tuple(dict.fromkeys(name for row in result.incomplete for name in row.missing))
    wanted = tuple(dict.fromkeys(name for row in _all(result) for name in row.wanted))
    hint = suggestion(result.file, (*lacking, *wanted))
    hinted = f"; its name suggests {hint}" if hint else ""
    if lacking:
        options = ", ".join(OPTIONS[name] for name in lacking)
        rows = _counted(len(result.incomplete))
        result.problems.append(f"{result.file}: {rows} not imported: state {options}{hinted}")
    if wanted:
        options = ", ".join(OPTIONS[name] for name in wanted)
        after = "" if lacking else hinted
        result.warnings.append(f"{result.file}: predictions also need {options}{after}")
    for name in dict.fromkeys(name for row in _all(result) for name in row.contradictions):
        differing = [row for row in _all(result) if name in row.contradictions]
        example = f"{OPTIONS.get(name, name)}: the file says {differing[0].cells[name]}, which stands"
        result.warnings.append(f"{differing[0].where}: {example} ({_counted(len(differing))})")
    for row in _all(result):
        result.warnings += [f"{row.where}: check: {doubt}" for doubt in row.doubts]
    result.warnings += [f"{result.file}: {line}" for line in names.unknown(_all(result))]


def _all(result: ImportedFile) -> list[Row]:
    return [*result.serving, *result.startup, *result.incomplete]


def _counted(number: int) -> str:
    return f"{number} row{'' if number == 1 else 's'}"


class Names:
    """Looks names up once each."""

    def __init__(self, catalogue: Catalogue) -> None:
        self._catalogue = catalogue
        self._gpus: dict[str, str | None] = {}
        self._lines: dict[tuple[str, str], str | None] = {}

    def vendor(self, run: Run, said: Mapping[str, str]) -> str | None:
        """Return the vendor of a run's accelerator, or None where it is not known."""
        name = said.get("gpu") or run.facts.get("gpu") or ""
        if name not in self._gpus:
            try:
                self._gpus[name] = self._catalogue.gpu(name).vendor if name else None
            except UnknownName:
                self._gpus[name] = None
        return self._gpus[name]

    def unknown(self, rows: Iterable[Row]) -> list[str]:
        """Return one line for each name that the catalogue does not hold."""
        asked = dict.fromkeys((kind, row.cells[kind]) for row in rows for kind in ("model", "gpu"))
        lines = (self._line(kind, name) for kind, name in asked if name)
        return [line for line in lines if line]

    def _line(self, kind: str, name: str) -> str | None:
        if (kind, name) not in self._lines:
            try:
                if kind == "model":
                    find_model(name, self._catalogue)
                else:
                    self._catalogue.gpu(name)
                self._lines[kind, name] = None
            except UnknownName as error:
                self._lines[kind, name] = f"{error}; --{kind} gives it another name"
        return self._lines[kind, name]
