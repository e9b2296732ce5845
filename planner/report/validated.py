"""The answer to "how wrong are predictions": a file of measurements with its predictions, as a report."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from planner.measurement.validate import Score, SkippedRow
from planner.measurement.validate_file import AnyValidation, validation_csv
from planner.report.base import Report
from planner.report.figures.named import NamedFigure
from planner.report.table import Table, facts_table
from planner.report.validation import errors_table, headlines_table, shown_groups, verdict_facts
from planner.report.validation_rows import disagreement_lines, doubt_lines, misses_table, skipped_lines

if TYPE_CHECKING:
    import pandas
    from plotly.graph_objects import Figure


@dataclass(frozen=True, slots=True, repr=False)
class ValidateReport(Report):
    """How far predictions are from a file of measurements.

    Parameters
    ----------
    result : ValidationResult or ServingValidation
        The rows with their predictions.
    """

    result: AnyValidation

    @property
    def rows(self) -> int:
        """Return how many rows the file has."""
        return self.result.rows

    @property
    def predicted(self) -> int:
        """Return how many rows were predicted."""
        return self.result.predicted

    @property
    def skipped(self) -> dict[str, int]:
        """Return how many rows were not predicted, by reason, the most frequent first."""
        return self.result.skipped

    @property
    def skipped_rows(self) -> tuple[SkippedRow, ...]:
        """Return the rows that were not predicted, each with its line and why."""
        return self.result.skipped_rows

    def scores(self) -> Mapping[str, Score]:
        """Return the score of each quantity that was compared."""
        return dict(self.result.scores())

    def scores_by(self, group: str) -> Mapping[str, Mapping[str, Score]]:
        """Return the same by group, such as "gpu"."""
        return {name: dict(scores) for name, scores in self.result.scores_by(group).items()}

    @property
    def title(self) -> str:
        """Return what the report is about."""
        return f"How wrong predictions are of {self.result.table.file}"

    @property
    def sentence(self) -> str:
        """Return how many rows were predicted, and where the largest disagreement lies."""
        named = disagreement_lines(self.result)
        return f"{self.predicted} of {self.rows} rows predicted{f'; {named[0]}' if named else ''}"

    @property
    def warnings(self) -> tuple[str, ...]:
        """Return the rows that cannot be so, and those that were not predicted, with the reason."""
        skipped = skipped_lines(self.result) if self.result.skipped_rows else []
        return (*doubt_lines(self.result), *skipped)

    def tables(self) -> tuple[Table, ...]:
        """Return the errors, the same by group, and the rows that were missed by most."""
        groups = (headlines_table(self.result, group) for group in shown_groups(self.result))
        tables = (errors_table(self.result), *groups, misses_table(self.result))
        facts = facts_table(verdict_facts(self.result), "What was compared")
        return (facts, *(table for table in tables if table.rows))

    def figures(self) -> tuple[NamedFigure, ...]:
        """Return the error of each quantity."""
        if not errors_table(self.result).rows:
            return ()
        return (NamedFigure("errors", "Relative error of predictions, %", self._errors),)

    def _errors(self) -> Figure:
        from planner.report.figures.errors import errors_figure

        return errors_figure(self.result)

    def to_dict(self) -> dict[str, Any]:
        """Return everything but the single rows as one JSON-ready object of schema `planner.validate/1`."""
        return self.signed(self.result.to_dict())

    def to_csv(self) -> str:
        """Return the rows of the file with what was predicted."""
        return validation_csv(self.result)

    def to_frame(self) -> pandas.DataFrame:
        """Return a pandas frame: the rows with what was predicted, and why others were not."""
        return self.result.to_frame()

    def __repr__(self) -> str:
        """Return the answer in words."""
        return f"<ValidateReport: {self.result.table.file}: {self.sentence}>"

    def _repr_html_(self) -> str:
        return self.result._repr_html_()
