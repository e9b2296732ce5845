"""Whether two rows of measurements are the same run, also where two formats print it to different digits."""

from __future__ import annotations

import math
from collections.abc import Mapping

LATENCIES = (
    "ttft_ms_median",
    "ttft_ms_p99",
    "ttft_ms_mean",
    "tpot_ms_median",
    "tpot_ms_p99",
    "tpot_ms_mean",
    "e2e_s_median",
)
RATES = ("output_tps_total", "output_tps_per_gpu", "total_tps_per_gpu")
SETUP = ("model", "gpu", "n_gpus", "tp", "pp", "ep", "dp", "weight_dtype", "kv_dtype", "engine", "disagg")
LOAD = ("isl", "osl", "concurrency", "request_rate")
REMARKS = ("id", "notes", "source", "source_url", "date")
"""What may differ between two reports of one measurement."""

ROUNDED = 0.0051
"""Half a unit of the second decimal, to which reports round [in the unit of the column]."""
EXACT = 2e-4
"""Relative difference of figures of one run that were rounded elsewhere."""
ALIKE = 0.01
"""Relative difference of the rates and lengths of one run, whose duration two formats bound differently."""
ENOUGH = 3
"""Latencies that agree to their last digits: repeated runs of one set-up differ by 3 %."""


def same_run(one: Mapping[str, str], other: Mapping[str, str]) -> bool:
    """Return whether two rows of serving points are one run.

    Parameters
    ----------
    one, other : mapping of str to str
        Cells by column of the tidy schema; an empty cell agrees with anything.

    Returns
    -------
    bool
        True when the set-up agrees, and either three latencies to the last printed digit and the rates within
        1 %, or, with fewer latencies, all figures that both have.
    """
    if not all(_agree(one, other, name) for name in SETUP):
        return False
    if not all(_alike(one, other, name, ALIKE) for name in LOAD):
        return False
    latencies = [name for name in LATENCIES if one.get(name) and other.get(name)]
    rates = [name for name in RATES if one.get(name) and other.get(name)]
    if not all(_printed_alike(one, other, name) for name in latencies):
        return False
    if len(latencies) >= ENOUGH:
        return all(_alike(one, other, name, ALIKE) for name in rates)
    return bool(latencies or rates) and all(_alike(one, other, name, EXACT) for name in rates)


def same_facts(one: Mapping[str, str], other: Mapping[str, str]) -> bool:
    """Return whether two rows say the same apart from their remarks.

    Parameters
    ----------
    one, other : mapping of str to str
        Cells by column; a column that is missing is an empty cell.

    Returns
    -------
    bool
    """
    columns = {*one, *other} - set(REMARKS)
    return all(one.get(name, "").casefold() == other.get(name, "").casefold() for name in columns)


def _agree(one: Mapping[str, str], other: Mapping[str, str], name: str) -> bool:
    a, b = one.get(name, ""), other.get(name, "")
    return not a or not b or a.casefold() == b.casefold()


def _alike(one: Mapping[str, str], other: Mapping[str, str], name: str, within: float) -> bool:
    a, b = _number(one.get(name, "")), _number(other.get(name, ""))
    return a is None or b is None or a == b or math.isclose(a, b, rel_tol=within)


def _printed_alike(one: Mapping[str, str], other: Mapping[str, str], name: str) -> bool:
    a, b = _number(one.get(name, "")), _number(other.get(name, ""))
    rounded = ROUNDED / 1000 if name == "e2e_s_median" else ROUNDED
    return a is None or b is None or math.isclose(a, b, rel_tol=EXACT, abs_tol=rounded)


def _number(text: str) -> float | None:
    try:
        return float(text) if text else None
    except ValueError:
        return None
