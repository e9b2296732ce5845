"""The report on a frontier: records, tables, figures and pages of the same points."""

from __future__ import annotations

import json

import pytest

import planner
from planner.errors import InvalidInput, Unsupported
from planner.measurement.frontier_points import measured_markers
from planner.report.frontier_tables import spread
from tests.report.made_frontier import CATALOGUE, SLO, answer, refused, report, unmet


def test_the_winner_is_the_cheapest_where_prices_are_given() -> None:
    made = report(answer(price=2.5), answer(gpu="b300", scale=1.5, price=6.0))
    assert made.winner.gpu == "mi355x"
    assert made.sentence.startswith("MI355X has the cheapest output.")
    assert report(answer(), answer(gpu="b300", scale=1.5)).winner.gpu == "b300-sxm"
    assert report(unmet(), refused()).winner is None


def test_records_are_json_and_one_for_each_point() -> None:
    made = report(answer(price=2.5), unmet())
    assert json.loads(json.dumps(made.to_dict(), allow_nan=False))["winner"] == "mi355x"
    assert len(made.to_records()) == 14
    assert made.to_csv().count("\n") == 15
    assert list(made.to_frame().gpu.unique()) == ["mi355x"]
    single = report(unmet()).to_dict()
    assert [one["limit"] for one in single["closest"]["failed"]] == ["tpot_s", "ttft_s"]
    assert single["left_out"] == {"beyond_pool": 0, "overloaded": 12, "unlikely": 30}


def test_figures_have_a_line_a_band_and_measured_signs_for_each_accelerator() -> None:
    made = report(answer(price=2.5, slo=SLO), answer(gpu="b300", scale=1.5))
    figure = made.plot()
    assert [trace.name for trace in figure.data] == [
        "MI355X, 80 % interval",
        "MI355X, simulated",
        "B300-SXM, 80 % interval",
        "B300-SXM, simulated",
        "MI355X, measured",
        "MI355X, measured, other set-ups",
        "B300-SXM, measured",
        "B300-SXM, measured, other set-ups",
    ]
    band, line = figure.data[0], figure.data[1]
    assert len(band.x) == 2 * len(line.x) == 28
    assert all(low < value < high for value, high, low in zip(line.y, band.y, band.y[::-1], strict=False))
    assert "TP8" in line.text[0]
    assert "calibrated" in line.text[0]
    cost = made.plot("cost")
    assert [trace.name for trace in cost.data] == ["MI355X, 80 % interval", "MI355X, simulated"]
    assert "USD" in cost.layout.yaxis.title.text
    with pytest.raises(Unsupported, match="this report has none"):
        report(refused()).plot()


def test_a_page_holds_figures_tables_and_sources() -> None:
    made = report(answer(price=2.5))
    page = made.to_html()
    assert "nothing has more of both" in page
    assert "wafer" in page.lower()
    assert "# Frontier of" in made.to_markdown()
    assert "<table>" in made._repr_html_()


@pytest.mark.parametrize(
    ("count", "most", "kept"), [(3, 12, [0, 1, 2]), (12, 12, range(12)), (5, 3, [0, 2, 4])]
)
def test_a_table_keeps_both_ends(count: int, most: int, kept: list[int]) -> None:
    assert spread(range(count), most) == list(kept)


def test_measured_runs_beside_a_frontier_state_both_quantities() -> None:
    model, gpu = CATALOGUE.model("deepseek-r1"), CATALOGUE.gpu("mi355x")
    found = measured_markers(
        model=model, gpu=gpu, catalogue=CATALOGUE, isl=1024, osl=1024, engine="sglang", weight_dtype="mxfp4"
    )
    alike = [one.point for one in found if one.alike]
    assert 0 < len(alike) < len(found)
    assert all("sglang" in (point.engine or "") and "4" in (point.weight_dtype or "") for point in alike)
    users = [one.tps_per_user for one in found]
    assert users == sorted(users, reverse=True)
    best = [one.output_tps_per_gpu for one in found if one.best]
    assert best == sorted(best)
    assert best[-1] == max(one.output_tps_per_gpu for one in found)
    assert all(one.point.isl == pytest.approx(1024, rel=0.1) for one in found)


def test_the_function_of_the_front_door() -> None:
    made = planner.frontier(
        model="llama-3.1-8b", gpu="h100, mi300x", isl="1k", osl=256, gpus=[1, 2], slo_tpot_s=0.03, price=2.0
    )
    assert [one.gpu for one in made] == ["h100-sxm", "mi300x"]
    assert made.answered
    assert made["mi300x"].best.tpot_ms.value <= 30
    assert made.reproduction.arguments["gpus"] == [1, 2]
    assert "--gpus 1,2" in made.reproduction.command
    with pytest.raises(InvalidInput, match="names nothing to try"):
        planner.frontier(model="llama-3.1-8b", gpu="h100", isl=1024, osl=256, gpus=[])
