"""Write the error table of `collectives.md` anew from the shipped rows: `python docs/make_collectives.py`."""

from __future__ import annotations

from collections import defaultdict
from pathlib import Path

import numpy as np

from planner.catalogue import Catalogue, load_catalogue
from planner.measurement.collective_rows import CollectiveRow, collective_rows
from planner.performance.collectives import collective_s
from planner.performance.fabric import Fabric, fabric_of

PAGE = Path(__file__).with_name("collectives.md")
BEGIN, END = "<!-- generated: begin -->", "<!-- generated: end -->"
DECADES = (1e4, 1e5, 1e6, 1e7, 1e8, np.inf)
HEAD = ("≤ 10 kB", "≤ 100 kB", "≤ 1 MB", "≤ 10 MB", "≤ 100 MB", "more")
NETWORK_BYTES_PER_S = {"mi350x": 50e9}
"""Rates between nodes that the catalogue lacks: eight 400 Gbit/s ports to a node."""
LEAST_SECONDS_ROUNDED = 6e-3
"""One published busbw of 0.01 GB/s is too round to give a time; its note gives 360-380 us."""


def main() -> None:
    """Replace what stands between the two markers."""
    before, rest = PAGE.read_text(encoding="utf-8").split(BEGIN)
    after = rest.split(END)[1]
    PAGE.write_text(f"{before}{BEGIN}\n{table(load_catalogue())}\n{END}{after}", encoding="utf-8")


def table(catalogue: Catalogue) -> str:
    """Return median and ninth decile of the relative error, by GPU, operator and size."""
    errors: dict[tuple[str, str], dict[int, list[float]]] = defaultdict(lambda: defaultdict(list))
    for row in collective_rows(catalogue):
        if row.op == "all_reduce_busbw" and row.bytes < 1e6 and row.seconds > LEAST_SECONDS_ROUNDED:
            continue
        decade = next(i for i, most in enumerate(DECADES) if row.bytes <= most)
        name = row.op if row.nodes == 1 else f"{row.op}, {row.nodes} nodes"
        errors[row.gpu, name][decade].append(predicted(row, fabric(row, catalogue)) / row.seconds)
    lines = [
        f"| GPU | operator | rows | bias | {' | '.join(HEAD)} |",
        "|---|---|--:|--:|" + "--:|" * len(HEAD),
    ]
    for (gpu, op), by in errors.items():
        ratios = [ratio for found in by.values() for ratio in found]
        bias = f"{np.median(ratios) - 1:+.0%}"
        cells = [_cell(by[i]) if i in by else "" for i in range(len(HEAD))]
        lines.append(f"| {gpu} | {op} | {len(ratios)} | {bias} | {' | '.join(cells)} |")
    return "\n".join(lines)


def fabric(row: CollectiveRow, catalogue: Catalogue) -> Fabric:
    """Return the links that a row was measured on."""
    return fabric_of(
        catalogue.gpu(row.gpu),
        catalogue.fabrics(),
        network="efa" if row.gpu == "b200-sxm" and row.nodes == 4 else "rdma",
        network_bytes_per_s=NETWORK_BYTES_PER_S.get(row.gpu),
    )


def predicted(row: CollectiveRow, links: Fabric) -> float:
    """Return the predicted time of a row [s]."""
    return float(collective_s(row.kind, row.bytes, row.ranks, links, engine=row.engine, top_k=row.top_k))


def _cell(ratios: list[float]) -> str:
    """Return median and ninth decile of the error, as factors of time: 1.5 and 1/1.5 are both 50 %."""
    off = np.exp(np.abs(np.log(ratios))) - 1
    return f"{100 * np.median(off):.0f} / {100 * np.quantile(off, 0.9):.0f}"


if __name__ == "__main__":
    main()
