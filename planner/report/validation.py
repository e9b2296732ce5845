"""How wrong predictions are, as tables."""

from __future__ import annotations

from typing import Any

from planner.measurement.comparison import ErrorScore, VerdictScore
from planner.measurement.quantities import QUANTITIES
from planner.measurement.validate import Score, ValidationResult
from planner.report.table import Column, Table


def _percent(value: float) -> str:
    return f"{value:.1%}" if abs(value) < 0.0995 else f"{value:.0%}"


def _share(value: float) -> str:
    return f"{value:.0%}"


SCORE_COLUMNS = (
    Column("n", "rows", right=True),
    Column("median_ape", "median\nerror", right=True, show=_percent),
    Column("mean_ape", "mean\nerror", right=True, show=_percent),
    Column("bias", "bias", right=True, show=_percent),
    Column("within_1pct", "within\n1 %", right=True, show=_share),
    Column("within_8pct", "within\n8 %", right=True, show=_share),
    Column("within_20pct", "within\n20 %", right=True, show=_share),
)


def errors_table(result: ValidationResult) -> Table:
    """Return the errors of each quantity over all rows.

    Parameters
    ----------
    result : ValidationResult
        What was compared.

    Returns
    -------
    Table
        Relative errors; bias is the median of the signed one, above 0 where predictions are too high.
    """
    columns = (Column("quantity", "quantity"), *SCORE_COLUMNS, Column("what", "what it is", flexible=True))
    rows = tuple(
        {"quantity": name, "what": QUANTITIES.get(name), **score.to_dict()}
        for name, score in result.scores().items()
        if isinstance(score, ErrorScore)
    )
    return Table(columns, rows, "Relative error of predictions")


def errors_table_by(result: ValidationResult, group: str) -> Table:
    """Return the errors of each quantity by group.

    Parameters
    ----------
    result : ValidationResult
        What was compared.
    group : str
        Such as "engine".

    Returns
    -------
    Table
    """
    columns = (Column(group, group), Column("quantity", "quantity"), *SCORE_COLUMNS)
    rows: list[dict[str, Any]] = []
    for name, scores in result.scores_by(group).items():
        label = name
        for quantity, score in scores.items():
            if isinstance(score, ErrorScore):
                rows.append({group: label, "quantity": quantity, **score.to_dict()})
                label = ""
    return Table(columns, tuple(rows), f"By {group}")


def verdict_facts(result: ValidationResult) -> list[tuple[str, str]]:
    """Return what was skipped and why, and how often "fits or not" was right.

    Parameters
    ----------
    result : ValidationResult
        What was compared.

    Returns
    -------
    list of (label, text)
    """
    facts = [
        ("complete rows", f"{result.stated_and_predicted} of {result.stated} that state model, GPU and sizes")
    ]
    facts += [("skipped", f"{count}: {reason}") for reason, count in result.skipped.items()]
    score: Score | None = result.scores().get("fits")
    if isinstance(score, VerdictScore):
        facts.append(
            (
                "fits or not",
                f"right in {score.accuracy:.1%} of {score.n} rows; {score.fits_but_refused} that started "
                f"were refused, {score.fails_but_accepted} that did not were accepted",
            )
        )
    return facts
