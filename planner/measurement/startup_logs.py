"""Start-up logs of inference engines: what one start-up was told and what it printed about memory."""

from __future__ import annotations

import math
import os
import re
from collections.abc import Callable
from dataclasses import dataclass, fields

from planner.errors import InvalidInput
from planner.measurement.csvtable import CsvRow, CsvTable, read_csv, recognise


@dataclass(frozen=True, slots=True)
class StartupLog:
    """One start-up: the columns that planner needs, None or "" where the log does not say.

    Memory is per GPU and in GiB, also where SGLang prints "GB" (`*_gb`), save for llama.cpp, which prints
    whole-model totals; `*_mib` are MiB. `line` is the line of the file.
    """

    line: int
    engine: str
    model: str
    gpu: str
    engine_version: str = ""
    date: str = ""
    attention: str = ""
    weight_quant: str = ""
    kv_cache_dtype: str = ""
    gpu_mem: str = ""
    ep: str = ""
    spec_decode: str = ""
    outcome: str = ""
    notes: str = ""
    source: str = ""
    total_gpu_gib: float | None = None
    n_gpus: int | None = None
    tp: int | None = None
    pp: int | None = None
    dp: int | None = None
    dcp: int | None = None
    max_model_len: int | None = None
    mem_fraction: float | None = None
    enforce_eager: bool | None = None
    prefix_caching: bool | None = None
    block_size: int | None = None
    max_num_seqs: int | None = None
    max_num_batched_tokens: int | None = None
    weights_gib: float | None = None
    consumed_gib: float | None = None
    activation_gib: float | None = None
    non_torch_gib: float | None = None
    cudagraph_gib: float | None = None
    avail_kv_gib: float | None = None
    kv_blocks: int | None = None
    kv_tokens: int | None = None
    max_concurrency: float | None = None
    needed_kv_gib: float | None = None
    est_max_len: int | None = None
    k_size_gb: float | None = None
    v_size_gb: float | None = None
    kv_size_gb: float | None = None
    kv_size_mib: float | None = None
    kv_swa_tokens: int | None = None
    kv_swa_size_mib: float | None = None
    recurrent_mib: float | None = None
    mamba_gb: float | None = None


@dataclass(frozen=True, slots=True)
class UnreadableLog:
    """A row with a value that is not what its column holds.

    Parameters
    ----------
    line : int
        Line of the file.
    what : str
        Column, value and what would be right.
    """

    line: int
    what: str


def read_startup_logs(path: str | os.PathLike[str]) -> tuple[CsvTable, list[StartupLog | UnreadableLog]]:
    """Read a CSV of start-up logs.

    Parameters
    ----------
    path : path
        A CSV in UTF-8 with the columns `engine`, `model`, `gpu`, `tp` or `n_gpus`, and at least one logged
        quantity. Other columns of `StartupLog` are used where they are there, further ones are ignored.

    Returns
    -------
    tuple of CsvTable and list
        The raw table, and one entry for each of its rows in order: a log, or what cannot be read of it.

    Raises
    ------
    InvalidInput
        With file and line, when the file is no such table; also for a table of serving points, which cannot
        be validated yet.
    """
    table = read_csv(path)
    if recognise(table) == "serving points":
        raise InvalidInput(
            f"{table.file}:1: these are serving points; so far only start-up logs can be validated, "
            "a CSV with engine, model, gpu, tp and what the start-up printed, such as weights_gib"
        )
    return table, [parse_log(row) for row in table.rows]


def parse_log(row: CsvRow) -> StartupLog | UnreadableLog:
    """Turn one row of text into a log.

    Parameters
    ----------
    row : CsvRow
        The row.

    Returns
    -------
    StartupLog or UnreadableLog
        The latter for the first cell that is not what its column holds.
    """
    values: dict[str, object] = {}
    for name, read in _READERS.items():
        text = row.cells.get(name, "")
        try:
            values[name] = read(text)
        except ValueError as error:
            return UnreadableLog(row.line, f"{name} is {_shorten(text)}; {error}")
    return StartupLog(line=row.line, **values)  # type: ignore[arg-type]


def _shorten(text: str) -> str:
    return repr(text) if len(text) <= 40 else f"{text[:36]!r}..."


def _number(text: str) -> float | None:
    if not text:
        return None
    try:
        value = float(text.replace(",", ""))
    except ValueError:
        raise ValueError("a number is needed") from None
    if not math.isfinite(value):
        raise ValueError("a finite number is needed")
    return value


def _whole(text: str) -> int | None:
    value = _number(text)
    if value is None:
        return None
    if value != int(value) or abs(value) > 2**53:
        raise ValueError("a whole number is needed")
    return int(value)


def _size(text: str) -> int | None:
    """Read a parallel size; "off" and "none" mean that there is no such division."""
    if text.lower() in ("off", "no", "none", "false"):
        return 1
    value = _whole(text)
    if value is not None and value < 1:
        raise ValueError("a size of 1 or more is needed")
    return value


def _positive(text: str) -> int | None:
    value = _whole(text)
    if value is not None and value < 1:
        raise ValueError("a count of 1 or more is needed")
    return value


def _fraction(text: str) -> float | None:
    value = _number(text)
    if value is not None and not 0 < value <= 1:
        raise ValueError("a fraction above 0 and up to 1 is needed")
    return value


def _amount(text: str) -> float | None:
    """Read what no start-up prints as 0, unlike a pool, which may even be negative."""
    value = _number(text)
    if value is not None and value <= 0:
        raise ValueError("an amount above 0 is needed")
    return value


def _flag(text: str) -> bool | None:
    lowered = text.lower()
    if lowered in ("", "not stated"):
        return None
    if lowered in ("true", "yes", "on", "1"):
        return True
    if lowered in ("false", "no", "off", "0"):
        return False
    raise ValueError("True or False is needed")


_SIZES = ("n_gpus", "tp", "pp", "dp", "dcp")
_COUNTS = ("max_model_len", "block_size", "max_num_seqs", "max_num_batched_tokens")


def _reader(name: str, kind: str) -> Callable[[str], object]:
    if name in _SIZES:
        return _size
    if name in _COUNTS:
        return _positive
    if name == "weights_gib":
        return _amount
    if name == "mem_fraction":
        return _fraction
    return _BY_TYPE[kind]


_BY_TYPE: dict[str, Callable[[str], object]] = {
    "str": str,
    "float | None": _number,
    "int | None": _whole,
    "bool | None": _flag,
}
_READERS = {
    item.name: _reader(item.name, str(item.type)) for item in fields(StartupLog) if item.name != "line"
}


def source_family(source: str) -> str:
    """Return who posted a log: the repository or site of a source, without number, path or run.

    Parameters
    ----------
    source : str
        Such as ``vllm-project/vllm#10517 (len 20000)``, ``owner/repo@1a2b:path`` or ``code-index:123``.

    Returns
    -------
    str
        Such as ``vllm-project/vllm``; "not stated" when empty.
    """
    place = re.sub(r"^\w+://", "", source.strip())
    name = re.split(r"[#@: ?]", place, maxsplit=1)[0]
    return "/".join(name.split("/")[:2]) or "not stated"
