"""What an engine's run yields for the tables: serving points, and the line of a start-up log."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from planner.measurement.engine.plan import EngineRun
from planner.measurement.static_runs import OWN_ENGINE

STATIC_NOTE = "static offline batch, dummy weights"
LOAD_NOTE = "closed loop over the engine's own interface (no HTTP), dummy weights"

Record = Mapping[str, Any]


def read_records(path: Path) -> list[dict[str, Any]]:
    """Return what a run wrote, as far as it came: a last line that was cut off is left out.

    Parameters
    ----------
    path : Path
        JSON lines.

    Returns
    -------
    list of dict
    """
    found = []
    if path.exists():
        for line in path.read_text(encoding="utf-8").splitlines():
            try:
                found.append(json.loads(line))
            except ValueError:
                continue
    return found


def serving_rows(
    run: EngineRun, records: Iterable[Record], *, gpu: str, vendor: str, date: str, weight_dtype: str
) -> list[dict[str, Any]]:
    """Return the serving points of a run, in the columns of the tidy schema.

    Parameters
    ----------
    run : EngineRun
        What was started.
    records : iterable of mapping
        What it wrote.
    gpu, vendor : str
        The accelerator's id and maker.
    date : str
        When it ran.
    weight_dtype : str
        Format of the weights.

    Returns
    -------
    list of dict
        Static batches carry the time of a step as TPOT, and as TTFT that until all requests had begun;
        their OSL is chosen so that ISL + OSL/2 is the mean context of the timed steps.
    """
    known = list(records)
    ready = next((record for record in known if record.get("kind") == "ready"), None)
    if ready is None:
        return []
    settings, versions = ready["settings"], ready["versions"]
    cache = str(settings["kv_cache_dtype"])
    common = {
        "source": OWN_ENGINE,
        "date": date,
        "model": run.model,
        "gpu": gpu,
        "vendor": vendor,
        "n_gpus": run.gpus,
        "n_nodes": 1,
        "tp": run.tp,
        "pp": run.pp,
        "ep": 1,
        "dp": 1,
        "disagg": False,
        "weight_dtype": weight_dtype,
        "kv_dtype": "bf16" if cache in ("auto", "bfloat16") else cache.partition("_")[0],
        "engine": run.engine,
        "engine_version": versions["engine"],
        "spec_decode": "none",
        "prefix_hit": 0.0,
    }
    beside = f"torch {versions['torch']}, {versions['runtime']}"
    rows = []
    for record in known:
        figures = _figures(record, run.gpus)
        if figures:
            note = figures.pop("notes")
            rows.append({**common, **figures, "notes": f"{note}; {beside}"})
    return rows


def _figures(record: Record, gpus: int) -> dict[str, Any]:
    """Return the load and figures of one timed point, nothing of any other record."""
    if "skipped" in record or "failed" in record:
        return {}
    if record["kind"] == "prefill":
        return {
            "isl": record["isl"],
            "osl": 2,
            "concurrency": 1,
            "ttft_ms_median": 1e3 * record["prefill_s"],
            "notes": f"{STATIC_NOTE}; prompt alone",
        }
    if record["kind"] == "decode":
        beyond = record["mean_context"] - record["context"]
        return {
            "isl": record["context"],
            "osl": max(round(2 * beyond), 2),
            "concurrency": record["batch"],
            "ttft_ms_median": 1e3 * record["prefill_s"],
            "tpot_ms_median": record["tpot_ms_median"],
            "tpot_ms_mean": record["tpot_ms_mean"],
            "notes": f"{STATIC_NOTE}; step of a full batch over {record['steps_timed']} steps",
        }
    if record["kind"] == "load":
        return {
            **{name: record[name] for name in _LOAD_COLUMNS},
            "output_tps_per_gpu": record["output_tps_total"] / gpus,
            "total_tps_per_gpu": record["total_tps"] / gpus,
            "tps_per_user": 1e3 / record["tpot_ms_median"],
            "notes": f"{LOAD_NOTE}; {record['requests']} requests",
        }
    return {}


_LOAD_COLUMNS = (
    "isl", "osl", "concurrency", "output_tps_total", "ttft_ms_median", "ttft_ms_mean", "ttft_ms_p99",
    "tpot_ms_median", "tpot_ms_mean", "tpot_ms_p99", "e2e_s_median",
)  # fmt: skip
