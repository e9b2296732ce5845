"""What a run of an engine leaves in the user's folder: serving points, and its account of memory."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from planner.catalogue import Catalogue, Gpu
from planner.errors import PlannerError
from planner.measurement.engine.rows import serving_rows
from planner.measurement.engine.running import EngineResult
from planner.measurement.gpu.environment import driver_facts
from planner.measurement.importers.formats import read_results
from planner.measurement.importers.sources import open_source
from planner.measurement.importers.tidy import startup_row
from planner.measurement.static_runs import OWN_ENGINE
from planner.measurement.user_folder import append_rows, name_part, user_folder

NAME = "engine"
"""Name of the CSVs that rows go to, in the folder of each kind."""


@dataclass(frozen=True, slots=True)
class Kept:
    """Rows of one run.

    Parameters
    ----------
    serving, startup : list of dict
        As they are written.
    """

    serving: list[dict[str, Any]]
    startup: list[dict[str, Any]]


def weights_of(result: EngineResult) -> str:
    """Return the format of most of the weights, as rows name it."""
    return result.run.weight_dtype or result.model.published_format


def rows_of(result: EngineResult, gpu: Gpu, date: str) -> Kept:
    """Return the rows of a run.

    Parameters
    ----------
    result : EngineResult
        What it left behind.
    gpu : Gpu
        The accelerator.
    date : str
        When it ran.

    Returns
    -------
    Kept
        The start-up also where the engine failed: that is a measurement of memory as well.
    """
    weights = weights_of(result)
    points = serving_rows(
        result.run, result.records, gpu=gpu.id, vendor=gpu.vendor, date=date, weight_dtype=weights
    )
    return Kept(points, _startup(result, gpu, date, weights))


def _startup(result: EngineResult, gpu: Gpu, date: str, weights: str) -> list[dict[str, Any]]:
    try:
        starts = read_results(open_source(result.log)).starts
    except PlannerError:
        return []
    run, settings = result.run, _settings(result)
    said = {
        "model": run.model,
        "gpu": gpu.id,
        "n_gpus": str(run.gpus),
        "n_nodes": "1",
        "weight_dtype": weights,
        "date": date,
        "source": OWN_ENGINE,
        "notes": "random weights",
    }
    found = []
    for start in starts[:1]:
        cells: dict[str, Any] = {
            **startup_row(start, said).cells,
            "model": run.model,
            "weight_quant": weights,
        }
        for column, value in _told(run.model_dump(), settings).items():
            cells[column] = cells.get(column) or value
        found.append(cells)
    return found


def _settings(result: EngineResult) -> Mapping[str, Any]:
    ready = next((record for record in result.records if record["kind"] == "ready"), {})
    settings: Mapping[str, Any] = ready.get("settings", {})
    return settings


def _told(run: Mapping[str, Any], settings: Mapping[str, Any]) -> dict[str, Any]:
    """Return what the engine was told, or took by itself, of what its log may not say."""
    columns = {
        "memory_fraction": "mem_fraction",
        "max_num_seqs": "max_num_seqs",
        "max_num_batched_tokens": "max_num_batched_tokens",
        "block_size": "block_size",
        "max_model_len": "max_model_len",
    }
    found = {column: settings.get(name, run.get(name)) for name, column in columns.items()}
    return {column: value for column, value in found.items() if value is not None}


def keep(result: EngineResult, catalogue: Catalogue, gpu: str, date: str, folder: str | None) -> list[Path]:
    """Add the rows of a run to the user's folder.

    Parameters
    ----------
    result : EngineResult
        What it left behind.
    catalogue : Catalogue
        Where the accelerator stands.
    gpu : str
        Its id or alias.
    date : str
        When it ran.
    folder : str or None
        As for `user_folder`.

    Returns
    -------
    list of Path
        The file of raw results with what they were measured on, and the CSVs that took rows.
    """
    kept = rows_of(result, catalogue.gpu(gpu), date)
    written = [_sidecar(result, gpu, date, folder)]
    if kept.serving:
        written.append(append_rows("serving", kept.serving, name=NAME, folder=folder).path)
    if kept.startup:
        written.append(append_rows("startup_logs", kept.startup, name=NAME, folder=folder).path)
    return written


def _sidecar(result: EngineResult, gpu: str, date: str, folder: str | None) -> Path:
    """Write what was asked for, on what it ran, and everything that came of it, beside the rows."""
    directory = user_folder(folder) / "engine"
    directory.mkdir(parents=True, exist_ok=True)
    named = name_part(f"{result.model.id}-{weights_of(result)}")
    # Several may measure at the same second.
    path = directory / f"{time.strftime('%Y%m%dT%H%M%S')}-{os.getpid()}-{named}.json"
    told = {
        "date": date,
        "gpu": gpu,
        "exit_code": result.exit_code,
        "run": result.run.model_dump(mode="json"),
        "environment": driver_facts(),
        "records": list(result.records),
    }
    part = path.with_name(f".{path.name}.part")
    part.write_text(json.dumps(told, indent=1) + "\n", encoding="utf-8")
    part.replace(path)
    return path
