"""Write the tables of `accuracy-h200-x2.md` from `measurements/h200_x2` and `kernels/own_h200_x2.csv`.

python docs/make_h200_x2.py
"""

from __future__ import annotations

from pathlib import Path
from statistics import median

from own_runs import ROOT, Runs, read_rows, table, write_page

from planner.catalogue import Catalogue

PAGE = Path(__file__).with_name("accuracy-h200-x2.md")
RUNS = Runs(ROOT / "measurements" / "h200_x2", loads=(ROOT / "measurements" / "serving" / "own_h200_x2.csv",))
KERNELS = ROOT / "measurements" / "kernels" / "own_h200_x2.csv"
SIZES = tuple(1 << power for power in range(10, 31, 2))
OPERATORS = (
    ("custom_all_reduce", "true", "vLLM's own all-reduce"),
    ("nccl_all_reduce", "true", "all-reduce"),
    ("nccl_all_gather", "true", "all-gather"),
    ("nccl_reduce_scatter", "true", "reduce-scatter"),
    ("nccl_alltoall", "true", "all-to-all"),
    ("nccl_p2p", "true", "GPU to GPU"),
)
"""Operator, whether from a graph, and its name."""
SMALL, LARGE = 1 << 20, 8 << 20


def tables(catalogue: Catalogue) -> dict[str, str]:
    """Return the generated part under each mark of the page."""
    return {
        "environment": RUNS.environment(),
        "memory": RUNS.memory_table(catalogue),
        "ranks": ranks_table(),
        "before": RUNS.before_table(),
        "steps": RUNS.steps_table(),
        "operators": RUNS.operators_table(catalogue),
        "after": RUNS.after_table(catalogue),
        "collectives": collectives_table(),
        "large": large_table(),
    }


def ranks_table() -> str:
    """Return the memory that each rank accounted for."""
    columns = (
        "weights_gib", "activation_gib", "non_torch_gib", "cudagraph_est_gib", "cudagraph_gib",
        "available_kv_gib",
    )  # fmt: skip
    rows = [
        [row["run"], row["rank"], *(row[name] for name in columns)]
        for row in read_rows(RUNS.directory / "ranks.csv")
    ]
    names = ["weights", "activations", "outside the allocator", "graphs, estimated", "graphs", "KV pool"]
    return table(["run", "rank", *(f"{name} [GiB]" for name in names)], rows, numbers_from=1)


def measured_us() -> dict[tuple[str, str, int], float]:
    """Return the times by operator, whether from a graph, and size [us]."""
    return {
        (row["op"], row["graph"], int(row["bytes"])): float(row["latency_us"]) for row in read_rows(KERNELS)
    }


def predicted_us() -> dict[tuple[str, int], float]:
    """Return what was predicted before, by operator and size [us]."""
    rows = read_rows(RUNS.directory / "collectives_before.csv")
    return {(row["op"], int(row["bytes"])): float(row["predicted_us"]) for row in rows}


def collectives_table() -> str:
    """Return measured and predicted times by size."""
    measured, predicted = measured_us(), predicted_us()
    rows = []
    for size in SIZES:
        cells = [_size(size)]
        for op, graph, _ in OPERATORS:
            time = measured.get((op, graph, size))
            cells.append("" if time is None else f"{time:,.1f} / {predicted[op, size]:,.1f}")
        rows.append(cells)
    heads = ["buffer", *(f"{name} [us]" for _, _, name in OPERATORS)]
    return table(heads, rows, numbers_from=1)


def large_table() -> str:
    """Return how far off predictions were, of small and of large buffers."""
    measured, predicted = measured_us(), predicted_us()
    rows = []
    for op, graph, name in OPERATORS:
        ratios = {
            size: predicted[op, size] / time
            for (known, how, size), time in measured.items()
            if (known, how) == (op, graph)
        }
        small = [abs(ratio - 1) for size, ratio in ratios.items() if size <= SMALL]
        large = [abs(ratio - 1) for size, ratio in ratios.items() if size >= LARGE]
        floor = min(time for (known, how, _), time in measured.items() if (known, how) == (op, graph))
        from_host = [time for (known, how, _), time in measured.items() if (known, how) == (op, "false")]
        rows.append(
            [
                name,
                f"{floor:.1f}",
                f"{min(from_host):.1f}" if from_host else "",
                f"{predicted[op, SIZES[0]]:.1f}",
                f"{median(small):.0%}",
                f"{median(large):.1%}" if large else "",
            ]
        )
    heads = [
        "collective", "least, from a graph [us]", "least, started by the host [us]",
        "predicted at 1 KiB [us]", "error up to 1 MiB", "error from 8 MiB",
    ]  # fmt: skip
    return table(heads, rows, numbers_from=1)


def _size(size: int) -> str:
    for unit, least in (("GiB", 1 << 30), ("MiB", 1 << 20)):
        if size >= least:
            return f"{size // least} {unit}"
    return f"{size >> 10} KiB"


if __name__ == "__main__":
    write_page(PAGE, tables)
