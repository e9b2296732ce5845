"""From a run or a start-up, and what the user states of it, to a row of the tidy schema."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from planner.measurement.csvtable import CsvRow, CsvTable
from planner.measurement.importers.checks import doubts
from planner.measurement.importers.runs import Run, Start
from planner.measurement.importers.settings import COLUMNS as KEYS
from planner.measurement.importers.settings import NAMES, Said
from planner.measurement.serving_points import COLUMNS, UnreadablePoint, parse_points
from planner.measurement.startup_logs import UnreadableLog, parse_log
from planner.measurement.user_folder import STARTUP_COLUMNS, cell
from planner.units import whole_number

NEEDED = ("model", "gpu", "n_gpus")
"""Without these a serving point says nothing of anything."""
WANTED = ("engine", "isl", "osl", "concurrency", "weight_dtype", "tp")
"""Without these it is predicted badly or not at all."""
OPTIONS = {column: f"--{key.replace('_', '-')}" for key, column in KEYS.items()}
START_NAMES = {"weight_dtype": "weight_quant", "kv_dtype": "kv_cache_dtype", "n_nodes": "nodes"}
"""Columns of start-up logs that are called otherwise than those of serving points."""


@dataclass(slots=True)
class Row:
    """A row to be kept, and what is to be said of it.

    Parameters
    ----------
    where : str
        Its place in the file.
    cells : dict of str to str
    missing : tuple of str
        Columns without which it cannot be kept.
    wanted : tuple of str
        Columns without which it cannot be predicted well.
    doubts : tuple of str
        What does not agree in it.
    contradictions : tuple of str
        Columns where the file says otherwise than the user.
    unreadable : str or None
        Why it can be no row at all.
    """

    where: str
    cells: dict[str, str]
    missing: tuple[str, ...] = ()
    wanted: tuple[str, ...] = ()
    doubts: tuple[str, ...] = ()
    contradictions: tuple[str, ...] = field(default=())
    unreadable: str | None = None


def serving_row(run: Run, said: Said, *, tool: str, vendor: str | None = None) -> Row:
    """Return the row of a serving run.

    Parameters
    ----------
    run : Run
        The run as its file states it.
    said : mapping of str to str
        What the user states.
    tool : str
        What wrote the file, for the column `source`.
    vendor : str, optional
        Of the accelerator.

    Returns
    -------
    Row
    """
    cells = {
        **{name: cell(value) for name, value in run.facts.items()},
        "isl": cell(run.isl),
        "osl": cell(run.osl),
        "concurrency": cell(run.concurrency),
        "request_rate": cell(run.request_rate),
    }
    cells, contradictions = _joined(cells, said)
    if not cells.get("tp") and cells.get("n_gpus") == "1":
        cells["tp"] = cells["pp"] = "1"
    gpus = _whole(cells.get("n_gpus"))
    output, output_each = _both(run.output_tps, run.output_tps_per_gpu, gpus)
    _, total_each = _both(run.total_tps, run.total_tps_per_gpu, gpus)
    one_phase = run.notes[:1] in (("PREFILL only",), ("DECODE only",))
    rate = _user_rate(run)
    found = [*run.doubts, *doubts(run, output_tps=output, tps_per_user=rate, one_phase=one_phase)]
    notes = [*run.notes, *([f"{run.requests} requests"] if run.requests else []), said.get("notes", "")]
    cells |= {
        "vendor": vendor or "",
        "source": cells.get("source") or f"own ({tool})",
        "source_url": cells.get("source_url") or run.where,
        "output_tps_total": cell(output),
        "output_tps_per_gpu": cell(output_each),
        "total_tps_per_gpu": cell(total_each),
        "tps_per_user": cell(rate),
        "ttft_ms_median": cell(run.ttft.median),
        "ttft_ms_p99": cell(run.ttft.p99),
        "ttft_ms_mean": cell(run.ttft.mean),
        "tpot_ms_median": cell(run.tpot.median),
        "tpot_ms_p99": cell(run.tpot.p99),
        "tpot_ms_mean": cell(run.tpot.mean),
        "e2e_s_median": cell(None if run.e2e.median is None else run.e2e.median / 1000),
        "notes": "; ".join(filter(None, [*notes, *(f"check: {doubt}" for doubt in found)])),
    }
    whole = {name: cells.get(name, "") for name in COLUMNS}
    return Row(
        run.where,
        whole,
        missing=tuple(name for name in NEEDED if not whole[name]),
        wanted=tuple(name for name in WANTED if not whole[name] and not _states_load(name, whole)),
        doubts=tuple(found),
        contradictions=contradictions,
        unreadable=_refused_point(run.where, whole),
    )


def startup_row(start: Start, said: Said) -> Row:
    """Return the row of a start-up.

    Parameters
    ----------
    start : Start
        The start-up as its log prints it.
    said : mapping of str to str
        What the user states.

    Returns
    -------
    Row
    """
    renamed = {START_NAMES.get(name, name): value for name, value in said.items()}
    renamed.pop("engine", None)  # The log knows whose it is.
    kept = {name: value for name, value in renamed.items() if name in STARTUP_COLUMNS}
    cells, contradictions = _joined({name: cell(value) for name, value in start.cells.items()}, kept)
    cells["notes"] = said.get("notes", "")
    cells["source"] = cells.get("source") or f"own ({start.where})"
    whole = {name: cells.get(name, "") for name in STARTUP_COLUMNS}
    sized = whole["tp"] or whole["n_gpus"]
    missing = [name for name in ("model", "gpu") if not whole[name]]
    found = parse_log(CsvRow(1, whole))
    return Row(
        start.where,
        whole,
        missing=(*missing, *([] if sized else ["tp"])),
        contradictions=contradictions,
        unreadable=f"{start.where}: {found.what}" if isinstance(found, UnreadableLog) else None,
    )


def _joined(cells: Mapping[str, str], said: Said) -> tuple[dict[str, str], tuple[str, ...]]:
    """Return the file's word and the user's together, and where they differ."""
    joined = dict(cells)
    differing = []
    for name, value in said.items():
        if name == "notes":
            continue
        if not joined.get(name) or name in NAMES or name in START_NAMES.values():
            joined[name] = value
        elif not _equal(joined[name], value):
            differing.append(name)
    return joined, tuple(differing)


def _equal(one: str, other: str) -> bool:
    try:
        return float(one) == float(other)
    except ValueError:
        return one.casefold() == other.casefold()


def _whole(text: str | None) -> int | None:
    """Return a number of GPUs, or None where it is none."""
    number = whole_number(text or "")
    return number if number and number < 1_000_000_000 else None


def _both(total: float | None, each: float | None, gpus: int | None) -> tuple[float | None, float | None]:
    """Return a rate of the whole and by GPU, from either."""
    if gpus is None:
        return total, each
    if total is not None:
        return total, total / gpus
    return (None, None) if each is None else (each * gpus, each)


def _user_rate(run: Run) -> float | None:
    """Return 1 / TPOT [tok/s], of the median where there is one."""
    tpot = run.tpot.median if run.tpot.median is not None else run.tpot.mean
    return 1000 / tpot if tpot else None


def _states_load(name: str, cells: Mapping[str, str]) -> bool:
    """Return whether a run without a concurrency states its load otherwise."""
    rate = cells["request_rate"]
    offline = "offline" in cells["notes"].lower()
    return name == "concurrency" and (offline or (rate not in ("", "inf")))


def _refused_point(where: str, cells: Mapping[str, Any]) -> str | None:
    """Return why a row could not be read back; what is only missing is asked for elsewhere."""
    filled = {**cells, **{name: cells[name] or "-" for name in ("model", "gpu")}}
    table = CsvTable(where, COLUMNS, ())
    (point,) = parse_points(table, [CsvRow(1, filled)])
    return f"{where}: {point.what}" if isinstance(point, UnreadablePoint) else None
