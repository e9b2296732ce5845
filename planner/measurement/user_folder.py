"""The user's own measurements: which folder they lie in, and adding rows to it without losing any.

The folder mirrors the shipped `measurements/`: a subfolder for each kind, a CSV for each hook that wrote it.
"""

from __future__ import annotations

import os
import re
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, Literal

from planner.errors import InvalidInput
from planner.measurement.csvtable import read_csv
from planner.measurement.same_run import Shortlist, same_facts, same_run
from planner.measurement.serving_points import COLUMNS

Kind = Literal["serving", "startup_logs", "kernels"]
Row = Mapping[str, Any]

ENVIRONMENT = "PLANNER_MEASUREMENTS"
LOCK = ".lock"
LOCK_S = 60.0
"""How long one process waits for another to add its rows [s]."""

LONGEST_PART = 100
_UNUSUAL = re.compile(r"[^A-Za-z0-9._-]+")

_STARTUP = (
    "id,engine,engine_version,date,model,attention,weight_quant,kv_cache_dtype,gpu,gpu_mem,total_gpu_gib,n_gpus,"
    "nodes,tp,pp,dp,ep,dcp,max_model_len,mem_fraction,enforce_eager,spec_decode,prefix_caching,block_size,"
    "max_num_seqs,max_num_batched_tokens,weights_gib,consumed_gib,activation_gib,non_torch_gib,cudagraph_est_gib,"
    "cudagraph_gib,free_before_kv_gib,avail_kv_gib,kv_blocks,kv_tokens,kv_swa_tokens,max_concurrency,"
    "needed_kv_gib,est_max_len,k_size_gb,v_size_gb,kv_size_gb,kv_size_mib,kv_swa_size_mib,recurrent_mib,"
    "total_used_mib,mamba_slots,mamba_gb,sgl_avail_after_load_gb,sgl_avail_after_pool_gb,outcome,notes,source"
)
STARTUP_COLUMNS = tuple(_STARTUP.split(","))
"""The columns of `measurements/startup_logs.csv`."""

_KERNELS = (
    "system,op,framework,version,kernel,dtype,m,n,k,batch,context,heads,kv_heads,head_dim,tokens,hidden,inter,topk,"
    "experts,moe_tp,moe_ep,routing,gpus,bytes,latency_us,flops_fraction,membw_fraction,link_fraction,"
    "achieved_fraction"
)
KERNEL_COLUMNS = tuple(_KERNELS.split(","))
"""The columns of `measurements/kernels/*.csv`; further ones are kept."""

_FIRST_COLUMNS: Mapping[Kind, Sequence[str]] = {
    "serving": COLUMNS,
    "startup_logs": STARTUP_COLUMNS,
    "kernels": KERNEL_COLUMNS,
}
_SAME: Mapping[Kind, Callable[[Mapping[str, str], Mapping[str, str]], bool]] = {
    "serving": same_run,
    "startup_logs": same_facts,
    "kernels": same_facts,
}
_APART: Mapping[Kind, tuple[str, ...]] = {
    "serving": ("model", "gpu", "n_gpus"),
    "startup_logs": ("engine", "model", "gpu"),
    "kernels": ("system", "op", "dtype", "latency_us"),
}
"""Rows that differ in one of these are never the same measurement."""


@dataclass(frozen=True, slots=True)
class Appended:
    """What became of rows that were to be added.

    Parameters
    ----------
    path : Path
        The file.
    added : tuple of int
        Positions of the rows that were added.
    repeated : dict of int to str or int
        Positions of rows that were left out, because the same measurement stands already: at `file:line`, or
        in another of the rows, whose position is given.
    """

    path: Path
    added: tuple[int, ...]
    repeated: dict[int, str | int]


def user_folder(folder: str | os.PathLike[str] | None = None) -> Path:
    """Return the folder of the user's own measurements, whether or not it is there.

    Parameters
    ----------
    folder : path, optional
        The one that was asked for. By default that of the environment variable PLANNER_MEASUREMENTS, else
        `planner/measurements` under XDG_DATA_HOME, else under `~/.local/share`.

    Returns
    -------
    Path
    """
    if folder is not None:
        return Path(folder)
    if named := os.environ.get(ENVIRONMENT):
        return Path(named)
    data = os.environ.get("XDG_DATA_HOME")
    root = Path(data) if data and Path(data).is_absolute() else Path.home() / ".local" / "share"
    return root / "planner" / "measurements"


def user_files(kind: Kind, folder: str | os.PathLike[str] | None = None) -> list[Path]:
    """Return the CSVs of one kind in the user's folder, by name; none where there is no folder.

    Parameters
    ----------
    kind : str
        "serving", "startup_logs" or "kernels".
    folder : path, optional
        As for `user_folder`.

    Returns
    -------
    list of Path
        What `load_serving_points`, `validate` and `calibrate` take.
    """
    return sorted((user_folder(folder) / kind).glob("*.csv"))


def some_user_files(kind: Kind, folder: str | os.PathLike[str] | None = None) -> list[Path]:
    """Return the CSVs of one kind in the user's folder, of which there must be one.

    Parameters
    ----------
    kind, folder
        As for `user_files`.

    Returns
    -------
    list of Path

    Raises
    ------
    InvalidInput
        Where there are none; it says how measurements get there.
    """
    files = user_files(kind, folder)
    if not files:
        where = user_folder(folder) / kind
        raise InvalidInput(
            f"{where}: no measurements of your own; `planner import` and `planner measure` add them"
        )
    return files


def the_user_file(kind: Kind, folder: str | os.PathLike[str] | None = None) -> str:
    """Return the one CSV of a kind in the user's folder.

    Parameters
    ----------
    kind, folder
        As for `user_files`.

    Returns
    -------
    str

    Raises
    ------
    InvalidInput
        Where there are none, or several; it names them.
    """
    files = some_user_files(kind, folder)
    if len(files) > 1:
        raise InvalidInput(f"your measurements are several files; name one of {', '.join(map(str, files))}")
    return str(files[0])


def append_rows(
    kind: Kind,
    rows: Sequence[Row],
    *,
    name: str,
    folder: str | os.PathLike[str] | None = None,
) -> Appended:
    """Add measured rows to the user's folder; what is there already stays, and is not added twice.

    Several processes may add at once: one waits for the other, and readers see the file as it was before or
    after, never in between.

    Parameters
    ----------
    kind : str
        "serving", "startup_logs" or "kernels".
    rows : sequence of mapping
        Values by column; None and a missing column are empty cells. More columns than those of the kind
        are kept.
    name : str
        Name of the CSV without ending: the hook that measured, such as "imported" or "endpoint".
    folder : path, optional
        As for `user_folder`.

    Returns
    -------
    Appended

    Raises
    ------
    InvalidInput
        With the file, when it cannot be read or written; it is then as it was.
    """
    path = user_folder(folder) / kind / f"{name}.csv"
    with _locked(path.parent):
        _ready(path)
        repeated = find_repeated(kind, rows, folder=folder)
        added = tuple(position for position in range(len(rows)) if position not in repeated)
        if added:
            columns, before = _read(path)
            texts = [_cells(rows[position]) for position in added]
            further = (name for row in texts for name in row)
            merged = list(dict.fromkeys([*columns, *_FIRST_COLUMNS[kind], *further]))
            _write(path, merged, [*(row for _, row in before), *texts])
    return Appended(path, added, repeated)


def find_repeated(
    kind: Kind, rows: Sequence[Row], *, folder: str | os.PathLike[str] | None = None
) -> dict[int, str | int]:
    """Return which rows are there already, or are given twice.

    Parameters
    ----------
    kind, rows, folder
        As for `append_rows`.

    Returns
    -------
    dict of int to str or int
        As `Appended.repeated`.

    Raises
    ------
    InvalidInput
        With the file, when one of the folder cannot be read.
    """
    known = _Known(kind)
    for file in user_files(kind, folder):
        for line, row in _read(file)[1]:
            known.add(row, f"{file}:{line}")
    repeated: dict[int, str | int] = {}
    for position, row in enumerate(map(_cells, rows)):
        where = known.find(row)
        if where is None:
            known.add(row, position)
        else:
            repeated[position] = where
    return repeated


def _cells(row: Row) -> dict[str, str]:
    return {column: cell(value) for column, value in row.items()}


def cell(value: object) -> str:
    """Return a value as a cell: None is empty, a number has up to 12 digits.

    Parameters
    ----------
    value : object
        Text, number, bool or None.

    Returns
    -------
    str
    """
    if value is None:
        return ""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float):
        return f"{value:.12g}"
    return " ".join(str(value).split())


class _Known:
    """The rows that are there already, by what tells them apart at once."""

    def __init__(self, kind: Kind) -> None:
        self._same, self._apart = _SAME[kind], _APART[kind]
        self._rows: dict[tuple[str, ...], Shortlist] = {}

    def add(self, row: Mapping[str, str], where: str | int) -> None:
        self._rows.setdefault(self._key(row), Shortlist()).add(row, where)

    def find(self, row: Mapping[str, str]) -> str | int | None:
        others = self._rows.get(self._key(row), Shortlist())
        return next((where for where, other in others.near(row) if self._same(row, other)), None)

    def _key(self, row: Mapping[str, str]) -> tuple[str, ...]:
        return tuple(row.get(name, "").casefold() for name in self._apart)


def _read(path: Path) -> tuple[tuple[str, ...], list[tuple[int, Mapping[str, str]]]]:
    """Return the columns and rows of a CSV with their lines; nothing where there is none yet."""
    if not path.exists():
        return (), []
    table = read_csv(path)
    return table.columns, [(row.line, row.cells) for row in table.rows]


def _write(path: Path, columns: Sequence[str], rows: Iterable[Mapping[str, str]]) -> None:
    from planner.measurement.validate import write_rows

    write_rows([columns, *([row.get(column, "") for column in columns] for row in rows)], path)


def name_part(text: str) -> str:
    """Return a text as a part of a file's name: it leads to no other folder, hides nothing and is not long.

    Parameters
    ----------
    text : str
        A name that a file or a user gave, such as that of a model.

    Returns
    -------
    str
    """
    return _UNUSUAL.sub("-", text).strip(".-")[:LONGEST_PART] or "unnamed"


@contextmanager
def _locked(folder: Path) -> Iterator[None]:
    """Hold the folder's lock; the system gives it back when a process ends, however it ends."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        # A link in place of the lock would have another file made or locked.
        handle = os.open(folder / LOCK, os.O_RDWR | os.O_CREAT | getattr(os, "O_NOFOLLOW", 0), 0o666)
        with os.fdopen(handle, "r+b") as file:
            _wait_for(file, folder)
            yield
    except OSError as error:
        raise InvalidInput(f"{folder}: measurements cannot be kept here: {error.strerror or error}") from None


def _wait_for(file: IO[bytes], folder: Path) -> None:
    """Take the lock, but do not wait for ever: a process that was stopped holds it and never ends."""
    until = time.monotonic() + LOCK_S
    while not _lock(file):
        if time.monotonic() > until:
            raise InvalidInput(
                f"{folder / LOCK}: another process has held the lock for {LOCK_S:.0f} s; nothing was added"
            )
        time.sleep(0.02)


def _lock(file: IO[bytes]) -> bool:
    try:
        if sys.platform == "win32":
            import msvcrt

            file.seek(0)
            msvcrt.locking(file.fileno(), msvcrt.LK_NBLCK, 1)
        else:
            import fcntl

            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except (BlockingIOError, PermissionError):
        return False
    return True


def _ready(path: Path) -> None:
    """Refuse a link in place of a file, and remove what a process left that was killed while it wrote."""
    if path.is_symlink():
        raise InvalidInput(f"{path}: a link; measurements are kept in files of the folder itself")
    for part in path.parent.glob(f".{path.name}.*.part"):  # its writer held the lock, and is gone
        part.unlink(missing_ok=True)
