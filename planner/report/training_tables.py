"""The tables of a training run: side by side, the parts of a step, memory by part, cost and energy."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from planner.performance.intervals import Estimate
from planner.performance.training_rates import BENCHMARK
from planner.planning.training import HOURS_PER_DAY
from planner.report.achieved import achieved_table
from planner.report.prediction_text import interval, number
from planner.report.sentences import gpu_label
from planner.report.table import GIB, Column, Table

if TYPE_CHECKING:
    from planner.report.training import TrainAnswer

GPU = Column("gpu", "GPU", show=gpu_label)
TERA = 1e12

STEP_NAMES = {
    "gemm": "matrix products",
    "attention": "attention",
    "elementwise": "norms, sums, activations",
    "tensor_parallel": "tensor-parallel communication",
    "pipeline": "transfers between stages",
    "data_parallel": "data-parallel communication",
    "bubble": "pipeline bubble",
    "optimiser": "optimiser",
}
"""What people call the parts of a step."""

MEMORY_NAMES = {
    "weights": "weights",
    "gradients": "gradients",
    "optimiser": "optimiser states",
    "fp8_copies": "FP8 copies of weights",
    "gathered": "gathered or unpacked layers",
    "activations": "activations",
    "logits": "logits",
    "reserve": "device, collectives, allocator",
}
"""What people call the parts of memory."""


def percent(value: float) -> str:
    """Return a share, such as "41 %"."""
    return f"{value:.0%}".replace("%", " %")


def side_by_side(answers: Sequence[TrainAnswer]) -> Table:
    """Return what each accelerator yields, columns of nothing left out."""
    columns = (
        GPU,
        Column("gpus", "GPUs", right=True, show="{:,}".format),
        Column("layout", "layout", flexible=True),
        Column("step_s", "step\ns", right=True, show=number),
        Column("tokens_per_s_per_gpu", "tok/s\na GPU", right=True, show=number),
        Column("interval", "80 %\ninterval", right=True),
        Column("tflop_per_s_per_gpu", "TFLOP/s\na GPU", right=True, show=number),
        Column("mfu", "MFU", right=True, show=percent),
        Column("memory_gib", "GiB\na GPU", right=True, show="{:,.1f}".format),
        Column("run_days", "days", right=True, show=number),
        Column("usd_per_trillion_tokens", "USD per\n1T tokens", right=True, show=number),
        Column("mwh_per_trillion_tokens", "MWh per\n1T tokens", right=True, show=number),
    )
    return Table(columns, tuple(_row(answer) for answer in answers)).filled()


def _row(answer: TrainAnswer) -> dict[str, Any]:
    trained, run = answer.trained, answer.trained.plan.run
    rate = trained.tokens_per_s_per_gpu
    hours, flops = trained.run_hours, trained.flop_per_s_per_gpu
    return {
        "gpu": answer.gpu,
        "gpus": run.gpus,
        "layout": run.layout if trained.plan.step else f"does not fit ({run.layout})",
        "step_s": _value(trained.step_s),
        "tokens_per_s_per_gpu": _value(rate),
        "interval": interval(rate) if rate else None,
        "tflop_per_s_per_gpu": flops.value / TERA if flops else None,
        "mfu": _value(trained.mfu),
        "memory_gib": trained.plan.memory.total_bytes / GIB,
        "run_days": hours.value / HOURS_PER_DAY if hours else None,
        "usd_per_trillion_tokens": _value(trained.usd_per_trillion_tokens),
        "mwh_per_trillion_tokens": _value(trained.mwh_per_trillion_tokens),
    }


def _value(estimate: Estimate | None) -> float | None:
    return None if estimate is None else estimate.value


def step_table(answers: Sequence[TrainAnswer]) -> Table | None:
    """Return the parts of a step, a column for each accelerator; None where no run fits."""
    steps = {answer.gpu: answer.trained.plan.step for answer in answers if answer.trained.plan.step}
    if not steps:
        return None
    columns = [Column("part", "part of a step", show=STEP_NAMES.__getitem__)]
    for gpu in steps:
        columns += [
            Column(f"{gpu}_s", f"{gpu_label(gpu)}\ns", right=True, show=number),
            Column(f"{gpu}_share", "share", right=True, show=percent),
        ]
    rows = []
    for part in STEP_NAMES:
        row: dict[str, Any] = {"part": part}
        for gpu, step in steps.items():
            time = step.parts_s[part]
            row |= {f"{gpu}_s": time or None, f"{gpu}_share": time / step.step_s if time else None}
        if len(row) > 1 and any(row[f"{gpu}_s"] for gpu in steps):
            rows.append(row)
    return Table(tuple(columns), tuple(rows), "Where the time of an optimiser step goes")


def memory_table(answers: Sequence[TrainAnswer]) -> Table:
    """Return the memory of the fullest GPU by part, a column for each accelerator."""
    columns = [Column("part", "memory", show=lambda part: MEMORY_NAMES.get(part, part))]
    columns += [
        Column(f"{answer.gpu}_gib", f"{gpu_label(answer.gpu)}\nGiB", right=True, show="{:,.1f}".format)
        for answer in answers
    ]
    memories = {f"{answer.gpu}_gib": answer.trained.plan.memory for answer in answers}
    parts = [part for part in MEMORY_NAMES if any(memory.parts_bytes[part] for memory in memories.values())]
    rows: list[dict[str, Any]] = [
        {"part": part} | {key: memory.parts_bytes[part] / GIB or None for key, memory in memories.items()}
        for part in parts
    ]
    rows += [
        {"part": "sum"} | {key: memory.total_bytes / GIB for key, memory in memories.items()},
        {"part": "can be used"} | {key: memory.usable_bytes / GIB for key, memory in memories.items()},
    ]
    return Table(tuple(columns), tuple(rows), "Memory of the fullest GPU")


def cost_table(answers: Sequence[TrainAnswer]) -> Table | None:
    """Return what tokens and the run cost, with the interval; None where nothing has a price."""
    columns = (
        GPU,
        Column("usd_per_gpu_hour", "USD per\nGPU-hour", right=True, show="{:,.2f}".format),
        Column("usd_per_trillion_tokens", "USD per\n1T tokens", right=True, show=number),
        Column("interval", "80 % interval", right=True),
        Column("usd_of_run", "USD of\nthe run", right=True, show=number),
    )
    rows = tuple(
        {
            "gpu": answer.gpu,
            "usd_per_gpu_hour": answer.trained.price.usd_per_gpu_hour,
            "usd_per_trillion_tokens": cost.value,
            "interval": interval(cost),
            "usd_of_run": _value(answer.trained.usd_of_run),
            "price": answer.trained.price.provenance,
        }
        for answer in answers
        if answer.trained.price is not None and (cost := answer.trained.usd_per_trillion_tokens) is not None
    )
    return Table(columns, rows, "Cost", ("price",)).filled() if rows else None


def energy_table(answers: Sequence[TrainAnswer]) -> Table | None:
    """Return the energy of tokens and of the run, with the interval; None where no power is known."""
    columns = (
        GPU,
        Column("kw", "kW a GPU\nall-in", right=True, show="{:,.2f}".format),
        Column("mwh_per_trillion_tokens", "MWh per\n1T tokens", right=True, show=number),
        Column("interval", "80 % interval", right=True),
        Column("mwh_of_run", "MWh of\nthe run", right=True, show=number),
    )
    rows = tuple(
        {
            "gpu": answer.gpu,
            "kw": answer.trained.power.kw_per_gpu,
            "mwh_per_trillion_tokens": energy.value,
            "interval": interval(energy),
            "mwh_of_run": _value(answer.trained.mwh_of_run),
        }
        for answer in answers
        if answer.trained.power is not None and (energy := answer.trained.mwh_per_trillion_tokens) is not None
    )
    return Table(columns, rows, "Energy of the computers").filled() if rows else None


def rates_table(answers: Sequence[TrainAnswer]) -> Table:
    """Return datasheet against achieved for what the answers take, and beside it other stacks and dates."""
    taken = [rate for answer in answers for rate in answer.trained.rates.values()]
    known = [rate for answer in answers for rate in answer.known if rate.channel != BENCHMARK]
    rates = [*known, *(rate for rate in taken if rate not in known)]
    title = "Datasheet against achieved in matrix products, by stack and date"
    return achieved_table(sorted(rates, key=lambda rate: (rate.gpu, rate.dtype, rate.date)), title, taken)


def train_tables(answers: Sequence[TrainAnswer]) -> tuple[Table, ...]:
    """Return all tables in the order in which they are read."""
    found = (
        side_by_side(answers),
        step_table(answers),
        memory_table(answers),
        cost_table(answers),
        energy_table(answers),
        rates_table(answers),
    )
    return tuple(table for table in found if table is not None)
