"""Start-up logs as typed records."""

from __future__ import annotations

from pathlib import Path

import pytest

from planner.errors import InvalidInput
from planner.measurement.csvtable import CsvRow
from planner.measurement.startup_logs import (
    StartupLog,
    UnreadableLog,
    parse_log,
    read_startup_logs,
    source_family,
)

CELLS = {"engine": "vLLM", "model": "m", "gpu": "H100"}


def parsed(**cells: str) -> StartupLog | UnreadableLog:
    return parse_log(CsvRow(7, {**CELLS, **cells}))


def test_empty_and_absent_cells_are_not_stated() -> None:
    log = parsed(tp="", weights_gib="")
    assert isinstance(log, StartupLog)
    assert (log.line, log.tp, log.weights_gib, log.enforce_eager, log.notes) == (7, None, None, None, "")


def test_values_are_read_by_their_column() -> None:
    log = parsed(
        tp="8", mem_fraction="0.9", enforce_eager="False", kv_tokens="-561981", dcp="off", n_gpus="16"
    )
    assert isinstance(log, StartupLog)
    assert (log.tp, log.n_gpus, log.dcp, log.mem_fraction, log.enforce_eager, log.kv_tokens) == (
        8,
        16,
        1,
        0.9,
        False,
        -561981,
    )


@pytest.mark.parametrize(
    ("column", "text", "what"),
    [
        ("tp", "two", "a number is needed"),
        ("tp", "0", "1 or more"),
        ("tp", "1.5", "whole number"),
        ("weights_gib", "nan", "finite"),
        ("weights_gib", "inf", "finite"),
        ("weights_gib", "1e999", "finite"),
        ("weights_gib", "0", "an amount above 0"),
        ("weights_gib", "-3.5", "an amount above 0"),
        ("mem_fraction", "0", "above 0"),
        ("mem_fraction", "1.2", "up to 1"),
        ("mem_fraction", "-0.9", "above 0"),
        ("max_model_len", "-1", "1 or more"),
        ("enforce_eager", "maybe", "True or False"),
        ("kv_tokens", "9" * 30, "whole number"),
    ],
)
def test_a_wrong_value_is_named_with_its_column(column: str, text: str, what: str) -> None:
    bad = parsed(**{column: text})
    assert isinstance(bad, UnreadableLog)
    assert bad.line == 7
    assert bad.what.startswith(f"{column} is ")
    assert what in bad.what


def test_serving_points_are_refused_for_now(tmp_path: Path) -> None:
    path = tmp_path / "points.csv"
    path.write_text(
        "source,model,gpu,engine,n_gpus,isl,osl,concurrency,output_tps_per_gpu\nx,a,H100,vllm,1,1,1,1,1\n"
    )
    with pytest.raises(InvalidInput, match=r"points\.csv:1: .*only start-up logs can be validated"):
        read_startup_logs(path)


@pytest.mark.parametrize(
    ("source", "family"),
    [
        ("vllm-project/vllm#10517 (len 20000)", "vllm-project/vllm"),
        ("owner/repo@d3121e0:accuracy/results/a.log", "owner/repo"),
        ("owner/repo:results/a.log", "owner/repo"),
        ("code-index:54560449775", "code-index"),
        ("https://docs.example.com/cookbook/rocm (405B)", "docs.example.com/cookbook"),
        ("", "not stated"),
    ],
)
def test_sources_are_grouped_by_who_posted(source: str, family: str) -> None:
    assert source_family(source) == family
