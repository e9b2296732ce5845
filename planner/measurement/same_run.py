"""Whether two rows of measurements are the same run, also where two formats print it to different digits."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping

Placed = tuple[str | int, Mapping[str, str]]
"""A row with its place."""

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
"""Relative difference of the lengths and loads of one run."""
RATES_ALIKE = 0.05
"""Relative difference of the rates of one run, whose duration two formats bound differently."""
BUCKET = 0.01
"""Step of latencies by which rows are sorted; above the tolerances of all that are 1 ms or more."""
ENOUGH = 3
"""Latencies that agree to their last digits: repeated runs of one set-up differ by 3 %."""

PLENTY = 6
"""Latencies that leave no doubt: where requests failed, formats take the rates over other spans."""


def same_run(one: Mapping[str, str], other: Mapping[str, str]) -> bool:
    """Return whether two rows of serving points are one run.

    Parameters
    ----------
    one, other : mapping of str to str
        Cells by column of the tidy schema; an empty cell agrees with anything.

    Returns
    -------
    bool
        True when the set-up agrees, and six latencies do to the last printed digit, or three of them and the
        rates within 5 %, or, with fewer latencies, all figures that both have.
    """
    if not all(_agree(one, other, name) for name in SETUP):
        return False
    if not all(_alike(one, other, name, ALIKE) for name in LOAD):
        return False
    latencies = [name for name in LATENCIES if one.get(name) and other.get(name)]
    rates = [name for name in RATES if one.get(name) and other.get(name)]
    if not all(_printed_alike(one, other, name) for name in latencies):
        return False
    if len(latencies) >= PLENTY:
        return True
    if len(latencies) >= ENOUGH:
        return all(_alike(one, other, name, RATES_ALIKE) for name in rates)
    return bool(latencies or rates) and all(_alike(one, other, name, EXACT) for name in rates)


class Shortlist:
    """Rows among which a run is looked for; a latency that two have in common tells most of them apart."""

    def __init__(self) -> None:
        self._by_pattern: dict[tuple[str, ...], list[Placed]] = {}
        self._by_latency: dict[tuple[tuple[str, ...], str, int], list[Placed]] = {}

    def add(self, row: Mapping[str, str], where: str | int) -> None:
        """Add a row with its place.

        Parameters
        ----------
        row : mapping of str to str
            Cells by column.
        where : str or int
            Its place.
        """
        pattern = _latencies(row)
        self._by_pattern.setdefault(pattern, []).append((where, row))
        for name in pattern:
            self._by_latency.setdefault((pattern, name, _bucket(row, name)), []).append((where, row))

    def near(self, row: Mapping[str, str]) -> Iterator[Placed]:
        """Yield every row that may be the same run as one.

        Parameters
        ----------
        row : mapping of str to str
            Cells by column.

        Yields
        ------
        tuple of str or int and mapping
            Place and cells.
        """
        mine = _latencies(row)
        for pattern, rows in self._by_pattern.items():
            common = next((name for name in mine if name in pattern), None)
            if common is None:
                yield from rows
                continue
            bucket = _bucket(row, common)
            for near in (bucket - 1, bucket, bucket + 1):
                yield from self._by_latency.get((pattern, common, near), ())


def _latencies(row: Mapping[str, str]) -> tuple[str, ...]:
    return tuple(name for name in LATENCIES if _number(row.get(name, "")) is not None)


def _bucket(row: Mapping[str, str], name: str) -> int:
    """Return which of steps of 1 % a latency falls into; what counts as alike is never two steps apart."""
    value = (_number(row[name]) or 0.0) * (1000 if name == "e2e_s_median" else 1)
    return math.floor(math.log(value) / math.log1p(BUCKET)) if 1 <= value < math.inf else -1


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
