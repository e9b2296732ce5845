"""What the notes of a measured point say of its pools, and GPUs that a source counted wrongly by them."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from planner.units import whole_number

_POOL = re.compile(
    r"\b(prefill|decode) (\w+)x\(tp(?P<tp>[1-9]\d{0,4}),(?:adp(?P<adp>[1-9]\d{0,4}),)?ep(?P<ep>\d{1,5})"
    r"(?:,dpa=(?P<dpa>\w+))?\)"
)
"""Such as `prefill 2x(tp4,ep4,dpa=True)` or `decode 4x(tp8,adp1,ep8)`; "None" for an unknown count."""


@dataclass(frozen=True, slots=True)
class Workers:
    """The workers of one pool.

    Parameters
    ----------
    count : int or None
        How many there are; None when not known.
    ranks, ep : int
        GPUs of one, and among how many of them experts are divided.
    split : bool
        Whether each rank holds an attention copy of its own.
    """

    count: int | None
    ranks: int
    ep: int
    split: bool


def workers_of(notes: str | None) -> dict[str, Workers]:
    """Return the workers of each pool that notes describe, by ``prefill`` and ``decode``."""
    return {found[1]: _workers(found) for found in _POOL.finditer(notes or "")}


def _workers(found: re.Match[str]) -> Workers:
    copies = int(found["adp"] or 1)
    split = copies > 1 or (found["dpa"] or "").lower() in ("true", "1")
    return Workers(whole_number(found[2]), int(found["tp"]) * copies, max(int(found["ep"]), 1), split)


def counted_once(values: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return a row with the GPUs of its pools counted once, where its source multiplied TP and EP.

    Experts are divided among the ranks of TP: one worker of TP4 and EP4 has 4 GPUs, and a row that says 16
    would yield more tokens than its requests can.

    Parameters
    ----------
    values : mapping of str to object
        Columns of a serving point.

    Returns
    -------
    mapping of str to object
        The row as it is, or one with other GPUs and `output_tps_total`, and no `n_nodes`.
    """
    sizes = {
        f"{role}_gpus": workers.count * max(workers.ranks, workers.ep)
        for role, workers in workers_of(values["notes"]).items()
        if workers.count
        and min(workers.ranks, workers.ep) > 1
        and values[f"{role}_gpus"] == workers.count * workers.ranks * workers.ep
    }
    if not sizes:
        return values
    row = {**values, **sizes}
    if row["n_gpus"] and row["prefill_gpus"] and row["decode_gpus"]:
        row["n_gpus"], row["n_nodes"] = row["prefill_gpus"] + row["decode_gpus"], None
        if row["output_tps_per_gpu"]:  # what a source made a total of; a total alone was measured
            row["output_tps_total"] = row["output_tps_per_gpu"] * row["n_gpus"]
    return row
