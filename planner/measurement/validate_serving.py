"""Validation of serving points: predict every one of a file, compare, and say how wrong it was."""

from __future__ import annotations

import math
import os
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from planner.catalogue import Catalogue
from planner.errors import InvalidInput
from planner.measurement.blame import Blame, blames
from planner.measurement.case_builder import CaseBuilder
from planner.measurement.cases import Case
from planner.measurement.comparison import ErrorScore, Pair, error_score
from planner.measurement.csvtable import CsvTable
from planner.measurement.serving_points import UnreadablePoint, read_serving
from planner.measurement.serving_setup import states_operating_point
from planner.measurement.setups import NotPredictable
from planner.measurement.shown import rows_frame, scores_html
from planner.measurement.validate import SkippedRow, result_dict
from planner.performance.intervals import QUANTITIES as INTERVALS
from planner.performance.intervals import width
from planner.performance.levels import Calibration, calibration_of
from planner.performance.parameters import Array

if TYPE_CHECKING:
    import pandas

QUANTITIES = {
    "output_tps_per_gpu": "output tokens a second of each GPU [tok/s]",
    "tpot_ms": "time between tokens of a request [ms]",
    "ttft_ms": "time to the first token [ms]",
}
"""What is compared; medians where there are any, else means."""

SCALES = (1.0, 1e3, 1e3)
"""From the units of the model to those of the quantities."""

GROUPS: dict[str, Callable[[Case], str]] = {
    "gpu": lambda case: case.about.gpu,
    "vendor": lambda case: case.about.vendor,
    "model": lambda case: case.about.model,
    "engine": lambda case: case.about.engine,
    "source": lambda case: case.point.source or "not stated",
    "load": lambda case: _load_of(case),
    "year": lambda case: (case.point.date or "not stated")[:4],
}
"""By what the scores are also given."""


def _load_of(case: Case) -> str:
    if case.about.disaggregated:
        return "disaggregated"
    if case.about.kind != "service":
        return case.about.kind
    if case.about.speculative:
        return "speculative"
    return "multi-node" if case.about.crosses_nodes else "plain"


@dataclass(frozen=True, slots=True)
class ServingPrediction:
    """What was predicted for one point.

    Parameters
    ----------
    case : Case
        The point as a question.
    line : int
        Line of its file.
    pairs : mapping of str to Pair
        Measured and predicted values by quantity.
    predicted : mapping of str to float
        All predicted values by quantity.
    """

    case: Case
    line: int
    pairs: Mapping[str, Pair]
    predicted: Mapping[str, float]


@dataclass(frozen=True, slots=True)
class ServingValidation:
    """How far predictions are from a file of serving points.

    Parameters
    ----------
    table : CsvTable
        The file.
    predictions : tuple of ServingPrediction
        The rows that were predicted.
    skipped_rows : tuple of SkippedRow
        All others.
    disagreements : tuple of Blame
        For each set-up, which part of a step is mispredicted most; the largest first.
    faster_than_light : tuple of int
        Lines of rows that beat what reading weights and caches at nameplate bandwidth allows.
    """

    table: CsvTable
    predictions: tuple[ServingPrediction, ...]
    skipped_rows: tuple[SkippedRow, ...]
    disagreements: tuple[Blame, ...] = ()
    faster_than_light: tuple[int, ...] = ()

    @property
    def rows(self) -> int:
        """Return how many rows the file has."""
        return len(self.table.rows)

    @property
    def predicted(self) -> int:
        """Return how many rows were predicted."""
        return len(self.predictions)

    @property
    def skipped(self) -> dict[str, int]:
        """Return how many rows were not predicted, by reason, the most frequent first."""
        return dict(Counter(row.reason for row in self.skipped_rows).most_common())

    @property
    def stated_and_predicted(self) -> int:
        """Return how many predicted rows state model, GPU, count, lengths and concurrency."""
        return sum(states_operating_point(made.case.point) for made in self.predictions)

    @property
    def stated(self) -> int:
        """Return how many rows state model, GPU, count, lengths and concurrency."""
        return self.stated_and_predicted + sum(row.stated for row in self.skipped_rows)

    def scores(self) -> dict[str, ErrorScore]:
        """Return the score of each quantity that was compared."""
        return scores_of(self.predictions)

    def scores_by(self, group: str) -> dict[str, dict[str, ErrorScore]]:
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
        parts: dict[str, list[ServingPrediction]] = {}
        for made in self.predictions:
            parts.setdefault(GROUPS[group](made.case), []).append(made)
        return {name: scores_of(parts[name]) for name in sorted(parts)}

    def to_dict(self) -> dict[str, Any]:
        """Return everything but the single rows as plain values, for JSON."""
        return {
            **result_dict(self, "serving points", GROUPS),
            "disagreements": [{**asdict(one), "sentence": one.sentence} for one in self.disagreements],
            "faster_than_light": list(self.faster_than_light),
        }

    def csv_rows(self) -> Iterator[Sequence[str]]:
        """Yield the rows of the file with what was predicted, the header first."""
        added = [*(f"predicted_{name}" for name in QUANTITIES), "skipped", "remarks"]
        columns = [name for name in self.table.columns if name not in added]
        yield [*columns, *added]
        made_at = {made.line: made for made in self.predictions}
        skipped_at = {row.line: row for row in self.skipped_rows}
        for row in self.table.rows:
            own = [row.cells[name] for name in columns]
            made = made_at.get(row.line)
            if made is None:
                skip = skipped_at[row.line]
                yield [*own, *("" for _ in QUANTITIES), skip.reason, skip.detail]
            else:
                yield [*own, *(f"{made.predicted[name]:.6g}" for name in QUANTITIES), "", ""]

    def to_frame(self) -> pandas.DataFrame:
        """Return a pandas frame: the rows of the file with what was predicted, and why others were not."""
        return rows_frame(self.csv_rows())

    def _repr_html_(self) -> str:
        title = f"{self.table.file}: {self.predicted:,} of {self.rows:,} rows predicted"
        return scores_html(title, {name: score.to_dict() for name, score in self.scores().items()})


def validate_serving(
    path: str | os.PathLike[str], catalogue: Catalogue, calibration: Calibration | None = None
) -> ServingValidation:
    """Predict every serving point of a file and compare.

    Parameters
    ----------
    path : path
        A tidy CSV, see `planner.measurement.serving.load_serving`.
    catalogue : Catalogue
        Models, accelerators, stacks and the calibration.
    calibration : Calibration, optional
        Parameters instead of the catalogue's.

    Returns
    -------
    ServingValidation

    Raises
    ------
    InvalidInput
        With file and line, when the file is no such table.
    """
    table, points = read_serving(path)
    builder = CaseBuilder(catalogue)
    cases: list[Case] = []
    lines: list[int] = []
    skipped: list[SkippedRow] = []
    for row, point in zip(table.rows, points, strict=True):
        if isinstance(point, UnreadablePoint):
            skipped.append(SkippedRow(point.line, "unreadable value", point.what, stated=False))
            continue
        try:
            cases.append(builder.case(point))
            lines.append(row.line)
        except NotPredictable as why:
            stated = states_operating_point(point)
            skipped.append(SkippedRow(row.line, why.reason, why.detail, stated=stated))
    known = calibration or calibration_of(catalogue)
    made = predict_cases(builder, cases, lines, known)
    quick = builder.gather(cases).faster_than_light() if cases else ()
    return ServingValidation(
        table,
        tuple(made),
        tuple(skipped),
        tuple(blames(builder, cases, known)),
        tuple(line for line, beats in zip(lines, quick, strict=True) if beats),
    )


def predict_cases(
    builder: CaseBuilder, cases: Sequence[Case], lines: Sequence[int], calibration: Calibration
) -> list[ServingPrediction]:
    """Return predictions of cases, paired with what was measured."""
    if not cases:
        return []
    data = builder.gather(cases).with_rates_met(calibration)
    logs = data.predict(calibration.parameters([case.about for case in cases]))
    return [paired(case, line, row, calibration) for case, line, row in zip(cases, lines, logs, strict=True)]


def paired(case: Case, line: int, logs: Array, calibration: Calibration) -> ServingPrediction:
    """Return a prediction with its pairs, from ln of output rate per GPU, TPOT and TTFT."""
    pairs, predicted = {}, {}
    for number, (name, interval) in enumerate(zip(QUANTITIES, INTERVALS, strict=True)):
        value = float(np.exp(logs[number])) * SCALES[number]
        predicted[name] = value
        measured = case.measured[number]
        if math.isfinite(measured):
            low, high = width(calibration, interval, case.about)
            pairs[name] = Pair(
                math.exp(measured) * SCALES[number], value, value * math.exp(low), value * math.exp(high)
            )
    return ServingPrediction(case, line, pairs, predicted)


def scores_of(predictions: Iterable[ServingPrediction]) -> dict[str, ErrorScore]:
    """Return the score of each quantity that was compared."""
    made = list(predictions)
    found: dict[str, ErrorScore] = {}
    for quantity in QUANTITIES:
        pairs = [one.pairs[quantity] for one in made if quantity in one.pairs]
        if pairs:
            found[quantity] = error_score(pairs)
    return found
