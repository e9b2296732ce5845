"""How wrong predictions are, as tables."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from planner.measurement.comparison import ErrorScore, VerdictScore
from planner.measurement.validate import Score
from planner.measurement.validate_file import AnyValidation
from planner.measurement.validate_serving import ServingValidation
from planner.report.table import Column, Table


def _percent(value: float) -> str:
    return f"{value:.1%}" if abs(value) < 0.0995 else f"{value:.0%}"


def _share(value: float) -> str:
    return f"{value:.0%}"


SCORE_COLUMNS = (
    Column("quantity", "quantity"),
    Column("n", "rows", right=True),
    Column("median_ape", "median\nerror", right=True, show=_percent),
    Column("mean_ape", "mean\nerror", right=True, show=_percent),
    Column("bias", "bias", right=True, show=_percent),
    Column("within_1pct", "within\n1 %", right=True, show=_share),
    Column("within_8pct", "within\n8 %", right=True, show=_share),
    Column("within_20pct", "within\n20 %", right=True, show=_share),
    Column("coverage_80", "in 80 %\ninterval", right=True, show=_share),
)

HEADLINES = (
    ("weights_gib", "median_ape", Column("weights_median_ape", "weights\nmedian", right=True, show=_percent)),
    ("weights_gib", "within_8pct", Column("weights_within_8pct", "weights\nin 8 %", right=True, show=_share)),
    (
        "kv_tokens_given_pool",
        "within_1pct",
        Column("tokens_within_1pct", "tokens\nin 1 %", right=True, show=_share),
    ),
    ("kv_pool_gib", "median_ape", Column("pool_median_ape", "KV pool\nmedian", right=True, show=_percent)),
    ("fits", "accuracy", Column("fits_accuracy", "fits\nright", right=True, show=_share)),
)
"""The figures by group: quantity, figure and column. Tokens are those of the logged pool."""

SERVING_HEADLINES = tuple(
    (quantity, figure, Column(f"{quantity}_{figure}", f"{name}\n{short}", right=True, show=_share))
    for quantity, name in (("output_tps_per_gpu", "tok/s"), ("tpot_ms", "TPOT"), ("ttft_ms", "TTFT"))
    for figure, short in (("median_ape", "median"), ("within_20pct", "in 20 %"), ("coverage_80", "in 80 %"))
)
"""The same of serving points."""


def shown_groups(result: AnyValidation) -> tuple[str, ...]:
    """Return by what the figures are shown: groups with one value alone would repeat those of all."""
    serving = isinstance(result, ServingValidation)
    groups = ("vendor", "gpu", "engine", "load") if serving else ("engine", "attention")
    return tuple(group for group in groups if len(result.scores_by(group)) > 1)


def _headlines_of(result: AnyValidation) -> tuple[tuple[str, str, Column], ...]:
    return SERVING_HEADLINES if isinstance(result, ServingValidation) else HEADLINES


def headline_quantities(result: AnyValidation) -> frozenset[str]:
    """Return the quantities that say most."""
    return frozenset(quantity for quantity, _, _ in _headlines_of(result))


def errors_table(result: AnyValidation) -> Table:
    """Return the errors of each quantity over all rows.

    Parameters
    ----------
    result : ValidationResult or ServingValidation
        What was compared.

    Returns
    -------
    Table
        Relative errors; bias is the median of the signed one, above 0 where predictions are too high.
    """
    scores: Mapping[str, Score] = dict(result.scores())
    rows = tuple(
        {"quantity": name, **score.to_dict()}
        for name, score in scores.items()
        if isinstance(score, ErrorScore)
    )
    shown = SCORE_COLUMNS if isinstance(result, ServingValidation) else SCORE_COLUMNS[:-1]
    return Table(shown, rows, "Relative error of predictions")


def headlines_table(result: AnyValidation, group: str) -> Table:
    """Return the figures that say most, one row for each value of a group.

    Parameters
    ----------
    result : ValidationResult or ServingValidation
        What was compared.
    group : str
        Such as "engine".

    Returns
    -------
    Table
        A figure that nothing was compared for is empty.
    """
    columns = (
        Column(group, group, flexible=True),
        Column("rows", "rows", right=True),
        *(column for _, _, column in _headlines_of(result)),
    )
    rows = tuple(
        {group: name, "rows": _most_rows(scores), **_headlines(scores, _headlines_of(result))}
        for name, scores in _scores_by(result, group).items()
    )
    return Table(columns, rows, f"By {group}")


def _scores_by(result: AnyValidation, group: str) -> Mapping[str, Mapping[str, Score]]:
    return {name: dict(scores) for name, scores in result.scores_by(group).items()}


def _most_rows(scores: Mapping[str, Score]) -> int:
    return max((score.n for score in scores.values()), default=0)


def _headlines(scores: Mapping[str, Score], headlines: tuple[tuple[str, str, Column], ...]) -> dict[str, Any]:
    return {
        column.key: scores[quantity].to_dict()[figure]
        for quantity, figure, column in headlines
        if quantity in scores
    }


def verdict_facts(result: AnyValidation) -> list[tuple[str, str]]:
    """Return what was skipped and why, and how often "fits or not" was right.

    Parameters
    ----------
    result : ValidationResult or ServingValidation
        What was compared.

    Returns
    -------
    list of (label, text)
    """
    complete = (
        f"{result.stated_and_predicted} of {result.stated} that state model, GPU and sizes were predicted"
    )
    facts = [("complete rows", complete)]
    facts += [("skipped", f"{count}: {reason}") for reason, count in result.skipped.items()]
    score = dict(result.scores()).get("fits")
    if isinstance(score, VerdictScore):
        said = (
            f"right in {score.accuracy:.1%} of {score.n} rows; {score.fits_but_refused} that started "
            f"were refused, {score.fails_but_accepted} that did not were accepted"
        )
        facts.append(("fits or not", said))
    return facts
