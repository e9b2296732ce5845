"""Starts an engine for each run of a plan, in a process of its own, and keeps what it wrote."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from planner.catalogue import Catalogue, Model
from planner.measurement.engine import inside
from planner.measurement.engine.model_directory import write_model_directory
from planner.measurement.engine.plan import EngineRun
from planner.measurement.engine.process import run_program
from planner.measurement.engine.rows import read_records
from planner.measurement.user_folder import name_part

LOAD_SECONDS = 60.0
"""Beyond the time of a run, for the engine to end [s]."""
_LINE = "%(levelname)s %(asctime)s [%(filename)s:%(lineno)d] %(message)s"
MEMORY_LOGGERS = ("vllm.v1.worker.gpu_worker", "vllm.utils.mem_utils")
"""Loggers that account for memory at the level DEBUG alone."""


@dataclass(frozen=True, slots=True)
class EngineResult:
    """What one run left behind.

    Parameters
    ----------
    run : EngineRun
        What was asked for.
    model : Model
        The catalogue's entry.
    records : tuple of dict
        What the engine's side wrote: one when it was ready, one for each point, one at the end.
    log : Path
        What the engine printed.
    exit_code : int or None
        None when its time was up.
    """

    run: EngineRun
    model: Model
    records: tuple[dict[str, Any], ...]
    log: Path
    exit_code: int | None

    @property
    def timed(self) -> int:
        """Return how many points were timed."""
        return sum("took_s" in record and record["kind"] != "done" for record in self.records)

    @property
    def sentence(self) -> str:
        """Return what became of it."""
        asked = len(self.run.timed())
        ready = any(record["kind"] == "ready" for record in self.records)
        how = "its time was up" if self.exit_code is None else f"exit code {self.exit_code}"
        if not ready:
            return f"{self.model.id}: {self.run.engine} did not start ({how}); {self.log} shows why"
        return f"{self.model.id}: {self.timed} of {asked} points timed ({how})"


def run_engine(
    run: EngineRun,
    *,
    catalogue: Catalogue,
    directory: Path,
    python: str = sys.executable,
    told: Callable[[str], None] = lambda text: None,
) -> EngineResult:
    """Start an engine with random weights, time the points of a run, and end it.

    Parameters
    ----------
    run : EngineRun
        What to start and to time.
    catalogue : Catalogue
        Where the model's configuration stands.
    directory : Path
        Gets `config.json` for the engine, the job, the results as JSON lines, and the log.
    python : str
        The interpreter that has the engine.
    told : callable
        Is told of progress.

    Returns
    -------
    EngineResult
        Also when the engine failed: with what it had written by then.

    Raises
    ------
    PlannerError
        When the model or its format cannot be started at all.
    """
    model = catalogue.model(run.model)
    checkpoint = write_model_directory(directory / "model", model, run.weight_dtype, run.config)
    results = directory / "results.jsonl"
    results.unlink(missing_ok=True)
    loggers = directory / "logging.json"
    loggers.write_text(json.dumps(memory_logging()), encoding="utf-8")
    job = directory / "job.json"
    job.write_text(json.dumps(job_of(run, model, checkpoint, results), indent=1) + "\n", encoding="utf-8")
    log = directory / "engine.log"
    log.unlink(missing_ok=True)
    told(f"{model.id}: starting {run.engine}; {log}")
    code = run_program(
        [python, str(Path(inside.__file__)), str(job)],
        log=log,
        seconds=run.seconds + LOAD_SECONDS,
        environment={
            "HF_HUB_OFFLINE": "1",
            "VLLM_NO_USAGE_STATS": "1",
            "VLLM_ALLOW_INSECURE_SERIALIZATION": "1",  # a function is sent to its workers, see spread_routing
            "VLLM_LOGGING_CONFIG_PATH": str(loggers),
            "PYTHONUNBUFFERED": "1",
        },
    )
    result = EngineResult(run, model, tuple(read_records(results)), log, code)
    told(result.sentence)
    return result


def job_of(run: EngineRun, model: Model, checkpoint: Path, results: Path) -> dict[str, Any]:
    """Return what the engine's side is told, as plain values."""
    return {
        "engine": run.engine,
        "model_directory": str(checkpoint),
        "results": str(results),
        "seconds": run.seconds,
        "seed": 1,
        "vocabulary": int(model.config.get("vocab_size", 32000)),
        "arguments": _ARGUMENTS[run.engine](run),
        "points": [point.model_dump() for point in run.timed()],
    }


def _vllm_arguments(run: EngineRun) -> dict[str, Any]:
    named = {
        "dtype": "bfloat16",
        "tensor_parallel_size": run.tp,
        "pipeline_parallel_size": run.pp,
        "max_model_len": run.max_model_len,
        "gpu_memory_utilization": run.memory_fraction,
        "max_num_seqs": run.max_num_seqs,
        "max_num_batched_tokens": run.max_num_batched_tokens,
        "kv_cache_dtype": run.kv_dtype,
    }
    return {name: value for name, value in named.items() if value is not None}


def _sglang_arguments(run: EngineRun) -> dict[str, Any]:
    named = {
        "dtype": "bfloat16",
        "tp_size": run.tp,
        "pp_size": run.pp,
        "context_length": run.max_model_len,
        "mem_fraction_static": run.memory_fraction,
        "max_running_requests": run.max_num_seqs,
        "chunked_prefill_size": run.max_num_batched_tokens,
        "kv_cache_dtype": run.kv_dtype,
    }
    return {name: value for name, value in named.items() if value is not None}


_ARGUMENTS: dict[str, Callable[[EngineRun], dict[str, Any]]] = {
    "vllm": _vllm_arguments,
    "sglang": _sglang_arguments,
}


def memory_logging() -> dict[str, Any]:
    """Return a logging configuration in which vLLM prints its whole account of memory."""
    shown = {"handlers": ["stream"], "propagate": False}
    return {
        "version": 1,
        "disable_existing_loggers": False,
        "formatters": {"plain": {"format": _LINE, "datefmt": "%m-%d %H:%M:%S"}},
        "handlers": {"stream": {"class": "logging.StreamHandler", "formatter": "plain", "level": "DEBUG"}},
        "loggers": {
            "vllm": {**shown, "level": "INFO"},
            **{name: {**shown, "level": "DEBUG"} for name in MEMORY_LOGGERS},
        },
    }


def run_plan(
    runs: Sequence[EngineRun],
    *,
    catalogue: Catalogue,
    directory: Path,
    python: str = sys.executable,
    told: Callable[[str], None] = lambda text: None,
) -> list[EngineResult]:
    """Run all of a plan, one after the other; a run that fails does not stop the next.

    Parameters
    ----------
    runs : sequence of EngineRun
        The plan.
    catalogue, python, told
        As for `run_engine`.
    directory : Path
        Gets a folder for each run.

    Returns
    -------
    list of EngineResult
    """
    found = []
    for number, run in enumerate(runs, start=1):
        name = name_part(f"{number:02d}-{run.model}-{run.weight_dtype or 'native'}")
        place = directory / name
        place.mkdir(parents=True, exist_ok=True)
        found.append(run_engine(run, catalogue=catalogue, directory=place, python=python, told=told))
    return found
