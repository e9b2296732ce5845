"""Single rows of a validated file: those that were skipped, and those that miss by most."""

from __future__ import annotations

from planner.measurement.comparison import Pair
from planner.measurement.predictions import Prediction
from planner.measurement.validate_file import AnyValidation
from planner.measurement.validate_serving import ServingPrediction, ServingValidation
from planner.report.table import Column, Table
from planner.report.validation import headline_quantities
from planner.units import format_significant

MOST_SKIPPED = 20
MOST_MISSES = 10
MOST_NAMED = 5


def _figure(value: float) -> str:
    return format_significant(value, 5)


def _error(value: float) -> str:
    return f"{value:+.1%}" if abs(value) < 0.0995 else f"{value:+,.0%}"


MISS_COLUMNS = (
    Column("line", "line", right=True),
    Column("model", "model", flexible=True),
    Column("gpu", "GPU", flexible=True),
    Column("quantity", "quantity"),
    Column("measured", "measured", right=True, show=_figure),
    Column("predicted", "predicted", right=True, show=_figure),
    Column("error", "error", right=True, show=_error),
)


def skipped_lines(result: AnyValidation) -> list[str]:
    """Return every row that was not predicted, with file, line, and the column or value that was in the way.

    Parameters
    ----------
    result : ValidationResult or ServingValidation
        What was compared.

    Returns
    -------
    list of str
        The first `MOST_SKIPPED`, and how many more there are.
    """
    rows = sorted(result.skipped_rows, key=lambda row: row.line)
    lines = [f"{result.table.file}:{row.line}: {row.reason}: {row.detail}" for row in rows[:MOST_SKIPPED]]
    if len(rows) > MOST_SKIPPED:
        lines.append(f"and {len(rows) - MOST_SKIPPED} more; --json and --out name all")
    return lines


def disagreement_lines(result: AnyValidation) -> list[str]:
    """Return which part of a decode step is mispredicted most, a line for each set-up, the largest first.

    Parameters
    ----------
    result : ValidationResult or ServingValidation
        What was compared; start-up logs have no steps.

    Returns
    -------
    list of str
        The first `MOST_NAMED`.
    """
    if not isinstance(result, ServingValidation):
        return []
    return [one.sentence for one in result.disagreements[:MOST_NAMED]]


def doubt_lines(result: AnyValidation) -> list[str]:
    """Return a warning for the rows that no machine of these figures could have measured.

    Parameters
    ----------
    result : ValidationResult or ServingValidation
        What was compared.

    Returns
    -------
    list of str
        One line, or none.
    """
    lines = result.faster_than_light if isinstance(result, ServingValidation) else ()
    if not lines:
        return []
    shown = ", ".join(str(line) for line in lines[:MOST_SKIPPED])
    more = f" and {len(lines) - MOST_SKIPPED} more" if len(lines) > MOST_SKIPPED else ""
    which = f"line {shown} is" if len(lines) == 1 else f"lines {shown}{more} are"
    return [
        f"{result.table.file}: {which} faster than reading weights and caches at nameplate "
        "bandwidth allows; check units, the number of GPUs, and whether drafts or cached prompts took part; "
        "calibration leaves them out"
    ]


def misses_table(result: AnyValidation) -> Table:
    """Return the largest relative errors, each with the line it stands in.

    Parameters
    ----------
    result : ValidationResult or ServingValidation
        What was compared.

    Returns
    -------
    Table
        One row for each line: the headline quantity that is furthest off.
    """
    cells = {row.line: row.cells for row in result.table.rows}
    counted = headline_quantities(result)
    worst: list[tuple[int, str, Pair]] = []
    for made in result.predictions:
        pairs = {name: pair for name, pair in made.pairs.items() if name in counted}
        if pairs:
            name, pair = max(pairs.items(), key=lambda item: abs(item[1].relative_error))
            worst.append((_line(made), name, pair))
    worst.sort(key=lambda one: -abs(one[2].relative_error))
    rows = tuple(
        {
            "line": line,
            "model": cells[line].get("model", "").rpartition("/")[2],
            "gpu": cells[line].get("gpu"),
            "quantity": name,
            "measured": pair.measured,
            "predicted": pair.predicted,
            "error": pair.relative_error,
        }
        for line, name, pair in worst[:MOST_MISSES]
    )
    return Table(MISS_COLUMNS, rows, f"Largest misses, by line of {result.table.file}")


def _line(made: Prediction | ServingPrediction) -> int:
    return made.log.line if isinstance(made, Prediction) else made.line
