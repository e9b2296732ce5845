"""Own runs of static batches on one H200: prefill and step times, each timed by itself."""

from __future__ import annotations

from planner.measurement.csvtable import read_csv
from planner.measurement.serving_flags import ServingFlag
from planner.measurement.serving_points import COLUMNS, ServingPoint
from planner.measurement.serving_sources import serving_directory

OWN_RUNS = "planner's own static batches on one H200"
OWN_ENGINE = "planner measure engine"
"""What the column `source` says of runs by that hook: steps and prefills are timed by themselves, too."""
OWN_SOURCES = (OWN_RUNS, OWN_ENGINE)
FILE = "h200_vllm_static.csv"


def static_runs() -> list[ServingPoint]:
    """Return the runs of `measurements/h200_vllm_static.csv` as serving points.

    Returns
    -------
    list of ServingPoint
        TTFT is the prefill of the whole batch, TPOT one decode step.
    """
    table = read_csv(serving_directory().parent / FILE)
    found = []
    for row in table.rows:
        cells = row.cells
        step, osl = cells["tpot_ms"], float(cells["osl"])
        known = {
            "source": OWN_RUNS,
            "model": cells["model"],
            "gpu": "H200",
            "vendor": "NVIDIA",
            "n_gpus": 1,
            "tp": 1,
            "weight_dtype": "bf16",
            "kv_dtype": "bf16",
            "engine": "vllm",
            "engine_version": "0.20.2",
            "isl": float(cells["isl"]),
            "osl": max(osl, 2.0),
            "concurrency": float(cells["conc"]),
            "spec_decode": "none",
            "ttft_ms_median": 1e3 * float(cells["prefill_s"]),
            "tpot_ms_median": float(step) if step else None,
            "notes": "static batch; engine and machine of one's own",
        }
        values = {name: known.get(name) for name in COLUMNS}
        found.append(
            ServingPoint(**values, flags=ServingFlag.STATIC_BATCH, where=f"{table.file}:{row.line}")  # type: ignore[arg-type]
        )
    return found
