"""Write the tables of `accuracy-h200.md` from `measurements/h200` and `measurements/kernels/own_h200.csv`.

python docs/make_h200.py
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from statistics import median

from own_runs import ROOT, Runs, key_of, read_rows, table, write_page

from planner.catalogue import Catalogue
from planner.measurement.serving_points import load_serving

PAGE = Path(__file__).with_name("accuracy-h200.md")
SERVING = ROOT / "measurements" / "serving"
RUNS = Runs(
    ROOT / "measurements" / "h200",
    loads=(SERVING / "own_h200.csv",),
    before=("predicted_before.csv", "predicted_before_second.csv"),
)


def tables(catalogue: Catalogue) -> dict[str, str]:
    """Return the generated part under each mark of the page."""
    return {
        "environment": RUNS.environment(),
        "memory": RUNS.memory_table(catalogue),
        "before": RUNS.before_table(),
        "steps": RUNS.steps_table(),
        "operators": RUNS.operators_table(catalogue),
        "after": RUNS.after_table(catalogue),
        "http": http_table(),
        "prefill": prefill_table(),
        "products": products_table(),
        "kernels": kernels_table(),
    }


def http_table() -> str:
    """Return loads through HTTP beside the same ones over the engine's own interface."""
    inside = {key_of(point): point for point in RUNS.points()}
    known = Runs(RUNS.directory, (), ("predicted_before_http.csv",)).predicted_before()
    rows = []
    for point in load_serving(SERVING / "own_h200_http.csv"):
        same, said = inside[key_of(point)], known[key_of(point)]
        rows.append(
            [
                f"{point.concurrency:,.0f}",
                *(f"{value:,.0f}" for value in (point.output_tps_per_gpu, same.output_tps_per_gpu)),
                f"{said['output_tps_per_gpu']:,.0f}",
                *(f"{value:.2f}" for value in (point.tpot_ms_median, same.tpot_ms_median, said["tpot_ms"])),
                *(f"{value:,.0f}" for value in (point.ttft_ms_median, same.ttft_ms_median, said["ttft_ms"])),
            ]
        )
    heads = ["requests at once"]
    for name in ("output tok/s", "TPOT [ms]", "TTFT [ms]"):
        heads += [f"{name}, HTTP", "own interface", "predicted before"]
    return table(heads, rows, numbers_from=0)


PARTS = (
    "products",
    "attention",
    "norms, activations, rotation",
    "norms and activations, quantising",
    "other",
)


def prefill_table() -> str:
    """Return where prompts alone go, by kind of kernel."""
    found: dict[tuple[str, str, str], dict[str, str]] = {}
    for row in read_rows(RUNS.directory / "prefill_kernels.csv"):
        if row["batch"] == "1":
            cells = found.setdefault(
                (row["model"], row["weight_dtype"], row["isl"]), {"wall": row["wall_ms"]}
            )
            cells[row["part"]] = row["ms"]
    rows = []
    for (model, weights, isl), cells in found.items():
        wall, times = float(cells["wall"]), [float(cells.get(part, 0)) for part in PARTS]
        rest = wall - sum(times)
        shown = [f"{wall:,.1f}", *(f"{time:,.1f}" if time else "" for time in times), f"{rest:,.1f}"]
        rows.append([model, weights, f"{int(isl):,}", *shown])
    heads = ["model", "weights", "tokens", "prefill [ms]", *PARTS, "rest"]
    return table(heads, rows, numbers_from=2)


def products_table() -> str:
    """Return what share of the peak products reach within a prefill, and alone with random operands."""
    alone = {
        (r["dtype"], r["m"], r["n"], r["k"]): (float(r["latency_us"]), float(r["flops_fraction"]))
        for r in read_rows(ROOT / "measurements" / "kernels" / "own_h200.csv")
        if r["op"] == "gemm" and r["flops_fraction"]
    }
    groups: dict[tuple[str, int], list[tuple[float, float]]] = {}
    for row in read_rows(RUNS.directory / "prefill_products.csv"):
        dtype = "fp8" if row["weight_dtype"].startswith("fp8") else "bfloat16"
        same = alone.get((dtype, row["m"], row["n"], row["k"]))
        if same is not None:
            time, share = same
            pair = (share * time / float(row["mean_us"]), share)
            groups.setdefault((row["weight_dtype"], int(row["m"])), []).append(pair)
    rows = [
        [
            weights,
            f"{m:,}",
            str(len(pairs)),
            *(f"{median(values):.2f}" for values in zip(*pairs, strict=True)),
        ]
        for (weights, m), pairs in sorted(groups.items())
    ]
    heads = ["weights", "tokens", "products", "share of peak in a prefill", "alone, random operands"]
    return table(heads, rows, numbers_from=1)


def _tall(row: dict[str, str]) -> bool:
    return int(row["m"]) >= 2048


def _read(row: dict[str, str]) -> bool:
    return row["m"] == "1" and int(row["n"]) * int(row["k"]) > 1e8


KERNELS: tuple[tuple[str, str, Callable[[dict[str, str]], bool], str, float | None], ...] = (
    ("weights read, BF16, m = 1, 200 MB or more", "gemm/bfloat16", _read, "membw", 0.86),
    ("products, BF16, m of 2,048 or more", "gemm/bfloat16", _tall, "flops", 0.70),
    ("products, FP8, m of 2,048 or more", "gemm/fp8", _tall, "flops", 0.55),
    ("products, INT8, m of 2,048 or more", "gemm/int8", _tall, "flops", None),
    ("experts, 4,096 tokens or more", "moe/bfloat16", lambda r: int(r["tokens"]) >= 4096, "flops", 0.42),
    ("experts, 64 tokens or fewer", "moe/bfloat16", lambda r: int(r["tokens"]) <= 64, "membw", 0.90),
    (
        "attention, prompts of 4,096 or more",
        "attention_prefill/bfloat16",
        lambda r: int(r["context"]) >= 4096,
        "flops",
        0.55,
    ),
    (
        "attention, one query, 1 GB of cache or more",
        "attention_decode/kv_bfloat16",
        lambda r: int(r["bytes"]) >= 1e9,
        "membw",
        0.85,
    ),
)
"""What, operator and dtype, which rows, which share, and what the time model takes before calibration."""


def kernels_table() -> str:
    """Return what PyTorch's own operators reach, beside what the time model takes."""
    known = read_rows(ROOT / "measurements" / "kernels" / "own_h200.csv")
    rows = []
    for what, kind, chosen, share, taken in KERNELS:
        op, dtype = kind.split("/")
        values = [
            float(r[f"{share}_fraction"]) for r in known if (r["op"], r["dtype"]) == (op, dtype) and chosen(r)
        ]
        limit = "bandwidth" if share == "membw" else "peak"
        rows.append(
            [what, str(len(values)), limit, f"{median(values):.2f}", "" if taken is None else f"{taken:.2f}"]
        )
    floors = {r["kernel"]: float(r["latency_us"]) for r in known if r["op"] == "launch"}
    rows += [[f"smallest kernel: {name}", "1", "", f"{time:.2f} us", ""] for name, time in floors.items()]
    return table(["operators", "rows", "share of", "median", "planner takes"], rows, numbers_from=3)


if __name__ == "__main__":
    write_page(PAGE, tables)
