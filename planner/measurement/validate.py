"""Validation: predict every row of a file of measurements, compare, and say how wrong it was."""

from __future__ import annotations

import csv
import os
import tempfile
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from planner.catalogue import Catalogue
from planner.errors import InvalidInput
from planner.measurement.attention import attention_kind
from planner.measurement.comparison import ErrorScore, VerdictScore, error_score, verdict_score
from planner.measurement.csvtable import CsvTable
from planner.measurement.predictions import Prediction, predict_log
from planner.measurement.quantities import QUANTITIES
from planner.measurement.setups import NotPredictable, states_its_setup
from planner.measurement.shown import rows_frame, scores_html
from planner.measurement.startup_logs import UnreadableLog, read_startup_logs, source_family

if TYPE_CHECKING:
    import pandas

SCHEMA = "planner.validate/1"

Score = ErrorScore | VerdictScore

GROUPS: dict[str, Callable[[Prediction], str]] = {
    "gpu": lambda made: made.setup.gpu.id if made.setup.gpu else "not stated",
    "vendor": lambda made: made.setup.gpu.vendor if made.setup.gpu else "not stated",
    "model": lambda made: made.setup.model.id,
    "engine": lambda made: made.setup.engine,
    "attention": lambda made: made.log.attention or attention_kind(made.setup.model),
    "source": lambda made: source_family(made.log.source),
}
"""By what the scores are also given."""


@dataclass(frozen=True, slots=True)
class SkippedRow:
    """A row that was not predicted.

    Parameters
    ----------
    line : int
        Line of the file.
    reason : str
        The general reason, the same words for all rows of a kind.
    detail : str
        What it was in this row.
    stated : bool
        Whether the row states model, accelerator and sizes, so that it should have been predicted.
    """

    line: int
    reason: str
    detail: str
    stated: bool


class Validated(Protocol):
    """A file with its predictions: what is said of one, whatever kind of rows it holds."""

    @property
    def table(self) -> CsvTable:
        """Return the file as it was read."""
        ...

    @property
    def rows(self) -> int:
        """Return the rows of the file."""
        ...

    @property
    def predicted(self) -> int:
        """Return how many rows were predicted."""
        ...

    @property
    def stated(self) -> int:
        """Return how many rows state what a prediction needs."""
        ...

    @property
    def stated_and_predicted(self) -> int:
        """Return how many of those were predicted."""
        ...

    @property
    def skipped(self) -> dict[str, int]:
        """Return how many rows were not predicted, by reason."""
        ...

    @property
    def skipped_rows(self) -> tuple[SkippedRow, ...]:
        """Return the rows that were not predicted."""
        ...

    def scores(self) -> Mapping[str, Score]:
        """Return the score of each quantity."""
        ...

    def scores_by(self, group: str) -> Mapping[str, Mapping[str, Score]]:
        """Return the scores of the parts of a group."""
        ...


@dataclass(frozen=True, slots=True)
class ValidationResult:
    """How far predictions are from a file of measurements.

    Parameters
    ----------
    table : CsvTable
        The file.
    predictions : tuple of Prediction
        The rows that were predicted.
    skipped_rows : tuple of SkippedRow
        All others.
    """

    table: CsvTable
    predictions: tuple[Prediction, ...]
    skipped_rows: tuple[SkippedRow, ...]

    @property
    def rows(self) -> int:
        """Return how many rows the file has."""
        return len(self.table.rows)

    @property
    def predicted(self) -> int:
        """Return for how many rows at least one quantity or the verdict was compared."""
        return len(self.predictions)

    @property
    def skipped(self) -> dict[str, int]:
        """Return how many rows were not predicted, by reason, the most frequent first."""
        return dict(Counter(row.reason for row in self.skipped_rows).most_common())

    @property
    def stated(self) -> int:
        """Return how many rows state model, accelerator and sizes."""
        return self.stated_and_predicted + sum(row.stated for row in self.skipped_rows)

    @property
    def stated_and_predicted(self) -> int:
        """Return how many of these were predicted."""
        return sum(states_its_setup(made.log) for made in self.predictions)

    def scores(self) -> dict[str, Score]:
        """Return the score of each quantity that was compared, and of the verdict as `fits`."""
        return _scores(self.predictions)

    def scores_by(self, group: str) -> dict[str, dict[str, Score]]:
        """Return the same by group.

        Parameters
        ----------
        group : str
            One of `GROUPS`.

        Returns
        -------
        dict of str to dict
            Scores by quantity for each value of the group, in alphabetical order.

        Raises
        ------
        InvalidInput
            When there is no such group.
        """
        if group not in GROUPS:
            raise InvalidInput(f"unknown group {group!r}; one of {', '.join(GROUPS)}")
        parts: dict[str, list[Prediction]] = {}
        for made in self.predictions:
            parts.setdefault(GROUPS[group](made), []).append(made)
        return {name: _scores(parts[name]) for name in sorted(parts)}

    def to_dict(self) -> dict[str, Any]:
        """Return everything but the single rows as plain values, for JSON."""
        return result_dict(self, "start-up logs", GROUPS)

    def csv_rows(self) -> Iterable[Sequence[str]]:
        """Return the rows of the file with what was predicted, the header first."""
        return _csv_rows(self)

    def to_frame(self) -> pandas.DataFrame:
        """Return a pandas frame: the rows of the file with what was predicted, and why others were not."""
        return rows_frame(_csv_rows(self))

    def _repr_html_(self) -> str:
        title = f"{self.table.file}: {self.predicted:,} of {self.rows:,} rows predicted"
        return scores_html(title, {name: score.to_dict() for name, score in self.scores().items()})


def validate_startup_logs(path: str | os.PathLike[str], catalogue: Catalogue) -> ValidationResult:
    """Predict every start-up log of a file and compare.

    Parameters
    ----------
    path : path
        A CSV of start-up logs, see `read_startup_logs`.
    catalogue : Catalogue
        Models and accelerators.

    Returns
    -------
    ValidationResult

    Raises
    ------
    InvalidInput
        With file and line, when the file is no table of start-up logs.
    """
    table, logs = read_startup_logs(path)
    predictions: list[Prediction] = []
    skipped: list[SkippedRow] = []
    for log in logs:
        if isinstance(log, UnreadableLog):
            skipped.append(SkippedRow(log.line, "unreadable value", log.what, stated=False))
            continue
        try:
            predictions.append(predict_log(log, catalogue))
        except NotPredictable as why:
            skipped.append(SkippedRow(log.line, why.reason, why.detail, stated=states_its_setup(log)))
    return ValidationResult(table, tuple(predictions), tuple(skipped))


def result_dict(result: Validated, kind: str, groups: Iterable[str]) -> dict[str, Any]:
    """Return everything of a validated file but its single rows as plain values, for JSON.

    Parameters
    ----------
    result : Validated
        Start-up logs or serving points with their predictions.
    kind : str
        Which of the two they are.
    groups : iterable of str
        By what the scores are also given.

    Returns
    -------
    dict
        In the schema `planner.validate/1`.
    """
    by = {group: result.scores_by(group) for group in groups}
    return {
        "schema": SCHEMA,
        "file": result.table.file,
        "kind": kind,
        "rows": result.rows,
        "predicted": result.predicted,
        "stated": result.stated,
        "stated_and_predicted": result.stated_and_predicted,
        "skipped": result.skipped,
        "skipped_rows": [
            {"line": row.line, "reason": row.reason, "detail": row.detail} for row in result.skipped_rows
        ],
        "quantities": {
            quantity: {
                **score.to_dict(),
                "by": {
                    group: {
                        name: scores[quantity].to_dict()
                        for name, scores in parts.items()
                        if quantity in scores
                    }
                    for group, parts in by.items()
                },
            }
            for quantity, score in result.scores().items()
        },
    }


def write_predictions(result: ValidationResult, path: str | os.PathLike[str]) -> None:
    """Write the rows of the file with what was predicted, as CSV; the file is whole or not there.

    Parameters
    ----------
    result : ValidationResult
        What `validate_startup_logs` returned.
    path : path
        The file to write. Beside the file's own columns it has `predicted_<quantity>` for each quantity,
        `predicted_fits`, `skipped` with the reason, and `remarks`.

    Raises
    ------
    InvalidInput
        When the file cannot be written.
    """
    write_rows(_csv_rows(result), path)


def write_rows(rows: Iterable[Sequence[str]], path: str | os.PathLike[str]) -> None:
    """Write rows of text as CSV; the file is whole or not there.

    Parameters
    ----------
    rows : iterable of sequence of str
        The rows, the header first.
    path : path
        The file to write.

    Raises
    ------
    InvalidInput
        When the file cannot be written.
    """
    target = Path(path)
    try:
        handle, name = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name}.", suffix=".part")
        part = Path(name)
        try:
            with os.fdopen(handle, "w", encoding="utf-8", newline="") as file:
                writer = csv.writer(file, lineterminator="\n")
                writer.writerows(rows)
                file.flush()
                os.fsync(file.fileno())
            part.chmod(0o666 & ~_umask())
            part.replace(target)
        except BaseException:
            part.unlink(missing_ok=True)
            raise
    except OSError as error:
        raise InvalidInput(f"{target}: cannot be written: {error.strerror or error}") from None


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask


def _csv_rows(result: ValidationResult) -> Iterable[Sequence[str]]:
    added = [*(f"predicted_{name}" for name in QUANTITIES), "predicted_fits", "skipped", "remarks"]
    columns = [name for name in result.table.columns if name not in added]  # a file may be validated again
    yield [*columns, *added]
    made_at = {made.log.line: made for made in result.predictions}
    skipped_at = {row.line: row for row in result.skipped_rows}
    for row in result.table.rows:
        own = [row.cells[name] for name in columns]
        made = made_at.get(row.line)
        if made is None:
            skip = skipped_at[row.line]
            yield [*own, *("" for _ in QUANTITIES), "", skip.reason, skip.detail]
            continue
        pairs = [made.pairs.get(name) for name in QUANTITIES]
        values = ["" if pair is None else f"{pair.predicted:.10g}" for pair in pairs]
        fits = "" if made.verdict is None else str(made.verdict[1])
        yield [*own, *values, fits, "", "; ".join((*made.setup.assumptions, *made.remarks))]


def _scores(predictions: Iterable[Prediction]) -> dict[str, Score]:
    made = list(predictions)
    found: dict[str, Score] = {}
    for quantity in QUANTITIES:
        pairs = [one.pairs[quantity] for one in made if quantity in one.pairs]
        if pairs:
            found[quantity] = error_score(pairs)
    verdicts = [one.verdict for one in made if one.verdict is not None]
    if verdicts:
        found["fits"] = verdict_score(verdicts)
    return found
