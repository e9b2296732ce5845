"""What is shown as measured, and that reading only the lines that matter finds the same rows."""

from __future__ import annotations

import csv

import pytest

from planner.measurement.measured_output import Load, measured_outputs
from planner.measurement.serving import load_serving, serving_files, shipped_points


@pytest.mark.parametrize("file", serving_files(), ids=lambda file: file.stem)
def test_a_row_of_a_shipped_file_is_one_line(file):
    with file.open(encoding="utf-8", newline="") as lines:
        reader = csv.reader(lines)
        assert all(reader.line_num == number for number, _ in enumerate(reader, start=1))


@pytest.mark.parametrize(("model", "gpu"), [("DeepSeek-R1-0528", "H200"), ("Kimi-K3", "MI355X")])
def test_shipped_points_are_those_of_the_whole_files(model, gpu):
    whole = [
        point
        for file in serving_files()
        for point in load_serving(file)
        if (point.model, point.gpu) == (model, gpu)
    ]
    found = shipped_points(model_names=[model], gpu_names=[gpu])
    assert whole
    assert [point.where for point in found] == [point.where for point in whole]


def test_a_model_that_nobody_measured_has_nothing(catalogue):
    card = catalogue.gpu("b100")
    found = measured_outputs(
        model=catalogue.model("phi-4"), gpus={card.id: (card, 8)}, catalogue=catalogue, load=Load()
    )
    assert found == {}
