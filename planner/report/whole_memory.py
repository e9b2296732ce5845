"""The memory of all GPUs of a deployment together, against what one node has."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from planner.report.sentences import gpu_label
from planner.report.table import GIB, Column, Table
from planner.report.tables import memory_parts

if TYPE_CHECKING:
    from planner.report.fit import FitAnswer


def _gib(value: float) -> str:
    return f"{value:,.1f}"


WHOLE_COLUMNS = (
    Column("gpu", "GPU", show=gpu_label),
    Column("gpus", "GPUs", right=True),
    Column("part", "part"),
    Column("gib", "GiB of all\nGPUs", right=True, show=_gib),
    Column("node_gib", "one node\nhas GiB", right=True, show=_gib),
    Column("nodes", "nodes", right=True),
)


def whole_parts(answer: FitAnswer) -> dict[str, float]:
    """Return the memory of all GPUs of a deployment by part [bytes].

    Parameters
    ----------
    answer : FitAnswer
        The answer.

    Returns
    -------
    dict
        Of each pipeline stage its fullest GPU stands for all of that stage.
    """
    memory = answer.memory
    each = answer.gpus / len(memory.stages)
    sums: dict[str, float] = {}
    for stage in memory.stages:
        for name, size, _ in memory_parts(replace(memory, per_rank=stage)):
            sums[name] = sums.get(name, 0.0) + each * size
    return sums


def node_bytes(answer: FitAnswer) -> float:
    """Return what processes can get of all GPUs of one node [bytes]."""
    return answer.node_gpus * answer.memory.per_rank.usable_bytes


def whole_table(answers: Sequence[FitAnswer]) -> Table:
    """Return the memory of all GPUs by part, beside what one node has.

    Parameters
    ----------
    answers : sequence of FitAnswer
        The answers.

    Returns
    -------
    Table
    """
    rows: list[dict[str, Any]] = [
        {
            "gpu": answer.gpu,
            "gpus": answer.gpus,
            "part": part,
            "gib": size / GIB,
            "node_gib": node_bytes(answer) / GIB,
            "nodes": answer.nodes,
        }
        for answer in answers
        for part, size in whole_parts(answer).items()
    ]
    return Table(WHOLE_COLUMNS, tuple(rows), "Memory of all GPUs together, by part")
