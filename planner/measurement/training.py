"""Published training runs beside predictions: `measurements/training/runs.csv`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from planner.architecture import Architecture
from planner.catalogue import Catalogue, Model
from planner.catalogue.training import TrainingModel
from planner.errors import InvalidInput
from planner.measurement.csvtable import CsvRow, read_csv
from planner.measurement.serving_sources import serving_directory
from planner.memory.built import SameModel, architecture_of
from planner.performance.fabric import fabric_of
from planner.performance.training import Machine, training_flops_per_token, training_step
from planner.performance.training_rates import achieved_rate, training_model
from planner.scenario.training import TrainingRun, check_run
from planner.units import whole_number

SIZES = (
    *("tp", "pp", "dp", "interleave", "fsdp", "micro_batch", "global_batch", "seq_len", "lora_rank"),
    *("recompute", "attention", "dtype", "method"),
)
QUANTITIES = ("step_s", "tokens_per_s_per_gpu", "model_tflops_per_gpu", "hardware_tflops_per_gpu")
TERA = 1e12


@dataclass(frozen=True, slots=True)
class TrainingPoint:
    """A run that somebody published.

    Parameters
    ----------
    source, source_url, date, name, notes : str
        Where it was read, what was trained, and what else is known.
    assumed : tuple of str
        Settings that the source does not state.
    architecture : Architecture
        The model's blocks.
    gpu : str
        Id of the accelerator.
    run : TrainingRun
        How it was trained.
    stack, as_of : str
        Which rate of products counts.
    tokens_per_s_per_gpu : float
        What was measured, whatever the source states it as [tok/s].
    flop_per_s_per_gpu : float
        The model's FLOPs at that rate [FLOP/s].
    """

    source: str
    source_url: str
    date: str
    name: str
    notes: str
    assumed: tuple[str, ...]
    architecture: Architecture
    gpu: str
    run: TrainingRun
    stack: Any
    as_of: str | None
    tokens_per_s_per_gpu: float
    flop_per_s_per_gpu: float


def runs_file() -> Path:
    """Return the file of the shipped runs."""
    return serving_directory().parent / "training" / "runs.csv"


def checks_file() -> Path:
    """Return the file of runs that the same sources publish beside, and that nothing is fitted to."""
    return runs_file().with_name("checks.csv")


def training_points(catalogue: Catalogue, path: Path | None = None) -> list[TrainingPoint]:
    """Return the runs of a file, those shipped by default.

    Parameters
    ----------
    catalogue : Catalogue
        Where models and accelerators are looked up.
    path : Path, optional
        Another CSV of the same columns.

    Returns
    -------
    list of TrainingPoint

    Raises
    ------
    InvalidInput
        With file and line, for a row that says what cannot be.
    """
    table = read_csv(path or runs_file())
    return [_point(row, catalogue, table.file) for row in table.rows]


def predicted_tokens_per_s_per_gpu(
    point: TrainingPoint, catalogue: Catalogue, model: TrainingModel | None = None
) -> float:
    """Return what the time model says of a run [tok/s of one GPU], with figures of its own if given."""
    return training_step(
        point.architecture, point.run, machine_of(point, catalogue, model)
    ).tokens_per_s_per_gpu


def machine_of(point: TrainingPoint, catalogue: Catalogue, model: TrainingModel | None = None) -> Machine:
    """Return what a run was timed on."""
    gpu = catalogue.gpu(point.gpu)
    dtypes: set[str] = {"bf16", point.run.dtype}
    rates = {
        dtype: achieved_rate(catalogue, gpu, dtype, stack=point.stack, as_of=point.as_of).flop_per_s
        for dtype in dtypes
    }
    return Machine(gpu, fabric_of(gpu, catalogue.fabrics()), model or training_model(catalogue), rates)


def with_model(machine: Machine, model: TrainingModel) -> Machine:
    """Return the same machine under other figures of the time model; collectives stay as they are."""
    return replace(machine, model=model)


def _point(row: CsvRow, catalogue: Catalogue, file: str) -> TrainingPoint:
    cells = row.cells
    where = f"{file}:{row.line}"
    architecture = architecture_of(SameModel(_model(cells, catalogue)))
    fields: dict[str, Any] = {name: _value(cells[name]) for name in SIZES if cells[name]}
    run = TrainingRun(**fields, sequence_parallel=cells["sequence_parallel"] == "yes")
    check_run(run, architecture)
    if run.gpus != int(cells["gpus"]):
        raise InvalidInput(f"{where}: tp x pp x dp = {run.gpus}, but gpus is {cells['gpus']}")
    if cells["quantity"] not in QUANTITIES:
        raise InvalidInput(f"{where}: quantity {cells['quantity']!r}; expected {' or '.join(QUANTITIES)}")
    model_flops, hardware_flops = training_flops_per_token(architecture, run)
    value = float(cells["value"])
    rate = {
        "step_s": run.tokens / value / run.gpus,
        "tokens_per_s_per_gpu": value,
        "model_tflops_per_gpu": value * TERA / model_flops,
        "hardware_tflops_per_gpu": value * TERA / hardware_flops,
    }[cells["quantity"]]
    assumed = tuple(part.strip() for part in cells["assumed"].split(";") if part.strip())
    return TrainingPoint(
        source=cells["source"],
        source_url=cells["source_url"],
        date=cells["date"],
        name=cells["model"],
        notes=cells["notes"],
        assumed=assumed,
        architecture=architecture,
        gpu=cells["gpu"],
        run=run,
        stack=cells["stack"],
        as_of=cells["as_of"] or None,
        tokens_per_s_per_gpu=rate,
        flop_per_s_per_gpu=rate * model_flops,
    )


def _value(text: str) -> int | str:
    number = whole_number(text)
    return text if number is None else number


def _model(cells: Mapping[str, str], catalogue: Catalogue) -> Model:
    """Return a model of the catalogue, or one made of the shape that a row states."""
    if not cells["layers"]:
        return catalogue.model(cells["model"])
    gated = cells["gated"] == "yes"
    shape = {name: int(cells[name]) for name in ("layers", "hidden", "heads", "kv_heads", "ffn", "vocab")}
    config: dict[str, Any] = {
        "architectures": ["LlamaForCausalLM" if gated else "OPTForCausalLM"],
        "model_type": "llama" if gated else "opt",
        "hidden_size": shape["hidden"],
        "num_hidden_layers": shape["layers"],
        "num_attention_heads": shape["heads"],
        "num_key_value_heads": shape["kv_heads"],
        "intermediate_size": shape["ffn"],
        "vocab_size": shape["vocab"],
        "max_position_embeddings": int(cells["seq_len"]),
        "tie_word_embeddings": not gated,
    }
    return Model(id=cells["model"], name=cells["model"], config_status="imported", config=config)
