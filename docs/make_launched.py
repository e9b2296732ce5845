"""Write the tables of `launch.md` on servers started from printed lines (`measurements/h200_launched`).

python docs/make_launched.py
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from own_runs import ROOT, read_rows, table, write_page

from planner.catalogue import Catalogue
from planner.measurement.importers.formats import read_results
from planner.measurement.importers.sources import open_source
from planner.measurement.importers.tidy import startup_row

PAGE = Path(__file__).with_name("launch.md")
FOLDER = ROOT / "measurements" / "h200_launched"
MEASURED = {
    "output_tps_total": "output_throughput",
    "tpot_ms": "median_tpot_ms",
    "ttft_ms": "median_ttft_ms",
}


def runs() -> list[dict[str, Any]]:
    """Return what was started, with the launch that was asked for and the lines that ran."""
    found: list[dict[str, Any]] = json.loads((FOLDER / "launched.json").read_text(encoding="utf-8"))["runs"]
    return found


def log_of(name: str) -> dict[str, Any]:
    """Return what `planner import` reads of a server's log."""
    (start,) = read_results(open_source(FOLDER / "logs" / f"{name}.log")).starts
    return dict(startup_row(start, {}).cells)


def result_of(name: str) -> dict[str, float]:
    """Return what the load test measured."""
    told = json.loads((FOLDER / "results" / f"{name}.json").read_text(encoding="utf-8"))
    return {quantity: float(told[field]) for quantity, field in MEASURED.items()}


def predicted_before() -> dict[str, dict[str, str]]:
    """Return what was predicted before the first server was started."""
    return {row["name"]: row for row in read_rows(FOLDER / "predicted_before.csv")}


def started_table() -> str:
    """Return how long each server took to come up, and its cache beside the fit's."""
    known, rows = predicted_before(), []
    for run in runs():
        log, said = log_of(run["name"]), int(known[run["name"]]["kv_tokens"])
        measured = int(log["kv_tokens"])
        cells = [f"{run['up_s']:.0f} s", f"{measured:,}", f"{said:,}", f"{said / measured - 1:+.1%}"]
        rows.append([run["name"], *cells, f"{int(log['max_model_len']):,}", f"{int(log['max_num_seqs']):,}"])
    heads = ["deployment", "up after", "KV tokens, log", "fit", "error", "longest request", "at once"]
    return table(heads, rows, numbers_from=1)


def loaded_table() -> str:
    """Return what the printed load test measured beside what was simulated, and answered, before."""
    known, rows = predicted_before(), []
    for run in runs():
        measured, said = result_of(run["name"]), known[run["name"]]
        cells = [run["name"]]
        for quantity, form in (("output_tps_total", ",.0f"), ("tpot_ms", ".1f"), ("ttft_ms", ",.0f")):
            cells += [format(measured[quantity], form)]
            cells += [format(float(said[name]), form) for name in (quantity, f"{quantity}_answered")]
        rows.append(cells)
    heads = ["deployment"]
    for quantity in ("output tok/s", "TPOT [ms]", "TTFT [ms]"):
        heads += [quantity, "simulated", "answered"]
    return table(heads, rows, numbers_from=1)


def tables(catalogue: Catalogue) -> dict[str, str]:
    """Return the generated part under each mark of the page."""
    return {"started": started_table(), "loaded": loaded_table()}


if __name__ == "__main__":
    write_page(PAGE, tables)
