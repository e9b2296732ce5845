"""Micro-benchmarks as a table: the time of each operation and its share of what the device could do."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from planner.report.table import Column, Table
from planner.units import format_significant

_SHAPE = (
    "m",
    "n",
    "k",
    "batch",
    "context",
    "heads",
    "kv_heads",
    "head_dim",
    "tokens",
    "hidden",
    "inter",
    "topk",
)
_MORE = ("experts", "gpus", "bytes")


def kernels_table(rows: Sequence[Mapping[str, Any]]) -> Table:
    """Return the rows of a benchmark as a table.

    Parameters
    ----------
    rows : sequence of mapping
        In the columns of the kernel table.

    Returns
    -------
    Table
        With every column of the rows in CSV and JSON.
    """
    shown = tuple({**row, "size": size_of(row)} for row in rows)
    heads = (
        Column("op", "operation"),
        Column("dtype", "dtype"),
        Column("size", "size", flexible=True),
        Column("latency_us", "us", right=True, show=lambda value: format_significant(float(value), 4)),
        Column("achieved_fraction", "of the\nlimit", right=True, show=lambda value: f"{100 * value:.0f}%"),
    )
    named = {column.key for column in heads}
    more = tuple(dict.fromkeys(key for row in rows for key in row if key not in named))
    return Table(heads, shown, more_keys=more)


def size_of(row: Mapping[str, Any]) -> str:
    """Return the sizes of an operation in one phrase, such as ``m 64, n 4096, k 4096``."""
    return ", ".join(f"{name} {row[name]:,}" for name in (*_SHAPE, *_MORE) if isinstance(row.get(name), int))
