"""`planner validate`: the errors of predictions as text, JSON and a file of rows."""

from __future__ import annotations

import csv
import json
import os
from pathlib import Path

import pytest

MEASUREMENTS = Path(__file__).parents[2] / "measurements"


@pytest.fixture(scope="module")
def logs(tmp_path_factory):
    """Write the first 40 shipped start-up logs."""
    with (MEASUREMENTS / "startup_logs.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.reader(file))[:41]
    path = tmp_path_factory.mktemp("logs") / "logs.csv"
    with path.open("w", encoding="utf-8", newline="") as file:
        csv.writer(file).writerows(rows)
    return path


def test_every_row_is_predicted_or_counted_by_reason(planner, logs):
    made = json.loads(planner("validate", str(logs), "--json").out)
    assert made["schema"] == "planner.validate/1"
    assert made["rows"] == 40 == made["predicted"] + sum(made["skipped"].values())
    weights = made["quantities"]["weights_gib"]
    assert {"n", "median_ape", "mean_ape", "within_20pct", "bias", "coverage_80", "by"} <= weights.keys()
    assert {"gpu", "vendor", "model", "engine", "source"} <= weights["by"].keys()


def test_text_says_the_same_within_80_columns(planner, logs):
    ran = planner("validate", str(logs))
    made = json.loads(planner("validate", str(logs), "--json").out)
    assert ran.code == 0
    assert ran.out.startswith(f"{made['predicted']} of 40 rows predicted\n")
    assert max(map(len, ran.out.splitlines())) <= 80
    for title in ("Relative error of predictions", "By engine", "By attention", "fits or not"):
        assert title in ran.out


def test_out_writes_every_row_with_what_was_predicted(planner, logs, tmp_path):
    file = tmp_path / "predicted.csv"
    assert planner("validate", str(logs), "--out", str(file)).code == 0
    with file.open(encoding="utf-8", newline="") as lines:
        rows = list(csv.DictReader(lines))
    assert len(rows) == 40
    assert all(
        row["predicted_weights_gib"] or row["skipped"] or row["remarks"] or row["predicted_fits"]
        for row in rows
    )


def test_other_tables_are_refused_with_what_is_needed(planner, tmp_path):
    file = tmp_path / "other.csv"
    file.write_text("a,b\n1,2\n", encoding="utf-8")
    ran = planner("validate", str(file))
    assert ran.code == 2
    assert f"{file}:1: no column engine" in ran.err


def test_the_measurements_are_not_written_over(planner, logs):
    before = logs.read_bytes()
    ran = planner("validate", str(logs), "--out", str(logs))
    assert (ran.code, ran.out) == (2, "")
    assert "that is the file of the measurements; name another" in ran.err
    assert logs.read_bytes() == before


def test_a_pipe_or_device_is_not_replaced_by_predictions(planner, logs, tmp_path):
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    ran = planner("validate", str(logs), "--out", str(pipe))
    assert (ran.code, ran.out) == (2, "")
    assert "it is no file; name a new one" in ran.err
    assert pipe.is_fifo()


LOGS_WITH_FAULTS = """engine,model,gpu,tp,weights_gib
vllm,meta-llama/Llama-3.1-8B-Instruct,H100 SXM,1,14.99
vllm,meta-llama/Llama-3.1-8B-Instruct,H100 SXM,1,29.0
vllm,meta-llama/Llama-3.1-8B-Instruct,H100 SXM,1,many
vllm,no-such-model-at-all,H100 SXM,1,14.99
"""


def test_rows_are_named_with_their_lines(planner, tmp_path):
    file = tmp_path / "l.csv"
    file.write_text(LOGS_WITH_FAULTS, encoding="utf-8")
    text = " ".join(planner("validate", str(file)).out.split())
    joined = text.replace(" ", "")
    assert f"{file}:4:unreadablevalue:weights_gibis'many'".replace(" ", "") in joined
    assert f"{file}:5:" in joined
    assert "'no-such-model-at-all'" in text
    assert "Largest misses" in text
    assert "3 Llama-3.1-8B-Instruct H100 SXM weights_gib 29 14." in text
    assert "-48%" in text


def test_a_file_without_a_column_of_attention_is_grouped_by_the_models_own(planner, tmp_path):
    file = tmp_path / "l.csv"
    file.write_text(LOGS_WITH_FAULTS, encoding="utf-8")
    made = json.loads(planner("validate", str(file), "--json").out)
    assert made["quantities"]["weights_gib"]["by"]["attention"].keys() == {"gqa"}
