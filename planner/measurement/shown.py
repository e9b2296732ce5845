"""Validations in a notebook: rows as a frame, errors as a table."""

from __future__ import annotations

import html
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from planner.distribution import installing
from planner.errors import Unsupported

if TYPE_CHECKING:
    import pandas

FIGURES = ("n", "median_ape", "mean_ape", "bias", "within_20pct", "accuracy")
"""What is shown of a score, where it has it."""


def rows_frame(rows: Iterable[Sequence[str]]) -> pandas.DataFrame:
    """Return rows of text as a pandas frame, columns of numbers as numbers.

    Parameters
    ----------
    rows : iterable of sequence of str
        The header first; empty cells are missing.

    Returns
    -------
    pandas.DataFrame

    Raises
    ------
    Unsupported
        Where pandas is not installed.
    """
    try:
        import pandas
    except ImportError:
        raise Unsupported(
            f"to_frame needs pandas, which is not installed: {installing('notebook')}"
        ) from None
    header, *body = rows
    frame = pandas.DataFrame(body, columns=list(header)).replace("", None)
    for name in frame.columns:
        try:
            frame[name] = pandas.to_numeric(frame[name])
        except (TypeError, ValueError):
            continue  # a column of text
    return frame


def scores_html(title: str, scores: Mapping[str, Mapping[str, Any]]) -> str:
    """Return the errors of each quantity as HTML, every text escaped.

    Parameters
    ----------
    title : str
        What was compared.
    scores : mapping of str to mapping
        Figures by quantity, as `Score.to_dict` gives them.

    Returns
    -------
    str
    """
    shown = [name for name in FIGURES if any(name in score for score in scores.values())]
    heads = "".join(f"<th>{name.replace('_', ' ')}</th>" for name in ("quantity", *shown))
    rows = ([html.escape(name), *(_cell(score.get(key)) for key in shown)] for name, score in scores.items())
    body = "".join(f"<tr>{''.join(f'<td>{cell}</td>' for cell in row)}</tr>" for row in rows)
    caption = f"<caption>{html.escape(title)}</caption>"
    return f"<table>{caption}<thead><tr>{heads}</tr></thead><tbody>{body}</tbody></table>"


def _cell(value: Any) -> str:
    if isinstance(value, float):
        return f"{value:.1%}"
    return "" if value is None else html.escape(str(value))
