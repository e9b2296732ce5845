"""The figures that an answer cites are those of the shipped logs, and a model's kind is that of its logs."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from planner.measurement.accuracy import accuracy_figures, accuracy_path, memory_accuracy
from planner.measurement.attention import attention_kind
from planner.measurement.validate import validate_startup_logs

LOGS = Path(__file__).parents[2] / "measurements" / "startup_logs.csv"


@pytest.fixture(scope="module")
def predictions(catalogue):
    return validate_startup_logs(LOGS, catalogue).predictions


def test_the_cited_figures_are_those_of_the_shipped_logs(predictions):
    shipped = json.loads(accuracy_path().read_text(encoding="utf-8"))
    assert shipped == accuracy_figures(predictions), "run: python benchmarks/score_memory.py --update"


def test_the_kind_of_a_model_is_the_one_that_its_logs_name(predictions):
    same = {"chunked_local_hybrid_gqa": "swa_hybrid_gqa"}
    for made in predictions:
        said = made.log.attention.partition(" (")[0]
        if said:
            assert attention_kind(made.setup.model) == same.get(said, said), made.log.model


def test_figures_are_looked_up_by_engine_and_kind():
    assert memory_accuracy("vllm", "gqa").kv_pool.logs > 50
    assert memory_accuracy("vllm", "no such kind").kv_pool is None
    assert memory_accuracy("no such engine", "gqa").weights is None
