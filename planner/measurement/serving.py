"""Serving measurements: one tidy CSV for each source family, and the points a "measured" answer cites."""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Iterable
from dataclasses import dataclass, fields
from importlib import resources
from pathlib import Path
from typing import Any

from planner.errors import InvalidInput
from planner.measurement.csvtable import CsvRow, CsvTable, read_csv

STARTUP_LOGS = "startup_logs.csv"
"""Lies beside the serving points and has columns of its own."""
_PARTIAL_NOTES = ("PREFILL", "DECODE")
"""Notes that begin so mark a row of one phase only; such rates are no serving rates."""


@dataclass(frozen=True, slots=True)
class ServingPoint:
    """One measured operating point: the columns of the tidy schema, None where nothing was published.

    Rates are divided by all GPUs of the deployment. Lengths are in tokens, rates in tokens or requests per
    second, `*_ms` in milliseconds and `*_s` in seconds.
    """

    source: str
    source_url: str | None
    date: str | None
    model: str
    gpu: str
    vendor: str | None
    n_gpus: int | None
    n_nodes: int | None
    tp: int | None
    pp: int | None
    ep: int | None
    dp: int | None
    disagg: bool | None
    prefill_gpus: int | None
    decode_gpus: int | None
    weight_dtype: str | None
    kv_dtype: str | None
    engine: str | None
    engine_version: str | None
    isl: float | None
    osl: float | None
    concurrency: float | None
    request_rate: float | None
    spec_decode: str | None
    prefix_hit: float | None
    output_tps_total: float | None
    output_tps_per_gpu: float | None
    total_tps_per_gpu: float | None
    tps_per_user: float | None
    ttft_ms_median: float | None
    ttft_ms_p99: float | None
    tpot_ms_median: float | None
    tpot_ms_p99: float | None
    e2e_s_median: float | None
    notes: str | None
    ttft_ms_mean: float | None
    tpot_ms_mean: float | None

    @property
    def whole_service(self) -> bool:
        """Return whether the rates are those of a whole service, not of its prefill or decode part alone."""
        return not (self.notes or "").startswith(_PARTIAL_NOTES)


COLUMNS = tuple(field.name for field in fields(ServingPoint))


@dataclass(frozen=True, slots=True)
class MeasuredRates:
    """The best measured output rates of one model on one accelerator.

    Parameters
    ----------
    peak : ServingPoint or None
        The point with the highest output rate per GPU.
    single_stream : ServingPoint or None
        The point with the highest rate for one request alone, without a draft model.
    """

    peak: ServingPoint | None
    single_stream: ServingPoint | None


def serving_directory() -> Path:
    """Return the directory of the shipped serving points: the installed package's, else the checkout's."""
    packaged = Path(str(resources.files("planner"))) / "measurements"
    root = packaged if packaged.is_dir() else Path(__file__).resolve().parents[2] / "measurements"
    return root / "serving"


def load_serving(path: str | os.PathLike[str]) -> list[ServingPoint]:
    """Read a tidy CSV of serving points.

    Parameters
    ----------
    path : path
        A CSV file in UTF-8 with the columns of `ServingPoint`; the order does not matter.

    Returns
    -------
    list of ServingPoint
        One for each row, in the file's order.

    Raises
    ------
    InvalidInput
        With file and line: not UTF-8, missing or unknown columns, a row of another length, or a value that
        is not what its column holds.
    """
    table = _serving_table(path)
    return [_point(table, row) for row in table.rows]


def _serving_table(path: str | os.PathLike[str]) -> CsvTable:
    table = read_csv(path)
    _check_header(table)
    return table


def _point(table: CsvTable, row: CsvRow) -> ServingPoint:
    where = f"{table.file}:{row.line}"
    return ServingPoint(**{name: _READERS[name](where, name, row.cells[name]) for name in COLUMNS})


def measured_rates(points: Iterable[ServingPoint]) -> MeasuredRates:
    """Return the best output rates among some points.

    Parameters
    ----------
    points : iterable of ServingPoint
        Points of one model on one accelerator.

    Returns
    -------
    MeasuredRates
        Points without an output rate, or of one phase only, are passed over.
    """
    whole = [point for point in points if point.whole_service]
    rated = [point for point in whole if point.output_tps_total and point.n_gpus]
    alone = [point for point in rated if point.concurrency == 1 and point.spec_decode in (None, "none")]
    return MeasuredRates(
        peak=max(rated, key=_rate_per_gpu, default=None),
        single_stream=max(alone, key=lambda point: point.tps_per_user or 0.0, default=None),
    )


def shipped_points(*, model_names: Iterable[str], gpu_names: Iterable[str]) -> list[ServingPoint]:
    """Return the shipped points of one model on one accelerator.

    Parameters
    ----------
    model_names, gpu_names : iterable of str
        Every name of each, in any case.

    Returns
    -------
    list of ServingPoint
        In the order of the files' names. A file that does not name the model is not parsed.
    """
    models = {name.casefold() for name in model_names}
    gpus = {name.casefold() for name in gpu_names}
    found = []
    for file in sorted(serving_directory().glob("*.csv")):
        text = file.read_text(encoding="utf-8").casefold()
        if any(name in text for name in models):
            table = _serving_table(file)
            found += [
                _point(table, row)
                for row in table.rows
                if row.cells["model"].casefold() in models and row.cells["gpu"].casefold() in gpus
            ]
    return found


def _rate_per_gpu(point: ServingPoint) -> float:
    return (point.output_tps_total or 0.0) / (point.n_gpus or 1)


def _check_header(table: CsvTable) -> None:
    missing = [name for name in COLUMNS if name not in table.columns]
    unknown = [name for name in table.columns if name not in COLUMNS]
    if missing:
        raise InvalidInput(f"{table.file}:1: columns are missing: {', '.join(missing)}")
    if unknown:
        raise InvalidInput(
            f"{table.file}:1: unknown columns: {', '.join(unknown)}; there are {', '.join(COLUMNS)}"
        )


def _text(where: str, name: str, value: str) -> str | None:
    return value or None


def _required(where: str, name: str, value: str) -> str:
    if not value:
        raise InvalidInput(f"{where}: {name} is empty")
    return value


def _number(where: str, name: str, value: str) -> float | None:
    if not value:
        return None
    try:
        number = float(value)
    except ValueError:
        raise InvalidInput(f"{where}: {name} is {value[:40]!r}, not a number") from None
    unbounded = name == "request_rate" and value == "inf"
    if number < 0 or not (math.isfinite(number) or unbounded):
        raise InvalidInput(f"{where}: {name} is {value[:40]!r}; a finite number of 0 or more is needed")
    return number


def _count(where: str, name: str, value: str) -> int | None:
    number = _number(where, name, value)
    if number is not None and (number != int(number)):
        raise InvalidInput(f"{where}: {name} is {value[:40]!r}; a whole number of 0 or more is needed")
    return None if number is None else int(number)


def _flag(where: str, name: str, value: str) -> bool | None:
    if value.lower() not in ("", "true", "false"):
        raise InvalidInput(f"{where}: {name} is {value[:40]!r}; true or false is needed")
    return value.lower() == "true" if value else None


_BY_TYPE: dict[str, Callable[[str, str, str], Any]] = {
    "str": _required,
    "str | None": _text,
    "int | None": _count,
    "float | None": _number,
    "bool | None": _flag,
}
_READERS = {field.name: _BY_TYPE[str(field.type)] for field in fields(ServingPoint)}
