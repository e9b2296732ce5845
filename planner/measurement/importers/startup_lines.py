"""How start-up logs are read: one pattern for each figure, and what several ranks print taken together."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from planner.measurement.importers.runs import Start, as_number, one_line

Fold = Callable[[Any, Any], Any]
Outcome = tuple[re.Pattern[str], str]
LONGEST = 20_000
"""Characters of a line that are looked at; lines of settings are long, but not longer."""


def last(_: Any, new: Any) -> Any:
    """Keep what was printed last."""
    return new


def least(old: Any, new: Any) -> Any:
    """Keep the smallest: the rank with least room decides."""
    return new if old is None else min(old, new)


def most(old: Any, new: Any) -> Any:
    """Keep the largest: the fullest rank decides."""
    return new if old is None else max(old, new)


def least_of_main(old: Any, new: Any) -> Any:
    """Keep the smallest of those alike: a far smaller pool is a draft's, or one to try memory out."""
    if old is None or new > 2 * old:
        return new
    return old if 2 * new < old else min(old, new)


def total(old: Any, new: Any) -> Any:
    """Add up what each device prints."""
    return new if old is None else old + new


def count(old: Any, _: Any) -> Any:
    """Count the lines."""
    return 1 if old is None else old + 1


TEXTS = (
    "model",
    "gpu",
    "engine_version",
    "weight_quant",
    "kv_cache_dtype",
    "ep",
    "enforce_eager",
    "prefix_caching",
)
"""Columns of text, also where it looks like a number."""


def plain_part(expression: str) -> str:
    """Return the longest text that whatever matches an expression must contain; looking for it is fast.

    Parameters
    ----------
    expression : str
        A regular expression without alternatives outside of groups.

    Returns
    -------
    str
        Empty where there is none.
    """
    runs, depth, position = [""], 0, 0
    while position < len(expression):
        sign = expression[position]
        if sign == "[":
            position = expression.index("]", position + 2)
            sign = "."
        escaped = sign == "\\"
        if escaped:
            position += 1
            sign = expression[position]
        if not escaped and sign in "()":
            depth += 1 if sign == "(" else -1
            runs.append("")
        elif not escaped and sign in "?*+{":
            # What stands before may be missing or repeated.
            runs[-1:] = [runs[-1][:-1], ""]
            position = expression.index("}", position) if sign == "{" else position
        elif depth or (escaped and sign.isalpha()) or (not escaped and sign in ".^$|"):
            runs.append("")
        else:
            runs[-1] += sign
        position += 1
    return max(runs, key=len)


class Pattern:
    """A line's figure: an expression with one group, and how it is taken into one column.

    Parameters
    ----------
    expression : str
        Regular expression.
    factor : float
        From the unit of the line to that of the column.
    text : str
        How a text value is written, with `{}` for the group.
    **fold : callable
        The column, and what becomes of several values of it.
    """

    def __init__(self, expression: str, *, factor: float = 1.0, text: str = "{}", **fold: Fold) -> None:
        self.expression = re.compile(expression)
        self.needs = plain_part(expression)
        self.factor, self.text = factor, text
        ((self.column, self.fold),) = fold.items()

    def value(self, found: str) -> Any:
        """Return a group as what its column holds: a number where text says one, else text."""
        if self.column not in TEXTS:
            number = as_number(found)
            scaled = None if number is None else number * self.factor
            return (
                int(scaled)
                if scaled is not None and scaled == scaled // 1 and abs(scaled) < 2**53
                else scaled
            )
        return (
            None
            if found in ("None", "null")
            else self.text.format(re.sub(r"_K - ([SML])\w+$", r"_K_\1", one_line(found)))
        )


@dataclass(frozen=True, slots=True)
class EngineLog:
    """How the log of one engine is recognised and read.

    Parameters
    ----------
    name : str
        As the column `engine` has it.
    mark : pattern
        What only this engine prints.
    patterns : tuple of Pattern
    outcomes : tuple
        What ends a start-up and how it is called, the most telling first.
    up : pattern
        What only a start-up prints that found room.
    """

    name: str
    mark: re.Pattern[str]
    patterns: tuple[Pattern, ...]
    outcomes: tuple[Outcome, ...]
    up: re.Pattern[str]


MEASURED = (
    "weights_gib",
    "consumed_gib",
    "avail_kv_gib",
    "kv_tokens",
    "kv_blocks",
    "kv_size_gb",
    "kv_size_mib",
)


@dataclass(slots=True)
class _Seen:
    line: int = 0
    cells: dict[str, Any] = field(default_factory=dict)
    ended: set[str] = field(default_factory=set)
    up: bool = False


def read_startup(
    file: str, lines: Iterable[tuple[int, str]], engine: EngineLog, problems: list[str]
) -> list[Start]:
    """Return the start-up that a log tells of.

    Parameters
    ----------
    file : str
        Its name.
    lines : iterable of int and str
        The log, with line numbers.
    engine : EngineLog
        Whose log it is.
    problems : list of str
        Is told when no memory is printed.

    Returns
    -------
    list of Start
        One, or none where the log says nothing of memory and does not fail for want of it.
    """
    seen = _Seen()
    for number, whole in lines:
        line = whole[:LONGEST]
        for pattern in engine.patterns:
            if pattern.needs in line and (match := pattern.expression.search(line)):
                value = pattern.value(match[1])
                if value is not None:
                    seen.line = seen.line or number
                    _fold(seen.cells, pattern, value)
        for expression, name in engine.outcomes:
            if expression.search(line):
                seen.ended.add(name)
        seen.up = seen.up or bool(engine.up.search(line))
    failed = [name for _, name in engine.outcomes if name in seen.ended]
    outcome = failed[0] if failed else ("fits" if seen.up else None)
    cells = _completed(engine, seen.cells, outcome)
    if not any(cells.get(name) is not None for name in MEASURED) and outcome in (None, "fits"):
        problems.append(f"{file}: a log of {engine.name} that prints nothing of memory")
        return []
    return [Start(f"{file}:{seen.line or 1}", cells)]


def _fold(cells: dict[str, Any], pattern: Pattern, value: Any) -> None:
    old = cells.get(pattern.column)
    if old is not None and isinstance(old, str) != isinstance(value, str):
        old = None
    cells[pattern.column] = pattern.fold(old, value)


def _completed(engine: EngineLog, cells: Mapping[str, Any], outcome: str | None) -> dict[str, Any]:
    """Add what follows from the log: the whole KV size of its halves, and the outcome."""
    whole = dict(cells)
    keys, values = whole.get("k_size_gb"), whole.get("v_size_gb")
    if whole.get("kv_size_gb") is None and isinstance(keys, int | float) and isinstance(values, int | float):
        whole["kv_size_gb"] = keys + values
    if whole.get("ep") in ("True", "False"):
        whole["ep"] = "on" if whole["ep"] == "True" else "off"
    return {"engine": engine.name, **whole, "outcome": outcome}
