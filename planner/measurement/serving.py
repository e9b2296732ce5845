"""Serving measurements: one tidy CSV for each source family, and the points a "measured" answer cites."""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Iterable
from dataclasses import dataclass, fields
from functools import cache
from importlib import resources
from pathlib import Path
from typing import Any

from planner.errors import InvalidInput, UnknownName
from planner.measurement.csvtable import CsvTable, read_csv

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


def measurements_directory() -> Path:
    """Return the directory of the shipped measurements: the installed package's, else the checkout's."""
    packaged = Path(str(resources.files("planner"))) / "measurements"
    return packaged if packaged.is_dir() else Path(__file__).resolve().parents[2] / "measurements"


def serving_files() -> list[Path]:
    """Return the shipped files of serving points, by their header; start-up logs stand beside them."""

    def holds_points(file: Path) -> bool:
        with file.open(encoding="utf-8") as lines:
            return set(COLUMNS) <= set(next(lines, "").strip().split(","))

    return [found for found in sorted(measurements_directory().glob("*.csv")) if holds_points(found)]


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
    table = read_csv(path)
    _check_header(table)
    return [
        ServingPoint(
            **{name: _READERS[name](f"{table.file}:{row.line}", name, row.cells[name]) for name in COLUMNS}
        )
        for row in table.rows
    ]


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


def shipped_points(
    *, model: str, gpu: str, model_id: Callable[[str], str], gpu_id: Callable[[str], str]
) -> list[ServingPoint]:
    """Return the shipped points of one model on one accelerator.

    Parameters
    ----------
    model, gpu : str
        Catalogue ids.
    model_id, gpu_id : callable
        From a name as a measurement writes it to the catalogue id; may raise `UnknownName`.

    Returns
    -------
    list of ServingPoint
        In the order of the files' names.
    """
    models, gpus = cache(_quiet(model_id)), cache(_quiet(gpu_id))
    return [
        point
        for file in serving_files()
        if file.name != STARTUP_LOGS
        for point in load_serving(file)
        if models(point.model) == model and gpus(point.gpu) == gpu
    ]


def _quiet(resolve: Callable[[str], str]) -> Callable[[str], str | None]:
    def resolved(name: str) -> str | None:
        try:
            return resolve(name)
        except UnknownName:
            return None

    return resolved


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
