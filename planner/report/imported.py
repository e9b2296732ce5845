"""What an import read, kept and could not read, as an answer."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from planner.measurement.importers.importing import Imported, ImportedFile
from planner.measurement.importers.tidy import OPTIONS, Row
from planner.measurement.serving_points import COLUMNS, ServingPoint
from planner.measurement.startup_logs import StartupLog
from planner.report.table import Column, Table, frame_of, records_to_csv

if TYPE_CHECKING:
    import pandas

SCHEMA = "planner.import/1"

_NUMBERS = {
    name
    for record in (ServingPoint, StartupLog)
    for name, field in record.__dataclass_fields__.items()
    if str(field.type).startswith(("int", "float"))
}

FILES = (
    Column("file", "file", flexible=True),
    Column("format", "format", flexible=True),
    Column("rows", "rows", right=True),
    Column("repeated", "known", right=True),
    Column("incomplete", "incomplete", right=True),
    Column("problems", "complaints", right=True),
)
ROWS = (
    Column("where", "row", flexible=True),
    Column("model", "model", flexible=True),
    Column("gpu", "GPU", flexible=True),
    Column("n_gpus", "GPUs", right=True),
    Column("load", "load", right=True),
    Column("lengths", "in / out\n[tokens]", right=True),
    Column("output_tps_per_gpu", "output\n[tok/s/GPU]", right=True),
    Column("ttft_ms", "TTFT\n[ms]", right=True),
    Column("tpot_ms", "TPOT\n[ms]", right=True),
    Column("missing", "missing", flexible=True),
)
LOGS = (
    Column("where", "row", flexible=True),
    Column("engine", "engine"),
    Column("model", "model", flexible=True),
    Column("gpu", "GPU", flexible=True),
    Column("weights_gib", "weights\n[GiB]", right=True),
    Column("kv", "KV pool\n[GiB]", right=True),
    Column("kv_tokens", "KV\n[tokens]", right=True),
    Column("outcome", "outcome"),
    Column("missing", "missing", flexible=True),
)


@dataclass(frozen=True, slots=True)
class ImportReport:
    """What became of the files of one import.

    Parameters
    ----------
    imported : Imported
        What was read and kept.
    """

    imported: Imported

    @property
    def complete(self) -> bool:
        """Return whether every file gave rows and no row lacks what it needs."""
        return self.imported.complete

    @property
    def sentence(self) -> str:
        """Return the answer in words."""
        done = self.imported
        found = sum(file.rows for file in done.files)
        gave = sum(bool(file.rows) for file in done.files)
        again = sum(len(file.repeated) for file in done.files)
        known = f", {_counted(again, 'row')} known already" if again else ""
        read = f"{_counted(found, 'row')} of {gave} of {_counted(len(done.files), 'file')}{known}"
        if done.dry_run:
            return f"{read}; nothing was written, {done.added} would be new in {done.folder}"
        return f"{read}; {done.added} new in {done.folder}"

    @property
    def problems(self) -> tuple[str, ...]:
        """Return one line for each thing that could not be read or kept."""
        return tuple(line for file in self.imported.files for line in file.problems)

    @property
    def warnings(self) -> tuple[str, ...]:
        """Return what to know of the rows."""
        return tuple(line for file in self.imported.files for line in (*file.warnings, *file.repeated))

    def files_table(self) -> Table:
        """Return one line for each file."""
        rows = [
            {
                "file": _place(file.file),
                "format": file.format or "not known",
                "rows": file.rows,
                "repeated": len(file.repeated) or None,
                "incomplete": len(file.incomplete) or None,
                "problems": len(file.problems) or None,
            }
            for file in self.imported.files
        ]
        return Table(FILES, tuple(rows), "Files")

    def rows_table(self) -> Table:
        """Return the serving points, complete or not."""
        return Table(ROWS, tuple(_shown(row) for row in self._rows("serving")), "Serving points")

    def logs_table(self) -> Table:
        """Return the start-ups, complete or not."""
        return Table(LOGS, tuple(_shown_log(row) for row in self._rows("startup")), "Start-ups")

    def to_dict(self) -> dict[str, Any]:
        """Return one JSON-ready object."""
        done = self.imported
        return {
            "schema": SCHEMA,
            "dry_run": done.dry_run,
            "folder": str(done.folder),
            "written": [str(path) for path in done.written],
            "added": done.added,
            "complete": done.complete,
            "files": [_file_record(file) for file in done.files],
            "serving": [_record(row) for row in self._rows("serving")],
            "startup_logs": [_record(row) for row in self._rows("startup")],
        }

    def to_records(self) -> list[dict[str, Any]]:
        """Return the serving points as plain dictionaries, with the columns of the tidy schema."""
        return [_typed(row.cells) for row in self._rows("serving")]

    def to_csv(self) -> str:
        """Return the serving points as a tidy CSV."""
        return records_to_csv([row.cells for row in self._rows("serving")], COLUMNS)

    def to_frame(self) -> pandas.DataFrame:
        """Return the serving points as a pandas frame."""
        return frame_of(self.to_records())

    def _rows(self, kind: str) -> list[Row]:
        """Return rows of a kind, the incomplete ones after the others of their file."""
        mark = {"serving": "output_tps_total", "startup": "outcome"}[kind]
        return [
            row
            for file in self.imported.files
            for row in (*getattr(file, kind), *(r for r in file.incomplete if mark in r.cells))
        ]

    def _repr_html_(self) -> str:
        import html

        tables = [table for table in (self.rows_table(), self.logs_table()) if table.rows]
        listed = "".join(f"<li>{html.escape(line)}</li>" for line in (*self.problems, *self.warnings))
        notes = f"<ul>{listed}</ul>" if listed else ""
        drawn = "".join(table.to_html() for table in (self.files_table(), *tables))
        return f"<p>{html.escape(self.sentence)}</p>{drawn}{notes}"


def _file_record(file: ImportedFile) -> dict[str, Any]:
    return {
        "file": file.file,
        "format": file.format,
        "serving_rows": len(file.serving),
        "startup_rows": len(file.startup),
        "incomplete_rows": len(file.incomplete),
        "repeated": file.repeated,
        "problems": file.problems,
        "warnings": file.warnings,
    }


def _record(row: Row) -> dict[str, Any]:
    return {"where": row.where, "missing": list(row.missing), "doubts": list(row.doubts), **_typed(row.cells)}


def _typed(cells: Mapping[str, str]) -> dict[str, Any]:
    """Return cells as numbers where their column holds numbers, None where empty; infinity stays text."""
    return {name: _value(name, text) for name, text in cells.items()}


def _value(name: str, text: str) -> Any:
    if not text:
        return None
    if name == "disagg":
        return text == "true"
    if name not in _NUMBERS:
        return text
    number = float(text)
    if not math.isfinite(number):
        return text
    return int(number) if number == int(number) and "." not in text else number


def _shown(row: Row) -> dict[str, Any]:
    cells = row.cells
    load = f"{_short(cells['concurrency'])} at once" if cells["concurrency"] else ""
    if cells["request_rate"] not in ("", "inf"):
        load = f"{_short(cells['request_rate'])} req/s"
    elif not load and "offline" in cells["notes"].lower():
        load = "offline"
    return {
        **{name: cells[name] for name in ("model", "gpu", "n_gpus")},
        "where": _place(row.where),
        "load": load,
        "lengths": f"{_short(cells['isl']) or '?'} / {_short(cells['osl']) or '?'}",
        "output_tps_per_gpu": _short(cells["output_tps_per_gpu"]),
        "ttft_ms": _short(cells["ttft_ms_median"] or cells["ttft_ms_mean"]),
        "tpot_ms": _short(cells["tpot_ms_median"] or cells["tpot_ms_mean"]),
        "missing": _listed(row.missing),
    }


def _shown_log(row: Row) -> dict[str, Any]:
    cells = row.cells
    mib = cells["kv_size_mib"]
    pool = cells["avail_kv_gib"] or cells["kv_size_gb"] or (str(float(mib) / 1024) if mib else "")
    return {
        **{name: cells[name] for name in ("engine", "model", "gpu", "kv_tokens", "outcome")},
        "where": _place(row.where),
        "weights_gib": _short(cells["weights_gib"] or cells["consumed_gib"]),
        "kv": _short(pool),
        "missing": _listed(row.missing),
    }


def _place(where: str) -> str:
    """Return a place without the folders of its file."""
    return where.replace("\\", "/").rsplit("/", 1)[-1]


def _short(text: str) -> str:
    return f"{float(text):.4g}" if text else ""


def _listed(names: Sequence[str]) -> str:
    return ", ".join(OPTIONS[name] for name in names)


def _counted(number: int, what: str) -> str:
    return f"{number:,} {what}{'' if number == 1 else 's'}"
